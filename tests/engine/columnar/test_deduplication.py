"""Deduplication on whole batches equals the plain kernels."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.deduplication.columnar import KeepFirstColumns, KeepLastColumns, RowTimeColumns
from engine.deduplication.columnar_first_row import RowTimeKeepFirstColumns
from engine.deduplication.kernels import (
    KeepFirstKernel,
    KeepLastKernel,
    KeepLastOnChangelogKernel,
    RowTimeKeepFirstKernel,
    RowTimeKernel,
)
from tests.engine.columnar.equality import ALL_KINDS, Given, Rules, check_equal, inputs

KEYS = st.tuples(st.sampled_from(["a", "b", None]))
VALUES = st.tuples(
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]), st.sampled_from(["x", "", None]), st.integers(-2, 12)
)
TYPES = (pa.float64(), pa.string(), pa.int64())
BOOLS = st.booleans()
INPUTS = inputs(keys=KEYS, rows=VALUES)


@given(given=INPUTS, width=st.sampled_from([2, 3]), keep_last=BOOLS, update_before=BOOLS, tell_insert=BOOLS)
def test_by_event_time(given: Given, width: int, keep_last: bool, update_before: bool, tell_insert: bool) -> None:
    rule = {"keep_last": keep_last, "update_before": update_before, "tell_insert": tell_insert}
    rules = Rules(
        lambda: RowTimeKernel(2, width, **rule),
        lambda layout: RowTimeColumns(layout, 2, width, **rule),
        Layout((pa.string(),), (TYPES,), TYPES[:width]),
    )
    check_equal(rules, given)


@given(given=INPUTS)
def test_the_first_by_arrival(given: Given) -> None:
    check_equal(Rules(KeepFirstKernel, KeepFirstColumns, Layout((pa.string(),), (TYPES,), TYPES)), given)


@given(given=INPUTS, update_before=BOOLS, tell_insert=BOOLS, repeat=BOOLS)
def test_the_last_by_arrival(given: Given, update_before: bool, tell_insert: bool, repeat: bool) -> None:
    rule = {"update_before": update_before, "tell_insert": tell_insert, "repeat": repeat}
    rules = Rules(
        lambda: KeepLastKernel(**rule),
        lambda layout: KeepLastColumns(layout, **rule),
        Layout((pa.string(),), (TYPES,), TYPES),
    )
    check_equal(rules, given)


@given(given=inputs(keys=KEYS, rows=VALUES, kinds=ALL_KINDS), update_before=BOOLS, repeat=BOOLS)
def test_the_last_of_a_changelog(given: Given, update_before: bool, repeat: bool) -> None:
    rule = {"update_before": update_before, "tell_insert": True, "repeat": repeat}
    rules = Rules(
        lambda: KeepLastOnChangelogKernel(**rule),
        lambda layout: KeepLastColumns(layout, **rule, on_changelog=True),
        Layout((pa.string(),), (TYPES,), TYPES),
    )
    check_equal(rules, given)


@given(given=inputs(keys=KEYS, rows=VALUES, time_at=[2]), width=st.sampled_from([2, 3]), rank=st.sampled_from([1, 300]))
def test_the_first_by_event_time_when_complete(given: Given, width: int, rank: int) -> None:
    rules = Rules(
        lambda: RowTimeKeepFirstKernel(2, width),
        lambda layout: RowTimeKeepFirstColumns(layout, 2, width),
        Layout((pa.string(),), (TYPES,), TYPES[:width], rank),
        uses_time=True,
    )
    check_equal(rules, given)
