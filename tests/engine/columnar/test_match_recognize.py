"""MATCH_RECOGNIZE comes to the same for any cut of the input, compiled or interpreted, its conditions called or not."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import function_named
from engine.columnar.rules import _writable, rule_of
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input, Key
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import BIGINT, DOUBLE, STRING, Decimal, Type
from engine.patterns import kernel as patterns
from engine.patterns.after_match import AfterMatch, Skip
from engine.patterns.conditions import MatchCondition
from engine.patterns.in_time import matched
from engine.patterns.kernel import MatchKernel
from engine.patterns.pattern import variables_of
from engine.patterns.programs import Program
from engine.patterns.values import AggregateValue, MatchTime, RowValue, Value
from engine.ranking.sort_keys import SortColumn
from tests.engine.columnar.equality import Given, Rules, _shown, check_cuts, run_columnar

V, TEXT, FLOAT = 1, 2, 3
TYPES = (pa.int64(), pa.int64(), pa.string(), pa.float64())


def given_of(seed: int) -> Given:
    """Records of two keys, most of them in order, with cuts. Drawn at random, since few choices of a list match."""
    draw = random.Random(seed)
    records: list[tuple[Key, Input]] = []
    marks: list[tuple[int, int]] = []
    seq, time, delay = 0, 0, draw.choice([0, 1, 5])
    for _ in range(draw.randrange(6, 30)):
        seq, time = seq + draw.choice([1, 1, 2]), time + draw.randrange(3)
        at = time - draw.choice([0, 0, 1, 3])
        number = draw.choice([0.5, 0.0, -0.0, None, float("nan")]) if draw.random() < 0.3 else draw.choice([0.0, 1.0])
        row = (at, draw.choice([0, 1, 2, 3, 4, None]), draw.choice(["x", "yy", None]), number)
        records.append(((draw.choice(["a", None]),), Input(seq, 0, row, 0, draw.choice([b"", b"\x01"]))))
        if draw.random() < 0.7:
            marks.append((seq, at - delay))
    timeline = Timeline.of([*marks, (seq + 1, MAX_WATERMARK)])
    cuts = draw.sample(range(1, seq), draw.randrange(4))
    return Given(tuple(records), timeline, tuple(sorted(cuts)), draw.choice([(), (1,), (2, 5)]))


GIVEN = st.builds(given_of, st.integers(0, 1 << 32))
PATTERNS = ("A B+ C", "A+ B{0,2}? C", "A+? B? C{1,3}?", "A B* C", "A* B C{2}", "A{1,2} B C", "A? B+? C")
SUM = AggregateValue(0, AggregateCall(function_named("SUM"), V, BIGINT))
CONDITIONS: dict[str, tuple[str, Type, tuple[Value, ...]]] = {
    "the row alone": ("`__r0` > 1 OR `__r0` IS NULL", BIGINT, (RowValue(1, V),)),
    "the last row of another variable": ("`__r0` <= `__r1`", BIGINT, (RowValue(1, V), RowValue(0, V))),
    "rows before": (
        "NOT `__r0` < COALESCE(`__r1`, 2) AND `__r0` + `__r2` * 2 > 5 - `__r1`",
        BIGINT,
        (RowValue(1, V), RowValue(1, V, offset=1), RowValue(0, V)),
    ),
    "the first row": (
        "`__r0` BETWEEN `__r1` AND 3 AND `__r2` IS NOT DISTINCT FROM `__r1` OR `__r0` IN (2, `__r1`)",
        BIGINT,
        (RowValue(1, V), RowValue(0, V), RowValue(None, V, is_first=True)),
    ),
    "texts": ("`__r0` >= `__r1`", STRING, (RowValue(1, TEXT), RowValue(None, TEXT, offset=1))),
    "floats": ("`__r0` <> `__r1`", DOUBLE, (RowValue(1, FLOAT), RowValue(0, FLOAT, is_first=True, missing=FLOAT))),
    "a sum": ("`__r0` <= `__r1`", BIGINT, (RowValue(1, V), SUM)),
}
MEASURES: tuple[Value, ...] = (
    RowValue(0, V),
    RowValue(1, V, offset=1),
    RowValue(2, TEXT),
    RowValue(None, V, is_first=True),
    RowValue(1, V, is_first=True, missing=V),
    MatchTime(),
    SUM,
)
OUTPUT = (pa.string(), pa.int64(), pa.int64(), pa.string(), *([pa.int64()] * 4))


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    text, type_, values = CONDITIONS[draw(st.sampled_from(sorted(CONDITIONS)))]
    conditions = [
        MatchCondition(0, "`__r0` > 1", (BIGINT,), (RowValue(0, V),)),
        MatchCondition(1, text, (type_,) * len(values), values),
        draw(
            st.sampled_from(
                [
                    None,
                    MatchCondition(2, "`__r0` <> COALESCE(`__r1`, 0)", (BIGINT,) * 2, (RowValue(2, V), RowValue(1, V))),
                ]
            )
        ),
    ]
    after = draw(st.sampled_from([AfterMatch(), AfterMatch(Skip.TO_NEXT_ROW), AfterMatch(Skip.TO_LAST, 2, "C")]))
    order = draw(st.sampled_from([(), (SortColumn(V),), (SortColumn(TEXT, descending=True),)]))
    by_arrival = draw(st.booleans()) and not order
    within_ms = 0 if by_arrival else draw(st.sampled_from([0, 3, 20]))
    make = partial(
        MatchKernel,
        variables_of(draw(st.sampled_from(PATTERNS))),
        conditions,
        MEASURES,
        after,
        within_ms,
        order,
        by_arrival,
    )
    return Rules(None, make, Layout((pa.string(),), (TYPES,), OUTPUT, rank=3), uses_time=not by_arrival)


@settings(max_examples=30)
@given(rules(), GIVEN)
def test_any_cut_comes_to_the_same(rules_: Rules, given_: Given) -> None:
    check_cuts(rules_, given_)


@settings(max_examples=30)
@given(rules(), GIVEN)
def test_conditions_as_functions_come_to_the_same(rules_: Rules, given_: Given) -> None:
    def with_functions(layout: Layout) -> MatchKernel:
        kernel: MatchKernel = rules_.columnar(layout)  # type: ignore[assignment]
        kernel.programs = [None if one is None else "called" for one in kernel.conditions]
        return kernel

    called = Rules(None, with_functions, rules_.layout, rules_.uses_time)
    assert _shown(run_columnar(called, given_).emitted) == _shown(run_columnar(rules_, given_).emitted)


def test_what_does_not_fit_into_integers_is_called() -> None:
    def fits(text: str, *types: Type) -> Program | str:
        return MatchCondition(0, text, types, tuple(RowValue(0, at) for at in range(len(types)))).program()

    assert isinstance(fits("`__r0` < `__r1`", Decimal(10, 2), Decimal(10, 2)), Program)
    assert fits("`__r0` < `__r1`", Decimal(10, 2), Decimal(10, 3)) == "it compares values of different types"
    assert fits("`__r0` + 1 < `__r1`", DOUBLE, DOUBLE) == "it computes with values of type DOUBLE"
    assert fits("`__r0` LIKE 'a%'", STRING) == "LIKE is more than a comparison"
    product = fits("`__r0` * `__r1` > 0", BIGINT, BIGINT)
    assert isinstance(product, Program)
    assert product.fits({0: 1 << 31, 1: 1 << 30})
    assert not product.fits({0: 1 << 32, 1: 1 << 32})


def test_the_compiled_rule_comes_to_what_it_comes_to_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    rule = rule_of(matched)
    compiled = rule.compiled(waits=True)
    assert compiled is not None
    matches = 0

    def both(*arguments: Any) -> Any:
        nonlocal matches
        interpreted = rule.interpreted(*arguments)
        if arguments[-1] is None:
            found = compiled(*map(_writable, arguments))
            for one, other in zip(found, interpreted, strict=True):
                np.testing.assert_array_equal(one, other)
            matches += len(interpreted[3])
        return interpreted

    monkeypatch.setattr(patterns, "matched", both)

    @settings(max_examples=30)
    @given(rules(), GIVEN)
    def check(rules_: Rules, given_: Given) -> None:
        run_columnar(rules_, given_)

    check()
    assert matches > 10
