"""Aggregation without windows: Flink's changelogs, record for record, and properties for any input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.function import AggregateCall
from engine.aggregates.parameters import Aggregate
from engine.aggregates.registry import function_named
from engine.contract.derived import Derived, Monotonicity, constant
from engine.contract.kernel import Input, run
from engine.errors import PipelineError, UnknownColumn
from engine.model.changelog import ALL_CHANGES, DELETE, INSERT, INSERT_ONLY, INSERT_UPDATE, ChangelogMode, UpdateKind
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, DOUBLE, INT, STRING, Decimal
from engine.operators.aggregate import AggregateKernel, GroupAggregate
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes

COUNT, SUM, AVG, MIN, MAX = map(function_named, ("COUNT", "SUM", "AVG", "MIN", "MAX"))
ARRAY_AGG, COLLECT, LISTAGG = map(function_named, ("ARRAY_AGG", "COLLECT", "LISTAGG"))
FIRST_VALUE, LAST_VALUE = map(function_named, ("FIRST_VALUE", "LAST_VALUE"))
STDDEV_POP, STDDEV_SAMP = map(function_named, ("STDDEV_POP", "STDDEV_SAMP"))
VAR_POP, VAR_SAMP = map(function_named, ("VAR_POP", "VAR_SAMP"))
call = AggregateCall
AMOUNT = Decimal(10, 2)
COUNT_ROWS = AggregateCall(COUNT)
UPSERT = ChangelogMode.of(INSERT_UPDATE, UpdateKind.BEFORE_AND_AFTER)
UPSERT_ONLY = ChangelogMode.of(INSERT_UPDATE, UpdateKind.ONLY_UPDATE_AFTER)
ALL = ChangelogMode.of(ALL_CHANGES, UpdateKind.BEFORE_AND_AFTER)


def acc(*calls: AggregateCall, **settings: Any) -> Callable[[], AggregateKernel]:
    """A kernel over an insert-only input."""
    return partial(AggregateKernel, calls, retracting=False, **settings)


def retract(*calls: AggregateCall, **settings: Any) -> Callable[[], AggregateKernel]:
    """A kernel over an input with retractions."""
    return partial(AggregateKernel, calls, retracting=True, **settings)


CASES = [
    Case(
        "sums and averages keep their types",
        kernel=acc(
            *[call(f, at, t) for at, t in ((1, INT), (2, BIGINT), (3, DOUBLE), (4, AMOUNT)) for f in (SUM, AVG)],
            call(MIN, 4, AMOUNT),
            call(MAX, 3, DOUBLE),
        ),
        key=("k",),
        given="""
            seq  kind  k  i     l     d     m
            1    +I    a  1     10    1.5   1.10d
            2    +I    a  2     20    2.25  2.25d
            3    +I    a  2     25    -0.5  0.05d
            4    +I    a  NULL  NULL  NULL  NULL
        """,
        expect="""
            seq  kind  k  si  ai  sl  al  sd    ad                  sm     am         mm     xd
            1    +I    a  1   1   10  10  1.5   1.5                 1.10d  1.100000d  1.10d  1.5
            2    -U    a  1   1   10  10  1.5   1.5                 1.10d  1.100000d  1.10d  1.5
            2    +U    a  3   1   30  15  3.75  1.875               3.35d  1.675000d  1.10d  2.25
            3    -U    a  3   1   30  15  3.75  1.875               3.35d  1.675000d  1.10d  2.25
            3    +U    a  5   1   55  18  3.25  1.0833333333333333  3.40d  1.133333d  0.05d  2.25
        """,
        mode=UPSERT,
    ),
    Case(
        "the largest of sums falls back when its sum shrinks",
        kernel=retract(call(MAX, 1), call(MIN, 1), COUNT_ROWS),
        key=("g",),
        given="""
            seq  kind  g  s
            1    +I    x  5
            2    +I    x  7
            3    -U    x  5
            3    +U    x  9
            4    -U    x  7
            4    +U    x  1
            5    -U    x  9
            5    +U    x  0
            6    +I    y  1
        """,
        expect="""
            seq  kind  g  ms  ns  n
            1    +I    x  5   5   1
            2    -U    x  5   5   1
            2    +U    x  7   5   2
            3    -U    x  7   5   2
            3    +U    x  7   7   1
            3    -U    x  7   7   1
            3    +U    x  9   7   2
            4    -U    x  9   7   2
            4    +U    x  9   9   1
            4    -U    x  9   9   1
            4    +U    x  9   1   2
            5    -U    x  9   1   2
            5    +U    x  1   1   1
            5    -U    x  1   1   1
            5    +U    x  1   0   2
            6    +I    y  1   1   1
        """,
        mode=ALL,
    ),
    Case(
        "distinct values are counted while they come and go",
        kernel=retract(call(COUNT, 0, distinct=True), COUNT_ROWS),
        key=(),
        given="""
            seq  kind  s
            1    +I    1
            2    +I    1
            3    -U    1
            3    +U    2
            4    -U    1
            4    +U    2
            5    +I    2
        """,
        expect="""
            seq  kind  d  n
            1    +I    1  1
            2    -U    1  1
            2    +U    1  2
            3    -U    1  2
            3    +U    1  1
            3    -U    1  1
            3    +U    2  2
            4    -U    2  2
            4    +U    1  1
            4    -U    1  1
            4    +U    1  2
            5    -U    1  2
            5    +U    1  3
        """,
    ),
    Case(
        "a filtered row still counts as a row of the group",
        kernel=retract(
            call(COUNT, filter=2),
            call(COUNT, 1, distinct=True, filter=2),
            call(SUM, 1, filter=3),
        ),
        key=("k",),
        given="""
            seq  kind  k  v   big    small
            1    +I    a  1   false  true
            2    +I    a  20  true   false
            3    +I    a  20  true   false
            4    -D    a  20  true   false
            5    -D    a  20  true   false
            6    -D    a  1   false  true
        """,
        expect="""
            seq  kind  k  big  dbig  small
            1    +I    a  0    0     1
            2    -U    a  0    0     1
            2    +U    a  1    1     1
            3    -U    a  1    1     1
            3    +U    a  2    1     1
            4    -U    a  2    1     1
            4    +U    a  1    1     1
            5    -U    a  1    1     1
            5    +U    a  0    0     1
            6    -D    a  0    0     1
        """,
        leaves_state=False,
    ),
    Case(
        "a sum wraps in its type and an average truncates toward zero",
        kernel=acc(call(SUM, 1, INT), call(AVG, 1, INT)),
        key=("k",),
        given="""
            seq  kind  k  v
            1    +I    a  2147483647
            2    +I    a  1
            3    +I    b  -3
            4    +I    b  -4
            5    +I    b  2
        """,
        expect="""
            seq  kind  k  s            a
            1    +I    a  2147483647   2147483647
            2    -U    a  2147483647   2147483647
            2    +U    a  -2147483648  1073741824
            3    +I    b  -3           -3
            4    -U    b  -3           -3
            4    +U    b  -7           -3
            5    -U    b  -7           -3
            5    +U    b  -5           -1
        """,
    ),
    Case(
        "one copy less does not change the smallest and largest",
        kernel=retract(call(MIN, 1), call(MAX, 1)),
        key=("k",),
        given="""
            seq  kind  k  v
            1    +I    a  5
            2    +I    a  5
            3    +I    a  1
            4    -D    a  5
            5    -D    a  5
            6    -D    a  1
            7    +I    a  7
        """,
        expect="""
            seq  kind  k  mi  ma
            1    +I    a  5   5
            3    -U    a  5   5
            3    +U    a  1   5
            5    -U    a  1   5
            5    +U    a  1   1
            6    -D    a  1   1
            7    +I    a  7   7
        """,
    ),
    Case(
        "NULL is a group",
        kernel=retract(COUNT_ROWS, call(SUM, 1)),
        key=("k",),
        given="""
            seq  kind  k     v
            1    +I    NULL  1
            2    +I    a     2
            3    +I    NULL  3
            4    -D    NULL  1
            5    -D    NULL  3
        """,
        expect="""
            seq  kind  k     c  s
            1    +I    NULL  1  1
            2    +I    a     1  2
            3    -U    NULL  1  1
            3    +U    NULL  2  4
            4    -U    NULL  2  4
            4    +U    NULL  1  3
            5    -D    NULL  1  3
        """,
    ),
    Case(
        "all functions, with groups that die and come back",
        kernel=retract(
            COUNT_ROWS,
            *[call(f, 2, INT) for f in (COUNT, SUM, AVG, MIN, MAX)],
            call(COUNT, 2, INT, distinct=True),
        ),
        key=("k",),
        given="""
            seq  kind  k  id  v
            1    +I    a  1   10
            2    +I    a  2   20
            3    +I    b  3   30
            4    -D    a  2   20
            5    -U    a  1   10
            6    +U    a  1   5
            7    -D    b  3   30
            8    +I    b  4   NULL
            9    +I    b  5   7
            10   -D    a  1   5
            11   +I    a  6   9
            12   +I    a  7   9
            13   -D    a  6   9
            14   -D    b  5   7
        """,
        expect="""
            seq  kind  k  c  cv  s     a     mi    ma    cd
            1    +I    a  1  1   10    10    10    10    1
            2    -U    a  1  1   10    10    10    10    1
            2    +U    a  2  2   30    15    10    20    2
            3    +I    b  1  1   30    30    30    30    1
            4    -U    a  2  2   30    15    10    20    2
            4    +U    a  1  1   10    10    10    10    1
            5    -D    a  1  1   10    10    10    10    1
            6    +I    a  1  1   5     5     5     5     1
            7    -D    b  1  1   30    30    30    30    1
            8    +I    b  1  0   NULL  NULL  NULL  NULL  0
            9    -U    b  1  0   NULL  NULL  NULL  NULL  0
            9    +U    b  2  1   7     7     7     7     1
            10   -D    a  1  1   5     5     5     5     1
            11   +I    a  1  1   9     9     9     9     1
            12   -U    a  1  1   9     9     9     9     1
            12   +U    a  2  2   18    9     9     9     1
            13   -U    a  2  2   18    9     9     9     1
            13   +U    a  1  1   9     9     9     9     1
            14   -U    b  2  1   7     7     7     7     1
            14   +U    b  1  0   NULL  NULL  NULL  NULL  0
        """,
    ),
    Case(
        "without a key, no rows is no result",
        kernel=retract(COUNT_ROWS, call(SUM, 0), call(MIN, 0)),
        key=(),
        given="""
            seq  kind  v
            1    +I    1
            2    +I    2
            3    -D    1
            4    -D    2
            5    +I    3
            6    -D    3
        """,
        expect="""
            seq  kind  c  s  mi
            1    +I    1  1  1
            2    -U    1  1  1
            2    +U    2  3  1
            3    -U    2  3  1
            3    +U    1  2  2
            4    -D    1  2  2
            5    +I    1  3  3
            6    -D    1  3  3
        """,
        leaves_state=False,
    ),
    Case(
        "a sum is NULL again when its last value is gone",
        kernel=retract(
            COUNT_ROWS,
            *[call(f, 1) for f in (COUNT, SUM, MIN, MAX, AVG)],
        ),
        key=("k",),
        given="""
            seq  kind  k  v
            1    +I    a  NULL
            2    +I    a  5
            3    -D    a  5
            4    +I    a  0
        """,
        expect="""
            seq  kind  k  c  cv  s     mi    ma    av
            1    +I    a  1  0   NULL  NULL  NULL  NULL
            2    -U    a  1  0   NULL  NULL  NULL  NULL
            2    +U    a  2  1   5     5     5     5
            3    -U    a  2  1   5     5     5     5
            3    +U    a  1  0   NULL  NULL  NULL  NULL
            4    -U    a  1  0   NULL  NULL  NULL  NULL
            4    +U    a  2  1   0     0     0     0
        """,
    ),
    Case(
        "an unchanged result emits nothing",
        kernel=acc(call(MAX, 1)),
        key=("k",),
        given="""
            seq  kind  k  v
            1    +I    a  5
            2    +I    a  3
            3    +I    a  5
            4    +I    a  9
            5    +I    a  9
        """,
        expect="""
            seq  kind  k  m
            1    +I    a  5
            4    -U    a  5
            4    +U    a  9
        """,
    ),
    Case(
        "without UPDATE_BEFORE where nobody needs it",
        kernel=acc(COUNT_ROWS, generate_update_before=False),
        key=("word",),
        given="""
            seq  kind  word
            1    +I    Hello
            2    +I    World
            3    +I    Hello
            4    +I    World
            5    +I    Hello
        """,
        expect="""
            seq  kind  word   cnt
            1    +I    Hello  1
            2    +I    World  1
            3    +U    Hello  2
            4    +U    World  2
            5    +U    Hello  3
        """,
        mode=UPSERT_ONLY,
    ),
    Case(
        "the frequency of counts: a group dies between -U and +U",
        kernel=retract(COUNT_ROWS),
        key=("cnt",),
        given="""
            seq  kind  cnt
            1    +I    1
            2    +I    1
            3    -U    1
            3    +U    2
            4    +I    1
            5    -U    1
            5    +U    2
            6    -U    2
            6    +U    3
            7    +I    1
            8    -U    1
            8    +U    2
            9    -U    1
            9    +U    2
            10   +I    1
        """,
        expect="""
            seq  kind  cnt  freq
            1    +I    1    1
            2    -U    1    1
            2    +U    1    2
            3    -U    1    2
            3    +U    1    1
            3    +I    2    1
            4    -U    1    1
            4    +U    1    2
            5    -U    1    2
            5    +U    1    1
            5    -U    2    1
            5    +U    2    2
            6    -U    2    2
            6    +U    2    1
            6    +I    3    1
            7    -U    1    1
            7    +U    1    2
            8    -U    1    2
            8    +U    1    1
            8    -U    2    1
            8    +U    2    2
            9    -D    1    1
            9    -U    2    2
            9    +U    2    3
            10   +I    1    1
        """,
    ),
    Case(
        "a sum over windows that have fired, several of them at the end",
        kernel=acc(call(SUM, 1)),
        key=("k",),
        given="""
            seq  kind  k  n
            3    +I    a  2
            4    +I    a  1
            7    +I    b  1
            7    +I    a  1
        """,
        expect="""
            seq  kind  k  total
            3    +I    a  2
            4    -U    a  2
            4    +U    a  3
            7    +I    b  1
            7    -U    a  3
            7    +U    a  4
        """,
    ),
    Case(
        "an unchanged result is repeated under a state TTL",
        kernel=acc(call(MAX, 1), emit_unchanged=True),
        key=("k",),
        given="""
            seq  kind  k  v
            1    +I    a  5
            2    +I    a  3
        """,
        expect="""
            seq  kind  k  m
            1    +I    a  5
            2    -U    a  5
            2    +U    a  5
        """,
    ),
    Case(
        "a retraction of an unknown group is ignored",
        kernel=retract(COUNT_ROWS),
        key=("k",),
        given="""
            seq  kind  k
            1    -D    a
            2    -U    a
            3    +U    a
        """,
        expect="""
            seq  kind  k  c
            3    +I    a  1
        """,
    ),
    Case(
        "no aggregates at all: the distinct groups",
        kernel=retract(),
        key=("k",),
        given="""
            seq  kind  k
            1    +I    a
            2    +I    a
            3    -D    a
            4    -D    a
        """,
        expect="""
            seq  kind  k
            1    +I    a
            4    -D    a
        """,
    ),
    Case(
        "lists, first and last values follow the arrival and give back the oldest copy",
        kernel=retract(
            call(ARRAY_AGG, 1),
            call(LISTAGG, 2, STRING, separator="|"),
            call(FIRST_VALUE, 1),
            call(LAST_VALUE, 1),
        ),
        key=("k",),
        given="""
            seq  kind  k  v     t
            1    +I    a  1     x
            2    +I    a  2     y
            3    +I    a  NULL  NULL
            4    +I    a  1     x
            5    -D    a  1     x
            6    -D    a  1     x
            7    -D    a  2     y
        """,
        expect="""
            seq  kind  k  vs            ts     f     l
            1    +I    a  [1]           x      1     1
            2    -U    a  [1]           x      1     1
            2    +U    a  [1,2]         x|y    1     2
            3    -U    a  [1,2]         x|y    1     2
            3    +U    a  [1,2,NULL]    x|y    1     2
            4    -U    a  [1,2,NULL]    x|y    1     2
            4    +U    a  [1,2,NULL,1]  x|y|x  1     1
            5    -U    a  [1,2,NULL,1]  x|y|x  1     1
            5    +U    a  [2,NULL,1]    y|x    2     1
            6    -U    a  [2,NULL,1]    y|x    2     1
            6    +U    a  [2,NULL]      y      2     2
            7    -U    a  [2,NULL]      y      2     2
            7    +U    a  [NULL]        NULL   NULL  NULL
        """,
    ),
    Case(
        "variances by Welford, truncated to the argument's type, and updated even where that hides the change",
        kernel=retract(
            call(VAR_POP, 1),
            call(STDDEV_SAMP, 1),
            call(VAR_SAMP, 2, DOUBLE),
            call(STDDEV_POP, 2, DOUBLE),
        ),
        key=("k",),
        given="""
            seq  kind  k  v     d
            1    +I    a  10    1.5
            2    +I    a  25    -0.5
            3    +I    a  25    3.25
            4    +I    a  NULL  NULL
            5    -D    a  25    -0.5
            6    -D    a  NULL  NULL
            7    -D    a  25    3.25
        """,
        expect="""
            seq  kind  k  vp  ss    vs                  sp
            1    +I    a  0   NULL  NULL                0.0
            2    -U    a  0   NULL  NULL                0.0
            2    +U    a  56  10    2.0                 1.0
            3    -U    a  56  10    2.0                 1.0
            3    +U    a  50  8     3.5208333333333335  1.532064692570853
            5    -U    a  50  8     3.5208333333333335  1.532064692570853
            5    +U    a  56  10    1.5312500000000009  0.8750000000000002
            7    -U    a  56  10    1.5312500000000009  0.8750000000000002
            7    +U    a  0   NULL  NULL                2.9802322387695312e-08
        """,
    ),
]
test_changelogs_are_those_of_flink = check_cases(CASES)

VALUES = st.one_of(st.none(), st.integers(-5, 5))
EVERY_CALL = (
    COUNT_ROWS,
    *(call(function, 0) for function in (COUNT, SUM, AVG, MIN, MAX)),
    call(COUNT, 0, distinct=True),
    call(SUM, 0, distinct=True),
    call(COUNT, 0, filter=1),
    call(FIRST_VALUE, 0),
    call(LAST_VALUE, 0),
    call(COLLECT, 0),
)


def batch(values: Sequence[int | None], *, ordered: bool = True) -> Row:
    """The batch results of the calls for these values."""
    some = [value for value in values if value is not None]
    return (
        len(values),
        len(some),
        sum(some) if some else None,
        int(sum(some) / len(some)) if some else None,
        min(some, default=None),
        max(some, default=None),
        len(set(some)),
        sum(set(some)) if some else None,
        sum(value > 0 for value in some),
        some[0] if some else None,
        some[-1] if some else None,
        Counter(some),
    )


def rows_of(values: Sequence[tuple[int, int | None]]) -> list[Input]:
    """Records of (kind, value), each with the filter `value > 0`."""
    return [Input(seq, kind, (value, value is not None and value > 0)) for seq, (kind, value) in enumerate(values, 1)]


def materialized(emitted: Sequence[Any]) -> Row | None:
    """The table of one group after a changelog. Fails if a -U or -D retracts an absent row."""
    row: Row | None = None
    for record in emitted:
        if record.kind in (0, 2):
            assert row is None
            row = record.row
        else:
            assert record.row == row
            row = None
    return row


@st.composite
def changelogs(draw: st.DrawFn) -> list[tuple[int, int | None]]:
    """Inserts, and deletes of present rows: always the oldest copy, so that first and last values are unambiguous."""
    there: list[int | None] = []
    records: list[tuple[int, int | None]] = []
    for _ in range(draw(st.integers(0, 30))):
        if there and draw(st.booleans()):
            value = draw(st.sampled_from(there))
            there.remove(value)
            records.append((DELETE, value))
        else:
            value = draw(VALUES)
            there.append(value)
            records.append((INSERT, value))
    return records


@given(changelogs())
def test_the_table_is_the_batch_answer_over_the_rows_that_are_left(records: list[tuple[int, int | None]]) -> None:
    left: list[int | None] = []
    for kind, value in records:
        left.append(value) if kind == INSERT else left.remove(value)
    out, saved = run(retract(*EVERY_CALL)(), rows_of(records))
    table = materialized(out.emitted)
    if not left:
        assert table is None
        assert saved is None
    else:
        assert table is not None
        assert (*table[:-1], dict(table[-1])) == batch(left)


@given(st.lists(VALUES, min_size=1))
def test_over_inserts_alone_both_kernels_give_the_same_changelog(values: list[int | None]) -> None:
    records = rows_of([(INSERT, value) for value in values])
    plain, _ = run(acc(*EVERY_CALL)(), records)
    retracting, _ = run(retract(*EVERY_CALL)(), records)
    assert plain.emitted == retracting.emitted
    table = materialized(plain.emitted)
    assert table is not None
    assert (*table[:-1], dict(table[-1])) == batch(values)


@given(st.lists(VALUES, max_size=40), st.randoms(use_true_random=False))
def test_taking_all_rows_back_in_any_order_leaves_no_rows_and_no_state(values: list[int | None], random: Any) -> None:
    back = list(values)
    random.shuffle(back)
    records = rows_of([(INSERT, value) for value in values] + [(DELETE, value) for value in back])
    out, saved = run(retract(*EVERY_CALL, call(ARRAY_AGG, 0), call(VAR_POP, 0))(), records)
    assert saved is None
    kinds = Counter(record.kind for record in out.emitted)
    assert kinds[INSERT] == kinds[DELETE]
    assert out.emitted == [] or out.emitted[-1].kind == DELETE


@given(changelogs(), st.integers(0, 30))
def test_splitting_the_input_changes_nothing(records: list[tuple[int, int | None]], cut: int) -> None:
    kernel = retract(*EVERY_CALL)()
    whole, kept = run(kernel, rows_of(records))
    first, saved = run(kernel, rows_of(records)[:cut])
    second, last = run(kernel, rows_of(records)[cut:], saved=saved)
    assert first.emitted + second.emitted == whole.emitted
    assert last == kept


INPUT = Schema(
    (
        Column("k", STRING, nullable=False),
        Column("v", INT),
        Column("n", BIGINT, nullable=False),
        Column("m", spark_type("decimal(10,2)")),
        Column("vs", spark_type("array<int>")),
    )
)


def derived(operator: GroupAggregate, modify: Any = INSERT_ONLY) -> Derived:
    """The operator's output over the columns above."""
    types = {"v + 1": "int", "v > 1": "boolean"}
    steady = INPUT.names if modify == INSERT_ONLY else ()
    return operator.derive(
        "totals", (Derived(INPUT, modify, monotonic=constant(steady, INPUT.names)),), KnownTypes(types)
    )


