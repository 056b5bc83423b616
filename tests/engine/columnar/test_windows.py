"""Columnar window aggregation equals the plain kernels, with late records and for any cut of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import function_named
from engine.columnar.runs import distinct, in_order
from engine.contract.columnar_kernel import Layout
from engine.contract.derived import Derived
from engine.contract.kernel import Input
from engine.contract.operator import InputPlan, StepContext
from engine.contract.step import Keyed
from engine.model.changelog import ALL_CHANGES, INSERT_ONLY, ChangelogMode, ModifyKinds, UpdateKind
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import Timeline
from engine.model.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP
from engine.model.windowing import Windowing, WindowKind
from engine.operators.window_aggregate import WindowAggregate
from engine.windows.attached_kernel import AttachedWindowKernel
from engine.windows.columnar import WindowColumns
from engine.windows.session_kernel import SessionWindowKernel
from engine.windows.sliced_kernel import SlicedWindowKernel
from tests.engine.columnar.equality import ALL_KINDS, INSERTS, Given, Rules, check_equal, inputs
from tests.engine.planning import KnownTypes

LARGE = (1 << 63) - 1
TUMBLE = (Windowing(WindowKind.TUMBLE, 10), Windowing(WindowKind.TUMBLE, 7, offset_ms=-3))
HOP = (
    Windowing(WindowKind.HOP, 12, 4),
    Windowing(WindowKind.HOP, 10, 2, offset_ms=1),
    Windowing(WindowKind.HOP, 5, 5),
    Windowing(WindowKind.HOP, 10, 4, offset_ms=1),
    Windowing(WindowKind.HOP, 3, 7),
)
CUMULATE = (
    Windowing(WindowKind.CUMULATE, 12, 4),
    Windowing(WindowKind.CUMULATE, 10, 2, offset_ms=3),
    Windowing(WindowKind.CUMULATE, 5, 5),
)
SESSION = (Windowing(WindowKind.SESSION, 3), Windowing(WindowKind.SESSION, 11))

ROW: tuple[pa.DataType, ...] = (pa.int64(), pa.int32(), pa.bool_(), pa.string(), pa.date32())
KEYS = st.tuples(st.sampled_from(["a", "b", None]))
TIMES = st.integers(-25, 60)
VALUES = st.one_of(st.none(), st.integers(-4, 4), st.sampled_from([2**31 - 1, -(2**31)]))
LONGS = st.one_of(st.none(), st.integers(-4, 4), st.sampled_from([LARGE, -LARGE - 1]))
CONDITIONS = st.booleans()
TEXTS = st.sampled_from(["x", "y", None])

COUNT, SUM, AVG, MIN, MAX = map(function_named, ("COUNT", "SUM", "AVG", "MIN", "MAX"))
CALLS: Sequence[tuple[AggregateCall, pa.DataType]] = (
    (AggregateCall(COUNT), pa.int64()),
    (AggregateCall(COUNT, filter=2), pa.int64()),
    (AggregateCall(COUNT, 3, STRING), pa.int64()),
    (AggregateCall(COUNT, 1, INT), pa.int64()),
    (AggregateCall(SUM, 1, INT), pa.int32()),
    (AggregateCall(SUM, 4, BIGINT, filter=2), pa.int64()),
    (AggregateCall(SUM, 4, BIGINT), pa.int64()),
    (AggregateCall(AVG, 4, BIGINT), pa.int64()),
    (AggregateCall(AVG, 1, INT), pa.int32()),
)
EXTREMES: Sequence[tuple[AggregateCall, pa.DataType]] = (
    (AggregateCall(MIN, 1, INT), pa.int32()),
    (AggregateCall(MAX, 1, INT, distinct=True), pa.int32()),
    (AggregateCall(MAX, 4, BIGINT, filter=2), pa.int64()),
    (AggregateCall(MIN, 4, BIGINT), pa.int64()),
)


def layout_of(times: int, results: Sequence[pa.DataType], *, bounds: int = 2) -> Layout:
    """The layout of a kernel. times: the number of time columns before the columns of the calls."""
    values = (*[pa.int64()] * times, pa.int32(), pa.bool_(), pa.string(), pa.int64())
    return Layout((pa.string(),), (values,), (pa.string(), *[pa.int64()] * bounds, *results), rank=3)


def rules(
    windowing: Windowing, calls: Sequence[tuple[AggregateCall, pa.DataType]], *, retracting: bool, window_time: bool
) -> Rules:
    plain = [call for call, _ in calls]
    settings: dict[str, Any] = {"retracting": retracting, "window_time": window_time}
    kernel = SessionWindowKernel if windowing.kind is WindowKind.SESSION else SlicedWindowKernel
    return Rules(
        lambda: kernel(windowing, plain, **settings),
        lambda layout: WindowColumns(windowing, plain, layout, **settings),
        layout_of(1, [type_ for _, type_ in calls], bounds=3 if window_time else 2),
        uses_time=True,
    )


def some(calls: Sequence[tuple[AggregateCall, pa.DataType]]) -> st.SearchStrategy[Any]:
    return st.lists(st.sampled_from(calls), max_size=4)


KEEPS, AHEAD = st.booleans(), st.sampled_from([0, 0, 8])


@st.composite
def with_jumps(draw: st.DrawFn, drawn: st.SearchStrategy[Given]) -> Given:
    """The same records with a watermark that skips some rises, or that is ahead of its records."""
    given_ = draw(drawn)
    line = given_.timeline
    keep = np.array([draw(KEEPS) for _ in line.seqs], dtype=bool)
    ahead = draw(AHEAD)
    marks = [mark if mark > 1 << 60 else mark + ahead for mark in line.marks.tolist()]
    steps = [step for step, stays in zip(zip(line.seqs.tolist(), marks, strict=True), keep, strict=True) if stays]
    return replace(given_, timeline=Timeline.of(steps))


RECORDS = st.tuples(TIMES, VALUES, CONDITIONS, TEXTS, LONGS)


# Small values: with retractions of absent rows, an average may become too large for its type.
SMALL = st.tuples(TIMES, st.one_of(st.none(), st.integers(-4, 4)), CONDITIONS, TEXTS, st.integers(-9, 9))


def drawn(rows: Any = RECORDS, kinds: Sequence[int] = INSERTS) -> st.SearchStrategy[Given]:
    return with_jumps(inputs(keys=KEYS, rows=rows, kinds=kinds, time_at=[0]))


@pytest.mark.parametrize("windowings", [TUMBLE, HOP, CUMULATE, SESSION], ids=["tumble", "hop", "cumulate", "session"])
def test_windows_of_rows_that_only_come(windowings: Sequence[Windowing]) -> None:
    @given(drawn(), st.sampled_from(windowings), some([*CALLS, *EXTREMES]), st.booleans())
    def check(given_: Given, windowing: Windowing, calls: Any, window_time: bool) -> None:
        check_equal(rules(windowing, calls, retracting=False, window_time=window_time), given_)

    check()


@pytest.mark.parametrize("windowings", [TUMBLE, HOP, CUMULATE, SESSION], ids=["tumble", "hop", "cumulate", "session"])
def test_windows_of_rows_that_are_taken_back(windowings: Sequence[Windowing]) -> None:
    @given(drawn(SMALL, ALL_KINDS), st.sampled_from(windowings), some(CALLS))
    def check(given_: Given, windowing: Windowing, calls: Any) -> None:
        check_equal(rules(windowing, calls, retracting=True, window_time=False), given_)

    check()


# A record's time is its window's end, so that the watermark advances with the windows.
WINDOWS = st.tuples(st.integers(-8, 30), st.integers(1, 9)).map(lambda found: (found[0], found[0] + found[1]))
ATTACHED = st.tuples(WINDOWS, VALUES, CONDITIONS, TEXTS, LONGS).map(lambda row: (*row[0], *row[1:]))
ATTACHED_CALLS = tuple(
    (
        AggregateCall(
            call.function,
            None if call.argument is None else call.argument + 1,
            call.type,
            filter=None if call.filter is None else call.filter + 1,
        ),
        type_,
    )
    for call, type_ in (*CALLS, *EXTREMES)
)


@given(with_jumps(inputs(keys=KEYS, rows=ATTACHED, time_at=[1])), some(ATTACHED_CALLS), st.booleans())
def test_windows_that_rows_have_already(given_: Given, calls: Any, window_time: bool) -> None:
    plain = [call for call, _ in calls]
    layout = layout_of(2, [type_ for _, type_ in calls], bounds=3 if window_time else 2)
    settings: dict[str, Any] = {"retracting": False, "window_time": window_time}
    rules_ = Rules(
        lambda: AttachedWindowKernel(plain, **settings),
        lambda layout: WindowColumns(None, plain, layout, **settings),
        layout,
        uses_time=True,
    )
    check_equal(rules_, given_)


@given(with_jumps(inputs(keys=st.just(()), rows=RECORDS, time_at=[0])), some([*CALLS, *EXTREMES]))
def test_windows_without_a_key(given_: Given, calls: Any) -> None:
    with_key = rules(TUMBLE[0], calls, retracting=False, window_time=False)
    layout = replace(with_key.layout, keys=(), output=with_key.layout.output[1:])
    check_equal(replace(with_key, layout=layout), given_)


def test_one_key_over_windows_chunks_and_epochs() -> None:
    """Records of one window arrive in several chunks and epochs; the last epoch fires windows without any record."""
    row = (None, True, None, None)
    records = [Input(seq, 0, (time, *row)) for seq, time in enumerate([1, 2, 11, 3, 12, 25, 4, 26], 1)]
    line = Timeline.of([(3, 5), (6, 12), (10, 40)])
    given_ = Given(tuple((("a",), record) for record in records), line, (2, 8), (1, 2))
    found = check_equal(rules(TUMBLE[0], CALLS[:1], retracting=False, window_time=False), given_)
    assert [(record.seq, record.row) for record in found.emitted] == [
        (6, ("a", 0, 10_000, 3)),
        (10, ("a", 10_000, 20_000, 2)),
        (10, ("a", 20_000, 30_000, 2)),
    ]
    assert [(late.seq, late.lateness_ms) for late in found.lates] == [(7, 3)]
    assert found.fired == {(6, 0, 10), (10, 10, 20), (10, 20, 30)}


@pytest.mark.parametrize("windowing", [TUMBLE[0], HOP[1], CUMULATE[1]], ids=["tumble", "hop", "cumulate"])
def test_many_keys_share_their_windows(windowing: Windowing) -> None:
    random = Random(7)
    records, line, top = [], [], 0
    for seq in range(1, 1_200):
        time = seq // 20 + random.randint(-12, 6)
        row = (time, random.randint(-9, 9), True, "x", random.randint(-9, 9))
        records.append(((f"key {random.randint(0, 30)}",), Input(seq, 0, row)))
        top = max(top, time - 5)
        line.append((seq, top))
    given_ = Given(tuple(records), Timeline.of([*line, (1_200, LARGE)]), (250, 251, 700), (97, 13))
    found = check_equal(rules(windowing, (*CALLS, *EXTREMES), retracting=False, window_time=False), given_)
    assert len(found.emitted) > 150
    assert found.lates


@pytest.mark.parametrize("span", [1, 1 << 40], ids=["as they are", "as ranks"])
def test_rows_in_the_order_of_several_columns(span: int) -> None:
    random = Random(3)
    columns = [np.array([random.randint(0, 4) * (span if at else 1) for _ in range(300)]) for at in range(3)]
    order, runs = in_order(*columns)
    assert order is not None
    rows = [tuple(int(column[place]) for column in columns) for place in order]
    assert rows == sorted(rows)
    assert [rows[start] for start in runs.starts] == sorted(set(rows))
    assert in_order(*[column[order] for column in columns])[0] is None
    assert list(zip(*map(np.ndarray.tolist, distinct(*columns)), strict=True)) == sorted(set(rows))


INPUT = Schema(
    (
        Column("k", STRING),
        Column("v", INT),
        Column("x", DOUBLE),
        Column("rt", TIMESTAMP, time=TimeUnit.TIMESTAMP),
    )
)
SUMS = ({"function": "COUNT"}, {"function": "SUM", "argument": "v"})
LARGEST = ({"function": "MAX", "argument": "rt"},)


def planned(modify: ModifyKinds = INSERT_ONLY, **fields: Any) -> Keyed:
    """The plan of ten-second windows over the columns above."""
    operator = WindowAggregate.model_validate({"group_by": ["k"], **({"size_ms": 10_000} | fields)})
    given_ = Derived(INPUT, modify)
    derived = operator.derive("w", (given_,), KnownTypes())
    mode = ChangelogMode.of(modify, UpdateKind.BEFORE_AND_AFTER if modify != INSERT_ONLY else UpdateKind.NONE)
    inputs_ = (InputPlan("source", given_, mode),)
    step = operator.step(StepContext("w", 1, inputs_, ChangelogMode.of(INSERT_ONLY, UpdateKind.NONE), derived))
    return step


CHOSEN = [
    {"aggregates": SUMS},
    {"aggregates": SUMS, "window_time": True, "offset_ms": 3_000},
    {"kind": "hop", "slide_ms": 5_000, "aggregates": SUMS, "offset_ms": 1_000},
    {"kind": "cumulate", "step_ms": 2_000, "aggregates": SUMS},
    {"kind": "session", "size_ms": None, "gap_ms": 2_000, "aggregates": SUMS},
    {"modify": ALL_CHANGES, "aggregates": SUMS},
]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"aggregates": SUMS}, "columnar: tumbling windows, COUNT and SUM of integers"),
        ({"aggregates": SUMS[:1]}, "columnar: tumbling windows, COUNT"),
        ({"aggregates": LARGEST}, "columnar: tumbling windows, MAX of integers and times"),
        ({"kind": "hop", "slide_ms": 5_000}, "columnar: hopping windows"),
        ({"kind": "cumulate", "step_ms": 5_000}, "columnar: cumulating windows"),
        ({"allowed_lateness_ms": 1}, "record by record: allowed lateness keeps windows open after they fired"),
        ({"early_fire_each_record": True}, "record by record: windows that fire early replace what was emitted before"),
        (
            {"kind": "session", "size_ms": None, "gap_ms": 5},
            "columnar: sessions, compiled if there are many records",
        ),
        (
            {"aggregates": ({"function": "SUM", "argument": "x"},)},
            "record by record: SUM of DOUBLE has no columnar kernel",
        ),
        (
            {"aggregates": ({"function": "COUNT", "argument": "v", "distinct": True},)},
            "record by record: COUNT DISTINCT keeps all values",
        ),
        (
            {"modify": ALL_CHANGES, "aggregates": LARGEST},
            "record by record: MAX with retraction keeps all values",
        ),
        ({"modify": ALL_CHANGES, "aggregates": SUMS}, "columnar: tumbling windows, COUNT and SUM of integers"),
    ],
)
def test_the_planner_chooses_by_windows_and_calls(fields: dict[str, Any], why: str) -> None:
    chosen = planned(**fields).columnar
    assert chosen.why == why
    assert (chosen.make is not None) == why.startswith("columnar")


@pytest.mark.parametrize("fields", CHOSEN)
def test_both_kernels_are_set_up_alike(fields: dict[str, Any]) -> None:
    step = planned(**fields)
    assert step.columnar.make is not None
    rows = st.tuples(st.integers(-50, 90).map(lambda time: time * 500), st.one_of(st.none(), st.integers(-9, 9)))
    bounds = 3 if "window_time" in fields else 2
    output = (pa.string(), *[pa.int64()] * bounds, pa.int64(), pa.int32())
    both = Rules(
        step.kernel, step.columnar.make, Layout((pa.string(),), ((pa.int64(), pa.int32()),), output), uses_time=True
    )

    @given(inputs(keys=KEYS, rows=rows, kinds=ALL_KINDS if "modify" in fields else INSERTS, time_at=[0]))
    def check(given_: Given) -> None:
        check_equal(both, given_)

    check()


def test_what_the_planner_makes_has_a_state_of_plain_columns() -> None:
    chosen = planned(aggregates=SUMS).columnar
    assert chosen.make is not None
    kernel = chosen.make(layout_of(1, [pa.int64(), pa.int32()]))
    assert kernel.state_schema.names == ["end_ms", "origin_seq", "origin_step", "part0", "part1", "part2"]
