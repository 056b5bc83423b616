"""The window join: the seed's two streams, Flink's cases, every kind, late records, NULL keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.derived import Derived
from engine.contract.kernel import Input, Output, run_key
from engine.contract.operator import InputPlan, StepContext
from engine.contract.step import Keyed
from engine.errors import PlanRejected, UnknownColumn
from engine.joins.sides import JoinKind
from engine.model.changelog import INSERT, INSERT_UPDATE, ChangelogMode, RowKind, UpdateKind
from engine.model.row import Row
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import BIGINT, INT, STRING, TIMESTAMP
from engine.model.windowing import Windowing, WindowKind
from engine.operators.window_join import WindowJoin, WindowJoinKernel
from tests.engine.cases import Case, check_cases
from tests.engine.planning import NoAnalyzer

APPEND = ChangelogMode({RowKind.INSERT})


def kernel(
    kind: JoinKind, offset_ms: int = 0, matches: Callable[[Row], bool] | None = None
) -> Callable[[Layout], WindowJoinKernel]:
    windowing = Windowing(WindowKind.TUMBLE, 10_000, offset_ms=offset_ms)
    return partial(WindowJoinKernel, kind, windowing, None if matches is None else lambda: matches)


def case(title: str, kind: JoinKind, given: str, expect: str, *, late: str = "") -> Case:
    return Case(
        title, given, expect, None, ("k",), late=late, ports=2, columnar=kernel(kind), mode=APPEND, leaves_state=False
    )


# Arrival as in the log of the document; source 2 ends right after its second record.
SEED_INNER = """
    seq  kind  port  rt             k  v         ts             wm
    1    +I    1     1000000059000  a  hangzhou  1000000059000  .
    2    +I    0     1000000050000  a  1         1000000050000  {w[2]}
    3    +I    0     1000000054000  a  2         1000000054000  {w[3]}
    4    +I    1     1000000105000  b  beijing   1000000105000  .
    5    wm                                                     MIN
    6    +I    0     1000000079900  a  3         1000000079900  {w[6]}
    7    +I    0     1000000115000  a  4         1000000115000  {w[7]}
    8    +I    0     1000000100000  b  5         1000000100000  .
    9    +I    0     1000000108000  b  6         1000000108000  .
    10   wm                                                     MAX
"""
FIRST_WINDOW = """
    seq  kind  k  v  ts             k0  city      ts0            window_start      window_end        window_time
    6    +I    a  1  1000000050000  a   hangzhou  1000000059000  1000000050000000  1000000060000000  1000000059999000
    6    +I    a  2  1000000054000  a   hangzhou  1000000059000  1000000050000000  1000000060000000  1000000059999000
"""
SECOND_WINDOW = """
    10   +I    b  5  1000000100000  b   beijing   1000000105000  1000000100000000  1000000110000000  1000000109999000
    10   +I    b  6  1000000108000  b   beijing   1000000105000  1000000100000000  1000000110000000  1000000109999000
"""


def seed(delay_ms: int) -> str:
    marks = {2: 1000000050000, 3: 1000000054000, 6: 1000000079900, 7: 1000000115000}
    return SEED_INNER.format(w={seq: top - delay_ms for seq, top in marks.items()})


TWO_SIDES = """
    seq  kind  port  rt     k  v   wm
    1    +I    0     1000   a  1   .
    2    +I    1     1500   a  10  0
    3    +I    0     2000   b  2   500
    4    +I    1     2500   c  20  1000
    5    +I    0     3000   a  3   1500
    6    +I    1     11000  a  30  2000
    7    +I    0     12000  a  4   10000
    8    +I    1     13000  a  40  11000
    9    +I    0     14000  c  5   12000
    10   +I    1     5000   a  50  12000
    11   +I    0     9000   a  6   12000
    12   +I    1     28000  d  60  13000
    13   +I    0     26000  b  7   25000
    14   wm                        MAX
"""
TWO_LATE = """
    seq  time  start  end    wm     lateness
    10   5000  0      10000  12000  2001
    11   9000  0      10000  12000  2001
"""
ONE_SIDE_ENDS = """
    seq  kind  port  rt     k  v   wm
    1    +I    0     1000   a  1   .
    2    +I    1     2000   a  10  1000
    3    +I    0     12000  a  2   2000
    4    wm                        MIN
    5    +I    1     11000  a  20  11000
    6    +I    1     9000   a  30  .
    7    +I    1     25000  a  40  25000
    8    wm                        MAX
"""
NULL_KEYS = """
    seq  kind  port  rt    k     v
    1    +I    0     1000  NULL  1
    2    +I    1     1000  NULL  10
    3    wm                      MAX
