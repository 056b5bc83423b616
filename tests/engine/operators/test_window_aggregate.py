"""Window aggregation: Flink's firings and late records, the document's traces, and properties for any input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.aggregates.function import AggregateCall
from engine.aggregates.parameters import Aggregate
from engine.aggregates.registry import function_named
from engine.contract.derived import Derived
from engine.contract.kernel import Input, run
from engine.errors import PlanRejected
from engine.mini_batch.bundles import KeyedRecord
from engine.model.changelog import ALL_CHANGES, INSERT, INSERT_ONLY, INSERT_UPDATE, ChangelogMode, UpdateKind
from engine.model.row import Row
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import BIGINT, INT, STRING, TIMESTAMP
from engine.model.windowing import Windowing, WindowKind
from engine.operators.window_aggregate import WindowAggregate
from engine.windows.session_kernel import SessionWindowKernel
from engine.windows.sliced_kernel import SlicedWindowKernel
from engine.windows.window_kernel import WindowKernel
from tests.engine.assigners import assigner
from tests.engine.cases import Case, Given, Result, check_cases, run_epochs
from tests.engine.planning import KnownTypes

COUNT, SUM, MIN, MAX = map(function_named, ("COUNT", "SUM", "MIN", "MAX"))
ARRAY_AGG, FIRST_VALUE, LAST_VALUE = map(function_named, ("ARRAY_AGG", "FIRST_VALUE", "LAST_VALUE"))
call = AggregateCall
COUNT_ROWS = AggregateCall(COUNT)
INSERTS = ChangelogMode.of(INSERT_ONLY, UpdateKind.NONE)
TEN = Windowing(WindowKind.TUMBLE, 10_000)
HOP = Windowing(WindowKind.HOP, 10_000, 5_000)
CUMULATE = Windowing(WindowKind.CUMULATE, 15_000, 5_000)
GAP = Windowing(WindowKind.SESSION, 5_000)


def sliced(windowing: Windowing, *calls: AggregateCall, **settings: Any) -> Callable[[], WindowKernel]:
    """A kernel of tumbling, hopping or cumulating windows; the rows begin with the time."""
    return partial(SlicedWindowKernel, windowing, calls, **{"retracting": False, **settings})


def sessions(windowing: Windowing, *calls: AggregateCall, **settings: Any) -> Callable[[], WindowKernel]:
    """A kernel of sessions."""
    return partial(SessionWindowKernel, windowing, calls, **{"retracting": False, **settings})


ONE_IS_LATE = """
    seq  kind  rt             k  v
    1    +I    1000000050000  a  1
    2    +I    1000000054000  a  2
    3    +I    1000000079900  a  3
    4    +I    1000000120000  a  4
    5    +I    1000000111000  b  5
    6    +I    1000000089000  b  6
    7    wm    MAX
