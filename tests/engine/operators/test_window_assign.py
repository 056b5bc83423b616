"""Window assignment: the emitted rows with their windows, the time of emission, and the plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.errors import PipelineError, PlanRejected, StudioError
from engine.model.changelog import ChangelogMode, RowKind
from engine.model.position import ordinal
from engine.model.windowing import Windowing, WindowKind
from engine.windows.session_rows import SessionRowsKernel
from tests.engine.assigners import assigner
from tests.engine.cases import Case, check_cases
from tests.engine.planning import pipeline_of, plan_of, rows, sql_of
from tests.golden.trace import run_pipeline

EVENTS = rows("k string, v bigint, rt bigint", event_time="rt")
SINK: tuple[str, dict[str, Any]] = ("sink", {})
HOP = {"kind": "hop", "size_ms": 4000, "slide_ms": 2000}


sessions = partial(SessionRowsKernel, Windowing(WindowKind.SESSION, 1000))


test_cases = check_cases(
    [
        Case(
            "the rows of a session go out when it ends, in order of arrival",
            columnar=sessions,
            given="""
                seq  kind  rt    k  wm
                1    +I    1500  x  .
                2    +I    1000  y  .
                3    +I    9000  z  2498
                4    wm             2499
                5    wm             MAX
            """,
            expect="""
                seq  kind  k  start    end       time
                4    +I    x  1000000  2500000   2499000
                4    +I    y  1000000  2500000   2499000
                5    +I    z  9000000  10000000  9999000
            """,
            fires="""
                seq  start  end
                4    1000   2500
                5    9000   10000
            """,
            leaves_state=False,
        ),
        Case(
            "a row between two sessions makes them one, whose rows keep their order",
            columnar=sessions,
            given="""
                seq  kind  rt    k  wm
                1    +I    3000  x  .
                2    +I    1000  y  .
                3    +I    2000  z  .
                4    wm             MAX
            """,
            expect="""
                seq  kind  k  start    end      time
                4    +I    x  1000000  4000000  3999000
                4    +I    y  1000000  4000000  3999000
                4    +I    z  1000000  4000000  3999000
            """,
            leaves_state=False,
        ),
        Case(
            "a row that comes after its session is late, kinds stay what they are",
            columnar=sessions,
            given="""
                seq  kind  rt    k  wm
                1    +I    1000  x  .
                2    -D    1200  x  5000
                3    +I    1100  y  .
            """,
            expect="""
                seq  kind  k  start    end      time
                2    +I    x  1000000  2200000  2199000
                2    -D    x  1000000  2200000  2199000
            """,
            late="""
                seq  time  start  end   wm    lateness
                3    1100  1100   2100  5000  2901
            """,
            mode=ChangelogMode({RowKind.INSERT, RowKind.DELETE}),
            leaves_state=False,
        ),
    ]
)


@pytest.mark.parametrize(
    "windows",
    [
        {"size_ms": 4000, "offset_ms": 1500},
        {**HOP, "offset_ms": -500},
        {"kind": "hop", "size_ms": 4000, "slide_ms": 1500},
        {"kind": "hop", "size_ms": 1000, "slide_ms": 1500, "offset_ms": 250},
        {"kind": "cumulate", "size_ms": 6000, "step_ms": 1500, "offset_ms": 250},
        {"kind": "hop", "size_ms": 300_000, "slide_ms": 1000},
    ],
)
def test_spark_gives_rows_the_windows_that_kernels_would(
    spark: SparkSession, tmp_path: Path, windows: Mapping[str, Any]
) -> None:
    times = [-7000, -1, 0, 1, 1499, 1500, 6000, 123_456]
    given = rows("rt bigint", event_time="rt", rows=[[time] for time in times])
    pipeline = pipeline_of("t -> w -> out", t=given, w=("window_assign", windows), out=SINK)
    found = run_pipeline(pipeline, spark, Path(), tmp_path).records["w"]
    planned = plan_of("t -> w -> out", t=given, w=("window_assign", windows), out=SINK)
    operator: Any = planned.node("w").operator
    assign, is_hop = assigner(operator.windowing), operator.kind is WindowKind.HOP
    expected = [
        (seq, ordinal(at), time, start, end)
        for seq, time in enumerate(times, start=1)
        for at, (start, end) in enumerate(reversed(assign(time)) if is_hop else assign(time))
    ]
    got = [
        (one.seq, one.step, one.row[0], *(round(bound.timestamp() * 1000) for bound in one.row[1:3])) for one in found
    ]
    assert got == expected


def test_the_window_time_is_the_event_time_from_here_on() -> None:
    found = plan_of("t -> w -> out", t=EVENTS, w=("window_assign", HOP), out=SINK).node("w")
    assert found.schema.names == ("k", "v", "rt", "window_start", "window_end", "window_time")
    assert found.schema.event_time is not None
    assert found.schema.event_time.name == "window_time"
    assert str(found.mode) == "[I]"


def test_kinds_are_passed_on_and_the_window_belongs_to_the_key() -> None:
    changes = rows("k string, v bigint, rt bigint", event_time="rt", changelog=True, primary_key=["k", "rt"])
    found = plan_of("t -> w -> out", t=changes, w=("window_assign", HOP), out=SINK).node("w")
    assert found.derived.upsert_keys == {frozenset({"k", "rt", "window_start", "window_end"})}
    assert str(found.mode) == "[I,UB,UA,D]"


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"size_ms": 1000, "partition_by": ["k"]}, PipelineError, "partition_by is for session windows"),
        ({"kind": "hop", "size_ms": 1000}, PipelineError, "slide_ms is needed with hop windows"),
        ({"kind": "session", "gap_ms": 5, "partition_by": ["x"]}, StudioError, "unknown column 'x'"),
    ],
)
def test_wrong_parameters_are_named(parameters: Mapping[str, Any], error: type[StudioError], match: str) -> None:
    with pytest.raises(error, match=match):
        plan_of("t -> w -> out", t=EVENTS, w=("window_assign", parameters), out=SINK)


def test_without_event_time_there_are_no_windows() -> None:
    with pytest.raises(PlanRejected, match="w: a window needs an event time, but its input has none"):
        plan_of("t -> w -> out", t=rows("k string"), w=("window_assign", HOP), out=SINK)


def test_in_flink_sql_it_is_the_window_table_function() -> None:
    planned = plan_of(
        "t -> w -> x -> out",
        t=EVENTS,
        w=("window_assign", HOP),
        x=("window_assign", {"kind": "session", "gap_ms": 5000, "partition_by": ["k"]}),
        out=SINK,
    )
    texts = []
    for name in ("w", "x"):
        node: Any = planned.node(name)
        texts.append(sql_of(node))
    assert texts == [
        "SELECT * FROM TABLE(HOP(TABLE `t`, DESCRIPTOR(`rt`), INTERVAL '2' SECOND, INTERVAL '4' SECOND))",
        "SELECT * FROM TABLE(SESSION((SELECT `k` AS `k`, `v` AS `v`, `rt` AS `rt`, `window_start` AS `window_start_`, "
        "`window_end` AS `window_end_`, `window_time` AS `window_time_` FROM `w`) PARTITION BY (`k`), "
        "DESCRIPTOR(`window_time_`), INTERVAL '5' SECOND))",
    ]
