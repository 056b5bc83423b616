"""Deduplication on whole batches equals that record by record."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import End
from engine.deduplication.columnar import KeepFirstColumns, KeepLastColumns, RowTimeColumns
from engine.deduplication.columnar_first_row import RowTimeKeepFirstColumns
from engine.deduplication.kernels import RowTimeKeepFirstKernel
from engine.mini_batch.kernels import BundledColumns, every
from tests.engine.columnar.equality import ALL_KINDS, Given, Rules, check_equal, inputs, run_columnar
from tests.engine.columnar.one_row_per_key import (
    KeepFirstKernel,
    KeepLastKernel,
    KeepLastOnChangelogKernel,
    RowTimeKernel,
)

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


LISTS = st.tuples(st.lists(st.sampled_from([None, 1, 2]), max_size=2), st.sampled_from([None, (1, "x"), (1, "y")]))
NESTED = (pa.list_(pa.int64()), pa.struct([("a", pa.int64()), ("b", pa.string())]))


@given(given=inputs(keys=KEYS, rows=LISTS, kinds=ALL_KINDS), on_changelog=BOOLS)
def test_nested_rows_are_compared_by_content(given: Given, on_changelog: bool) -> None:
    rule = {"update_before": True, "tell_insert": True, "repeat": False}
    rules = Rules(
        lambda: KeepLastOnChangelogKernel(**rule) if on_changelog else KeepLastKernel(**rule),
        lambda layout: KeepLastColumns(layout, **rule, on_changelog=on_changelog),
        Layout((pa.string(),), (NESTED,), NESTED),
    )
    check_equal(rules, given)


@given(given=INPUTS, size=st.integers(1, 4))
def test_bundles_that_are_not_folded_change_only_positions(given: Given, size: int) -> None:
    def rule(layout: Layout) -> RowTimeColumns:
        return RowTimeColumns(layout, 2, 3, keep_last=True, update_before=True, tell_insert=True)

    layout = Layout((pa.string(),), (TYPES,), TYPES)
    whole = replace(given, epochs=(), chunks=())
    ends: list[End] = []
    for at in range(len(given.records)):
        last = given.records[min(at // size * size + size, len(given.records)) - 1][1]
        here = list(dict.fromkeys(key for key, _ in given.records[at // size * size :][:size]))
        ends.append(End(last.seq, last.step, here.index(given.records[at][0])))
    items = tuple((key, item._replace(end=end)) for (key, item), end in zip(given.records, ends, strict=True))
    plain = run_columnar(Rules(None, rule, layout), whole)
    bundled = run_columnar(
        Rules(None, partial(BundledColumns, make=rule, fold=every), layout), replace(whole, records=items)
    )
    assert sorted(map(repr, ((e.kind, e.row) for e in bundled.emitted))) == sorted(
        map(repr, ((e.kind, e.row) for e in plain.emitted))
    )
    positions = [(e.seq, e.step) for e in bundled.emitted]
    assert len(set(positions)) == len(positions)
    assert {e.seq for e in bundled.emitted} <= {end.seq for end in ends}
