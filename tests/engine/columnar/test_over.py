"""Over aggregation comes to the same for any cut of the input, and compiled to what it comes to interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.aggregates import over
from engine.aggregates.function import AggregateCall
from engine.aggregates.over import FrameOf, OverKernel
from engine.aggregates.over_frames import framed, largest_in_frames
from engine.aggregates.registry import function_named
from engine.columnar.rules import _writable, rule_of
from engine.contract.columnar_kernel import Layout
from engine.model.type_texts import spark_type
from engine.model.types import DOUBLE
from engine.operators.sort import SortKernel
from engine.ranking.sort_keys import SortColumn
from tests.engine.columnar.equality import Given, Rules, check_cuts, inputs, run_columnar
from tests.engine.columnar.test_windows import with_jumps

ROWS = st.tuples(
    st.integers(-25, 60),
    st.one_of(st.none(), st.integers(-5, 5)),
    st.sampled_from([0.1, 1e17, -1e17, 3.0]),
    st.booleans(),
)
TYPES = (pa.int64(), pa.int64(), pa.float64(), pa.bool_())
GIVEN = with_jumps(inputs(keys=st.tuples(st.sampled_from(["a", "b", None])), rows=ROWS, time_at=[0]))
FRAMES = {
    "all rows": FrameOf(),
    "all peers": FrameOf(peers=True),
    "two rows back": FrameOf(2, judges_by_emitted=True),
    "five ms back": FrameOf(None, 5, peers=True, judges_by_emitted=True),
}


def call(name: str, argument: int | None = 1, type_: str = "bigint", where: int | None = None) -> AggregateCall:
    return AggregateCall(function_named(name), argument, spark_type(type_), filter=where)


COLUMNAR = [call("SUM"), call("COUNT", None), call("MIN"), call("MAX", where=3), call("AVG"), call("SUM", where=3)]
BY_ROW = [call("FIRST_VALUE"), call("LAST_VALUE"), call("SUM", 2, "double"), *COLUMNAR[1:4]]


def rules(calls: Sequence[AggregateCall], frame: FrameOf, time_at: int | None = 0) -> Rules:
    results = [pa.float64() if each.type == DOUBLE else pa.int64() for each in calls]
    layout = Layout((pa.string(),), (TYPES,), (*TYPES[:3], *results), rank=3)
    return Rules(None, partial(OverKernel, calls, 3, time_at, frame), layout, uses_time=True)


@pytest.mark.parametrize("frame", FRAMES)
@settings(max_examples=40)
@given(GIVEN, st.booleans(), st.booleans())
def test_any_cut_comes_to_the_same(frame: str, given_: Given, by_row: bool, by_time: bool) -> None:
    calls = BY_ROW if by_row else COLUMNAR
    check_cuts(rules(calls, FRAMES[frame], 0 if by_time else None), given_)


@pytest.mark.parametrize("frame", FRAMES)
@settings(max_examples=25)
@given(GIVEN, st.booleans())
def test_what_has_columns_comes_to_the_same_row_by_row(frame: str, given_: Given, by_time: bool) -> None:
    time_at = 0 if by_time else None
    many, each = (run_columnar(rules(calls, FRAMES[frame], time_at), given_) for calls in (COLUMNAR, BY_ROW))
    assert [out.row[4:7] for out in many.emitted] == [out.row[6:9] for out in each.emitted]


@settings(max_examples=40)
@given(GIVEN, st.booleans())
def test_sorted_rows(given_: Given, descending: bool) -> None:
    order = (SortColumn(1, descending=descending), SortColumn(2, is_float=True))
    layout = Layout((pa.string(),), (TYPES,), TYPES, rank=3)
    check_cuts(Rules(None, partial(SortKernel, 4, 0, order), layout, uses_time=True), given_)


@pytest.mark.parametrize("frame", FRAMES)
def test_compiled_is_what_is_interpreted(frame: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = rule_of(framed).compiled(waits=True)
    assert compiled is not None

    def both(*arguments: Any) -> Any:
        found = compiled(*map(_writable, arguments))
        for one, other in zip(found, rule_of(framed).interpreted(*arguments), strict=True):
            assert one.dtype == other.dtype == np.int64
            assert one.tolist() == other.tolist()
        return found

    monkeypatch.setattr(over, "framed", both)

    @settings(max_examples=40)
    @given(GIVEN)
    def check(given_: Given) -> None:
        check_cuts(rules(COLUMNAR, FRAMES[frame]), given_)

    check()


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_the_largest_of_each_frame(given_: list[tuple[int, bool, int, int]]) -> None:
    values, counts = (np.array([each[at] for each in given_], np.int64) for at in (0, 1))
    untils = np.minimum(np.arange(len(given_)) + np.array([each[2] for each in given_], np.int64), len(given_) - 1)
    untils = np.maximum.accumulate(untils)
    froms = np.maximum.accumulate(np.maximum(np.arange(len(given_)) - [each[3] for each in given_], 0).astype(np.int64))
    compiled = rule_of(largest_in_frames).compiled(waits=True)
    assert compiled is not None
    best = largest_in_frames(values, counts, froms, untils).tolist()
    assert compiled(values, counts, froms, untils).tolist() == best
    for place, start, end in zip(best, froms.tolist(), untils.tolist(), strict=True):
        seen = [(values[at], at) for at in range(start, end + 1) if counts[at]]
        assert place == max(seen, default=(0, -1))[1]
