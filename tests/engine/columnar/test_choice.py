"""When the planner chooses a columnar kernel, why it does not, and that it is configured like the plain one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.contract.operator import StepContext
from engine.contract.step import Keyed
from tests.engine.columnar.equality import ALL_KINDS, INSERTS, Given, Rules, check_cuts, check_equal, inputs
from tests.engine.planning import plan_of, rows

DDL = "k string, v bigint, w double, t bigint, tags array<string>"
EVENTS = rows(DDL, event_time="t")
CHANGES = rows("k string, v bigint, w double, t bigint", changelog=True)
PLAIN_EVENTS = rows("k string, v bigint, w double, t bigint", event_time="t")
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "3",
    "table.exec.mini-batch.allow-latency": "5 s",
}
TTL = {"table.exec.state.ttl": "4 ms"}
# What did not change is repeated, but nothing expires.
REPEATING = {**TTL, "changelog-studio.clock": "NONE"}
INSENSITIVE = {"table.exec.deduplicate.insert-update-after-sensitive-enabled": "false"}

Node = tuple[str, Mapping[str, Any]]


def dedup(order: str, keep: str, keys: tuple[str, ...] = ("k",), first_row: str = "at_once") -> Node:
    return ("deduplicate", {"keys": keys, "order": order, "keep": keep, "first_row": first_row})


def aggregate(*calls: Mapping[str, Any], by: tuple[str, ...] = ("k",)) -> Node:
    return ("aggregate", {"group_by": by, "aggregates": calls})


COUNT = {"function": "COUNT", "name": "n"}
SUM = {"function": "SUM", "argument": "v"}
AVG = {"function": "AVG", "argument": "v"}
MAX = {"function": "MAX", "argument": "v"}
LISTAGG = {"function": "LISTAGG", "argument": "k"}


def step_of(source: Any, node: Node, options: Mapping[str, str], sink: str = "changelog") -> tuple[Keyed, Layout]:
    found = plan_of("t -> n -> out", t=source, n=node, out=("sink", {"mode": sink})).node("n")
    step = found.operator.step(StepContext("n", 1, found.inputs, found.mode, found.derived, options))
    assert isinstance(step, Keyed)
    given_schema = found.inputs[0].schema
    types = {f"`{column.name}`": column.type.arrow for column in given_schema}
    keys = tuple(types[name] for name in step.inputs[0].keys)
    values = tuple(types[name] for name in step.inputs[0].values)
    return step, Layout(keys, (values,), tuple(column.type.arrow for column in found.schema))


CHOICES = [
    (EVENTS, dedup("event_time", "last"), {}, "columnar: the last row by event time"),
    (EVENTS, dedup("event_time", "first"), {}, "columnar: the first row by event time"),
    (EVENTS, dedup("arrival", "first"), {}, "columnar: the first row by arrival"),
    (PLAIN_EVENTS, dedup("arrival", "last"), {}, "columnar: the last row by arrival"),
    (EVENTS, dedup("arrival", "last"), REPEATING, "columnar: the last row by arrival"),
    (EVENTS, dedup("event_time", "last"), TTL, "columnar: the last row by event time"),
    (EVENTS, dedup("event_time", "first"), TTL, "columnar: the first row by event time"),
    (EVENTS, dedup("arrival", "first"), TTL, "columnar: the first row by arrival"),
    (EVENTS, dedup("arrival", "last"), TTL, "columnar: the last row by arrival"),
    (CHANGES, dedup("arrival", "last"), TTL, "columnar: the last row of a changelog"),
    (EVENTS, dedup("arrival", "last"), {}, "columnar: the last row by arrival"),
    (CHANGES, dedup("arrival", "last"), {}, "columnar: the last row of a changelog"),
    (EVENTS, dedup("arrival", "first", ("w",)), {}, "columnar: the first row by arrival"),
    (EVENTS, dedup("arrival", "first"), MINI_BATCH, "columnar: the first row by arrival, bundle by bundle"),
    (
        EVENTS,
        dedup("event_time", "first", first_row="when_complete"),
        {},
        "columnar: the first row by event time, when complete",
    ),
    (EVENTS, aggregate(), {}, "columnar: distinct groups"),
    (CHANGES, aggregate(COUNT), {}, "columnar: COUNT"),
    (CHANGES, aggregate(COUNT, SUM, AVG), TTL, "columnar: COUNT, SUM and AVG of integers"),
    (EVENTS, aggregate(COUNT, SUM, MAX), TTL, "columnar: COUNT, SUM and MAX of integers"),
    (CHANGES, aggregate(MAX), TTL, "record by record: its state expires, entry by entry"),
    (EVENTS, aggregate(LISTAGG), TTL, "record by record: its state expires, entry by entry"),
    (EVENTS, aggregate({**SUM, "distinct": True}), TTL, "record by record: its state expires, entry by entry"),
    (CHANGES, aggregate(COUNT, SUM, by=()), {}, "columnar: COUNT and SUM of integers"),
    (EVENTS, dedup("event_time", "last", keys=()), {}, "columnar: the last row by event time"),
    (CHANGES, aggregate(COUNT, SUM, AVG), {}, "columnar: COUNT, SUM and AVG of integers"),
    (EVENTS, aggregate(SUM, MAX), {}, "columnar: SUM and MAX of integers"),
    (CHANGES, aggregate(MAX), {}, "columnar: MAX of integers"),
    (EVENTS, aggregate(LISTAGG), {}, "columnar: LISTAGG"),
    (CHANGES, aggregate(LISTAGG), {}, "record by record: LISTAGG with retraction has no columnar kernel"),
    (EVENTS, aggregate({**SUM, "argument": "w"}), {}, "record by record: SUM of DOUBLE has no columnar kernel"),
    (EVENTS, aggregate({**MAX, "argument": "k"}), {}, "record by record: MAX of STRING has no columnar kernel"),
    (EVENTS, aggregate({**SUM, "distinct": True}), {}, "columnar: SUM DISTINCT of integers"),
    (
        EVENTS,
        aggregate({**COUNT, "argument": "w", "distinct": True}),
        {},
        "record by record: DISTINCT of DOUBLE has no columnar kernel",
    ),
    (EVENTS, aggregate(COUNT, by=("w",)), {}, "columnar: COUNT"),
    (EVENTS, aggregate(COUNT), MINI_BATCH, "record by record: mini-batch folds its bundles group by group"),
]


@pytest.mark.parametrize(("source", "node", "options", "why"), CHOICES, ids=[choice[3] for choice in CHOICES])
def test_the_choice_says_why(source: Any, node: Node, options: Mapping[str, str], why: str) -> None:
    step, _ = step_of(source, node, options)
    assert step.columnar.why == why
    assert (step.columnar.make is not None) == why.startswith("columnar")


COLUMNAR = [choice for choice in CHOICES if choice[3].startswith("columnar") and choice[2] is not MINI_BATCH]
OPTIONS = st.sampled_from([{}, REPEATING, INSENSITIVE])
SINKS = st.sampled_from(["changelog", "upsert"])


@pytest.mark.parametrize(
    ("source", "node", "required"), [choice[:3] for choice in COLUMNAR], ids=[choice[3] for choice in COLUMNAR]
)
@settings(max_examples=30)
@given(data=st.data(), options=OPTIONS, sink=SINKS)
def test_both_kernels_are_set_up_alike_or_the_only_one_for_any_cut(
    source: Any, node: Node, required: Mapping[str, str], data: st.DataObject, options: Mapping[str, str], sink: str
) -> None:
    step, layout = step_of(source, node, {**options, **required}, sink)
    make = step.columnar.make
    assert make is not None
    kinds = ALL_KINDS if source is CHANGES else INSERTS
    drawn = data.draw(_drawn(layout, kinds, step.uses_time, required is TTL))
    check = check_cuts if step.kernel is None else check_equal
    check(Rules(step.kernel, make, layout, step.uses_time), drawn)


@cache
def _drawn(layout: Layout, kinds: tuple[int, ...], uses_time: bool, has_clock: bool) -> st.SearchStrategy[Given]:
    times = [DDL.split(", ").index("t bigint")] if uses_time else None
    values = st.tuples(*(_values(type_) for type_ in layout.values[0]))
    keys = st.tuples(*map(_values, layout.keys))
    return inputs(keys=keys, rows=values, kinds=kinds, time_at=times, has_clock=has_clock)


def _values(type_: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_list(type_):
        return st.sampled_from([None, [], ["x", None]])
    if pa.types.is_string(type_):
        return st.sampled_from(["a", "b"])
    return st.sampled_from([0.0, 1.5, None]) if pa.types.is_floating(type_) else st.integers(-3, 3)
