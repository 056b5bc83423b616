"""One-click fixes: renamed columns, and windows that are attached to the rows already."""

from __future__ import annotations

import pytest

from engine.model.pipeline import Edge, Node, Pipeline
from tests.engine.planning import pipeline_of, rows
from ui.builder.checking import checked
from ui.builder.editing import add_node
from ui.builder.fixes import fixes, joined, suggested_for


def orders(amount: str) -> Pipeline:
    columns = [
        {"name": "id", "type": "bigint"},
        {"name": amount, "type": "bigint"},
        {"name": "ts", "type": "timestamp"},
    ]
    source = Node(id="orders", operator="rows", parameters={"columns": columns, "rows": [], "event_time": "ts"})
    large = Node(id="large", operator="filter", parameters={"condition": "amount > 10 AND upper('amount') > id"})
    sums = {"function": "SUM", "argument": "amount", "name": "amount"}
    per_window = {"kind": "tumble", "size_ms": 1000, "group_by": ["id"], "aggregates": [sums]}
    best = {
        "order_by": [{"column": "amount"}],
        "rank_end": 3,
        "window_start": "window_start",
        "window_end": "window_end",
    }
    nodes = (
        source,
        large,
        Node(id="sums", operator="window_aggregate", parameters=per_window),
        Node(id="best", operator="window_topn", parameters=best),
        Node(id="sink", operator="sink"),
    )
    ways = ("orders", "large", "sums", "best", "sink")
    edges = tuple(Edge(source=a, target=b) for a, b in zip(ways, ways[1:], strict=False))
    return Pipeline(nodes=nodes, edges=edges)


def test_a_column_that_was_renamed_in_a_source_is_renamed_everywhere() -> None:
    assert not checked(orders("amount")).problems
    document = orders("unit price")
    verdict = checked(document)
    [problem] = verdict.problems
    found = {fix.label: fix.document for fix in fixes(document, problem, verdict)}
    mended = found["Rename amount to unit price everywhere"]
    assert not checked(mended).problems
    assert mended.node("large").parameters["condition"] == "`unit price` > 10 AND upper('amount') > id"
    assert mended.node("sums").parameters["aggregates"][0] == {
        "function": "SUM",
        "argument": "unit price",
        "name": "amount",
    }
    # The name of the aggregate's result is the node's own, and is not changed.
    assert mended.node("best") == document.node("best")


def test_the_windows_of_an_input_are_taken_over_and_offered() -> None:
    document = orders("amount")
    grown, best = add_node(document, "window_topn", "sums")
    parameters = suggested_for(grown, best).node(best).parameters
    assert (parameters["window_start"], parameters["window_end"]) == ("window_start", "window_end")
    assert "size_ms" not in parameters

    broken = {"order_by": [{"column": "amount"}], "rank_end": 3, "kind": "tumble", "size_ms": None}
    document, top = add_node(document, "window_topn", "sums", broken)
    verdict = checked(document)
    [problem] = [each for each in verdict.problems if each.node == top]
    labels = [fix.label for fix in fixes(document, problem, verdict)]
    assert "Use the windows of its input" in labels


RIDES = rows("ride_id string, driver_id string, fare double, ts timestamp", rows=[], event_time="ts")
DRIVERS = rows("name string, driver_id string, ts timestamp", rows=[], event_time="ts")


@pytest.mark.parametrize(
    ("operator", "drivers", "keys"),
    [
        ("join", DRIVERS, ["driver_id"]),
        ("lookup_join", DRIVERS, ["driver_id"]),
        ("interval_join", DRIVERS, ["driver_id"]),
        ("window_join", DRIVERS, ["driver_id"]),
        ("join", rows("name string, driver_id double", rows=[]), None),
    ],
)
def test_the_keys_of_a_join_are_the_column_of_both_inputs(
    operator: str, drivers: tuple[str, dict[str, object]], keys: list[str] | None
) -> None:
    both = Pipeline(
        nodes=tuple(Node(id=a, operator=b, parameters=c) for a, (b, c) in (("rides", RIDES), ("drivers", drivers)))
    )
    grown, name = add_node(both, operator, "rides")
    parameters = joined(grown, "drivers", name, "right").node(name).parameters
    assert (parameters.get("left_keys"), parameters.get("right_keys")) == (keys, keys)


VERSIONS = {"columns": [{"name": "k", "type": "string"}, {"name": "ts", "type": "timestamp"}], "event_time": "ts"}


AT_THEIR_TIME = pipeline_of(
    "clicks -> joined:left\nversions -> joined:right\njoined -> out",
    clicks=("rows", {**VERSIONS, "rows": []}),
    versions=("rows", {**VERSIONS, "rows": []}),
    joined=("temporal_join", {"left_keys": ["k"], "right_keys": ["k"]}),
    out=("sink", {}),
)
UPSERTS = pipeline_of(
    "versions -> out",
    versions=("rows", {**VERSIONS, "rows": [], "changelog": True, "updates_by_key": True}),
    out=("sink", {}),
)


@pytest.mark.parametrize(
    ("pipeline", "node", "labels"),
    [
        (AT_THEIR_TIME, "joined", ("Use k as primary key of versions", "Keep the last row per k before it")),
        (UPSERTS, "versions", ("Use k as primary key of versions",)),
    ],
    ids=["a temporal join of rows without a key", "an upsert source"],
)
def test_a_primary_key_that_is_missing_is_declared_by_a_click(
    pipeline: Pipeline, node: str, labels: tuple[str, ...]
) -> None:
    verdict = checked(pipeline)
    [problem] = verdict.problems
    assert problem.node == node
    offered = fixes(pipeline, problem, verdict)
    assert tuple(fix.label for fix in offered) == labels
    assert [checked(fix.document).problems for fix in offered] == [()] * len(labels)
