"""The temporal join: Flink's cases, late rows, requirements for the versioned side, and the batch answer."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Input, Output, Saved, run_key
from engine.errors import ExpressionError, PlanRejected
from engine.expressions import compile_condition
from engine.joins.sides import JoinKind
from engine.joins.temporal_kernel import TemporalJoinKernel
from engine.joins.versions_in_time import ENDED, VERSION
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, ChangelogMode, RowKind, UpdateKind
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK, Timeline
from engine.model.types import BIGINT, STRING
from engine.operators.temporal_join import TemporalJoin
from engine.planner import Plan
from tests.engine.cases import Case, check_cases
from tests.engine.planning import plan_of, rows, sql_of

PAIR = Schema(
    (Column("k", STRING), Column("a", BIGINT), Column("k0", STRING), Column("p", BIGINT)),
)
KINDS = st.sampled_from([INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE])


Make = Callable[[Layout], TemporalJoinKernel]


def kernel(kind: JoinKind, condition: str | None = None) -> Make:
    matches = None if condition is None else lambda: compile_condition(condition, PAIR, "j", "condition")
    return partial(TemporalJoinKernel, kind, matches)


def case(title: str, kind: JoinKind, given: str, expect: str, late: str = "", condition: str | None = None) -> Case:
    """late: rows without a version, which an inner join drops and a left join pads."""
    is_padded = kind is JoinKind.LEFT
    made = Case(title, given, expect, columnar=kernel(kind, condition), key=("k",), ports=2)
    return replace(made, used=late) if is_padded else replace(made, late=late)


def run(make: Make, inputs: Sequence[Input], line: Timeline, saved: Saved | None = None) -> tuple[Output, Saved | None]:
    """The output of one key, and its state at the end."""
    side = (pa.int64(), pa.string(), pa.int64())
    out = Output(line, ports=2)
    loop = ChunkLoop(make, Layout((pa.string(),), (side, side), (*side[1:], *side[1:])), line, out)
    return out, run_key(loop, inputs, line, ("a",), saved)


# Port 0 is the stream, port 1 has the versions; the first column of a row is its event time in ms.
VERSIONS = """
    seq  kind  port  rt     k     v    wm
    1    +I    1     1000   x     100  .
    2    +I    0     1000   x     1    1000
    3    +U    1     2000   y     200  .
    4    +I    0     3000   x     2    2000
    5    +U    1     3000   x     101  3000
    6    +I    0     2500   y     3    .
    7    +U    1     3500   NULL  999  .
    8    +I    0     2000   x     4    .
    9    +U    1     6000   y     201  .
    10   +I    0     6000   y     5    6000
    11   +I    0     6500   NULL  6    .
    12   +U    1     8000   x     102  6500
    13   +I    0     7000   z     7    7000
    14   +U    1     10000  z     300  .
    15   +I    0     9000   x     8    9000
    16   wm                            MAX
"""
KINDS_OF_THE_LEFT = """
    seq  kind  port  rt    k  v    wm
    1    +I    1     500   x  100  .
    2    +I    0     1000  x  10   500
    3    -U    0     1000  x  10   .
    4    +U    0     3500  x  11   .
    5    +U    1     3000  x  101  3000
    6    -D    0     3500  x  11   .
    7    wm                        MAX
"""
ENDED_VERSIONS = """
    seq  kind  port  rt    k  v    wm
    1    +I    1     1000  x  100  .
    2    +I    0     1500  x  1    .
    3    -D    1     2000  x  100  1500
    4    +I    0     2500  x  2    .
    5    -U    1     3000  x  101  2500
    6    +U    1     3000  x  102  .
    7    +I    0     3500  x  3    3000
    8    -D    1     4000  x  102  .
    9    +I    1     4000  x  103  .
    10   +I    0     4000  x  4    4000
    11   wm                        MAX