"""

FLINK = [
    Case(
        "a record behind the watermark counts while its window is open, and is late after",
        kernel=sliced(TEN, COUNT_ROWS, *[call(f, 2) for f in (SUM, MIN, MAX, ARRAY_AGG)]),
        key=("k",),
        watermark=("rt", 5000),
        given=ONE_IS_LATE,
        expect="""
            seq  kind  k  window_start      window_end        n  s  mi  ma  vs
            3    +I    a  1000000050000000  1000000060000000  2  3  1   2   [1,2]
            4    +I    a  1000000070000000  1000000080000000  1  3  3   3   [3]
            7    +I    b  1000000110000000  1000000120000000  1  5  5   5   [5]
            7    +I    a  1000000120000000  1000000130000000  1  4  4   4   [4]
        """,
        late="""
            seq  time  start  end  wm  lateness
            6  1000000089000  1000000080000  1000000090000  1000000115000  25001
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "a window closes when the watermark reaches its last millisecond",
        kernel=sliced(TEN, COUNT_ROWS, *[call(f, 2) for f in (SUM, MIN, MAX, ARRAY_AGG)]),
        key=("k",),
        watermark=("rt", 5000),
        given="""
            seq  kind  rt     k  v
            1    +I    0      a  1
            2    +I    9999   a  2
            3    +I    14998  a  3
            4    +I    9998   a  4
            5    +I    14999  a  5
            6    +I    9997   a  6
            7    +I    10000  a  7
            8    +I    20000  a  8
            9    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n  s   mi  ma  vs
            5    +I    a  0             10000000    3  7   1   4   [1,2,4]
            9    +I    a  10000000      20000000    3  15  3   7   [3,5,7]
            9    +I    a  20000000      30000000    1  8   8   8   [8]
        """,
        late="""
            seq  time  start  end  wm  lateness
            6  9997  0  10000  9999  0
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "watermarks that stand in the input",
        kernel=sliced(TEN, COUNT_ROWS, *[call(f, 2) for f in (SUM, MIN, MAX, ARRAY_AGG)]),
        key=("k",),
        given="""
            seq  kind  rt     k  v
            1    +I    1000   a  1
            2    wm    9998
            3    +I    2000   a  2
            4    wm    9999
            5    +I    3000   a  3
            6    +I    12000  b  4
            7    wm    19999
            8    +I    19999  b  5
            9    +I    20000  b  6
            10   wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n  s  mi  ma  vs
            4    +I    a  0             10000000    2  3  1   2   [1,2]
            7    +I    b  10000000      20000000    1  4  4   4   [4]
            10   +I    b  20000000      30000000    1  6  6   6   [6]
        """,
        late="""
            seq  time  start  end  wm  lateness
            5  3000  0  10000  9999  0
            8  19999  10000  20000  19999  0
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "a record that is late for one of its windows counts in the other",
        kernel=sliced(HOP, COUNT_ROWS, call(SUM, 2), call(ARRAY_AGG, 2)),
        key=("k",),
        watermark=("rt", 0),
        given="""
            seq  kind  rt     k  v
            1    +I    1000   a  1
            2    +I    11000  a  2
            3    +I    6000   a  3
            4    +I    4999   a  4
            5    +I    30000  a  5
            6    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n  s  vs
            2    +I    a  -5000000      5000000     1  1  [1]
            2    +I    a  0             10000000    1  1  [1]
            5    +I    a  5000000       15000000    2  5  [2,3]
            5    +I    a  10000000      20000000    1  2  [2]
            6    +I    a  25000000      35000000    1  5  [5]
            6    +I    a  30000000      40000000    1  5  [5]
        """,
        late="""
            seq  time  start  end  wm  lateness
            3  6000  0  10000  11000  1001
            4  4999  -5000  5000  11000  6001
            4  4999  0  10000  11000  1001
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "cumulating windows repeat unchanged steps",
        kernel=sliced(CUMULATE, COUNT_ROWS, call(SUM, 2), call(ARRAY_AGG, 2)),
        key=("k",),
        watermark=("rt", 2000),
        given="""
            seq  kind  rt     k  v
            1    +I    1000   a  1
            2    +I    4000   a  2
            3    +I    7000   b  3
            4    +I    11000  a  4
            5    +I    9000   a  5
            6    +I    26000  b  6
            7    +I    12000  a  7
            8    +I    31000  a  8
            9    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n  s   vs
            3    +I    a  0             5000000     2  3   [1,2]
            6    +I    a  0             10000000    3  8   [1,2,5]
            6    +I    b  0             10000000    1  3   [3]
            6    +I    a  0             15000000    4  12  [1,2,5,4]
            6    +I    b  0             15000000    1  3   [3]
            9    +I    b  15000000      30000000    1  6   [6]
            9    +I    a  30000000      35000000    1  8   [8]
            9    +I    a  30000000      40000000    1  8   [8]
            9    +I    a  30000000      45000000    1  8   [8]
        """,
        late="""
            seq  time  start  end  wm  lateness
            7  12000  0  15000  24000  9001
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "sessions merge, and a record too late for any of its own is late",
        kernel=sessions(GAP, COUNT_ROWS, call(SUM, 2), call(ARRAY_AGG, 2)),
        key=("k",),
        watermark=("rt", 4000),
        given="""
            seq  kind  rt     k  v
            1    +I    1000   a  1
            2    +I    2000   b  2
            3    +I    9000   a  3
            4    +I    5000   a  4
            5    +I    20000  a  5
            6    +I    12000  a  6
            7    +I    40000  b  7
            8    +I    21000  a  8
            9    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n  s  vs
            5    +I    b  2000000       7000000     1  2  [2]
            5    +I    a  1000000       14000000    3  8  [3,1,4]
            7    +I    a  12000000      17000000    1  6  [6]
            7    +I    a  20000000      25000000    1  5  [5]
            9    +I    b  40000000      45000000    1  7  [7]
        """,
        late="""
            seq  time  start  end  wm  lateness
            8  21000  21000  26000  36000  10001
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "rows are taken out of windows that are still open",
        kernel=sliced(TEN, COUNT_ROWS, call(SUM, 1), retracting=True),
        watermark=("rt", 0),
        given="""
            seq  kind  rt     v
            1    +I    1000   5
            2    +I    2000   6
            3    -U    1000   5
            4    +U    1000   7
            5    -D    2000   6
            6    +I    15000  1
            7    wm    MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n  s
            6    +I    0             10000000    1  7
            7    +I    10000000      20000000    1  1
        """,
        mode=INSERTS,
        leaves_state=False,
    ),
    Case(
        "a window whose rows are all taken back is not emitted",
        kernel=sliced(TEN, COUNT_ROWS, retracting=True),
        given="""
            seq  kind  rt
            1    +I    1000
            2    -D    1000
            3    wm    MAX
        """,
        expect="",
        leaves_state=False,
    ),
    Case(
        "windows before 1970 fire too: Flink's watermark would start at 0",
        kernel=sliced(TEN, COUNT_ROWS),
        key=("k",),
        watermark=("rt", 0),
        given="""
            seq  kind  rt      k  v
            1    +I    -30000  a  1
            2    +I    -12000  a  2
            3    +I    -29000  a  3
            4    +I    -1000   a  4
            5    +I    1       a  5
            6    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n
            2    +I    a  -30000000     -20000000   1
            4    +I    a  -20000000     -10000000   1
            5    +I    a  -10000000     0           1
            6    +I    a  0             10000000    1
        """,
        late="""
            seq  time    start   end     wm      lateness
            3    -29000  -30000  -20000  -12000  8001
        """,
    ),
]
test_changelogs_are_those_of_flink = check_cases(FLINK)

DOCUMENT = [
    Case(
        "delay 5000: record 5 is behind the watermark but in time, record 6 is lost",
        kernel=sliced(TEN, call(ARRAY_AGG, 2)),
        key=("k",),
        watermark=("rt", 5000),
        given=ONE_IS_LATE,
        expect="""
            seq  kind  k  window_start      window_end        vs
            3    +I    a  1000000050000000  1000000060000000  [1,2]
            4    +I    a  1000000070000000  1000000080000000  [3]
            7    +I    b  1000000110000000  1000000120000000  [5]
            7    +I    a  1000000120000000  1000000130000000  [4]
        """,
        late="""
            seq  time           start          end            wm             lateness
            6    1000000089000  1000000080000  1000000090000  1000000115000  25001
        """,
        fires="""
            seq  start          end
            3    1000000050000  1000000060000
            4    1000000070000  1000000080000
            7    1000000110000  1000000120000
            7    1000000120000  1000000130000
        """,
    ),
    Case(
        "delay 5000: the window of records 5 and 6 can never fire",
        kernel=sliced(TEN, call(ARRAY_AGG, 2)),
        key=("k",),
        watermark=("rt", 5000),
        given="""
            seq  kind  rt             k  v
            1    +I    1000000050000  a  1
            2    +I    1000000054000  a  2
            3    +I    1000000079900  a  3
            4    +I    1000000120000  a  4
            5    +I    1000000100001  b  5
            6    +I    1000000109000  b  6
            7    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start      window_end        vs
            3    +I    a  1000000050000000  1000000060000000  [1,2]
            4    +I    a  1000000070000000  1000000080000000  [3]
            7    +I    a  1000000120000000  1000000130000000  [4]
        """,
        late="""
            seq  time           start          end            wm             lateness
            5    1000000100001  1000000100000  1000000110000  1000000115000  5001
            6    1000000109000  1000000100000  1000000110000  1000000115000  5001
        """,
    ),
    Case(
        "delay 5100: nothing is lost",
        kernel=sliced(TEN, call(ARRAY_AGG, 2)),
        key=("k",),
        watermark=("rt", 5100),
        given="""
            seq  kind  rt             k  v
            1    +I    1000000050000  a  1
            2    +I    1000000054000  a  2
            3    +I    1000000079900  a  3
            4    +I    1000000115000  a  4
            5    +I    1000000100000  b  5
            6    +I    1000000108000  b  6
            7    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start      window_end        vs
            3    +I    a  1000000050000000  1000000060000000  [1,2]
            4    +I    a  1000000070000000  1000000080000000  [3]
            7    +I    b  1000000100000000  1000000110000000  [5,6]
            7    +I    a  1000000110000000  1000000120000000  [4]
        """,
    ),
]
test_traces_are_those_of_the_document = check_cases(DOCUMENT)

AGAIN = [
    Case(
        "allowed lateness: a late record updates the result at once, one too late is late",
        kernel=sliced(TEN, COUNT_ROWS, call(SUM, 1), allowed_lateness_ms=5000),
        given="""
            seq  kind  rt     v   wm
            1    +I    1000   1   .
            2    +I    12000  2   12000
            3    +I    2000   4   .
            4    +I    3000   0   14998
            5    +I    4000   8   14999
            6    +I    5000   16  .
            7    wm               MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n  s
            2    +I    0             10000000    1  1
            3    -U    0             10000000    1  1
            3    +U    0             10000000    2  5
            4    -U    0             10000000    2  5
            4    +U    0             10000000    3  5
            5    -U    0             10000000    3  5
            5    +U    0             10000000    4  13
            7    +I    10000000      20000000    1  2
        """,
        late="""
            seq  time  start  end    wm     lateness
            6    5000  0      10000  14999  0
        """,
        used="""
            seq  time  start  end    wm     lateness
            3    2000  0      10000  12000  2001
            4    3000  0      10000  12000  2001
            5    4000  0      10000  14998  4999
        """,
        mode=ChangelogMode.of(INSERT_UPDATE, UpdateKind.BEFORE_AND_AFTER),
        leaves_state=False,
    ),
    Case(
        "allowed lateness: the first row of a window may come late",
        kernel=sliced(TEN, COUNT_ROWS, allowed_lateness_ms=5000, generate_update_before=False),
        given="""
            seq  kind  rt     wm
            1    wm           10000
            2    +I    1000   .
            3    +I    2000   .
            4    wm           MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n
            2    +I    0             10000000    1
            3    +U    0             10000000    2
        """,
        used="""
            seq  time  start  end    wm     lateness
            2    1000  0      10000  10000  1
            3    2000  0      10000  10000  1
        """,
        fires="""
            seq  start  end
            2    0      10000
            3    0      10000
        """,
        mode=ChangelogMode.of(INSERT_UPDATE, UpdateKind.ONLY_UPDATE_AFTER),
        leaves_state=False,
    ),
    Case(
        "early firing: the result so far, when event time has moved on and there is something new",
        kernel=sliced(TEN, COUNT_ROWS, early_fire_every_ms=3000),
        given="""
            seq  kind  rt     wm
            1    +I    1000   1000
            2    +I    1500   2999
            3    +I    8000   8000
            4    +I    9000   8999
            5    +I    11000  11000
            6    wm           MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n
            2    +I    0             10000000    2
            3    -U    0             10000000    2
            3    +U    0             10000000    3
            4    -U    0             10000000    3
            4    +U    0             10000000    4
            6    +I    10000000      20000000    1
        """,
        fires="""
            seq  start  end
            5    0      10000
            6    10000  20000
        """,
        leaves_state=False,
    ),
    Case(
        "early firing: what has gone out and is taken back is deleted",
        kernel=sliced(TEN, COUNT_ROWS, early_fire_every_ms=3000, retracting=True),
        given="""
            seq  kind  rt     wm
            1    +I    1000   2999
            2    -D    1000   3000
            3    wm           MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n
            1    +I    0             10000000    1
            3    -D    0             10000000    1
        """,
        leaves_state=False,
    ),
    Case(
        "a session that has gone out early is deleted when it grows, and goes out anew",
        kernel=sessions(GAP, COUNT_ROWS, early_fire_every_ms=2000),
        given="""
            seq  kind  rt     wm
            1    +I    1000   3000
            2    +I    4000   4000
            3    wm           MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n
            1    +I    1000000       6000000     1
            2    -D    1000000       6000000     1
            2    +I    1000000       9000000     2
        """,
        leaves_state=False,
    ),
    Case(
        "a late record joins two sessions that are kept, and no more late ones after",
        kernel=sessions(GAP, COUNT_ROWS, call(SUM, 1), allowed_lateness_ms=10_000),
        given="""
            seq  kind  rt     v  wm
            1    +I    1000   1  .
            2    +I    9000   2  14000
            3    +I    5500   4  .
            4    +I    14000  8  30000
            5    +I    8000   1  .
            6    wm              MAX
        """,
        expect="""
            seq  kind  window_start  window_end  n  s
            2    +I    1000000       6000000     1  1
            2    +I    9000000       14000000    1  2
            3    -D    1000000       6000000     1  1
            3    -D    9000000       14000000    1  2
            3    +I    1000000       14000000    3  7
            4    -D    1000000       14000000    3  7
            4    +I    1000000       19000000    4  15
        """,
        late="""
            seq  time  start  end    wm     lateness
            5    8000  8000   13000  30000  7001
        """,
        used="""
            seq  time  start  end    wm     lateness
            3    5500  1000   14000  14000  1
        """,
        mode=ChangelogMode.of(ALL_CHANGES, UpdateKind.BEFORE_AND_AFTER),
        leaves_state=False,
    ),
    Case(
        "a gap of exactly the limit does not end a session, one more does",
        kernel=sessions(GAP, call(ARRAY_AGG, 0)),
        given="""
            seq  kind  rt
            1    +I    0
            2    +I    5000
            3    +I    10001
            4    wm    MAX
        """,
        expect="""
            seq  kind  window_start  window_end  vs
            4    +I    0             10000000    [0,5000]
            4    +I    10001000      15001000    [10001]
        """,
        leaves_state=False,
    ),
    Case(
        "timers of one time fire in the order of the first records, of a session that grew too",
        kernel=sessions(GAP, COUNT_ROWS),
        key=("k",),
        given="""
            seq  kind  rt    k
            1    +I    1000  b
            2    +I    3000  a
            3    +I    3000  b
            4    wm    MAX
        """,
        expect="""
            seq  kind  k  window_start  window_end  n
            4    +I    b  1000000       8000000     2
            4    +I    a  3000000       8000000     1
        """,
    ),
    Case(
        "window_time is the last millisecond of the window",
        kernel=sliced(TEN, COUNT_ROWS, window_time=True),
        given="""
            seq  kind  rt
            1    +I    1000
            2    wm    MAX
        """,
        expect="""
            seq  kind  window_start  window_end  window_time  n
            2    +I    0             10000000    9999000      1
        """,
    ),
    Case(
        "hopping windows merge their slices from the last to the first, and the first value stays the first",
        kernel=sliced(HOP, call(ARRAY_AGG, 0), call(FIRST_VALUE, 0), call(LAST_VALUE, 0)),
        given="""
            seq  kind  rt
            1    +I    6000
            2    +I    11000
            3    +I    7000
            4    wm    MAX
        """,
        expect="""
            seq  kind  window_start  window_end  vs                 f      l
            4    +I    0             10000000    [6000,7000]        6000   7000
            4    +I    5000000       15000000    [11000,6000,7000]  6000   7000
            4    +I    10000000      20000000    [11000]            11000  11000
        """,
    ),
]
test_windows_fire_again = check_cases(AGAIN)

RECORDS = st.lists(st.tuples(st.integers(-30_000, 60_000), st.integers(-3, 3)), max_size=25)
UNEVEN = (Windowing(WindowKind.HOP, 10_000, 4_000, offset_ms=500), Windowing(WindowKind.HOP, 3_000, 7_000))
SLICED = st.sampled_from([TEN, Windowing(WindowKind.TUMBLE, 7_000, offset_ms=2_500), HOP, CUMULATE, *UNEVEN])
DELAYS = st.sampled_from([0, 3_000, 20_000])
CALLS = (COUNT_ROWS, call(SUM, 1), call(MIN, 1), call(COUNT, 1, distinct=True), call(ARRAY_AGG, 1))


def events(records: list[tuple[int, int]], delay_ms: int) -> tuple[list[Input], Timeline]:
    """Insertions, the watermark after each of them, and the end of the input."""
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(records, 1)]
    steps = [(seq, max(time for time, _ in records[:seq]) - delay_ms) for seq in range(1, len(records) + 1)]
    return inputs, Timeline.of([*steps, (len(records) + 1, MAX_WATERMARK)])


def batch(values: list[int]) -> Row:
    """The batch results of the calls for these values, with lists in any order."""
    return (len(values), sum(values), min(values), len(set(values)), sorted(values))


def table_of(emitted: list[Any]) -> dict[Row, Row]:
    """The windows after a changelog, by start and end in ms. -U and -D must retract present rows."""
    table: dict[Row, Row] = {}
    for _, _, kind, (start, end, *values) in emitted:
        window, row = (start // 1000, end // 1000), tuple(values)
        if kind in (0, 2):
            assert kind == 2 or window not in table
            table[window] = (*row[:-1], sorted(row[-1]))
        else:
            before = table.pop(window)
            assert before == (*row[:-1], sorted(row[-1]))
    return table


@given(RECORDS, SLICED, DELAYS, st.sampled_from([0, 4_000]), st.sampled_from([0, 2_000]), st.booleans())
def test_the_table_is_the_batch_answer_over_the_records_that_are_not_late(
    records: list[tuple[int, int]], windowing: Windowing, delay_ms: int, lateness_ms: int, early_ms: int, before: bool
) -> None:
    inputs, timeline = events(records, delay_ms)
    windows: dict[Row, list[int]] = {}
    late, again, counted = [], [], set()
    for record in inputs:
        time, value = record.row
        watermark_ms = timeline.at(record.seq - 1)
        for start, end in assigner(windowing)(time):
            if end - 1 + lateness_ms <= watermark_ms:
                late.append((record.seq, start, end))
            else:
                counted.add(record.seq)
                if end - 1 <= watermark_ms:
                    again.append((record.seq, start, end))
                windows.setdefault((start, end), []).append(value)
    settings = {"allowed_lateness_ms": lateness_ms, "early_fire_every_ms": early_ms, "generate_update_before": before}
    out, saved = run(sliced(windowing, *CALLS, **settings)(), inputs, timeline)
    assert table_of(out.emitted) == {window: batch(values) for window, values in windows.items()}
    missed = [item for item in out.lates if not item.used]
    assert [(item.seq, item.window_start_ms, item.window_end_ms) for item in missed] == late
    used = [item for item in out.lates if item.used]
    assert sorted((item.seq, item.window_start_ms, item.window_end_ms) for item in used) == sorted(again)
    assert {item.seq for item in out.lates if item.is_dropped} == {seq for seq, *_ in late} - counted
    assert saved is None
    kinds = {record.kind for record in out.emitted}
    assert kinds <= ({0} if not lateness_ms and not early_ms else {0, 1, 2} if before else {0, 2})


@given(RECORDS, DELAYS, st.sampled_from([0, 6_000]), st.sampled_from([0, 2_000]))
def test_sessions_are_those_of_a_plain_simulation(
    records: list[tuple[int, int]], delay_ms: int, lateness_ms: int, early_ms: int
) -> None:
    inputs, timeline = events(records, delay_ms)
    open_sessions: list[tuple[int, int, list[int]]] = []
    closed = {}
    late, used = [], []
    for record in inputs:
        time, value = record.row
        watermark_ms = timeline.at(record.seq - 1)
        for session in [one for one in open_sessions if one[1] - 1 + lateness_ms <= watermark_ms]:
            open_sessions.remove(session)
            closed[session[:2]] = session[2]
        near = [one for one in open_sessions if one[0] <= time + 5_000 and time <= one[1]]
        if not near and time + 5_000 - 1 + lateness_ms <= watermark_ms:
            late.append(record.seq)
            continue
        values = [value, *(value for one in near for value in one[2])]
        start, end = min([time, *(one[0] for one in near)]), max([time + 5_000, *(one[1] for one in near)])
        open_sessions = [one for one in open_sessions if one not in near] + [(start, end, values)]
        if end - 1 <= watermark_ms:
            used.append((record.seq, start, end))
    closed |= {(start, end): values for start, end, values in open_sessions}
    settings = {"allowed_lateness_ms": lateness_ms, "early_fire_every_ms": early_ms}
    out, saved = run(sessions(GAP, *CALLS, **settings)(), inputs, timeline)
    assert table_of(out.emitted) == {window: batch(values) for window, values in closed.items()}
    assert [item.seq for item in out.lates if item.is_dropped] == late
    again = [item for item in out.lates if item.used]
    assert [(item.seq, item.window_start_ms, item.window_end_ms) for item in again] == used
    assert saved is None


@given(RECORDS, st.one_of(SLICED, st.just(GAP)), DELAYS, st.integers(0, 25), st.sampled_from([0, 4_000]))
def test_splitting_the_input_changes_nothing(
    records: list[tuple[int, int]], windowing: Windowing, delay_ms: int, cut: int, again_ms: int
) -> None:
    inputs, timeline = events(records, delay_ms)
    make = sessions if windowing.kind is WindowKind.SESSION else sliced
    kernel = make(windowing, *CALLS, allowed_lateness_ms=again_ms, early_fire_every_ms=again_ms // 2)
    case = Case("random", "", "", kernel=kernel)
    given_ = Given(tuple(KeyedRecord((), record) for record in inputs), timeline, Timeline.of([]))

    def ran(cuts: list[int]) -> Result:
        return run_epochs(case, given_, cuts)

    assert ran([cut]) == ran([])
    assert ran(given_.seqs) == ran([])


@given(RECORDS, st.one_of(SLICED, st.just(GAP)), st.randoms(use_true_random=False))
def test_taking_all_rows_back_while_the_windows_are_open_leaves_no_rows_and_no_state(
    records: list[tuple[int, int]], windowing: Windowing, random: Any
) -> None:
    back = list(records)
    random.shuffle(back)
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(records, 1)]
    inputs += [Input(seq, 3, row) for seq, row in enumerate(back, len(records) + 1)]
    make = sessions if windowing.kind is WindowKind.SESSION else sliced
    timeline = Timeline.of([(len(inputs) + 1, MAX_WATERMARK)])
    out, saved = run(make(windowing, *CALLS, retracting=True)(), inputs, timeline)
    assert out.emitted == []
    assert saved is None


INPUT = Schema(
    (Column("k", STRING), Column("v", INT), Column("rt", TIMESTAMP, nullable=False, time=TimeUnit.TIMESTAMP))
)


def derived(modify: Any = INSERT_ONLY, **fields: Any) -> Derived:
    """The output of ten-second windows over the columns above."""
    operator = WindowAggregate.model_validate({"size_ms": 10_000, "group_by": ["k"], **fields})
    return operator.derive("w", (Derived(INPUT, modify),), KnownTypes())


def test_the_output_has_the_group_the_window_and_the_results() -> None:
    out = derived(aggregates=(Aggregate(function=SUM, argument="v"),), window_time=True)
    assert [(column.name, str(column.type), column.time) for column in out.schema] == [
        ("k", "string", None),
        ("window_start", "timestamp_ntz", None),
        ("window_end", "timestamp_ntz", None),
        ("window_time", "timestamp", TimeUnit.TIMESTAMP),
        ("sum_v", "int", None),
    ]
    assert out.is_insert_only
    assert frozenset({"k", "window_end"}) in out.upsert_keys


def test_windows_that_fire_again_update_and_have_no_event_time() -> None:
    out = derived(allowed_lateness_ms=1, window_time=True)
    assert out.modify == INSERT_UPDATE
    assert out.schema.event_time is None
    assert derived(ALL_CHANGES, early_fire_every_ms=1).modify == ALL_CHANGES
    assert derived(kind="session", size_ms=None, gap_ms=5, allowed_lateness_ms=1).modify == ALL_CHANGES


def test_cumulating_windows_are_not_told_apart_by_their_start() -> None:
    out = derived(kind="cumulate", step_ms=5_000)
    assert out.upsert_keys == frozenset({frozenset({"k", "window_end"})})


def test_a_window_over_an_updating_input_is_accepted_as_in_flink_2() -> None:
    assert derived(ALL_CHANGES).is_insert_only


def test_an_input_without_event_time_is_refused() -> None:
    operator = WindowAggregate(size_ms=10_000)
    with pytest.raises(PlanRejected, match="w: a window needs an event time, but its input has none"):
        operator.derive("w", (Derived(INPUT.without_times()),), KnownTypes())


def test_a_group_column_may_be_called_window_start() -> None:
    schema = Schema((Column("window_start", TIMESTAMP), Column("rt", BIGINT, time=TimeUnit.EPOCH_MS)))
    operator = WindowAggregate(size_ms=10_000, group_by=("window_start",))
    assert operator.derive("w", (Derived(schema),), KnownTypes()).schema.names == (
        "window_start",
        "window_start0",
        "window_end",
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "size_ms is needed with tumble windows"),
        ({"kind": "hop", "size_ms": 10}, "slide_ms is needed with hop windows, which take size_ms and slide_ms"),
        ({"kind": "session", "gap_ms": 10, "size_ms": 10}, "size_ms is not used with session windows"),
        ({"kind": "cumulate", "size_ms": 10, "step_ms": 3}, "multiple of its step"),
        ({"kind": "hop", "size_ms": 10, "slide_ms": 3}, "in group windows only.* set group_window"),
        ({"size_ms": 0}, "greater than 0"),
    ],
)
def test_lengths_that_do_not_fit_the_windows_are_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        WindowAggregate.model_validate(fields)


def test_flink_sql() -> None:
    operator = WindowAggregate.model_validate(
        {
            "kind": "hop",
            "size_ms": 10_000,
            "slide_ms": 5_000,
            "group_by": ["k"],
            "aggregates": [{"function": "ARRAY_AGG", "argument": "v", "name": "vs"}],
        }
    )
    assert operator.flink_sql([("t", INPUT)]) == (
        "SELECT `k`, window_start, window_end, ARRAY_AGG(`v`) AS `vs`\n"
        "FROM TABLE(HOP(TABLE `t`, DESCRIPTOR(`rt`), INTERVAL '5' SECOND, INTERVAL '10' SECOND))\n"
        "GROUP BY `k`, window_start, window_end"
    )
