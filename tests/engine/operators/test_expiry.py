"""State with a TTL, record for record, as in the tests of Flink's functions: the source stands above each group.

`clock` is what they set with `setStateTtlProcessingTime`. Where a test of Flink sorts its output, ours is in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import function_named
from engine.contract.expiry import expiring
from engine.contract.kernel import Kernel
from engine.contract.operator import StepContext
from engine.contract.step import Keyed
from engine.deduplication.upsert_materialize import UpsertMaterializeKernel
from engine.joins.columnar import columnar_join
from engine.joins.sides import JoinKind, JoinSide
from engine.operators.aggregate import AggregateKernel, MiniBatchAggregateKernel
from tests.engine.cases import Case, check_cases
from tests.engine.planning import plan_of, rows

EVENTS = rows("k string, v bigint, rt bigint", event_time="rt")
CDC = rows("k string, v bigint", changelog=True, primary_key=["k"])
INSENSITIVE = {"table.exec.deduplicate.insert-update-after-sensitive-enabled": "false"}
COMPACT = {"table.exec.deduplicate.mini-batch.compact-changes-enabled": "true"}
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "3",
}

LAST_BY_TIME = ("deduplicate", {"keys": ["k"], "order": "event_time", "keep": "last"})
FIRST_AT_ONCE = ("deduplicate", {"keys": ["k"], "order": "event_time", "keep": "first", "first_row": "at_once"})
FIRST_COMPLETE = ("deduplicate", {"keys": ["k"], "order": "event_time", "keep": "first", "first_row": "when_complete"})
LAST_BY_ARRIVAL = ("deduplicate", {"keys": ["k"], "order": "arrival", "keep": "last"})
FIRST_BY_ARRIVAL = ("deduplicate", {"keys": ["k"], "order": "arrival", "keep": "first"})


def case(
    title: str,
    node: tuple[str, Mapping[str, Any]],
    ttl_ms: int,
    given: str,
    expect: str,
    *,
    source: Any = EVENTS,
    sink: str = "changelog",
    options: Mapping[str, str] | None = None,
    key: Sequence[str] = ("k",),
    **more: Any,
) -> Case:
    """A case with the kernel that the planner chooses under a TTL; 0 for none."""
    found = plan_of("t -> d -> out", t=source, d=node, out=("sink", {"mode": sink})).node("d")
    given_options = {**(options or {}), "table.exec.state.ttl": f"{ttl_ms} ms"}
    step = found.operator.step(StepContext("d", 1, found.inputs, found.mode, found.derived, given_options))  # type: ignore[union-attr]
    assert isinstance(step, Keyed)
    columnar = None if step.kernel is not None else step.columnar.make
    return Case(title, given, expect, step.kernel, key=tuple(key), mode=found.mode, columnar=columnar, **more)


# Flink ProcTimeDeduplicateKeepLastRowFunctionTest.testWithGenerateUpdateBeforeAndStateTtl, its others with the same
# clock, and ProcTimeDeduplicateKeepFirstRowFunctionTest.testWithStateTtl. There the TTL is 10 ms.
BOOKS = """
    seq  kind  k     v   rt  clock
    1    +I    k1    12  0   0
    2    +I    k2    11  0   0
    3    +I    k1    13  0   0
    4    +I    k1    17  0   30
    5    +I    k2    18  0   30
    6    +I    k1    19  0   30
"""
KEPT_LAST = """
    seq  kind  k     v   rt
    1    +I    k1    12  0
    2    +I    k2    11  0
    3    -U    k1    12  0
    3    +U    k1    13  0
    4    +I    k1    17  0
    5    +I    k2    18  0
    6    -U    k1    17  0
    6    +U    k1    19  0
