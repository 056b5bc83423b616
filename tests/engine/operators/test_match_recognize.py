"""MATCH_RECOGNIZE on the bare kernel: quantifiers, AFTER MATCH SKIP, WITHIN, equal times, late rows, epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import functions
from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input, Output, Saved, run_key
from engine.errors import StudioError
from engine.model.changelog import INSERT
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import BIGINT, STRING
from engine.patterns.after_match import AfterMatch, Skip
from engine.patterns.conditions import MatchCondition
from engine.patterns.kernel import MatchKernel
from engine.patterns.pattern import variables_of
from engine.patterns.values import AggregateValue, MatchTime, RowValue, Value
from engine.planner import plan
from engine.ranking.sort_keys import SortColumn
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, pipeline_of, plan_of, rows, sql_of

V = 2
"""The index of the value in the rows of the tables: rt, k, v."""


def compares(variable: int, test: str, *others: Value) -> MatchCondition:
    """A comparison of the current value, `__r0`, with others."""
    values = (RowValue(variable, V), *others)
    return MatchCondition(variable, test, (BIGINT,) * len(values), values)


def all_of(variable: int, of: str = "LISTAGG") -> AggregateValue:
    return AggregateValue(variable, AggregateCall(functions()[of], V, STRING if of == "LISTAGG" else BIGINT))


def kernel(
    pattern: str,
    *conditions: MatchCondition,
    measures: Sequence[Value],
    after: AfterMatch | None = None,
    within_ms: int = 0,
    order: Sequence[SortColumn] = (),
    by_arrival: bool = False,
) -> partial[MatchKernel]:
    variables = variables_of(pattern)
    by_variable = {condition.variable: condition for condition in conditions}
    return partial(
        MatchKernel,
        variables,
        [by_variable.get(at) for at in range(len(variables))],
        measures,
        after or AfterMatch(),
        within_ms,
        order,
        by_arrival,
    )


def run(
    made: partial[MatchKernel],
    inputs: Sequence[Input],
    timeline: Timeline | None = None,
    saved: Saved | None = None,
    results: Sequence[pa.DataType] = (),
) -> tuple[Output, Saved | None]:
    """Run one partition of rows rt, k, v. results: the types of the measures, by default BIGINT."""
    line = timeline or Timeline.of([])
    measures = results or [pa.int64()] * len(made.args[2])
    layout = Layout((), ((pa.int64(), pa.string(), pa.int64()),), tuple(measures))
    loop = ChunkLoop(made, layout, line, Output(line))
    left = run_key(loop, inputs, line, (), saved)
    return loop.out, left


PRICES = """
    seq  kind  rt    k  v
    1    +I    1000  a  12
    2    +I    2000  a  17
    3    +I    3000  a  13
    4    +I    4000  a  15
    5    +I    5000  a  14
    6    +I    6000  a  18
    7    wm             MAX
