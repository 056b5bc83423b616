"""Random pipelines that join two sources, l and r, whose rows arrive in one interleaved order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from engine.kept.shrinking import smaller
from engine.model.pipeline import Pipeline
from engine.sql.algebra import renamed
from tests.differential.random_jobs import COLUMNS, Arrived, Operation, changes, is_changelog, random_calls, random_row

NAMES = [name for name, _ in COLUMNS]
PACE = 20
"""Rows per second: Flink guarantees no order between two inputs of an operator."""


@dataclass(frozen=True)
class Side:
    """One source and the operators between it and the join. mode: insert, all or upsert."""

    mode: str
    key: tuple[str, ...]
    delay_ms: int
    operators: tuple[Operation, ...] = ()
    columns: tuple[str, ...] = tuple(NAMES)

    @property
    def parameters(self) -> dict[str, Any]:
        """The source, without its rows."""
        return {
            "columns": [{"name": name, "type": type_} for name, type_ in COLUMNS],
            "rows": [],
            "changelog": self.mode != "insert",
            "updates_by_key": self.mode == "upsert",
            "primary_key": self.key,
            "event_time": "rt",
            "watermark_delay_ms": self.delay_ms,
        }


@dataclass(frozen=True, kw_only=True)
class JoinJob:
    """Two sides, their join, and the operators above it."""

    left: Side
    right: Side
    join: Operation
    above: tuple[Operation, ...]
    arrivals: tuple[Arrived, ...]
    options: dict[str, str] = field(default_factory=dict)
    rows_per_second: int | None = PACE

    @property
    def operators(self) -> tuple[Operation, ...]:
        """The join and the operators above it, without those below, whose order of records is not compared."""
        return self.join, *self.above

    @property
    def hides_updates(self) -> bool:
        """Whether Flink leaves out unused columns below the join, and so updates that show no change."""
        normalised = any(side.mode == "upsert" and side.operators for side in (self.left, self.right))
        return normalised or (self.join[1]["kind"] in ("semi", "anti") and bool(self.right.operators))

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The sources, for Flink."""
        return [
            {"name": name, "mode": side.mode, "key": side.key, "delay_ms": side.delay_ms}
            for name, side in (("l", self.left), ("r", self.right))
        ]

    @property
    def pipeline(self) -> Pipeline:
        """Both chains, the join, and the chain above it."""
        nodes: list[tuple[str, str, Mapping[str, Any]]] = []
        edges: list[dict[str, str]] = []
        for name, port, side in (("l", "left", self.left), ("r", "right", self.right)):
            chain = [(name, "rows", side.parameters)]
            chain += [(f"{name}{at}", operator, given) for at, (operator, given) in enumerate(side.operators, start=1)]
            edges += [{"source": a[0], "target": b[0]} for a, b in zip(chain, chain[1:], strict=False)]
            edges.append({"source": chain[-1][0], "target": "j0", "target_port": port})
            nodes += chain
        top = [(f"j{at}", operator, given) for at, (operator, given) in enumerate(self.operators)]
        edges += [{"source": a[0], "target": b[0]} for a, b in zip(top, top[1:], strict=False)]
        return Pipeline.from_dict(
            {
                "nodes": [
                    {"id": name, "operator": operator, "parameters": given} for name, operator, given in (*nodes, *top)
                ],
                "edges": edges,
                "options": self.options,
            }
        )

    def smaller(self) -> Iterator[JoinJob]:
        """Smaller jobs, for shrinking."""
        if self.above:
            yield replace(self, above=())
        found = [tuple(fewer) for pieces in (2, len(self.arrivals)) for fewer in smaller(self.arrivals, pieces)]
        found += [self.arrivals[:at] + self.arrivals[at + 2 :] for at in range(len(self.arrivals) - 1)]
        for arrivals in found:
            sides = {"l": self.left, "r": self.right}
            if all(
                side.mode != "all" or is_changelog([row for table, *row in arrivals if table == name])
                for name, side in sides.items()
            ):
                yield replace(self, arrivals=arrivals)


