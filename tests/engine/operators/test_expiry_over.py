"""Over aggregation with a TTL: a key starts again once its state has gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.function import AggregateCall
from engine.aggregates.over import FrameOf, OverKernel
from engine.aggregates.over_expiring import expiring_over
from engine.aggregates.over_values import OverValuesKernel
from engine.aggregates.registry import function_named
from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.expiry import expiring
from engine.contract.kernel import Input, Kernel, Output, run, run_key
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.ranking.sort_keys import SortColumn
from tests.engine.cases import Case, check_cases

SUM = [AggregateCall(function_named("SUM"), 1)]
DISTINCT = [AggregateCall(function_named("COUNT"), 1, distinct=True)]

test_over_all_rows = check_cases(
    [
        # Flink ProcTimeUnboundedPrecedingFunctionTest.testStateTtl.
        Case(
            "the sum starts again",
            """
            seq  kind  k    v  clock
            1    +I    key  1  1
            2    +I    key  1  1
            3    +I    key  1  1
            4    +I    key  1  2001
            """,
            """
            seq  kind  k    v  s
            1    +I    key  1  1
            2    +I    key  1  2
            3    +I    key  1  3
            4    +I    key  1  1
            """,
            expiring_over(SUM, 2, None, FrameOf(), 2000),
            key=("k",),
        ),
        Case(
            "each row refreshes the accumulator of its key, and of no other",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    b  1  0
            3    +I    a  2  1999
            4    +I    a  3  3998
            5    +I    b  5  3998
            """,
            """
            seq  kind  k  v  s
            1    +I    a  1  1
            2    +I    b  1  1
            3    +I    a  2  3
            4    +I    a  3  6
            5    +I    b  5  5
            """,
            expiring_over(SUM, 2, None, FrameOf(), 2000),
            key=("k",),
        ),
        Case(
            "the DISTINCT values go with the accumulator",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  1  5
            3    +I    a  2  5
            4    +I    a  1  15
            """,
            """
            seq  kind  k  v  n
            1    +I    a  1  1
            2    +I    a  1  1
            3    +I    a  2  2
            4    +I    a  1  1
            """,
            expiring_over(DISTINCT, 2, None, FrameOf(), 10),
            key=("k",),
        ),
    ]
)

# Flink CleanupState.registerProcessingCleanupTimer: a TTL of 10 ms clears after 15 ms; a timer that leaves a row less
# than 10 ms is set anew.
test_over_rows = check_cases(
    [
        Case(
            "the frame goes one and a half TTLs after the row that set the timer",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  2  5
            3    +I    a  3  14
            4    +I    a  4  28
            5    +I    a  5  43
            """,
            """
            seq  kind  k  v  s
            1    +I    a  1  1
            2    +I    a  2  3
            3    +I    a  3  5
            4    +I    a  4  7
            5    +I    a  5  5
            """,
            expiring_over(SUM, 2, None, FrameOf(1), 10),
            key=("k",),
        ),
        Case(
            "a row that comes early does not set the timer anew",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  2  5
            3    +I    a  3  15
            """,
            """
            seq  kind  k  v  s
            1    +I    a  1  1
            2    +I    a  2  3
            3    +I    a  3  3
            """,
            expiring_over(SUM, 2, None, FrameOf(2), 10),
            key=("k",),
        ),
    ]
)


def in_time(frame: FrameOf, ttl_ms: int = 10) -> Callable[[], Kernel]:
    return expiring_over(SUM, 3, 2, frame, ttl_ms)


# The clean-up timer of Flink's functions by event time: it leaves a key alone while rows of it wait.
test_by_event_time = check_cases(
    [
        Case(
            "a key without waiting rows goes one and a half TTLs after its last record or emission",
            """
            seq  kind  k  v  rt  wm   clock
            1    +I    a  1  1   1    0
            2    +I    b  1  2   2    0
            3    +I    a  2  3   3    14
            4    +I    b  2  4   4    15
            5    +I    a  4  5   5    28
            """,
            """
            seq  kind  k  v  rt  s
            1    +I    a  1  1   1
            2    +I    b  1  2   1
            3    +I    a  2  3   3
            4    +I    b  2  4   2
            5    +I    a  4  5   7
            """,
            in_time(FrameOf()),
            key=("k",),
        ),
        Case(
            "rows that wait keep the sum before them, and the emission sets the timer anew",
            """
            seq  kind  k  v  rt  wm   clock
            1    +I    a  1  1   1    0
            2    +I    a  2  9   .    10
            3    +I    b  0  9   9    50
            4    +I    a  4  10  10   64
            5    +I    a  8  11  11   80
            """,
            """
            seq  kind  k  v  rt  s
            1    +I    a  1  1   1
            3    +I    a  2  9   3
            3    +I    b  0  9   0
            4    +I    a  4  10  7
            5    +I    a  8  11  8
            """,
            in_time(FrameOf(peers=True)),
            key=("k",),
        ),
        Case(
            "with a number of rows the time up to which rows were emitted goes too, so late rows count again",
            """
            seq  kind  k  v  rt  wm   clock
            1    +I    a  1  5   5    0
            2    +I    a  2  3   .    14
            3    +I    a  4  4   .    29
            4    wm             6    30
            """,
            """
            seq  kind  k  v  rt  s
            1    +I    a  1  5   1
            4    +I    a  4  4   4
            """,
            in_time(FrameOf(1, judges_by_emitted=True)),
            key=("k",),
            late="""
            seq  time  start  end   wm  lateness
            2    3     NULL   NULL  5   2
            """,
        ),
    ]
)


def by_value(ttl_ms: int, *, peers: bool = False) -> Callable[[], Kernel]:
    kernel = partial(OverValuesKernel, SUM, 2, SortColumn(1), peers=peers, update_before=True)
    return expiring(kernel, ttl_ms)


# Flink NonTimeRowsUnboundedPrecedingFunctionTest and NonTimeRangeUnboundedPrecedingFunctionTest,
# testInsertWithStateTTLExpiration and testInsertAndRetractWithStateTTLExpiration: the TTL is 10 ms. In Flink 2.3 the
# partition goes as a whole, one TTL after its last record.
test_by_a_column = check_cases(
    [
        Case(
            f"the sum starts again, in {name}",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  2  0
            3    +I    a  2  0
            4    +I    a  5  11
            """,
            f"""
            seq  kind  k  v  s
            1    +I    a  1  1
            2    +I    a  2  3
            {"3    -U    a  2  3" if peers else "3    +I    a  2  5"}
            {"3    +U    a  2  5" if peers else ""}
            {"3    +I    a  2  5" if peers else ""}
            4    +I    a  5  5
            """,
            by_value(10, peers=peers),
            key=("k",),
        )
        for name, peers in (("rows", False), ("a range", True))
    ]
    + [
        Case(
            "the retraction of a row that has gone does nothing",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  5  0
            3    -U    a  5  11
            4    +I    a  6  12
            """,
            """
            seq  kind  k  v  s
            1    +I    a  1  1
            2    +I    a  5  6
            4    +I    a  6  6
            """,
            by_value(10),
            key=("k",),
        ),
        Case(
            "each record refreshes the rows of its partition, a retraction too, and of no other",
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    b  1  0
            3    +I    a  3  9
            4    -D    a  3  18
            5    +I    b  2  18
            6    +I    a  4  27
            """,
            """
            seq  kind  k  v  s
            1    +I    a  1  1
            2    +I    b  1  1
            3    +I    a  3  4
            4    -D    a  3  4
            5    +I    b  2  2
            6    +I    a  4  5
            """,
            by_value(10),
            key=("k",),
        ),
    ]
)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 12), st.integers(0, 3)), max_size=20),
    st.sampled_from([FrameOf(), FrameOf(peers=True), *(FrameOf(rows, judges_by_emitted=True) for rows in (0, 2))]),
)
def test_an_endless_ttl_is_none_by_event_time(records: Sequence[tuple[int, int, int]], frame: FrameOf) -> None:
    calls = [AggregateCall(function_named(name), 0) for name in ("SUM", "MIN", "FIRST_VALUE", "LAST_VALUE")]
    top, steps = 0, []
    for seq, (_, time, behind) in enumerate(records, start=1):
        top = max(top, time)
        steps.append((seq, top - behind))
    line = Timeline.of([*steps, (len(records) + 1, MAX_WATERMARK)])
    inputs = [Input(seq, 0, row[:2]) for seq, row in enumerate(records, start=1)]
    aging, _ = run(expiring_over(calls, 2, 1, frame, 1 << 60)(), inputs, line, now=lambda seq: seq)
    out, types = Output(line), (pa.int64(),) * 2
    loop = ChunkLoop(partial(OverKernel, calls, 2, 1, frame), Layout((), (types,), types * 3), line, out)
    run_key(loop, inputs, line, (), None)
    assert aging.emitted == out.emitted
    assert aging.lates == out.lates