"""
MANY_TO_MANY = """
    seq  kind  port  rt    k  v   wm
    1    +I    1     1000  a  10  .
    2    +I    0     2000  a  2   .
    3    +I    1     3000  a  30  .
    4    +I    0     1500  a  4   .
    5    +I    0     -1    a  5   .
    6    wm                       MAX
"""

test_cases = check_cases(
    [
        case(
            "the document's join, delay 5100: four pairs",
            JoinKind.INNER,
            seed(5100),
            FIRST_WINDOW + SECOND_WINDOW,
        ),
        case(
            "the document's join, delay 5000: two pairs, two records lost by a millisecond",
            JoinKind.INNER,
            seed(5000),
            FIRST_WINDOW,
            late="""
                seq  time           start          end            wm             lateness
                8    1000000100000  1000000100000  1000000110000  1000000110000  1
                9    1000000108000  1000000100000  1000000110000  1000000110000  1
            """,
        ),
        case(
            "a right join goes by the right rows",
            JoinKind.RIGHT,
            TWO_SIDES,
            """
            seq  kind  k     v     k0  v0  window_start  window_end  window_time
            7    +I    a     1     a   10  0             10000000    9999000
            7    +I    a     3     a   10  0             10000000    9999000
            7    +I    NULL  NULL  c   20  0             10000000    9999000
            13   +I    a     4     a   30  10000000      20000000    19999000
            13   +I    a     4     a   40  10000000      20000000    19999000
            14   +I    NULL  NULL  d   60  20000000      30000000    29999000
        """,
            late=TWO_LATE,
        ),
        case(
            "a semi join keeps left rows with a partner, once",
            JoinKind.SEMI,
            TWO_SIDES,
            """
            seq  kind  k  v  window_start  window_end  window_time
            7    +I    a  1  0             10000000    9999000
            7    +I    a  3  0             10000000    9999000
            13   +I    a  4  10000000      20000000    19999000
        """,
            late=TWO_LATE,
        ),
        case(
            "an anti join keeps left rows without a partner",
            JoinKind.ANTI,
            TWO_SIDES,
            """
            seq  kind  k  v  window_start  window_end  window_time
            7    +I    b  2  0             10000000    9999000
            13   +I    c  5  10000000      20000000    19999000
            14   +I    b  7  20000000      30000000    29999000
        """,
            late=TWO_LATE,
        ),
        case(
            "a full join pads both sides",
            JoinKind.FULL,
            TWO_SIDES,
            """
            seq  kind  k     v     k0    v0    window_start  window_end  window_time
            7    +I    a     1     a     10    0             10000000    9999000
            7    +I    a     3     a     10    0             10000000    9999000
            7    +I    b     2     NULL  NULL  0             10000000    9999000
            7    +I    NULL  NULL  c     20    0             10000000    9999000
            13   +I    a     4     a     30    10000000      20000000    19999000
            13   +I    a     4     a     40    10000000      20000000    19999000
            13   +I    c     5     NULL  NULL  10000000      20000000    19999000
            14   +I    NULL  NULL  d     60    20000000      30000000    29999000
            14   +I    b     7     NULL  NULL  20000000      30000000    29999000
        """,
            late=TWO_LATE,
        ),
        case(
            "a side that has ended no longer holds the windows back",
            JoinKind.LEFT,
            ONE_SIDE_ENDS,
            """
            seq  kind  k  v  k0  v0  window_start  window_end  window_time
            5    +I    a  1  a   10  0             10000000    9999000
            7    +I    a  2  a   20  10000000      20000000    19999000
        """,
            late="""
            seq  time  start  end    wm     lateness
            6    9000  0      10000  11000  1001
        """,
        ),
        case("NULL keys meet nobody, not even NULL", JoinKind.INNER, NULL_KEYS, ""),
        case(
            "NULL keys are padded",
            JoinKind.FULL,
            NULL_KEYS,
            """
            seq  kind  k     v     k0    v0    window_start  window_end  window_time
            3    +I    NULL  1     NULL  NULL  0             10000000    9999000
            3    +I    NULL  NULL  NULL  10    0             10000000    9999000
        """,
        ),
        case(
            "pairs go by left rows, windows before 1970 come first",
            JoinKind.INNER,
            MANY_TO_MANY,
            """
            seq  kind  k  v  k0  v0  window_start  window_end  window_time
            6    +I    a  2  a   10  0             10000000    9999000
            6    +I    a  2  a   30  0             10000000    9999000
            6    +I    a  4  a   10  0             10000000    9999000
            6    +I    a  4  a   30  0             10000000    9999000
        """,
        ),
    ]
)

rows = st.tuples(st.integers(0, 1), st.integers(-25_000, 40_000))


INTEGERS = Layout((pa.string(),), ((pa.int64(), pa.int64()),) * 2, (pa.int64(),) * 5)


def parities_differ(pair: Row) -> bool:
    return bool((pair[0] + pair[1]) % 2)


@given(st.sampled_from(JoinKind), st.lists(rows, max_size=12), st.sampled_from([0, 2_500]), st.booleans())
def test_the_join_of_all_rows_is_the_batch_answer(
    kind: JoinKind, records: Sequence[tuple[int, int]], offset_ms: int, has_condition: bool
) -> None:
    matches = parities_differ if has_condition else None
    inputs = [Input(seq, INSERT, (ms, seq), port) for seq, (port, ms) in enumerate(records, 1)]
    end = Timeline.of([(len(records) + 1, MAX_WATERMARK)])
    out = Output(end)
    saved = run_key(ChunkLoop(kernel(kind, offset_ms, matches), INTEGERS, end, out), inputs, end, ("k",), None)
    sides = [
        [(item.row[1], (item.row[0] - offset_ms) // 10_000) for item in inputs if item.port == port] for port in (0, 1)
    ]
    pairs = [(a, b) for a, at in sides[0] for b, other in sides[1] if at == other]
    pairs = [pair for pair in pairs if matches is None or matches(pair)]
    alone = [{a for a, _ in side} - {pair[port] for pair in pairs} for port, side in enumerate(sides)]
    answer: list[tuple[int | None, ...]]
    match kind:
        case JoinKind.SEMI:
            answer = [(a,) for a in {a for a, _ in pairs}]
        case JoinKind.ANTI:
            answer = [(a,) for a in alone[0]]
        case _:
            answer = [*pairs]
            answer += [(a, None) for a in alone[0]] if kind.keeps_left else []
            answer += [(None, b) for b in alone[1]] if kind.keeps_right else []
    assert sorted(map(repr, answer)) == sorted(repr(e.row[:-3]) for e in out.emitted)
    assert saved is None


LEFT = Derived(
    Schema((Column("k", STRING), Column("x", BIGINT, nullable=False), Column("t", BIGINT, time=TimeUnit.EPOCH_MS)))
)
RIGHT = Derived(Schema((Column("k", STRING), Column("y", INT), Column("T", TIMESTAMP, time=TimeUnit.TIMESTAMP))))


def join(kind: JoinKind = JoinKind.INNER, left: str = "k", right: str = "k") -> WindowJoin:
    return WindowJoin(kind=kind, left_keys=(left,), right_keys=(right,), size_ms=10_000)


def test_right_columns_are_renamed_where_the_name_is_taken() -> None:
    schema = join(JoinKind.LEFT).derive("j", (LEFT, RIGHT), NoAnalyzer()).schema
    assert schema.names == ("k", "x", "t", "k0", "y", "T0", "window_start", "window_end", "window_time")
    assert schema.event_time == Column("window_time", TIMESTAMP, nullable=False, time=TimeUnit.TIMESTAMP)
    assert [column.nullable for column in schema][:6] == [True, False, True, True, True, True]


def test_a_padded_left_side_is_nullable() -> None:
    schema = join(JoinKind.FULL).derive("j", (LEFT, RIGHT), NoAnalyzer()).schema
    assert schema.column("x").nullable


def test_a_semi_join_has_the_left_columns_only() -> None:
    schema = join(JoinKind.SEMI).derive("j", (LEFT, RIGHT), NoAnalyzer()).schema
    assert schema.names == ("k", "x", "t", "window_start", "window_end", "window_time")


def test_an_updating_input_is_rejected() -> None:
    updating = Derived(RIGHT.schema, INSERT_UPDATE, node="r")
    with pytest.raises(PlanRejected, match="j: a window join needs an insert-only input, but r emits"):
        join().derive("j", (LEFT, updating), NoAnalyzer())


def test_an_input_without_event_time_is_rejected() -> None:
    with pytest.raises(PlanRejected, match="j: this join needs an event time, but its left input has none"):
        join().derive("j", (Derived(LEFT.schema.without_times()), RIGHT), NoAnalyzer())


def test_an_unknown_key_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownColumn, match="j: right_keys: unknown column 'q'. Available: k, y, T"):
        join(right="q").derive("j", (LEFT, RIGHT), NoAnalyzer())


def test_keys_of_different_types_are_rejected() -> None:
    with pytest.raises(PlanRejected, match=r"k \(STRING\) cannot be compared with y \(INT\)"):
        join(right="y").derive("j", (LEFT, RIGHT), NoAnalyzer())


def test_integers_of_different_width_are_compared_as_the_wider() -> None:
    inputs = tuple(InputPlan(name, given, APPEND) for name, given in (("l", LEFT), ("r", RIGHT)))
    operator = join(left="x", right="y")
    derived = operator.derive("j", (LEFT, RIGHT), NoAnalyzer())
    step = operator.step(StepContext("j", 0, inputs, APPEND, derived))
    assert isinstance(step, Keyed)
    assert [given.keys for given in step.inputs] == [("CAST(`x` AS BIGINT)",), ("CAST(`y` AS BIGINT)",)]
    assert step.inputs[1].values == ("unix_millis(CAST(`T` AS TIMESTAMP))", "`k`", "`y`", "`T`")


def test_nobody_is_asked_for_updates() -> None:
    (offer,) = join().offers("j", (LEFT, RIGHT), UpdateKind.NONE)
    assert offer.needs == (UpdateKind.NONE, UpdateKind.NONE)


def test_in_flink_sql_it_is_a_join_of_two_windowed_tables() -> None:
    assert join().flink_sql((("l", LEFT.schema), ("r", RIGHT.schema))) == (
        "SELECT `k`, `x`, `t`, `k0`, `y`, `T0`, window_start AS window_start, window_end AS window_end, "
        "window_time AS window_time\n"
        "FROM (SELECT * FROM TABLE(TUMBLE(TABLE `l`, DESCRIPTOR(`t`), INTERVAL '10' SECOND)))\n"
        "JOIN (SELECT `k` AS `k0`, `y` AS `y`, `T` AS `T0`, `window_start` AS `_window_start`, "
        "`window_end` AS `_window_end`, `window_time` AS `_window_time` "
        "FROM (SELECT * FROM TABLE(TUMBLE(TABLE `r`, DESCRIPTOR(`T`), INTERVAL '10' SECOND))))\n"
        "ON `k` = `k0` AND `window_start` = `_window_start` AND `window_end` = `_window_end`"
    )


def less(row: tuple[object, ...]) -> bool:
    """x < y of (k, x, k, y)."""
    x, y = row[1], row[3]
    return isinstance(x, int) and isinstance(y, int) and x < y


def conditional(kind: JoinKind, windowing: Windowing | None) -> Callable[[Layout], WindowJoinKernel]:
    return partial(WindowJoinKernel, kind, windowing, lambda: less)


HOP = Windowing(WindowKind.HOP, 20, 10)
ATTACHED = """
    seq  kind  port  start  end  k  v  wm
    1    +I    0     0      10   a  1  .
    2    +I    0     0      10   a  3  .
    3    +I    1     0      10   a  2  .
    4    +I    1     0      10   a  1  .
    5    +I    1     0      20   a  5  .
    6    wm                            MAX