"""
test_last_by_arrival = check_cases(
    [
        case("the last row expires, and the next is an insert", LAST_BY_ARRIVAL, 10, BOOKS, KEPT_LAST),
        case(
            "into an upsert sink the next row is +I again, and not +U",
            LAST_BY_ARRIVAL,
            10,
            BOOKS,
            """
            seq  kind  k     v   rt
            1    +I    k1    12  0
            2    +I    k2    11  0
            3    +U    k1    13  0
            4    +I    k1    17  0
            5    +I    k2    18  0
            6    +U    k1    19  0
            """,
            sink="upsert",
        ),
        case(
            "without a difference between +I and +U nothing is kept, so nothing expires",
            LAST_BY_ARRIVAL,
            10,
            BOOKS,
            """
            seq  kind  k     v   rt
            1    +U    k1    12  0
            2    +U    k2    11  0
            3    +U    k1    13  0
            4    +U    k1    17  0
            5    +U    k2    18  0
            6    +U    k1    19  0
            """,
            sink="upsert",
            options=INSENSITIVE,
        ),
        case(
            "a row lives for less than the TTL after its last write, the end of which is excluded",
            LAST_BY_ARRIVAL,
            10,
            """
            seq  kind  k   v  rt  clock
            1    +I    k1  1  0   0
            2    +I    k1  1  0   9
            3    +I    k1  2  0   18
            4    +I    k1  3  0   28
            """,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  0
            2    -U    k1  1  0
            2    +U    k1  1  0
            3    -U    k1  1  0
            3    +U    k1  2  0
            4    +I    k1  3  0
            """,
        ),
        case(
            "of a changelog: the retraction of a row that has expired does nothing",
            LAST_BY_ARRIVAL,
            10,
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    -D    a  1  10
            3    +I    a  2  11
            4    -D    a  2  20
            """,
            """
            seq  kind  k  v
            1    +I    a  1
            3    +I    a  2
            4    -D    a  2
            """,
            source=CDC,
        ),
        case(
            "rows that came before the clock began count from the first record under it",
            LAST_BY_ARRIVAL,
            10,
            """
            seq  kind  k   v  rt  clock
            1    +I    k1  1  0   MIN
            2    +I    k1  2  0   1000
            3    +I    k1  3  0   1010
            """,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  0
            2    -U    k1  1  0
            2    +U    k1  2  0
            3    +I    k1  3  0
            """,
        ),
    ]
)