"""
UP_AND_DOWN = (compares(0, "`__r0` > 14"), compares(1, "`__r0` < 14"))
FIRST_AND_LAST = (RowValue(0, V, is_first=True), RowValue(1, V))

test_cases = check_cases(
    [
        Case(
            "a price falls and rises again: a match ends with the row that rises",
            """
                seq  kind  rt    k  v
                1    +I    1000  a  12
                2    +I    2000  b  5
                3    +I    3000  a  11
                4    +I    4000  a  9
                5    +I    5000  b  7
                6    +I    6000  a  10
                7    +I    7000  a  8
                8    wm             MAX
            """,
            """
                seq  kind  k  start  bottom  end
                6    +I    a  12     9       10
            """,
            columnar=kernel(
                "A B+ C",
                compares(1, "`__r0` < COALESCE(`__r1`, `__r2`)", RowValue(1, V, offset=1), RowValue(0, V)),
                compares(2, "`__r0` > `__r1`", RowValue(1, V)),
                measures=(RowValue(0, V), RowValue(1, V), RowValue(2, V)),
            ),
            key=("k",),
            watermark=("rt", 0),
        ),
        Case(
            "a greedy variable keeps its rows from the next one",
            PRICES,
            """
                seq  kind  k  n  last
                4    +I    a  1  13
            """,
            columnar=kernel(
                "A+ B C",
                compares(0, "`__r0` > 14"),
                compares(1, "`__r0` < 14"),
                measures=(all_of(0, "COUNT"), RowValue(1, V)),
            ),
            key=("k",),
            watermark=("rt", 0),
        ),
    ]
)


def matches(made: partial[MatchKernel], values: Sequence[int]) -> list[tuple[object, ...]]:
    """The output for values at 1000, 2000, ... ms."""
    return found([(at * 1000, "a", value) for at, value in enumerate(values, 1)], made)


def found(rows: Sequence[tuple[int, str, int]], made: partial[MatchKernel]) -> list[tuple[object, ...]]:
    """The output for rows after which the source ends."""
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(rows, 1)]
    out, _ = run(made, inputs, Timeline.of([(len(rows) + 1, MAX_WATERMARK)]))
    return [one.row for one in out.emitted]


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("A B C", [(1, 50)]),
        ("A+ B C", [(2, 50)]),
        ("A+? B C", [(2, 50)]),
        ("A* B C", [(2, 50), (0, 60)]),
        ("A? B C", [(1, 50), (0, 60)]),
        ("A{2} B C", [(2, 50)]),
        ("A{2,} B C", [(2, 50)]),
        ("A{0,2} B C", [(2, 50), (0, 60)]),
        ("A{1,2} B C", [(2, 50)]),
        ("A{3,} B C", []),
    ],
)
def test_quantifiers(pattern: str, rows: list[tuple[int, int]]) -> None:
    made = kernel(
        pattern,
        compares(0, "`__r0` > 20"),
        compares(1, "`__r0` < 20"),
        measures=(all_of(0, "COUNT"), RowValue(2, V)),
    )
    assert matches(made, [30, 40, 15, 50, 16, 60, 5]) == rows


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (AfterMatch(), [(15, 13), (16, 12)]),
        (AfterMatch(Skip.TO_NEXT_ROW), [(15, 13), (17, 13), (16, 12)]),
        (AfterMatch(Skip.TO_FIRST, 1, "B"), [(15, 13), (16, 12)]),
        (AfterMatch(Skip.TO_LAST, 1, "B"), [(15, 13), (16, 12)]),
    ],
)
def test_where_the_search_goes_on(after: AfterMatch, expected: list[tuple[int, int]]) -> None:
    made = kernel("A+ B", *UP_AND_DOWN, measures=FIRST_AND_LAST, after=after)
    assert matches(made, [15, 17, 13, 16, 12, 18]) == expected


def test_a_search_that_would_find_the_same_match_for_ever_ends_the_run() -> None:
    made = kernel("A+ B", *UP_AND_DOWN, measures=FIRST_AND_LAST, after=AfterMatch(Skip.TO_FIRST, 0, "A"))
    with pytest.raises(ValueError, match="it is the first row of the match"):
        matches(made, [15, 17, 13])
    made = kernel("A B? C", compares(1, "FALSE"), measures=FIRST_AND_LAST, after=AfterMatch(Skip.TO_LAST, 1, "B"))
    with pytest.raises(ValueError, match="the match has no row of it"):
        matches(made, [12, 17, 13])


@pytest.mark.parametrize(("within_ms", "expected"), [(2000, []), (2001, [(15, 13)]), (0, [(15, 13)])])
def test_a_match_takes_less_time_than_within(within_ms: int, expected: list[tuple[int, int]]) -> None:
    made = kernel("A{2} B", *UP_AND_DOWN, measures=FIRST_AND_LAST, within_ms=within_ms)
    assert matches(made, [15, 17, 13]) == expected


def test_a_complete_match_waits_for_an_older_one_until_that_one_takes_too_long() -> None:
    rows = [(1000, "a", 1), (2000, "a", 5), (3000, "a", 0), (9000, "a", 9)]
    made = kernel(
        "A B* C",
        compares(0, "`__r0` IN (1, 5)"),
        compares(1, "`__r1` = 1", RowValue(0, V)),
        compares(2, "`__r1` = 5", RowValue(0, V)),
        measures=(RowValue(0, V), RowValue(2, V), MatchTime()),
        within_ms=5000,
    )
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(rows, 1)]
    timeline = Timeline.of([(1, 1000), (2, 2000), (3, 3000), (4, 9000), (5, MAX_WATERMARK)])
    out, saved = run(made, inputs, timeline)
    assert [(one.seq, *one.row) for one in out.emitted] == [(4, 5, 0, 9_000_000)]
    assert saved is None


def test_rows_of_one_time_are_in_the_order_that_is_asked_for() -> None:
    rows = [(1000, "a", 1), (1000, "a", 3), (1000, "a", 2)]
    measures = (RowValue(0, V), RowValue(1, V))
    assert found(rows, kernel("A B", measures=measures)) == [(1, 3)]
    ordered = kernel("A B", measures=measures, order=(SortColumn(V),))
    assert found(rows, ordered) == [(1, 2)]


def test_by_arrival_a_match_comes_out_with_its_last_row() -> None:
    made = kernel("A+ B", *UP_AND_DOWN, measures=FIRST_AND_LAST, by_arrival=True)
    inputs = [Input(seq, INSERT, (0, "a", v)) for seq, v in enumerate([15, 17, 13, 16, 12], 1)]
    out, _ = run(made, inputs)
    assert [(one.seq, *one.row) for one in out.emitted] == [(3, 15, 13), (5, 16, 12)]


def test_a_row_that_the_watermark_has_passed_is_late() -> None:
    made = kernel("A B", measures=(RowValue(0, V),))
    inputs = [Input(1, INSERT, (3000, "a", 1)), Input(2, INSERT, (3000, "a", 2)), Input(3, INSERT, (3001, "a", 3))]
    out, saved = run(made, inputs, Timeline.of([(1, 3000)]))
    assert [(late.seq, late.event_time_ms, late.lateness_ms) for late in out.lates] == [(2, 3000, 0)]
    assert saved is not None


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("A B+", "the last variable B+ is greedy"),
        ("A B*", "the last variable B* is greedy"),
        ("A B{2,3}", "the last variable B{2,3} is greedy"),
        ("A*? B*?", "every variable is optional"),
        ("A B?? C", "B?? is optional and reluctant"),
        ("A+ B? C", "B? is optional and stands behind A+, which is greedy"),
        ("A | B", "alternatives"),
        ("PERMUTE(A, B)", "PERMUTE is not supported"),
        ("A {- B -} C", "exclusions"),
        ("^ A B", "the anchor ^"),
        ("A B $", "the anchor $"),
        ("(A B)+ C", "a quantifier of a group"),
        ("A B A", "the variable A is used twice"),
        ("A{3,2} B", "ends before it starts"),
        ("A{,2} B", "Write {0,2}"),
        ("A{0} B", "lets no row match"),
        ("A B)", "a ')' is too much"),
        ("(A B", "a parenthesis is not closed"),
        ("+ A", "follows no variable"),
        ("", "a pattern needs a variable"),
    ],
)
def test_patterns_that_are_refused(pattern: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="(?s).*") as refused:
        variables_of(pattern)
    assert sentence in str(refused.value)


def test_a_pattern_is_written_as_it_is_read() -> None:
    for pattern in ("A B+ C", "A*? B{2}", "A{1,}? B{0,2}? C", "A? B{2,3} C"):
        again = " ".join(map(str, variables_of(pattern)))
        assert variables_of(again) == variables_of(pattern)


SHARES = rows("k string, v bigint, rt timestamp_ltz(3)", event_time="rt")
TYPES = {"(v) > 10": "boolean", "v * 2": "bigint"}
ASKED: Mapping[str, object] = {
    "partition_by": ["k"],
    "pattern": "A+ B",
    "define": [
        {"variable": "A", "condition": "A.v > 10"},
        {"variable": "B", "condition": "B.v < LAST(A.v, 1) AND SUM(A.v) > 5"},
    ],
    "measures": [
        {"name": "first", "expression": "FIRST(A.v * 2)"},
        {"name": "total", "expression": "SUM(A.v)"},
        {"name": "at", "expression": "MATCH_ROWTIME()"},
    ],
    "after_match": "to_last",
    "skip_to": "B",
    "within_ms": 5000,
}


def test_it_has_the_partition_and_the_measures_and_is_match_recognize_in_flink_sql() -> None:
    made = plan_of("t -> found", TYPES, t=SHARES, found=("match_recognize", ASKED)).node("found")
    assert str(made.mode) == "[I]"
    assert [(column.name, str(column.type)) for column in made.schema] == [
        ("k", "string"),
        ("first", "bigint"),
        ("total", "bigint"),
        ("at", "timestamp_ntz"),
    ]
    assert made.schema.event_time is not None
    assert made.schema.event_time.name == "at"
    assert sql_of(made).splitlines() == [
        "SELECT `k`, `first`, `total`, `at`",
        "FROM `t`",
        "MATCH_RECOGNIZE (",
        "PARTITION BY `k`",
        "ORDER BY `rt`",
        "MEASURES FIRST(A.v * 2) AS `first`, SUM(A.v) AS `total`, MATCH_ROWTIME() AS `at`",
        "ONE ROW PER MATCH",
        "AFTER MATCH SKIP TO LAST `B`",
        "PATTERN (A+ B) WITHIN INTERVAL '5' SECOND",
        "DEFINE `A` AS A.v > 10, `B` AS B.v < LAST(A.v, 1) AND SUM(A.v) > 5",
        ")",
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"pattern": "A B+"}, "pattern: the last variable B+ is greedy"),
        ({"define": [{"variable": "Z", "condition": "v > 1"}]}, "define: unknown variable 'Z'. Available: A, B."),
        ({"skip_to": None}, "skip_to: unknown variable ''. Available: A, B."),
        ({"order": "arrival"}, "within_ms: in the order of arrival it would depend on the clock"),
        ({"measures": [{"name": "x", "expression": "A.v + B.v"}]}, "a measure is one value of the match"),
        ({"measures": [{"name": "x", "expression": "SUM(A.v + B.v)"}]}, "is about rows of A and B."),
        ({"measures": [{"name": "K", "expression": "A.v"}]}, "two output columns are called 'K'."),
        ({"measures": [{"name": "x", "expression": "PREV(A.v)"}]}, "PREV looks at rows of the input"),
        ({"measures": [{"name": "x", "expression": "MATCH_PROCTIME()"}]}, "depends on the clock of the machine"),
        ({"define": [{"variable": "A", "condition": "A.v"}]}, "it is of type BIGINT, but a condition must be true or"),
        (
            {"define": [{"variable": "A", "condition": "REPEAT(A.k, LAST(A.v, 1)) = 'x'"}]},
            "it puts values of several rows together in a way that is not supported.",
        ),
        ({"partition_by": ["q"]}, "unknown column 'q'"),
    ],
)
def test_what_is_no_pattern_is_refused(changed: Mapping[str, object], sentence: str) -> None:
    pipeline = pipeline_of("t -> found", t=SHARES, found=("match_recognize", {**ASKED, **changed}))
    with pytest.raises(StudioError) as caught:
        plan(pipeline, KnownTypes({**TYPES, "(A.v)": "bigint", "(v)": "bigint", "A.v": "bigint"}), Path())
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (rows("k string, v bigint"), "order needs an event time, but its input has none."),
        (rows("k string, v bigint", changelog=True), "a pattern needs an insert-only input"),
    ],
)
def test_rows_without_a_time_and_updates_are_refused(source: tuple[str, dict[str, object]], sentence: str) -> None:
    pipeline = pipeline_of("t -> found", t=source, found=("match_recognize", ASKED))
    with pytest.raises(StudioError) as caught:
        plan(pipeline, KnownTypes(TYPES), Path())
    assert sentence in str(caught.value)
