"""The interval join: Flink's cases, padding by timer, late rows, the held-back watermark, and the batch answer."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.derived import Derived
from engine.contract.kernel import Input, Output, Saved, run_key
from engine.errors import PlanRejected
from engine.expressions import compile_condition
from engine.joins.interval_kernel import IntervalJoinKernel
from engine.joins.sides import JoinKind
from engine.model.changelog import INSERT, INSERT_UPDATE, ChangelogMode, RowKind
from engine.model.combined_watermark import meeting
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import BIGINT, STRING
from engine.operators.interval_join import IntervalJoin
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes

NAMES = ("k", "x", "lt", "k0", "y", "rt")
PAIR = Schema(tuple(Column(name, STRING if name[0] == "k" else BIGINT) for name in NAMES))


Make = Callable[[Layout], IntervalJoinKernel]


def kernel(kind: JoinKind, lower_ms: int = -2000, upper_ms: int = 3000, condition: str | None = None) -> Make:
    matches = None if condition is None else lambda: compile_condition(condition, PAIR, "j", "condition")
    return partial(IntervalJoinKernel, kind, lower_ms, upper_ms, matches, 0)


def run(make: Make, inputs: Sequence[Input], line: Timeline, saved: Saved | None = None) -> tuple[Output, Saved | None]:
    """The output of one key, and its state at the end."""
    side = (pa.int64(), pa.string(), pa.int64(), pa.int64())
    out = Output(line, ports=2)
    loop = ChunkLoop(make, Layout((pa.string(),), (side, side), (*side[1:], *side[1:])), line, out)
    return out, run_key(loop, inputs, line, ("a",), saved)


def case(title: str, kind: JoinKind, expect: str, late: str = "", condition: str | None = None, used: str = "") -> Case:
    return Case(
        title,
        TWO_SIDES,
        expect,
        columnar=kernel(kind, condition=condition),
        key=("k",),
        late=late,
        used=used,
        ports=2,
        mode=ChangelogMode({RowKind.INSERT}),
        leaves_state=False,
    )


# The watermark is the minimum of max(time) - 1000 over both sides; the first column is the event time in ms.
TWO_SIDES = """
    seq  kind  port  rt     k  v   t      wm
    1    +I    0     1000   a  1   1000   .
    2    +I    1     2000   a  10  2000   0
    3    +I    0     3000   b  2   3000   1000
    4    +I    1     500    a  20  500    1000
    5    +I    0     6000   a  3   6000   1000
    6    +I    1     9000   b  30  9000   5000
    7    +I    0     2000   a  4   2000   5000
    8    +I    1     7000   a  40  7000   5000
    9    +I    0     20000  c  5   20000  8000
    10   +I    1     21000  d  50  21000  19000
    11   +I    0     9000   a  6   9000   19000
    12   +I    1     6500   a  60  6500   19000
    13   wm                               MAX
"""
LEFT_LATE = """
    seq  time  start  end   wm     lateness
    11   9000  NULL   NULL  19000  8000
"""
RIGHT_LATE = """
    seq  time  start  end   wm     lateness
    12   6500  NULL   NULL  19000  9500
"""
JOINED = """
    seq  time  start  end   wm     lateness
    7    2000  NULL   NULL  5000   1000
