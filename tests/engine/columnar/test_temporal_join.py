"""Temporal joins come to the same for any cut of the input, and compiled to what they come to interpreted."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.columnar.rules import _writable, rule_of
from engine.contract.columnar_kernel import Layout
from engine.joins import temporal_kernel
from engine.joins.sides import JoinKind
from engine.joins.temporal_kernel import TemporalJoinKernel
from engine.joins.versions_in_time import dated
from engine.model.row import Row
from tests.engine.columnar.equality import ALL_KINDS, Given, Rules, check_cuts, inputs
from tests.engine.columnar.test_windows import with_jumps

ROW = st.tuples(st.integers(-25, 60), st.one_of(st.none(), st.integers(-5, 5)))
SIDE = (pa.int64(), pa.int64())
LAYOUT = Layout((pa.string(),), (SIDE, SIDE), SIDE, rank=3)
KEYS = st.tuples(st.sampled_from(["a", "b", None]))
GIVEN = with_jumps(inputs(keys=KEYS, rows=[ROW, ROW], kinds=ALL_KINDS, time_at=[0, 0]))


def less(pair: Row) -> bool | None:
    return None if None in pair else pair[0] <= pair[1]


def rules(kind: JoinKind, *, has_condition: bool = False) -> Rules:
    make = partial(TemporalJoinKernel, kind, (lambda: less) if has_condition else None)
    return Rules(None, make, LAYOUT, uses_time=True)


@settings(max_examples=60)
@given(GIVEN, st.sampled_from([JoinKind.LEFT, JoinKind.INNER]), st.booleans())
def test_any_cut_comes_to_the_same(given_: Given, kind: JoinKind, has_condition: bool) -> None:
    check_cuts(rules(kind, has_condition=has_condition), given_)


def test_compiled_is_what_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = rule_of(dated).compiled(waits=True)
    assert compiled is not None

    def both(*arguments: Any) -> Any:
        found = compiled(*map(_writable, arguments))
        for one, other in zip(found, rule_of(dated).interpreted(*arguments), strict=True):
            assert one.tolist() == other.tolist()
        return found

    monkeypatch.setattr(temporal_kernel, "dated", both)

    @settings(max_examples=60)
    @given(GIVEN)
    def check(given_: Given) -> None:
        check_cuts(rules(JoinKind.LEFT), given_)

    check()