def test_result_types_and_nullability_are_those_of_flink() -> None:
    calls = [
        Aggregate(function=COUNT),
        Aggregate(function=SUM, argument="n"),
        Aggregate(function=AVG, argument="v + 1", name="a"),
        Aggregate(function=SUM, argument="m"),
        Aggregate(function=AVG, argument="m"),
        Aggregate(function=COLLECT, argument="v"),
        Aggregate(function=MAX, argument="n", filter="v > 1"),
    ]
    schema = derived(GroupAggregate(group_by=("k",), aggregates=tuple(calls))).schema
    assert [(column.name, str(column.type), column.nullable) for column in schema] == [
        ("k", "string", False),
        ("count", "bigint", False),
        ("sum_n", "bigint", False),
        ("a", "int", True),
        ("sum_m", "decimal(38,2)", True),
        ("avg_m", "decimal(38,6)", True),
        ("collect_v", "map<int,int>", False),
        ("max_n", "bigint", True),
    ]


def test_keys_and_movement() -> None:
    calls = (Aggregate(function=COUNT), Aggregate(function=MIN, argument="v"), Aggregate(function=SUM, argument="v"))
    grouped = derived(GroupAggregate(group_by=("k",), aggregates=calls))
    assert grouped.upsert_keys == frozenset({frozenset({"k"})})
    assert grouped.modify == INSERT_UPDATE
    assert grouped.monotonic == {
        "k": Monotonicity.CONSTANT,
        "count": Monotonicity.INCREASING,
        "min_v": Monotonicity.DECREASING,
        "sum_v": Monotonicity.NOT_MONOTONIC,
    }
    alone = derived(GroupAggregate(aggregates=calls), ALL_CHANGES)
    assert alone.upsert_keys == frozenset({frozenset()})
    assert alone.modify == ALL_CHANGES
    assert alone.monotonic == {
        "count": Monotonicity.INCREASING,
        "min_v": Monotonicity.NOT_MONOTONIC,
        "sum_v": Monotonicity.NOT_MONOTONIC,
    }
    by_what_changes = derived(GroupAggregate(group_by=("k",), aggregates=calls), ALL_CHANGES)
    assert by_what_changes.monotonic == {}