"""


def both(first: str, second: str) -> str:
    """Two tables of the ledger as one."""
    return first + "\n".join(second.splitlines()[2:])


test_cases = check_cases(
    [
        case(
            "inner: a row meets those that are kept at once, by their time",
            JoinKind.INNER,
            """
            seq  kind  k  x  lt    k0  y   rt
            2    +I    a  1  1000  a   10  2000
            4    +I    a  1  1000  a   20  500
            7    +I    a  4  2000  a   20  500
            7    +I    a  4  2000  a   10  2000
            8    +I    a  3  6000  a   40  7000
        """,
            both(LEFT_LATE, RIGHT_LATE),
            used=JOINED,
        ),
        case(
            "right: padded by timer, a late row at once",
            JoinKind.RIGHT,
            """
            seq  kind  k     x     lt    k0  y   rt
            2    +I    a     1     1000  a   10  2000
            4    +I    a     1     1000  a   20  500
            7    +I    a     4     2000  a   20  500
            7    +I    a     4     2000  a   10  2000
            8    +I    a     3     6000  a   40  7000
            10   +I    NULL  NULL  NULL  b   30  9000
            12   +I    NULL  NULL  NULL  a   60  6500
            13   +I    NULL  NULL  NULL  d   50  21000
        """,
            LEFT_LATE,
            used=both(JOINED, RIGHT_LATE),
        ),
        case(
            "left with a condition: who meets nobody is padded",
            JoinKind.LEFT,
            """
            seq  kind  k  x  lt     k0    y     rt
            2    +I    a  1  1000   a     10    2000
            4    +I    a  1  1000   a     20    500
            7    +I    a  4  2000   a     20    500
            7    +I    a  4  2000   a     10    2000
            8    +I    a  3  6000   a     40    7000
            9    +I    b  2  3000   NULL  NULL  NULL
            11   +I    a  6  9000   NULL  NULL  NULL
            13   +I    c  5  20000  NULL  NULL  NULL
        """,
            RIGHT_LATE,
            "x < y",
            used=both(JOINED, LEFT_LATE),
        ),
        case(
            "full with a condition that nobody fulfils",
            JoinKind.FULL,
            """
            seq  kind  k     x     lt     k0    y     rt
            6    +I    a     1     1000   NULL  NULL  NULL
            7    +I    NULL  NULL  NULL   a     20    500
            7    +I    a     4     2000   NULL  NULL  NULL
            9    +I    NULL  NULL  NULL   a     10    2000
            9    +I    b     2     3000   NULL  NULL  NULL
            10   +I    a     3     6000   NULL  NULL  NULL
            10   +I    NULL  NULL  NULL   a     40    7000
            10   +I    NULL  NULL  NULL   b     30    9000
            11   +I    a     6     9000   NULL  NULL  NULL
            12   +I    NULL  NULL  NULL   a     60    6500
            13   +I    c     5     20000  NULL  NULL  NULL
            13   +I    NULL  NULL  NULL   d     50    21000
        """,
            "",
            "x > y",
            used=both(JOINED, both(LEFT_LATE, RIGHT_LATE)),
        ),
    ]
)

Step = tuple[int, int]
steps = st.lists(st.tuples(st.integers(0, 1), st.integers(-6, 6)), max_size=14)
# After 1970, no row waits for rows from before 1970: all times are on one side.
steps_on_one_side = st.tuples(st.sampled_from((-20, 20)), steps).map(
    lambda drawn: [(port, drawn[0] + ms) for port, ms in drawn[1]]
)
bounds = st.tuples(st.integers(-3, 3), st.integers(0, 4)).map(lambda b: (b[0], b[0] + b[1]))
kinds = st.sampled_from([kind for kind in JoinKind if not kind.is_left_only])


@given(kinds, steps_on_one_side, bounds)
def test_without_late_rows_it_is_the_batch_answer(kind: JoinKind, script: list[Step], bound: tuple[int, int]) -> None:
    inputs = [Input(seq, INSERT, (ms, "a", seq, ms), port) for seq, (port, ms) in enumerate(script, 1)]
    end = Timeline.of([(len(inputs) + 1, MAX_WATERMARK)])
    out, saved = run(kernel(kind, *bound), inputs, end)
    left, right = ([item.row[1:] for item in inputs if item.port == port] for port in (0, 1))
    pairs = [(a, b) for a in left for b in right if bound[0] <= a[2] - b[2] <= bound[1]]
    answer = Counter(a + b for a, b in pairs)
    if kind.keeps_left:
        answer.update((*a, None, None, None) for a in left if all(a != met for met, _ in pairs))
    if kind.keeps_right:
        answer.update((None, None, None, *b) for b in right if all(b != met for _, met in pairs))
    assert Counter(record.row for record in out.emitted) == answer
    assert saved is None
    assert not out.lates


@given(kinds, steps, bounds, st.lists(st.integers(-8, 8), min_size=14, max_size=14), st.integers(0, 14))
def test_epochs_change_nothing_and_every_row_is_accounted_for(
    kind: JoinKind, script: list[Step], bound: tuple[int, int], marks: list[int], cut: int
) -> None:
    inputs = [Input(seq, INSERT, (ms, "a", seq, ms), port) for seq, (port, ms) in enumerate(script, 1)]
    pairs = [(seq, mark) for (seq, _), mark in zip(enumerate(script, 1), marks, strict=False)]
    whole = Timeline.of([*pairs, (20, MAX_WATERMARK)])
    out, saved = run(kernel(kind, *bound), inputs, whole)
    assert saved is None
    before = whole.seqs <= cut
    first_line = Timeline(whole.start_ms, whole.seqs[before], whole.marks[before])
    first, kept = run(kernel(kind, *bound), inputs[:cut], first_line)
    kept = pickle.loads(pickle.dumps(kept))
    rest_line = Timeline(whole.at(cut), whole.seqs[~before], whole.marks[~before])
    second, _ = run(kernel(kind, *bound), inputs[cut:], rest_line, kept)
    assert first.emitted + second.emitted == out.emitted
    assert first.lates + second.lates == out.lates
    if kind is JoinKind.FULL:
        shown: set[Any] = {record.row[1] for record in out.emitted} | {record.row[4] for record in out.emitted}
        assert shown - {None} == {item.row[2] for item in inputs}


SCHEMA = Schema((Column("k", STRING), Column("t", BIGINT, time=TimeUnit.EPOCH_MS)))
LEFT = Derived(SCHEMA, above=meeting(["l", meeting(["both"], held_ms=10)]))
RIGHT = Derived(SCHEMA, above=meeting([meeting(["r"], held_ms=500), "both"]))


def join(kind: JoinKind = JoinKind.INNER, **more: Any) -> IntervalJoin:
    return IntervalJoin(
        **{"kind": kind, "left_keys": ["k"], "right_keys": ["k"], "lower_ms": -2000, "upper_ms": 3000, **more}
    )


def test_the_watermark_is_held_back_by_the_longer_side() -> None:
    assert join().derive("j", (LEFT, RIGHT), KnownTypes()).holdbacks == {"l": 3000, "r": 3500, "both": 3010}
    other = join(lower_ms=-9000, upper_ms=-1000).derive("j", (LEFT, RIGHT), KnownTypes())
    assert other.holdbacks["l"] == 9000


@pytest.mark.parametrize(
    ("kind", "time"), [(JoinKind.INNER, "t"), (JoinKind.LEFT, "t"), (JoinKind.RIGHT, "t0"), (JoinKind.FULL, None)]
)
def test_an_event_time_stays_one_where_it_is_never_padded(kind: JoinKind, time: str | None) -> None:
    found = join(kind).derive("j", (LEFT, RIGHT), KnownTypes()).schema.event_time
    assert (found.name if found else None) == time


def test_updating_inputs_and_inputs_without_event_time_are_rejected() -> None:
    with pytest.raises(PlanRejected, match="j: an interval join needs an insert-only input, but its input emits"):
        join().derive("j", (Derived(SCHEMA, INSERT_UPDATE), RIGHT), KnownTypes())
    with pytest.raises(PlanRejected, match="j: this join needs an event time, but its right input has none"):
        join().derive("j", (LEFT, Derived(SCHEMA.without_times())), KnownTypes())


def test_an_interval_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValidationError, match="the interval ends at -3000 ms, before it starts at -2000 ms"):
        join(upper_ms=-3000)
    with pytest.raises(ValidationError, match="an interval join is inner, left, right or full, not semi"):
        join(JoinKind.SEMI)


def test_in_flink_sql_the_interval_is_between_two_bounds() -> None:
    assert join(JoinKind.LEFT, condition="k <> 'x'").flink_sql((("l", SCHEMA), ("r", SCHEMA))) == (
        "SELECT *\nFROM `l`\nLEFT JOIN (SELECT `k` AS `k0`, `t` AS `t0` FROM `r`)\n"
        "ON `k` = `k0` AND `t` BETWEEN `t0` + INTERVAL -'2' SECOND AND `t0` + INTERVAL '3' SECOND AND (k <> 'x')"
    )


def test_timers_that_set_one_another_do_not_lengthen_the_positions_of_what_they_emit() -> None:
    rows = [Input(seq, 0, (seq * 10, "a", seq, seq)) for seq in range(1, 60)]
    line = Timeline.of([(seq, seq * 10 - 5) for seq in range(1, 60)])
    out, _ = run(kernel(JoinKind.LEFT, -25, 25), rows, line)
    assert len(out.steps) > 40
    assert max(map(len, out.steps)) < 30
    positions = [(each.seq, each.step) for each in out.emitted]
    assert positions == sorted(set(positions))