"""

test_conditions = check_cases(
    [
        Case(
            "hopping windows: a row is in several, each joined by itself",
            given="""
                seq  kind  port  rt  k  v  wm
                1    +I    0     5   a  1  .
                2    +I    1     12  a  2  .
                3    wm                    9
                4    +I    0     8   a  0  .
                5    wm                    MAX
            """,
            expect="""
                seq  kind  k  v  k0  v0  start  end    time
                5    +I    a  1  a   2   0      20000  19000
                5    +I    a  0  a   2   0      20000  19000
            """,
            columnar=conditional(JoinKind.INNER, HOP),
            key=("k",),
            ports=2,
            late="""
                seq  time  start  end  wm  lateness
                4    8     -10    10   9   0
            """,
            leaves_state=False,
        ),
        *(
            Case(
                f"a further condition decides who has a partner: {kind.value}",
                given=ATTACHED,
                expect="seq kind k v k0 v0\n" + expect,
                columnar=conditional(kind, None),
                key=("k",),
                ports=2,
                leaves_state=False,
            )
            for kind, expect in (
                (JoinKind.LEFT, "6 +I a 1 a 2\n6 +I a 3 NULL NULL"),
                (JoinKind.RIGHT, "6 +I a 1 a 2\n6 +I NULL NULL a 1\n6 +I NULL NULL a 5"),
                (JoinKind.FULL, "6 +I a 1 a 2\n6 +I a 3 NULL NULL\n6 +I NULL NULL a 1\n6 +I NULL NULL a 5"),
                (JoinKind.SEMI, "6 +I a 1"),
                (JoinKind.ANTI, "6 +I a 3"),
            )
        ),
    ]
)