@pytest.mark.parametrize(
    ("aggregate", "sentence"),
    [
        ({"function": "SUM", "argument": "k"}, r"totals: aggregates.0: SUM\(k\) needs a number, but it is STRING"),
        ({"function": "SUM"}, r"SUM\(...\) needs a column"),
        ({"function": "COUNT", "distinct": True}, r"COUNT\(DISTINCT ...\) needs a column"),
        ({"function": "LISTAGG", "argument": "v"}, r"Write CAST\(v AS STRING\)"),
        ({"function": "MAX", "argument": "vs"}, r"ARRAY<INT> cannot be compared"),
        ({"function": "COUNT", "filter": "v"}, r"the condition 'v' is INT"),
        ({"function": "COUNT", "name": "K"}, r"two output columns are called 'K'"),
    ],
)
def test_what_cannot_be_aggregated_is_refused(aggregate: dict[str, Any], sentence: str) -> None:
    operator = GroupAggregate.model_validate({"group_by": ["k"], "aggregates": [aggregate]})
    with pytest.raises(PipelineError, match=sentence):
        derived(operator)


def test_an_unknown_group_column_names_those_that_exist() -> None:
    with pytest.raises(UnknownColumn, match="k, v, n, m, vs"):
        derived(GroupAggregate(group_by=("kk",)))


def test_flink_sql() -> None:
    operator = GroupAggregate.model_validate(
        {
            "group_by": ["k", {"name": "odd", "expression": "v % 2"}],
            "aggregates": [
                {"function": "COUNT", "argument": "v", "distinct": True, "filter": "v > 1", "name": "c"},
                {"function": "LISTAGG", "argument": "k", "separator": "|", "name": "l"},
            ],
        }
    )
    assert operator.flink_sql([("t", INPUT)]) == (
        "SELECT `k`, v % 2 AS `odd`, COUNT(DISTINCT `v`) FILTER (WHERE v > 1) AS `c`, LISTAGG(`k`, '|') AS `l` "
        "FROM `t` GROUP BY `k`, v % 2"
    )
