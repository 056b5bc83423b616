"""Over aggregation by arrival with a TTL: a key starts again once its state has gone."""

from __future__ import annotations

from engine.aggregates.function import AggregateCall
from engine.aggregates.over_arrival import arrival_over
from engine.aggregates.registry import function_named
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
            arrival_over(SUM, 2, None, 2000),
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
            arrival_over(SUM, 2, None, 2000),
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
            arrival_over(DISTINCT, 2, None, 10),
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
            arrival_over(SUM, 2, 1, 10),
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
            arrival_over(SUM, 2, 2, 10),
            key=("k",),
        ),
    ]
)
