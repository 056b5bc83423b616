"""Top N with a TTL of 10 ms, strategy by strategy: what an entry is, what refreshes it, what its gap does."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input, Output, run_key
from engine.model.changelog import INSERT
from engine.model.timeline import Timeline
from tests.engine.cases import check_cases
from tests.engine.operators.topn.tables import columns, ranked
from tests.engine.operators.topn.test_properties import (
    NAMES,
    ORDERS,
    Row,
    changes_of,
    ranges,
    retracted,
    rows,
    run_part,
)

expiring = partial(ranked, ttl_ms=10)
append = partial(expiring, append=True)

test_append_fast = check_cases(
    [
        append(
            "the rows of a sort key go together, and each new one of them refreshes all",
            "v",
            (1, 3, True),
            """
            seq  kind  cat  v  id  clock
            1    +I    a    5  x   0
            2    +I    a    5  y   9
            3    +I    a    9  z   9
            4    +I    a    7  u   18
            5    +I    a    8  w   19
            """,
            """
            seq  kind  cat  v  id  rank
            1    +I    a    5  x   1
            2    +I    a    5  y   2
            3    +I    a    9  z   3
            4    -U    a    9  z   3
            4    +U    a    7  u   3
            5    +I    a    8  w   2
            """,
        ),
        append(
            "without ranks a row that goes leaves no -D: the next one takes its place as one more row",
            "v",
            (1, 2),
            """
            seq  kind  cat  v  id  clock
            1    +I    a    5  x   0
            2    +I    a    6  y   5
            3    +I    a    9  z   9
            4    +I    a    9  z   10
            5    +I    a    4  u   11
            """,
            """
            seq  kind  cat  v  id
            1    +I    a    5  x
            2    +I    a    6  y
            4    +I    a    9  z
            5    -D    a    9  z
            5    +I    a    4  u
            """,
        ),
        append(
            "a row that falls out of its sort key refreshes those that stay",
            "v",
            (1, 2),
            """
            seq  kind  cat  v  id  clock
            1    +I    a    5  x   0
            2    +I    a    5  y   0
            3    +I    a    4  z   9
            4    +I    a    6  u   18
            5    +I    a    6  w   19
            """,
            """
            seq  kind  cat  v  id
            1    +I    a    5  x
            2    +I    a    5  y
            3    -D    a    5  y
            3    +I    a    4  z
            5    +I    a    6  w
            """,
        ),
        append(
            "with ranks a row past the end that shares the last sort key moves up when a better one has gone",
            "v",
            (1, 3, True),
            """
            seq  kind  cat  v  id  clock
            1    +I    a    1  x   0
            2    +I    a    3  b   5
            3    +I    a    3  c   5
            4    +I    a    2  y   6
            5    +I    a    4  z   10
            6    +I    a    4  z   15
            """,
            """
            seq  kind  cat  v  id  rank
            1    +I    a    1  x   1
            2    +I    a    3  b   2
            3    +I    a    3  c   3
            4    -U    a    3  b   2
            4    +U    a    2  y   2
            4    -U    a    3  c   3
            4    +U    a    3  b   3
            6    +I    a    4  z   2
            """,
        ),
        append(
            "the rank end of a partition goes too: the next row sets it",
            "v",
            (1, "n"),
            """
            seq  kind  cat  v  n  clock
            1    +I    a    5  1  0
            2    +I    a    4  2  9
            3    +I    a    3  2  10
            4    +I    a    9  1  18
            """,
            """
            seq  kind  cat  v  n
            1    +I    a    5  1
            2    -D    a    5  1
            2    +I    a    4  2
            3    +I    a    3  2
            """,
        ),
        append(
            "Top 1: a row that is ignored does not refresh the best one",
            "v",
            (1, 1),
            """
            seq  kind  cat  v  clock
            1    +I    a    5  0
            2    +I    a    6  9
            3    +I    a    7  10
            4    +I    a    6  19
            5    +I    a    6  29
            """,
            """
            seq  kind  cat  v
            1    +I    a    5
            3    +I    a    7
            4    -U    a    7
            4    +U    a    6
            5    +I    a    6
            """,
        ),
    ]
)

keyed = partial(expiring, row_key=("id",))
test_update_fast = check_cases(
    [
        keyed(
            "each row goes by itself, and its update refreshes it",
            "v DESC",
            (1, 2),
            """
            seq  kind  cat  id  v  clock
            1    +I    a    x   5  0
            2    +I    a    y   4  5
            3    +U    a    x   5  9
            4    +I    a    z   3  15
            5    +U    a    y   6  18
            """,
            """
            seq  kind  cat  id  v
            1    +I    a    x   5
            2    +I    a    y   4
            3    -U    a    x   5
            3    +U    a    x   5
            4    +I    a    z   3
            5    -D    a    z   3
            5    +I    a    y   6
            """,
        ),
        keyed(
            "a row that leaves its sort key refreshes those that arrived after it, whose place has changed",
            "v DESC",
            (1, 3, True),
            """
            seq  kind  cat  id  v  clock
            1    +I    a    w   4  0
            2    +I    a    x   4  0
            3    +I    a    y   4  0
            4    +U    a    x   5  9
            5    +I    a    z   1  18
            """,
            """
            seq  kind  cat  id  v  rank
            1    +I    a    w   4  1
            2    +I    a    x   4  2
            3    +I    a    y   4  3
            4    -U    a    w   4  1
            4    -U    a    x   4  2
            4    +U    a    x   5  1
            4    +U    a    w   4  2
            5    +I    a    z   1  3
            """,
        ),
        keyed(
            "Top 1 of upserts",
            "v DESC",
            (1, 1),
            """
            seq  kind  cat  id  v  clock
            1    +I    a    x   5  0
            2    +U    a    x   5  9
            3    +U    a    y   1  10
            """,
            """
            seq  kind  cat  id  v
            1    +I    a    x   5
            3    +I    a    y   1
            """,
        ),
    ]
)

test_retract = check_cases(
    [
        # Flink RetractableTopNFunctionTest.testCleanIdleState, with its TTL.
        ranked(
            "all rows of a key have gone",
            "v",
            (1, 2, True),
            """
            seq  kind  cat    id  v    clock
            1    +I    book   1   12   0
            2    +I    fruit  5   22   0
            3    -U    book   1   12   9000000
            4    +I    fruit  4   11   9000000
            5    +I    fruit  8   100  20000000
            6    +I    book   1   12   20000000
            """,
            """
            seq  kind  cat    id  v    rank
            1    +I    book   1   12   1
            2    +I    fruit  5   22   1
            3    -D    book   1   12   1
            4    -U    fruit  5   22   1
            4    +U    fruit  4   11   1
            4    +I    fruit  5   22   2
            5    +I    fruit  8   100  1
            6    +I    book   1   12   1
            """,
            ttl_ms=10_000_000,
        ),
        expiring(
            "a better row that has gone still takes a rank, and one behind the change is left out",
            "v",
            (1, 3, True),
            """
            seq  kind  cat  id  v  clock
            1    +I    a    x   1  0
            2    +I    a    y   3  5
            3    +I    a    z   4  10
            4    +I    a    u   2  15
            5    -D    a    x   1  16
            6    -D    a    u   2  17
            """,
            """
            seq  kind  cat  id  v  rank
            1    +I    a    x   1  1
            2    +I    a    y   3  2
            3    +I    a    z   4  3
            4    -U    a    z   4  2
            4    +U    a    u   2  2
            4    +I    a    z   4  3
            6    -U    a    u   2  1
            6    +U    a    z   4  1
            6    -D    a    z   4  2
            """,
        ),
        expiring(
            "without ranks the retraction of a row that has gone does nothing, and it no longer takes a rank",
            "v",
            (1, 2),
            """
            seq  kind  cat  id  v  clock
            1    +I    a    x   1  0
            2    +I    a    y   2  5
            3    +I    a    z   3  9
            4    -D    a    y   2  10
            5    -D    a    x   1  11
            6    +I    a    u   2  12
            7    -D    a    z   3  25
            """,
            """
            seq  kind  cat  id  v
            1    +I    a    x   1
            2    +I    a    y   2
            4    -D    a    y   2
            4    +I    a    z   3
            6    +I    a    u   2
            """,
        ),
        expiring(
            "the number of rows of a sort key is that of all that came: one that never came out is deleted",
            "v",
            (1, 2),
            """
            seq  kind  cat  id  v  clock
            1    +I    a    x   1  0
            2    +I    a    y   1  0
            3    +I    a    z   2  9
            4    +I    a    u   1  10
            5    -D    a    u   1  11
            """,
            """
            seq  kind  cat  id  v
            1    +I    a    x   1
            2    +I    a    y   1
            5    -D    a    u   1
            """,
        ),
    ]
)

LONG = 1 << 60


@pytest.mark.parametrize(
    ("row_key", "append", "dues"),
    [
        # The rows of a sort key together, and of Retract the numbers; each row by itself.
        (None, True, [12, 13]),
        (None, False, [12, 13, 13]),
        (("id",), False, [11, 12, 13]),
    ],
)
def test_a_state_says_when_its_entries_expire(row_key: tuple[str, ...] | None, append: bool, dues: list[int]) -> None:
    make = columns(NAMES, "v", (1, 3, True), True, row_key, append=append, ttl_ms=10)
    types, line = (pa.int64(), pa.int64(), pa.string()), Timeline.of([])
    loop = ChunkLoop(make, Layout((), (types,), (*types, pa.int64())), line, Output(line), lambda seq: seq)
    given = [Input(1, INSERT, (1, 5, "a")), Input(2, INSERT, (2, 5, "b")), Input(3, INSERT, (3, 7, "c"))]
    run_key(loop, given, line, (), None)
    assert sorted(loop.entries()) == [(0, due, 1) for due in dues]


@given(st.lists(st.tuples(st.integers(0, 9), rows), max_size=25), st.sampled_from(ORDERS), ranges)
def test_retract_with_an_endless_ttl_is_retract_without_one(
    steps: list[tuple[int, Row]], order: str, ranks: tuple[int, int, bool]
) -> None:
    inputs, _ = changes_of(steps)
    without, _ = retracted(order, ranks, inputs)
    aging, _ = run_part(columns(NAMES, order, ranks, True, ttl_ms=LONG), ranks, inputs)
    assert aging.emitted == without.emitted


@given(st.lists(rows, max_size=25), st.sampled_from(ORDERS), ranges)
def test_append_fast_with_an_endless_ttl_is_that_without_one(
    steps: list[Row], order: str, ranks: tuple[int, int, bool]
) -> None:
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(steps, 1)]
    without, _ = run_part(columns(NAMES, order, ranks, True, append=True), ranks, inputs)
    if ranks[:2] != (1, 1):
        aging, _ = run_part(columns(NAMES, order, ranks, True, append=True, ttl_ms=LONG), ranks, inputs)
        assert aging.emitted == without.emitted