test_first_by_arrival = check_cases(
    [
        case(
            "the mark of a key expires, and its next row is a first one",
            FIRST_BY_ARRIVAL,
            10,
            BOOKS,
            """
            seq  kind  k     v   rt
            1    +I    k1    12  0
            2    +I    k2    11  0
            4    +I    k1    17  0
            5    +I    k2    18  0
            """,
        ),
        case(
            "rows that are ignored do not refresh it",
            FIRST_BY_ARRIVAL,
            10,
            """
            seq  kind  k   v  rt  clock
            1    +I    k1  1  0   0
            2    +I    k1  2  0   6
            3    +I    k1  3  0   9
            4    +I    k1  4  0   10
            """,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  0
            4    +I    k1  4  0
            """,
        ),
    ]
)

# Flink RowTimeDeduplicateFunctionTest, both tests with their settings; where it restores a snapshot an epoch ends, too.
ROWTIMES = """
    seq  kind  k     v   rt   clock
    1    +I    key1  13  99   0
    2    +I    key1  13  99   0
    3    +I    key1  12  100  0
    4    +I    key2  11  101  0
    5    +I    key1  12  300  0
    6    +I    key2  11  301  0
    7    +I    key3  5   299  0
    8    +I    key1  12  400  10
    9    +I    key2  11  401  10
"""
FIRST_ROWS = """
    seq  kind  k     v   rt
    1    +I    key1  13  99
    4    +I    key2  11  101
    7    +I    key3  5   299
    8    +I    key1  12  400
    9    +I    key2  11  401
"""
test_by_event_time = check_cases(
    [
        case("the first row, at once", FIRST_AT_ONCE, 10, ROWTIMES, FIRST_ROWS),
        case("the first row, at once, without -U", FIRST_AT_ONCE, 10, ROWTIMES, FIRST_ROWS, sink="upsert"),
        case(
            "the first row, at once, all as +U",
            FIRST_AT_ONCE,
            10,
            ROWTIMES,
            FIRST_ROWS.replace("+I", "+U"),
            sink="upsert",
            options=INSENSITIVE,
        ),
        case(
            "the last row",
            LAST_BY_TIME,
            10,
            ROWTIMES,
            """
            seq  kind  k     v   rt
            1    +I    key1  13  99
            2    -U    key1  13  99
            2    +U    key1  13  99
            3    -U    key1  13  99
            3    +U    key1  12  100
            4    +I    key2  11  101
            5    -U    key1  12  100
            5    +U    key1  12  300
            6    -U    key2  11  101
            6    +U    key2  11  301
            7    +I    key3  5   299
            8    +I    key1  12  400
            9    +I    key2  11  401
            """,
        ),
        case(
            "the last row, without -U",
            LAST_BY_TIME,
            10,
            ROWTIMES,
            """
            seq  kind  k     v   rt
            1    +I    key1  13  99
            2    +U    key1  13  99
            3    +U    key1  12  100
            4    +I    key2  11  101
            5    +U    key1  12  300
            6    +U    key2  11  301
            7    +I    key3  5   299
            8    +I    key1  12  400
            9    +I    key2  11  401
            """,
            sink="upsert",
        ),
        case(
            "a row that loses is not written: the last row expires in spite of it, and an older one follows",
            LAST_BY_TIME,
            10,
            """
            seq  kind  k   v  rt   clock
            1    +I    k1  1  100  0
            2    +I    k1  2  90   9
            3    +I    k1  3  80   10
            """,
            """
            seq  kind  k   v  rt
            1    +I    k1  1  100
            3    +I    k1  3  80
            """,
        ),
        # Flink RowTimeDeduplicateKeepFirstRowFunctionTest.testRowTimeDeduplicateKeepFirstRow.
        case(
            "the first row, when complete",
            FIRST_COMPLETE,
            10,
            """
            seq  kind  k     v   rt   clock  wm
            1    +I    key1  14  101  0      50
            2    +I    key1  13  99   0      .
            3    +I    key1  15  99   0      .
            4    +I    key1  12  100  0      .
            5    +I    key2  11  101  0      102
            6    +I    key1  12  300  0      .
            7    +I    key2  11  301  0      .
            8    +I    key3  5   299  0      302
            9    +I    key1  12  400  11     .
            10   +I    key2  11  401  11     402
            11   +I    key1  22  500  21     .
            12   +I    key2  21  501  21     .
            13   +I    key4  1   600  31     502
            """,
            """
            seq  kind  k     v   rt
            5    +I    key1  13  99
            5    +I    key2  11  101
            8    +I    key3  5   299
            10   +I    key1  12  400
            10   +I    key2  11  401
            13   +I    key1  22  500
            13   +I    key2  21  501
            """,
        ),
        case(
            "the first row, when complete: its candidate does not expire, but that it was emitted does",
            FIRST_COMPLETE,
            10,
            """
            seq  kind  k   v  rt    clock  wm
            1    +I    k1  1  1000  0      500
            2    +I    k1  2  1200  100    900
            3    +I    k2  3  1500  120    1000
            4    +I    k1  4  1100  129    1050
            5    +I    k1  5  1300  130    1100
            6    +I    k2  6  1600  131    1300
            """,
            """
            seq  kind  k   v  rt
            3    +I    k1  1  1000
            6    +I    k1  5  1300
            """,
        ),
    ]
)

# Flink ProcTimeMiniBatchDeduplicateKeepLastRowFunctionTest.testWithGenerateUpdateBeforeAndStateTtl and
# ProcTimeMiniBatchDeduplicateKeepFirstRowFunctionTest.testKeepFirstRowWithStateTtl: bundles of 3 records, and a bundle
# more. A state is as old as the end of the bundle in which it was written.
BUNDLES = """
    seq  kind  k     v   rt  clock
    1    +I    k1    10  0   0
    2    +I    k2    11  0   0
    3    +I    k1    13  0   0
    4    +I    k1    12  0   30
    5    +I    k2    17  0   30
    6    +I    k1    19  0   30
    7    +I    k2    1   0   31
    8    +I    k1    2   0   32
    9    +I    k1    3   0   40
"""
test_in_bundles = check_cases(
    [
        case(
            "the last row by arrival",
            LAST_BY_ARRIVAL,
            10,
            BUNDLES,
            """
            seq  kind  k     v   rt
            3    +I    k1    13  0
            3    +I    k2    11  0
            6    +I    k1    19  0
            6    +I    k2    17  0
            9    +I    k2    1   0
            9    +I    k1    3   0
            """,
            options=MINI_BATCH,
            bundle=3,
        ),
        case(
            "the first row by arrival",
            FIRST_BY_ARRIVAL,
            10,
            BUNDLES,
            """
            seq  kind  k     v   rt
            3    +I    k1    10  0
            3    +I    k2    11  0
            6    +I    k1    12  0
            6    +I    k2    17  0
            9    +I    k2    1   0
            9    +I    k1    2   0
            """,
            options=MINI_BATCH,
            bundle=3,
        ),
        # Flink RowTimeMiniBatchLatestChangeDeduplicateFunctionTest.testRowTimeDeduplicateKeepLastRow.
        case(
            "the last row by event time, compacted",
            LAST_BY_TIME,
            10,
            ROWTIMES,
            """
            seq  kind  k     v   rt
            3    +I    key1  12  100
            6    +I    key2  11  301
            6    -U    key1  12  100
            6    +U    key1  12  300
            9    +I    key3  5   299
            9    +I    key1  12  400
            9    +I    key2  11  401
            """,
            options={**MINI_BATCH, **COMPACT},
            bundle=3,
        ),
    ]
)

# Flink GroupAggregateHarnessTest.testAggregateWithRetraction (TTL 2 s), testAggregateWithNoStateExpiration.
SUM_OF_C = AggregateCall(function_named("SUM"), 1)
GROUPS = """
    seq  kind  a    c  clock
    1    +I    aaa  1  1
    2    +I    bbb  1  1
    3    +I    aaa  2  1
    4    -D    aaa  2  1
    5    +I    ccc  3  1
    6    -U    ccc  3  3002
    7    +I    aaa  4  3002
    8    +I    bbb  2  3002
    9    +I    aaa  5  3002
    10   +I    eee  6  3002
    11   +I    aaa  7  3002
    12   +I    bbb  3  3002
    13   +I    aaa  0  3002
"""
SUMS = """
    seq  kind  a    c
    1    +I    aaa  1
    2    +I    bbb  1
    3    -U    aaa  1
    3    +U    aaa  3
    4    -U    aaa  3
    4    +U    aaa  1
    5    +I    ccc  3
    7    +I    aaa  4
    8    +I    bbb  2
    9    -U    aaa  4
    9    +U    aaa  9
    10   +I    eee  6
    11   -U    aaa  9
    11   +U    aaa  16
    12   -U    bbb  2
    12   +U    bbb  5
    13   -U    aaa  16
    13   +U    aaa  16
"""


def sums(ttl_ms: int, kernel: Callable[..., Kernel] = AggregateKernel) -> Callable[[], Kernel]:
    """SUM(c) by a, over an input that retracts."""
    return expiring(partial(kernel, [SUM_OF_C], retracting=True, emit_unchanged=ttl_ms > 0), ttl_ms)


test_groups = check_cases(
    [
        Case("a group expires and starts again", GROUPS, SUMS, sums(2000), key=("a",)),
        Case(
            "the same in bundles of one record",
            GROUPS,
            SUMS,
            sums(2000, MiniBatchAggregateKernel),
            key=("a",),
            bundle=1,
        ),
        Case(
            "without a TTL an unchanged sum is not repeated, and no time makes a group expire",
            """
            seq  kind  a    c  clock
            1    +I    aaa  1  0
            2    +I    aaa  0  99999
            """,
            """
            seq  kind  a    c
            1    +I    aaa  1
            """,
            sums(0),
            key=("a",),
        ),
        Case(
            "a group that is written in time lives on, however old it is",
            """
            seq  kind  a    c  clock
            1    +I    aaa  1  0
            2    +I    aaa  1  1999
            3    +I    aaa  1  3998
            4    +I    aaa  1  5998
            """,
            """
            seq  kind  a    c
            1    +I    aaa  1
            2    -U    aaa  1
            2    +U    aaa  2
            3    -U    aaa  2
            3    +U    aaa  3
            4    +I    aaa  1
            """,
            sums(2000),
            key=("a",),
        ),
    ]
)

# Flink GroupAggregateHarnessTest.testAggregationWithDistinct, TTL 2 s; its column of a function in Java is left out.
COUNTS = [
    AggregateCall(function_named("COUNT"), 1, distinct=True),
    AggregateCall(function_named("COUNT")),
    AggregateCall(function_named("SUM"), 2),
]
COUNT_DISTINCT, SUM_DISTINCT = (AggregateCall(function_named(name), 1, distinct=True) for name in ("COUNT", "SUM"))


def distinct(ttl_ms: int, *calls: AggregateCall, retracting: bool = False) -> Callable[[], Kernel]:
    """An aggregate with DISTINCT by its first column."""
    kernel = partial(AggregateKernel, calls, retracting=retracting, emit_unchanged=True, ttl_ms=ttl_ms)
    return expiring(kernel, ttl_ms)


test_distinct = check_cases(
    [
        Case(
            "groups with DISTINCT values",
            """
            seq  kind  a    b     c  clock
            1    +I    aaa  a1    1  1
            2    +I    bbb  b1    2  1
            3    +I    aaa  a2    2  1000
            4    +I    bbb  b3    3  2001
            5    +I    aaa  a2    3  2001
            6    +I    aaa  NULL  4  2001
            7    +I    aaa  NULL  4  5001
            8    +I    aaa  a2    2  5001
            9    +I    bbb  b4    4  5001
            """,
            """
            seq  kind  a    d  n  s
            1    +I    aaa  1  1  1
            2    +I    bbb  1  1  2
            3    -U    aaa  1  1  1
            3    +U    aaa  2  2  3
            4    +I    bbb  1  1  3
            5    -U    aaa  2  2  3
            5    +U    aaa  2  3  6
            6    -U    aaa  2  3  6
            6    +U    aaa  2  4  10
            7    +I    aaa  0  1  4
            8    -U    aaa  0  1  4
            8    +U    aaa  1  2  6
            9    +I    bbb  1  1  4
            """,
            distinct(2000, *COUNTS),
            key=("a",),
        ),
        # Flink DistinctAggCodeGen: of rows that are only added, a value is written when it is new.
        Case(
            "a value goes although it is seen again, and then counts again in a group that lives on",
            """
            seq  kind  a  v  clock
            1    +I    a  5  0
            2    +I    a  5  9
            3    +I    a  6  9
            4    +I    a  5  10
            5    +I    a  5  19
            6    +I    a  6  19
            """,
            """
            seq  kind  a  d  s
            1    +I    a  1  5
            2    -U    a  1  5
            2    +U    a  1  5
            3    -U    a  1  5
            3    +U    a  2  11
            4    -U    a  2  11
            4    +U    a  3  16
            5    -U    a  3  16
            5    +U    a  3  16
            6    -U    a  3  16
            6    +U    a  4  22
            """,
            distinct(10, COUNT_DISTINCT, SUM_DISTINCT),
            key=("a",),
        ),
        Case(
            "with retractions each copy writes its value, and the retraction of one that has gone is not counted",
            """
            seq  kind  a  v  clock
            1    +I    a  5  0
            2    +I    a  5  9
            3    +I    a  6  18
            4    -D    a  5  18
            5    -D    a  5  27
            6    +I    a  7  27
            7    -D    a  6  28
            """,
            """
            seq  kind  a  d  s
            1    +I    a  1  5
            2    -U    a  1  5
            2    +U    a  1  5
            3    -U    a  1  5
            3    +U    a  2  11
            4    -U    a  2  11
            4    +U    a  2  11
            5    -U    a  2  11
            5    +U    a  1  6
            6    -U    a  1  6
            6    +U    a  2  13
            7    -U    a  2  13
            7    +U    a  2  13
            """,
            distinct(10, COUNT_DISTINCT, SUM_DISTINCT, retracting=True),
            key=("a",),
        ),
    ]
)

# Flink SinkUpsertMaterializerTest.testNoUpsertKeyFlow and testInputHasUpsertKeyWithNonDeterministicColumn, TTL 1 s.
test_rows_of_a_sink = check_cases(
    [
        Case(
            "the rows of a key expire together: the retraction of one of them does nothing",
            """
            seq  kind  id  k  v   clock
            1    +I    1   1  a1  1
            2    +I    2   1  a2  1
            3    +I    3   1  a3  1
            4    -D    2   1  a2  1
            5    -D    3   1  a3  1
            6    -D    1   1  a1  1
            7    +I    4   1  a4  1
            8    -D    4   1  a4  1002
            """,
            """
            seq  kind  id  k  v
            1    +I    1   1  a1
            2    +U    2   1  a2
            3    +U    3   1  a3
            5    +U    1   1  a1
            6    -D    1   1  a1
            7    +I    4   1  a4
            """,
            expiring(partial(UpsertMaterializeKernel, ()), 1000),
        ),
        Case(
            "the same with the upsert key of the input",
            """
            seq  kind  id  k  v     clock
            1    +I    1   1  a1    1
            2    +U    1   1  a11   1
            3    +I    3   1  a3    1
            4    -D    1   1  a111  1
            5    -D    3   1  a33   1
            6    +I    4   1  a4    1
            7    -D    4   1  a4    1002
            """,
            """
            seq  kind  id  k  v
            1    +I    1   1  a1
            2    +U    1   1  a11
            3    +U    3   1  a3
            5    -D    3   1  a33
            6    +I    4   1  a4
            """,
            expiring(partial(UpsertMaterializeKernel, (0,)), 1000),
        ),
        Case(
            "a row that was removed refreshes the rest, an unknown one does not",
            """
            seq  kind  id  v   clock
            1    +I    1   a1  0
            2    +I    2   a2  0
            3    -D    1   a1  900
            4    -D    9   a9  1800
            5    -D    2   a2  1899
            6    +I    3   a3  1899
            7    -D    9   a9  2800
            8    -D    3   a3  2899
            """,
            """
            seq  kind  id  v
            1    +I    1   a1
            2    +U    2   a2
            5    -D    2   a2
            6    +I    3   a3
            """,
            expiring(partial(UpsertMaterializeKernel, ()), 1000),
        ),
    ]
)

# Flink's normaliser is ProcTimeDeduplicateKeepLastRowFunction over a changelog (DeduplicateFunctionHelper
# .processLastRowOnChangelog).
NORMALISE = ("changelog_normalize", {"keys": ["k"]})
test_normalised = check_cases(
    [
        case(
            "an update of a row that has expired is an insert, and its delete is unknown",
            NORMALISE,
            10,
            """
            seq  kind  k  v  w     clock
            1    +U    a  1  true  0
            2    +U    a  2  true  9
            3    +U    a  3  true  19
            4    -D    a  3  true  29
            5    +U    b  1  true  29
            6    -D    b  1  true  38
            """,
            """
            seq  kind  k  v
            1    +I    a  1
            2    -U    a  1
            2    +U    a  2
            3    +I    a  3
            5    +I    b  1
            6    -D    b  1
            """,
            source=CDC,
        ),
        case(
            "the same in bundles: a bundle of nothing but -U refreshes nothing",
            NORMALISE,
            10,
            """
            seq  kind  k  v  w     clock
            1    +U    a  1  true  0
            2    -U    a  1  true  9
            3    +U    a  3  true  10
            """,
            """
            seq  kind  k  v
            1    +I    a  1
            3    +I    a  3
            """,
            source=CDC,
            options=MINI_BATCH,
            bundle=1,
        ),
    ]
)

# Flink StreamingJoinOperatorTest: orders on the left and lines on the right, each side unique by the join key.
UNIQUE = JoinSide("JoinKeyContainsUniqueKey", 2, (), "")
CONTENT = JoinSide("NoUniqueKey", 2, None, "")


def joined(
    title: str, kind: JoinKind, ttls_ms: tuple[int, int], given: str, expect: str, side: JoinSide = UNIQUE
) -> Case:
    return Case(title, given, expect, key=("k",), ports=2, columnar=columnar_join(kind, (side, side), ttls_ms).make)


test_joins = check_cases(
    [
        joined(
            "testInnerJoinWithDifferentStateRetentionTime",
            JoinKind.INNER,
            (4000, 1000),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    1
            4    +U    0     L2  b      3000
            5    +U    1     L2  SHIP   3000
            6    +I    1     L1  TRUCK  4001
            7    -D    1     L2  SHIP   4001
            8    +I    1     L2  RAIL   7000
            """,
            """
            seq  kind  k   x  k0  y
            3    +I    L2  a  L2  AIR
            5    +U    L2  b  L2  SHIP
            7    -D    L2  b  L2  SHIP
            """,
        ),
        joined(
            "testInnerJoinWithStateRetentionDisabled",
            JoinKind.INNER,
            (0, 0),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    1
            4    +U    0     L2  b      3000
            5    +U    1     L2  SHIP   3000
            6    +I    1     L1  TRUCK  4001
            7    -D    1     L2  SHIP   4001
            8    +I    1     L2  RAIL   7000
            """,
            """
            seq  kind  k   x  k0  y
            3    +I    L2  a  L2  AIR
            4    +U    L2  b  L2  AIR
            5    +U    L2  b  L2  SHIP
            6    +I    L1  a  L1  TRUCK
            7    -D    L2  b  L2  SHIP
            8    +I    L2  b  L2  RAIL
            """,
        ),
        joined(
            "testInnerJoinWithSameStateRetentionTime",
            JoinKind.INNER,
            (4000, 4000),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    1
            4    +U    0     L2  b      4000
            5    +I    1     L1  TRUCK  4001
            6    +U    1     L2  TRUCK  7999
            7    +U    1     L2  RAIL   8000
            """,
            """
            seq  kind  k   x  k0  y
            3    +I    L2  a  L2  AIR
            4    +U    L2  b  L2  AIR
            6    +U    L2  b  L2  TRUCK
            """,
        ),
        joined(
            "testLeftOuterJoinWithDifferentStateRetentionTime",
            JoinKind.LEFT,
            (4000, 1000),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    1
            4    +U    0     L2  b      3000
            5    +U    1     L2  SHIP   3000
            6    +I    1     L1  TRUCK  4001
            7    -D    1     L2  SHIP   4001
            8    +I    1     L2  RAIL   8001
            """,
            """
            seq  kind  k   x  k0    y
            1    +I    L1  a  NULL  NULL
            2    +I    L2  a  NULL  NULL
            3    -D    L2  a  NULL  NULL
            3    +I    L2  a  L2    AIR
            4    +I    L2  b  NULL  NULL
            5    -D    L2  b  NULL  NULL
            5    +I    L2  b  L2    SHIP
            7    -D    L2  b  L2    SHIP
            7    +I    L2  b  NULL  NULL
            """,
        ),
        joined(
            "testRightOuterJoinWithDifferentStateRetentionTime: a change of the number of partners refreshes a row",
            JoinKind.RIGHT,
            (4000, 1000),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    4001
            4    +I    1     L1  TRUCK  4001
            5    +U    0     L2  b      5001
            6    +U    1     L2  SHIP   5001
            7    +U    1     L1  RAIL   5001
            8    +U    0     L1  c      6000
            9    -D    0     L1  c      7000
            """,
            """
            seq  kind  k     x     k0  y
            3    +I    NULL  NULL  L2  AIR
            4    +I    NULL  NULL  L1  TRUCK
            6    +I    L2    b     L2  SHIP
            7    +I    NULL  NULL  L1  RAIL
            8    -D    NULL  NULL  L1  RAIL
            8    +I    L1    c     L1  RAIL
            """,
        ),
        joined(
            "the copies of a row expire together, and what is written of one of them refreshes all",
            JoinKind.INNER,
            (10, 10),
            """
            seq  kind  port  k  v  clock
            1    +I    0     a  1  0
            2    +I    0     a  1  9
            3    +I    0     a  2  9
            4    -D    0     a  1  18
            5    +I    1     a  9  19
            6    -D    1     a  9  28
            """,
            """
            seq  kind  k  x  k0  y
            5    +I    a  1  a   9
            """,
            CONTENT,
        ),
        # Flink StreamingSemiAntiJoinOperatorTest. Where it counts a +U as one more partner, ours replaces one.
        joined(
            "testLeftSemiJoinWithDifferentStateRetentionTime",
            JoinKind.SEMI,
            (4000, 1000),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    3001
            4    +U    1     L2  TRUCK  3001
            5    -D    1     L2  TRUCK  3001
            6    +I    1     L1  SHIP   4001
            7    +U    0     L1  b      5001
            """,
            """
            seq  kind  k   x
            3    +I    L2  a
            5    -D    L2  a
            """,
        ),
        joined(
            "testLeftSemiJoinWithStateRetentionDisabled",
            JoinKind.SEMI,
            (0, 0),
            """
            seq  kind  port  k   v      clock
            1    +I    0     L1  a      1
            2    +I    0     L2  a      1
            3    +I    1     L2  AIR    3001
            4    +U    1     L2  TRUCK  3001
            5    -D    1     L2  TRUCK  3001
            6    +I    1     L1  SHIP   4001
            7    +U    0     L1  b      5001
            """,
            """
            seq  kind  k   x
            3    +I    L2  a
            5    -D    L2  a
            6    +I    L1  a
            7    +U    L1  b
            """,
        ),
        joined(
            "testLeftAntiJoinWithDifferentStateRetentionTime",
            JoinKind.ANTI,
            (4000, 1000),
            """
            seq  kind  port  k   v     clock
            1    +I    0     L1  a     1
            2    +I    0     L2  a     1
            3    +I    1     L2  AIR   3001
            4    +I    1     L1  RAIL  4001
            5    +U    0     L1  c     5001
            """,
            """
            seq  kind  k   x
            1    +I    L1  a
            2    +I    L2  a
            3    -D    L2  a
            5    +U    L1  c
            """,
        ),
        joined(
            "testLeftAntiJoinWithStateRetentionTimeDisabled",
            JoinKind.ANTI,
            (0, 0),
            """
            seq  kind  port  k   v     clock
            1    +I    0     L1  a     1
            2    +I    0     L2  a     1
            3    +I    1     L2  AIR   3001
            4    +I    1     L1  RAIL  4001
            5    +U    0     L1  c     5001
            """,
            """
            seq  kind  k   x
            1    +I    L1  a
            2    +I    L2  a
            3    -D    L2  a
            4    -D    L1  a
            """,
        ),
        # Flink StreamingSemiAntiJoinOperator: the left rows are kept with the number of their partners.
        joined(
            "semi: the last partner may have expired, and its retraction counts",
            JoinKind.SEMI,
            (10, 5),
            """
            seq  kind  port  k  v  clock
            1    +I    0     a  1  0
            2    +I    1     a  9  4
            3    -D    1     a  9  13
            4    +I    1     a  8  22
            5    +I    1     a  7  32
            """,
            """
            seq  kind  k  x
            2    +I    a  1
            3    -D    a  1
            4    +I    a  1
            """,
            CONTENT,
        ),
        joined(
            "anti: a left row whose partner has expired is not seen again, but one that comes then is",
            JoinKind.ANTI,
            (100, 5),
            """
            seq  kind  port  k  v  clock
            1    +I    1     a  9  0
            2    +I    0     a  1  4
            3    +I    0     a  2  5
            """,
            """
            seq  kind  k  x
            3    +I    a  2
            """,
            CONTENT,
        ),
    ]
)
