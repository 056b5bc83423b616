"""The lookup join: the lookup at a row's arrival, tables that precede all streams, and Flink SQL."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.kernel import Input, run
from engine.errors import PipelineError, PlanRejected
from engine.expressions import compile_condition
from engine.joins.sides import JoinKind
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.pipeline import Arrival, Pipeline
from engine.model.schema import Column, Schema
from engine.model.timeline import Timeline
from engine.model.types import BIGINT, STRING
from engine.operators.lookup_join import LookupJoin, LookupJoinKernel
from engine.planner import Plan, plan
from engine.runtime.in_process import in_process
from tests.engine.cases import Case, check_cases
from tests.engine.planning import KnownTypes, columns, pipeline_of, rows, sql_of
from tests.golden.trace import run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIR = Schema((Column("k", STRING), Column("a", BIGINT), Column("k0", STRING), Column("p", BIGINT)))


def kernel(kind: JoinKind, condition: str | None = None) -> Callable[[], LookupJoinKernel]:
    matches = None if condition is None else lambda: compile_condition(condition, PAIR, "j", "condition")
    return lambda: LookupJoinKernel(kind, 2, matches)


def case(title: str, kind: JoinKind, given: str, expect: str, condition: str | None = None) -> Case:
    return Case(title, given, expect, kernel(kind, condition), ("k",), ports=2)


# Port 0 is the stream, port 1 the table.
ROWS = """
    seq  kind  port  k     v
    1    +I    1     x     100
    2    +I    1     y     200
    3    +I    1     x     50
    4    +I    1     NULL  1
    5    +I    0     x     1
    6    +I    0     z     2
    7    +I    0     NULL  3
    8    -U    0     x     1
    9    +U    0     y     1
    10   -D    0     z     2
"""
CHANGES = """
    seq  kind  port  k  v
    1    +I    0     x  1
    2    +I    1     x  100
    3    +I    0     x  2
    4    -U    1     x  100
    5    +U    1     x  101
    6    -U    0     x  2
    7    +U    0     x  3
    8    -D    1     x  101
    9    -D    0     x  3