"""
LATE = """
    seq  kind  port  rt    k  v    wm
    1    +I    1     1000  x  100  .
    2    +I    0     1000  x  10   1000
    3    +U    1     2000  x  101  .
    4    +U    1     4000  x  102  .
    5    +I    0     5000  x  20   4000
    6    +I    0     1500  x  30   .
    7    +I    0     5200  x  40   .
    8    +U    1     6000  x  103  5200
    9    +U    1     5100  x  104  .
    10   +I    0     9000  x  50   .
    11   +U    1     3000  x  105  .
    12   +U    1     9200  x  106  9000
    13   +I    0     2500  x  60   .
    14   wm                        MAX
"""
LATE_ROW = """
    seq  time  start  end   wm    lateness
    8    2000  NULL   NULL  3000  1000
"""
LATE_ROWS = """
    seq  time  start  end   wm    lateness
    6    1500  NULL   NULL  4000  2500
    9    5100  NULL   NULL  5200  100
    11   3000  NULL   NULL  5200  2200
    13   2500  NULL   NULL  9000  6500
"""

test_cases = check_cases(
    [
        case(
            "inner: a row waits for its time; NULL meets NULL, as in Flink",
            JoinKind.INNER,
            VERSIONS,
            """
            seq  kind  k     a  k0    p
            2    +I    x     1  x     100
            5    +I    x     2  x     101
            10   +I    y     3  y     200
            10   +I    y     5  y     201
            12   +I    NULL  6  NULL  999
            15   +I    x     8  x     102
        """,
            LATE_ROW,
        ),
        case(
            "left: rows without a version are padded",
            JoinKind.LEFT,
            VERSIONS,
            """
            seq  kind  k     a  k0    p
            2    +I    x     1  x     100
            5    +I    x     2  x     101
            10   +I    x     4  NULL  NULL
            10   +I    y     3  y     200
            10   +I    y     5  y     201
            12   +I    NULL  6  NULL  999
            13   +I    z     7  NULL  NULL
            15   +I    x     8  x     102
        """,
            LATE_ROW,
        ),
        case(
            "a condition that the version does not meet pads the row",
            JoinKind.LEFT,
            VERSIONS,
            """
            seq  kind  k     a  k0    p
            2    +I    x     1  NULL  NULL
            5    +I    x     2  x     101
            10   +I    x     4  NULL  NULL
            10   +I    y     3  NULL  NULL
            10   +I    y     5  y     201
            12   +I    NULL  6  NULL  999
            13   +I    z     7  NULL  NULL
            15   +I    x     8  NULL  NULL
        """,
            LATE_ROW,
            "p <> 100 AND p <> 200 AND p <> 102",
        ),
        case(
            "the kinds of the left input are passed on, each row at its own time",
            JoinKind.INNER,
            KINDS_OF_THE_LEFT,
            """
            seq  kind  k  a   k0  p
            5    +I    x  10  x   100
            5    -U    x  10  x   100
            7    +U    x  11  x   101
            7    -D    x  11  x   101
        """,
        ),
        case(
            "a version that is taken back ends there; of one time the last counts",
            JoinKind.LEFT,
            ENDED_VERSIONS,
            """
            seq  kind  k  a  k0    p
            3    +I    x  1  x     100
            5    +I    x  2  NULL  NULL
            10   +I    x  3  x     102
            10   +I    x  4  x     103
        """,
        ),
        case(
            "late rows meet what is left, late versions those that wait",
            JoinKind.LEFT,
            LATE,
            """
            seq  kind  k  a   k0    p
            2    +I    x  10  x     100
            8    +I    x  20  x     102
            8    +I    x  30  NULL  NULL
            8    +I    x  40  x     102
            12   +I    x  50  x     103
            14   +I    x  60  NULL  NULL
        """,
            LATE_ROWS,
        ),
    ]
)

Script = Sequence[tuple[int, int, int, int]]
scripts = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12), KINDS, st.integers(0, 14)), max_size=16)


def inputs_of(script: Script) -> list[Input]:
    return [Input(seq, kind, (ms, "a", seq), port) for seq, (port, ms, kind, _) in enumerate(script, 1)]


def batch(inputs: Sequence[Input]) -> list[tuple[Any, ...]]:
    """Every left row with the latest version up to its time, found by a scan of all versions."""
    answer = []
    for left in (item for item in inputs if item.port == 0):
        known = [item for item in inputs if item.port == 1 and item.row[0] <= left.row[0]]
        latest = max(known, key=lambda item: (item.row[0], item.seq), default=None)
        there = latest is not None and latest.kind in (INSERT, UPDATE_AFTER)
        answer.append((left.kind, *left.row[1:], *(latest.row[1:] if latest and there else (None, None))))
    return answer


@given(scripts)
def test_over_rows_that_are_not_late_it_is_the_batch_answer(script: Script) -> None:
    marks, inputs, top = [], [], -1
    for item, (_, _, _, mark) in zip(inputs_of(script), script, strict=True):
        if item.row[0] > top:
            inputs.append(item)
        top = max(top, mark)
        marks.append((item.seq, top))
    line = Timeline.of([*marks, (20, MAX_WATERMARK)])
    out, _ = run(kernel(JoinKind.LEFT), inputs, line)
    assert sorted(map(repr, ((one.kind, *one.row) for one in out.emitted))) == sorted(map(repr, batch(inputs)))
    assert not out.lates
    inner, _ = run(kernel(JoinKind.INNER), inputs, line)
    assert [one.row for one in inner.emitted] == [one.row for one in out.emitted if one.row[2] is not None]


@given(scripts)
def test_at_the_end_rows_go_out_in_the_order_in_which_they_came(script: Script) -> None:
    inputs = inputs_of(script)
    out, saved = run(kernel(JoinKind.LEFT), inputs, Timeline.of([(20, MAX_WATERMARK)]))
    assert [(one.kind, *one.row) for one in out.emitted] == batch(inputs)
    assert saved is None or saved.state.column("role").to_pylist() in ([VERSION], [ENDED])


@given(scripts, st.integers(0, 16))
def test_epochs_change_nothing_and_every_left_row_goes_out_once(script: Script, cut: int) -> None:
    inputs = inputs_of(script)
    whole = Timeline.of([*((seq, mark) for seq, (*_, mark) in enumerate(script, 1)), (20, MAX_WATERMARK)])
    out, _ = run(kernel(JoinKind.LEFT), inputs, whole)
    assert sorted(one.row[1] for one in out.emitted) == [item.row[2] for item in inputs if item.port == 0]
    before = whole.seqs <= cut
    first_line = Timeline(whole.start_ms, whole.seqs[before], whole.marks[before])
    first, kept = run(kernel(JoinKind.LEFT), inputs[:cut], first_line)
    rest_line = Timeline(whole.at(cut), whole.seqs[~before], whole.marks[~before])
    kept = pickle.loads(pickle.dumps(kept))
    second, _ = run(kernel(JoinKind.LEFT), inputs[cut:], rest_line, saved=kept)
    assert first.emitted + second.emitted == out.emitted
    assert first.lates + second.lates == out.lates


STREAM = rows("id bigint, k string, rt bigint", event_time="rt")
UPSERTS: Mapping[str, Any] = {"changelog": True, "updates_by_key": True, "primary_key": ["k"], "event_time": "vt"}
TABLE = rows("k string, p bigint, vt bigint", **UPSERTS)
CHANGES = rows("k string, p bigint, vt bigint", **{**UPSERTS, "updates_by_key": False})
APPENDED = rows("k string, p bigint, vt bigint", event_time="vt")


def planned(left: Any = STREAM, right: Any = TABLE, sink: str = "changelog", **parameters: Any) -> Plan:
    given = {"left_keys": ["k"], "right_keys": ["k"], **parameters}
    arrows = """
        l -> j:left
        v -> j:right
        j -> out
    """
    types = {"p > 1": "boolean", "p + 1": "bigint"}
    return plan_of(arrows, types, l=left, v=right, j=("temporal_join", given), out=("sink", {"mode": sink}))


def test_upserts_are_versions_as_they_are_and_the_output_is_as_the_left_input() -> None:
    found = planned()
    assert [node.operator.operator for node in found.nodes] == ["rows", "rows", "temporal_join", "sink"]
    join = found.node("j")
    assert [str(given.mode) for given in join.inputs] == ["[I]", "[I,UA,D]"]
    assert str(join.mode) == "[I]"
    assert join.strategy.name == "inner temporal join"
    assert join.schema.names == ("id", "k", "rt", "k0", "p", "vt")
    assert [column.name for column in join.schema if column.time is not None] == ["rt"]
    assert join.schema.column("rt").time is TimeUnit.EPOCH_MS


def test_of_a_full_changelog_the_versions_come_without_update_before() -> None:
    join = planned(right=CHANGES, kind="left").node("j")
    assert [str(given.mode) for given in join.inputs] == ["[I]", "[I,UA,D]"]
    assert join.needs[1].update_kind is UpdateKind.ONLY_UPDATE_AFTER


@pytest.mark.parametrize(("sink", "mode"), [("changelog", "[I,UB,UA,D]"), ("upsert", "[I,UA,D]")])
def test_the_left_input_writes_updates_as_the_output_is_wanted(sink: str, mode: str) -> None:
    left = rows("id bigint, k string, rt bigint", changelog=True, primary_key=["id", "k"], event_time="rt")
    join = planned(left, sink=sink).node("j")
    assert str(join.inputs[0].mode) == mode
    assert join.mode == ChangelogMode(RowKind) - ({RowKind.UPDATE_BEFORE} if sink == "upsert" else set())
    assert join.derived.upsert_keys >= {frozenset({"id", "k"}), frozenset({"id", "k0"})}


def test_the_versions_need_a_primary_key_that_the_join_compares() -> None:
    with pytest.raises(PlanRejected, match=r"j: a temporal join needs a versioned table .* but v has no primary key"):
        planned(right=APPENDED)
    wide = rows("k string, p bigint, vt bigint", **{**UPSERTS, "primary_key": ["k", "p"]})
    with pytest.raises(PlanRejected, match=r"the primary key of v is \(k, p\), but the join compares \(k\)"):
        planned(right=wide)


def test_both_sides_need_an_event_time() -> None:
    with pytest.raises(PlanRejected, match="j: this join needs an event time, but its right input has none"):
        planned(right=rows("k string, p bigint, vt bigint", primary_key=["k"]))


def test_it_is_inner_or_left_and_its_condition_is_true_or_false() -> None:
    with pytest.raises(ValidationError, match="a temporal join is inner or left, not full; use a join for that"):
        TemporalJoin(kind=JoinKind.FULL, left_keys=("k",), right_keys=("k",))
    assert planned(condition="p > 1").node("j").mode.is_insert_only
    with pytest.raises(ExpressionError, match="it is of type BIGINT, but a condition must be true or false"):
        planned(condition="p + 1")


def test_in_flink_sql_it_is_for_system_time_as_of_the_left_event_time() -> None:
    join = planned(kind="left", condition="p > 1").node("j")
    assert isinstance(join.operator, TemporalJoin)
    assert sql_of(join) == (
        "WITH `versions of v` AS (SELECT `k` AS `k0`, `p` AS `p`, `vt` AS `vt` FROM `v`)\n"
        "SELECT *\nFROM `l`\nLEFT JOIN `versions of v` FOR SYSTEM_TIME AS OF `l`.`rt`\n"
        "ON `k` = `k0` AND (p > 1)"
    )
