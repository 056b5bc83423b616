"""Pipelines of 8, 40 and 200 nodes as people draw them: a lane per region, and what all lanes flow into."""

from __future__ import annotations

from typing import Any, Final

from engine.model.pipeline import Pipeline

CITIES: Final = ("Berlin", "Lisbon", "Tallinn", "Nairobi", "Bogota")
_COUNT: Final = {"function": "COUNT", "name": "orders"}
_SUM: Final = {"function": "SUM", "argument": "amount", "name": "spent"}


def shop(lanes: int, *, folded: int = 0) -> Pipeline:
    """Seven nodes per lane, and what all flow into: none for one lane but its sink, else four or five more.

    folded: how many of the lanes are folded groups.
    """
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, str]] = []
    groups = []

    def add(name: str, operator: str, parameters: dict[str, Any], *inputs: str, group: str = "") -> str:
        nodes.append({"id": name, "operator": operator, "parameters": parameters, "group": group})
        for at, each in enumerate(inputs):
            port = "in" if len(inputs) == 1 else ("left", "right")[at]
            edges.append({"source": each, "target": name, "target_port": port})
        return name

    tops = []
    for at in range(lanes):
        city = f"{CITIES[at % len(CITIES)]}{at // len(CITIES) or ''}".lower()
        group = f"{city} customers" if at < folded else ""
        if group:
            groups.append({"name": group, "folded": True})
        orders = add(f"orders_{city}", "rows", _rows("customer string, amount bigint, ts bigint", _orders(at)))
        customers = add(f"customers_{city}", "rows", _rows("id string, name string, since bigint", _CUSTOMERS))
        paid = add(f"paid_orders_of_{city}", "filter", {"condition": "amount > 0"}, orders, group=group)
        totals = {"group_by": ["customer"], "aggregates": [_COUNT, _SUM]}
        spent = add(f"spent_per_customer_in_{city}", "aggregate", totals, paid, group=group)
        latest = add(
            f"latest_{city}",
            "deduplicate",
            {"keys": ["id"], "order": "arrival", "keep": "last"},
            customers,
            group=group,
        )
        on = {"left_keys": ["customer"], "right_keys": ["id"]}
        joined = add(f"with_names_{city}", "join", on, spent, latest, group=group)
        best = {"order_by": [{"column": "spent", "descending": True}], "rank_end": 2, "with_rank": True}
        tops.append(add(f"best_customers_{city}", "topn", best, joined))
    if lanes == 1:
        add("dashboard", "sink", {"mode": "changelog"}, tops[0])
    else:
        nodes.append({"id": "everywhere", "operator": "union", "parameters": {}})
        edges += [{"source": each, "target": "everywhere"} for each in tops]
        per_rank = {"group_by": ["rank"], "aggregates": [{**_SUM, "argument": "spent", "name": "spent"}]}
        add("per_rank", "aggregate", per_rank, "everywhere")
        add("ranking", "sink", {"mode": "changelog"}, "per_rank")
        # Without it, 28 lanes have 200 nodes.
        is_few = lanes <= len(CITIES)
        large = add("large_ones", "filter", {"condition": "spent > 100"}, "everywhere") if is_few else "everywhere"
        add("alerts", "sink", {"mode": "changelog"}, large)
    names = {1: "Eight nodes", 5: "Forty nodes", 28: "Two hundred nodes"}
    name = names.get(lanes, f"{lanes} lanes")
    return Pipeline.model_validate({"version": 1, "name": name, "nodes": nodes, "edges": edges, "groups": groups})


_CUSTOMERS: Final = [["a", "Ada", 1], ["b", "Bo", 2], ["a", "Ada Lovelace", 9]]


def _orders(lane: int) -> list[list[Any]]:
    return [["a", 40 + lane, 3], ["b", 90, 4], ["c", 0, 5], ["a", 70, 6]]


def _rows(columns: str, rows: list[list[Any]]) -> dict[str, Any]:
    pairs = [each.split() for each in columns.split(", ")]
    return {"columns": [{"name": name, "type": type_} for name, type_ in pairs], "rows": rows}