"""

test_cases = check_cases(
    [
        case(
            "inner: all rows of the key, in the order of the table; a retraction is looked up again",
            JoinKind.INNER,
            ROWS,
            """
            seq  kind  k  a  k0  p
            5    +I    x  1  x   100
            5    +I    x  1  x   50
            8    -U    x  1  x   100
            8    -U    x  1  x   50
            9    +U    y  1  y   200
        """,
        ),
        case(
            "left: rows that find nothing are padded, and so are their retractions",
            JoinKind.LEFT,
            ROWS,
            """
            seq  kind  k     a  k0    p
            5    +I    x     1  x     100
            5    +I    x     1  x     50
            6    +I    z     2  NULL  NULL
            7    +I    NULL  3  NULL  NULL
            8    -U    x     1  x     100
            8    -U    x     1  x     50
            9    +U    y     1  y     200
            10   -D    z     2  NULL  NULL
        """,
        ),
        case(
            "left: a row whose finds all fail the condition is padded",
            JoinKind.LEFT,
            ROWS,
            """
            seq  kind  k     a  k0    p
            5    +I    x     1  x     50
            6    +I    z     2  NULL  NULL
            7    +I    NULL  3  NULL  NULL
            8    -U    x     1  x     50
            9    +U    y     1  NULL  NULL
            10   -D    z     2  NULL  NULL
        """,
            "p < 100",
        ),
        case(
            "what the table becomes later changes nothing that was emitted",
            JoinKind.LEFT,
            CHANGES,
            """
            seq  kind  k  a  k0    p
            1    +I    x  1  NULL  NULL
            3    +I    x  2  x     100
            6    -U    x  2  x     101
            7    +U    x  3  x     101
            9    -D    x  3  NULL  NULL
        """,
        ),
    ]
)

Script = Sequence[tuple[int, int, int]]
scripts = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE])),
    max_size=16,
)


def found_by_hand(script: Script) -> list[tuple[Any, ...]]:
    table: list[int] = []
    out: list[tuple[Any, ...]] = []
    for port, value, kind in script:
        if port == 0:
            out += [(kind, "a", value, "a", other) for other in table] or [(kind, "a", value, None, None)]
        elif kind in (INSERT, UPDATE_AFTER):
            table.append(value)
        elif value in table:
            table.remove(value)
    return out


@given(scripts, st.integers(0, 16))
def test_it_finds_what_is_in_the_table_and_epochs_change_nothing(script: Script, cut: int) -> None:
    inputs = [Input(seq, kind, ("a", value), port) for seq, (port, value, kind) in enumerate(script, 1)]
    never = Timeline.of([])
    out, _ = run(kernel(JoinKind.LEFT)(), inputs, never, key=("a",), ports=2)
    assert [(one.kind, *one.row) for one in out.emitted] == found_by_hand(script)
    first, kept = run(kernel(JoinKind.LEFT)(), inputs[:cut], never, key=("a",), ports=2)
    kept = pickle.loads(pickle.dumps(kept))
    second, _ = run(kernel(JoinKind.LEFT)(), inputs[cut:], never, key=("a",), saved=kept, ports=2)
    assert first.emitted + second.emitted == out.emitted


ORDERS = rows("id bigint, k string, rt bigint", event_time="rt")
TABLE = rows("k string, p bigint")
ARROWS = "o -> j:left\nt -> j:right\nj -> out"


def planned(left: Any = ORDERS, right: Any = TABLE, sink: str = "changelog", **parameters: Any) -> Plan:
    join = ("lookup_join", {"left_keys": ["k"], "right_keys": ["k"], **parameters})
    pipeline = pipeline_of(ARROWS, o=left, t=right, j=join, out=("sink", {"mode": sink}))
    return plan(pipeline, KnownTypes({"p > 1": "boolean"}), Path())


def test_the_output_has_the_mode_the_event_time_and_the_watermark_of_the_left_input() -> None:
    join = planned().node("j")
    assert str(join.mode) == "[I]"
    assert join.strategy.name == "inner lookup join"
    assert [column.name for column in join.schema if column.time is not None] == ["rt"]
    assert dict(join.derived.holdbacks) == {"o": 0}


@pytest.mark.parametrize(("sink", "mode"), [("changelog", "[I,UB,UA,D]"), ("upsert", "[I,UA,D]")])
def test_the_left_input_writes_updates_as_the_output_is_wanted(sink: str, mode: str) -> None:
    left = rows("id bigint, k string", changelog=True, primary_key=["id"])
    join = planned(left, rows("k string, p bigint", primary_key=["k"]), sink).node("j")
    assert str(join.mode) == mode
    assert join.derived.upsert_keys == {frozenset({"id"})}


def test_a_row_that_may_find_several_has_no_key() -> None:
    assert planned(rows("id bigint, k string", primary_key=["id"])).node("j").derived.upsert_keys == frozenset()


def test_the_stream_is_no_table_to_look_itself_up_in() -> None:
    join = ("lookup_join", {"left_keys": ["k"], "right_keys": ["k"]})
    pipeline = pipeline_of("o -> j:left\no -> j:right\nj -> out", o=ORDERS, j=join, out=("sink", {}))
    with pytest.raises(PlanRejected, match="o is both the stream and the table .* Read it by a second source"):
        plan(pipeline, KnownTypes(), Path())


def test_a_table_needs_no_column_to_be_merged_by() -> None:
    pipeline = pipeline_of(
        ARROWS,
        o=rows("id bigint, k string, rt bigint", arrival_column="rt"),
        t=TABLE,
        j=("lookup_join", {"left_keys": ["k"], "right_keys": ["k"]}),
        out=("sink", {}),
    )
    by_column = pipeline.model_copy(update={"arrival": Arrival(mode="by_column")})
    assert plan(by_column, KnownTypes(), Path()).tables == {"t"}
    unmerged = planned().pipeline.model_copy(update={"arrival": Arrival(mode="by_column")})
    with pytest.raises(PipelineError, match="o: the sources are merged by a column, but this one has no arrival"):
        plan(unmerged, KnownTypes(), Path())


def interleaved(mode: Any) -> Pipeline:
    """A lookup join of a union of two streams with a table, which is the last of the sources."""
    stream: Any = {"columns": columns("k string, at bigint"), "arrival_column": "at"}
    pipeline = pipeline_of(
        "a -> u\nb -> u\nu -> j:left\nt -> j:right\nj -> out",
        a=("rows", {**stream, "rows": [["x", 1], ["y", 4], ["z", 5]]}),
        b=("rows", {**stream, "rows": [["y", 2], ["x", 3]]}),
        u=("union", {}),
        t=("rows", {"columns": columns("k string, p bigint"), "rows": [["x", 10], ["y", 20], ["x", 11]]}),
        j=("lookup_join", {"left_keys": ["k"], "right_keys": ["k"], "kind": "left"}),
        out=("sink", {}),
    )
    return pipeline.model_copy(update={"arrival": Arrival(mode=mode)})


IN_ORDER = {
    "one_after_the_other": [("x", 10), ("x", 11), ("y", 20), ("z", None), ("y", 20), ("x", 10), ("x", 11)],
    "in_turn": [("x", 10), ("x", 11), ("y", 20), ("y", 20), ("x", 10), ("x", 11), ("z", None)],
    "by_column": [("x", 10), ("x", 11), ("y", 20), ("x", 10), ("x", 11), ("y", 20), ("z", None)],
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", IN_ORDER)
def test_a_table_comes_before_everything_else_in_any_order_of_arrival(
    mode: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = interleaved(mode)
    local = run_locally(pipeline, spark, tmp_path).records["out"]
    assert [(row[0], row[3]) for *_, row in local] == IN_ORDER[mode]
    # Even so, a Spark job numbers the events.
    with in_process():
        whole = run_pipeline(pipeline, spark, tmp_path, tmp_path / "whole")
        cut = run_pipeline(pipeline, spark, tmp_path, tmp_path / "cut", epochs=4, partitions=2)
    assert whole.records == cut.records
    assert whole.records["out"] == local


def test_in_flink_sql_it_is_for_system_time_as_of_the_processing_time() -> None:
    join = planned(kind="left", condition="p > 1").node("j")
    assert isinstance(join.operator, LookupJoin)
    assert sql_of(join) == (
        "WITH `rows of t` AS (SELECT `k` AS `k0`, `p` AS `p` FROM `t`)\n"
        "SELECT `id`, `k`, `rt`, `k0`, `p`\n"
        "FROM (SELECT *, PROCTIME() AS `proctime` FROM `o`) AS `o`\n"
        "LEFT JOIN `rows of t` FOR SYSTEM_TIME AS OF `o`.`proctime`\n"
        "ON `k` = `k0` AND (p > 1)"
    )
