"""Rows that wait for the end of their windows come to the same for any cut of the input: rankings, joins, sessions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.joins.sides import JoinKind
from engine.model.row import Row
from engine.model.windowing import Windowing, WindowKind
from engine.operators.window_join import WindowJoinKernel
from engine.operators.window_topn import WindowTopNKernel
from engine.ranking.sort_keys import Nulls, SortColumn
from engine.windows.session_rows import SessionRowsKernel
from tests.engine.columnar.equality import ALL_KINDS, Rules, check_cuts, inputs
from tests.engine.columnar.test_windows import with_jumps

WINDOWINGS = (
    Windowing(WindowKind.TUMBLE, 7, offset_ms=-3),
    Windowing(WindowKind.HOP, 12, 4),
    Windowing(WindowKind.HOP, 7, 3),
    Windowing(WindowKind.HOP, 3, 7),
    Windowing(WindowKind.CUMULATE, 12, 4),
    None,
)
KEYS = st.tuples(st.sampled_from(["a", "b", None]))
FLOATS = st.sampled_from([None, 0.0, -0.0, 1.5, float("inf"), float("nan")])
COLUMNS = (st.one_of(st.none(), st.integers(-3, 3)), FLOATS, st.sampled_from(["x", "y", None]))
Types = tuple[pa.DataType, ...]
TYPES: Types = (pa.int64(), pa.float64(), pa.string())
ORDERS = st.lists(
    st.sampled_from(
        [
            SortColumn(0),
            SortColumn(0, descending=True),
            SortColumn(1, descending=True, is_float=True),
            SortColumn(2, nulls=Nulls.LAST),
        ]
    ),
    min_size=1,
    max_size=2,
)


def rows(windowing: Windowing | None, columns: Sequence[Any] = COLUMNS) -> tuple[st.SearchStrategy[Row], int]:
    """The rows of an input, and the place of the time that leads the watermark."""
    if windowing is None:
        return st.tuples(st.sampled_from([0, 5, 10]), st.sampled_from([20, 25]), *columns), 1
    return st.tuples(st.integers(-25, 60), *columns), 0


def layout(windowing: Windowing | None, *ports: Types, shown: Types = TYPES, more: int = 0) -> Layout:
    """ports: the types of each input. shown: those of the inputs' columns in the output."""
    times = (pa.int64(),) * (2 if windowing is None else 1)
    bounds = (pa.int64(),) * (0 if windowing is None else 3)
    output = (*shown, *bounds, *(pa.int64(),) * more)
    return Layout((pa.string(),), tuple((*times, *port) for port in ports), output, rank=3)


@pytest.mark.parametrize("windowing", WINDOWINGS, ids=str)
def test_rankings(windowing: Windowing | None) -> None:
    row, time_at = rows(windowing)

    @settings(max_examples=40)
    @given(with_jumps(inputs(keys=KEYS, rows=row, time_at=[time_at])), ORDERS, st.sampled_from([1, 3]), st.booleans())
    def check(given_: Any, order: list[SortColumn], last: int, later_first: bool) -> None:
        make = partial(WindowTopNKernel, windowing, order, 1, last, with_rank=True, later_first=later_first)
        check_cuts(Rules(None, make, layout(windowing, TYPES, more=1), uses_time=True), given_)

    check()


@settings(max_examples=60)
@given(
    with_jumps(inputs(keys=KEYS, rows=st.tuples(st.integers(-25, 60), *COLUMNS), kinds=ALL_KINDS, time_at=[0])),
    st.sampled_from([3, 11]),
)
def test_rows_of_sessions(given_: Any, gap: int) -> None:
    windowing = Windowing(WindowKind.SESSION, gap)
    make = partial(SessionRowsKernel, windowing)
    check_cuts(Rules(None, make, layout(windowing, TYPES), uses_time=True), given_)


def less(pair: Row) -> bool:
    return (pair[0] or 0) < (pair[-1] or 0)


@pytest.mark.parametrize("windowing", WINDOWINGS, ids=str)
def test_joins(windowing: Windowing | None) -> None:
    left, time_at = rows(windowing)
    right, _ = rows(windowing, COLUMNS[::-1])

    @settings(max_examples=40)
    @given(
        with_jumps(inputs(keys=KEYS, rows=[left, right], time_at=[time_at] * 2)),
        st.sampled_from(JoinKind),
        st.booleans(),
    )
    def check(given_: Any, kind: JoinKind, has_condition: bool) -> None:
        make = partial(WindowJoinKernel, kind, windowing, (lambda: less) if has_condition else None)
        shown = TYPES if kind.is_left_only else (*TYPES, *TYPES[::-1])
        check_cuts(Rules(None, make, layout(windowing, TYPES, TYPES[::-1], shown=shown), uses_time=True), given_)

    check()
