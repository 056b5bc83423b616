"""Interval joins come to the same for any cut of the input, and compiled to what they come to interpreted."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.columnar.rules import _writable, rule_of
from engine.contract.columnar_kernel import Layout
from engine.joins import interval_kernel
from engine.joins.interval_kernel import IntervalJoinKernel
from engine.joins.sides import JoinKind
from engine.joins.within_interval import met_within
from engine.model.row import Row
from tests.engine.columnar.equality import Given, Rules, check_cuts, inputs
from tests.engine.columnar.test_windows import with_jumps

ROW = st.tuples(st.integers(-25, 60), st.one_of(st.none(), st.integers(-5, 5)))
SIDE = (pa.int64(), pa.int64())
LAYOUT = Layout((pa.string(),), (SIDE, SIDE), (pa.int64(), pa.int64()), rank=3)
KEYS = st.tuples(st.sampled_from(["a", "b", None]))
GIVEN = with_jumps(inputs(keys=KEYS, rows=[ROW, ROW], time_at=[0, 0]))
KINDS = st.sampled_from([kind for kind in JoinKind if not kind.is_left_only])
INTERVALS = st.sampled_from([(-4, 4), (-9, 0), (0, 0), (3, 12), (-12, -3)])
CLEAN_UP_MS = st.sampled_from([0, 7])


def less(pair: Row) -> bool | None:
    return None if None in pair else pair[0] <= pair[1]


def rules(kind: JoinKind, interval: tuple[int, int], clean_up_ms: int, *, has_condition: bool = False) -> Rules:
    make = partial(IntervalJoinKernel, kind, *interval, (lambda: less) if has_condition else None, clean_up_ms)
    return Rules(None, make, LAYOUT, uses_time=True)


@settings(max_examples=60)
@given(GIVEN, KINDS, INTERVALS, CLEAN_UP_MS, st.booleans())
def test_any_cut_comes_to_the_same(
    given_: Given, kind: JoinKind, interval: tuple[int, int], clean_up_ms: int, has_condition: bool
) -> None:
    check_cuts(rules(kind, interval, clean_up_ms, has_condition=has_condition), given_)


def test_compiled_is_what_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = rule_of(met_within).compiled(waits=True)
    assert compiled is not None

    def both(*arguments: Any) -> Any:
        found = compiled(*map(_writable, arguments))
        for one, other in zip(found, rule_of(met_within).interpreted(*arguments), strict=True):
            assert one.tolist() == other.tolist()
        return found

    monkeypatch.setattr(interval_kernel, "met_within", both)

    @settings(max_examples=60)
    @given(GIVEN, INTERVALS, CLEAN_UP_MS)
    def check(given_: Given, interval: tuple[int, int], clean_up_ms: int) -> None:
        check_cuts(rules(JoinKind.FULL, interval, clean_up_ms), given_)

    check()