def random_join(random: Random) -> JoinJob:
    """A random job; the planner may reject it."""
    name = random.choice(("join", "join", "join", "interval_join", "temporal_join", "temporal_join", "window_join"))
    left = _side(random, name, "left")
    right = _side(random, name, "right")
    shared = [column for column in ("k", "w") if column in left.columns and column in right.columns]
    keys = shared if random.random() < 0.3 else shared[:1]
    given: dict[str, Any] = {"left_keys": keys, "right_keys": keys, "kind": random.choice(_KINDS[name])}
    if name == "interval_join":
        lower = random.choice((-3000, -1000, 0, 500))
        given |= {"lower_ms": lower, "upper_ms": lower + random.choice((0, 1000, 4000))}
    if name == "window_join":
        given |= {"size_ms": random.choice((2000, 5000)), "offset_ms": random.choice((0, 0, 500))}
    if random.random() < 0.4:
        names = renamed(left.columns, right.columns)
        a, b = (random.choice([one for one in side.columns if one not in ("k", "rt")]) for side in (left, right))
        given["condition"] = f"{a} > {names[b]}"
    above: tuple[Operation, ...] = ()
    if random.random() < 0.25:
        numbers = [column for column in left.columns if column not in ("k", "rt")]
        group = [column for column in ("k", "w") if column in left.columns][:1]
        above = (("aggregate", {"group_by": group, "aggregates": random_calls(random, numbers, ordered=False)}),)
    rows = {"l": _rows(random, left), "r": _rows(random, right)}
    arrivals: list[Arrived] = []
    while any(rows.values()):
        source = random.choices(list(rows), [len(some) for some in rows.values()])[0]
        arrivals.append((source, *rows[source].pop(0)))
    return JoinJob(left=left, right=right, join=(name, given), above=above, arrivals=tuple(arrivals))


_KINDS = {
    "join": ("inner", "left", "right", "full", "semi", "anti"),
    "interval_join": ("inner", "left", "right", "full"),
    "temporal_join": ("inner", "left"),
    "window_join": ("inner", "left", "right", "full", "semi", "anti"),
}


def _side(random: Random, join: str, port: str) -> Side:
    delay_ms = random.choice((0, 500, 2000))
    match join, port:
        case (("interval_join" | "window_join"), _):
            operators: tuple[Operation, ...] = ()
            if random.random() < 0.3:
                operators = (("filter", {"condition": f"w > {random.randint(-1, 1)}"}),)
            return Side("insert", (), delay_ms, operators)
        case "temporal_join", "right":
            mode = random.choice(("upsert", "upsert", "all", "insert"))
            if mode == "insert":
                last = {"keys": ["k"], "order": "event_time", "keep": "last"}
                return Side("insert", (), delay_ms, (("deduplicate", last),))
            return Side(mode, ("k",), delay_ms)
        case "temporal_join", _:
            return Side(random.choice(("insert", "insert", "all")), (), delay_ms)
    mode, key = random.choice((("insert", ()), ("all", ()), ("all", ("k",)), ("upsert", ("k",))))
    chance = random.random()
    if chance < 0.35:
        group = random.choice((["k"], ["k", "w"], ["w"]))
        calls = random_calls(random, ["v", "w"], ordered=mode == "insert")
        columns = (*group, *(call["name"] for call in calls))
        return Side(mode, key, delay_ms, (("aggregate", {"group_by": group, "aggregates": calls}),), columns)
    if chance < 0.5 and mode == "insert":
        last = {"keys": [random.choice(("k", "w"))], "order": "event_time", "keep": "last"}
        return Side(mode, key, delay_ms, (("deduplicate", last),))
    return Side(mode, key, delay_ms)


def _rows(random: Random, side: Side) -> list[tuple[Any, ...]]:
    count = random.randint(3, 12)
    if side.mode == "insert":
        return [("+I", *random_row(random)) for _ in range(count)]
    if not side.key:
        return changes(random, count)
    there: dict[str, tuple[Any, ...]] = {}
    found: list[tuple[Any, ...]] = []
    for _ in range(count):
        key = random.choice(("a", "b", "c"))
        old, new = there.get(key), (key, *random_row(random)[1:])
        if old is not None and random.random() < 0.3:
            found.append(("-D", *there.pop(key)))
            continue
        if old is not None and side.mode == "all":
            found.append(("-U", *old))
        there[key] = new
        found.append(("+U" if old is not None else "+I", *new))
    return found
