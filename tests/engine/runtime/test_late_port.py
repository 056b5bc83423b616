"""Routed late records: they are emitted by the second output, and remain in the late records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.contract.explanation import to_text
from engine.errors import PipelineError, PlanRejected, StudioError
from engine.model.pipeline import Arrival
from engine.runtime.explain import explanation
from engine.runtime.in_process import in_process
from tests.engine.planning import pipeline_of, plan_of, rows
from tests.golden.trace import run_pipeline

FOLDER = Path(__file__).parent
TIMES = [("a", 1000), ("b", 2500), ("a", 500), ("a", 7000), ("b", 3000), ("a", 12000), ("b", 6000)]
EVENTS = [[key, number, time] for number, (key, time) in enumerate(TIMES, start=1)]
Given = tuple[str, dict[str, Any]]


def source(given: list[list[Any]] = EVENTS, **more: Any) -> Given:
    return rows("k string, v bigint, rt bigint", event_time="rt", watermark_delay_ms=0, **{"rows": given, **more})


COUNT = {"function": "COUNT", "name": "n"}
TUMBLE = ("window_aggregate", {"size_ms": 4000, "aggregates": [COUNT], "group_by": ["k"], "late_records": "port"})
LATE_COUNT = ("aggregate", {"group_by": ["k"], "aggregates": [COUNT]})
SINK: Given = ("sink", {})


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_pipeline_goes_on_from_the_late_rows_of_a_window(spark: SparkSession, tmp_path: Path, epochs: int) -> None:
    arrows = "t -> w -> out\nw.late -> counted -> late_out"
    made = pipeline_of(arrows, t=source(), w=TUMBLE, counted=LATE_COUNT, out=SINK, late_out=SINK)
    found = run_pipeline(made, spark, FOLDER, tmp_path, epochs=epochs)
    assert found.changelog("w.late") == ["+I(b, 5, 3000)", "+I(b, 7, 6000)"]
    assert found.changelog("late_out") == ["+I(b, 1)", "-U(b, 1)", "+U(b, 2)"]
    assert found.changelog("out", "k", "n") == ["+I(a, 2)", "+I(b, 1)", "+I(a, 1)", "+I(a, 1)"]
    assert [(one["seq"], one["node"], one["lateness_ms"]) for one in found.late] == [(5, "w", 3001), (7, "w", 4001)]


@pytest.mark.parametrize(
    ("operator", "parameters", "late"),
    [
        ("window_aggregate", {"kind": "session", "gap_ms": 1000, "group_by": ["k"], "aggregates": [COUNT]}, [3, 5, 7]),
        ("window_topn", {"size_ms": 4000, "order_by": [{"column": "v"}], "rank_end": 1}, [5, 7]),
        ("window_assign", {"kind": "session", "gap_ms": 1000, "partition_by": ["k"]}, [3, 5, 7]),
        ("over_aggregate", {"partition_by": ["k"], "aggregates": [COUNT]}, [3, 5, 7]),
        ("deduplicate", {"keys": ["k"], "keep": "first"}, [3, 5, 7]),
    ],
)
def test_every_operator_that_drops_late_rows_can_route_them(
    spark: SparkSession, tmp_path: Path, operator: str, parameters: Mapping[str, Any], late: list[int]
) -> None:
    made = pipeline_of(
        "t -> w -> out\nw.late -> late_out",
        t=source(),
        w=(operator, {**parameters, "late_records": "port"}),
        out=SINK,
        late_out=SINK,
    )
    with in_process():
        found = run_pipeline(made, spark, FOLDER, tmp_path)
    assert [one.row[1] for one in found.records["w.late"]] == late
    assert {one["seq"] for one in found.late} == set(late)


@pytest.mark.parametrize("operator", ["window_join", "interval_join"])
def test_a_join_has_a_port_for_the_late_rows_of_each_side(spark: SparkSession, tmp_path: Path, operator: str) -> None:
    lengths = {"window_join": {"size_ms": 4000}, "interval_join": {"lower_ms": -1000, "upper_ms": 1000}}[operator]
    made = pipeline_of(
        "l -> j:left -> out\nr -> j:right\nj.late_left -> left_out\nj.late_right -> right_out",
        l=source([["a", 1, 1000], ["a", 2, 9000], ["a", 3, 2000]]),
        r=rows("k string, w bigint, ut bigint", event_time="ut", rows=[["a", 4, 9000], ["b", 5, 500], ["a", 6, 9500]]),
        j=(operator, {"left_keys": ["k"], "right_keys": ["k"], "late_records": "port", **lengths}),
        out=SINK,
        left_out=SINK,
        right_out=SINK,
    ).model_copy(update={"arrival": Arrival(mode="in_turn")})
    with in_process():
        found = run_pipeline(made, spark, FOLDER, tmp_path)
    assert found.columns("j.late_left") == ("k", "v", "rt")
    assert found.columns("j.late_right") == ("k", "w", "ut")
    assert found.changelog("left_out") == ["+I(a, 3, 2000)"]
    assert found.changelog("right_out") == ["+I(b, 5, 500)"]


def test_a_row_that_one_of_its_windows_takes_is_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    hop = {"kind": "hop", "size_ms": 4000, "slide_ms": 2000, "aggregates": [COUNT], "late_records": "port"}
    events = [["a", 1, 1000], ["a", 2, 4500], ["a", 3, 3000], ["a", 4, 9000], ["a", 5, 3500]]
    made = pipeline_of("t -> w -> out", t=source(events), w=("window_aggregate", hop), out=SINK)
    with in_process():
        found = run_pipeline(made, spark, FOLDER, tmp_path)
    assert found.changelog("w.late") == ["+I(a, 5, 3500)"]
    assert [(one["seq"], one["window_end_ms"]) for one in found.late] == [(3, 4000), (5, 4000), (5, 6000)]


def test_the_plan_shows_the_second_output() -> None:
    planned = plan_of("t -> w -> out\nw.late -> late_out", t=source(), w=TUMBLE, out=SINK, late_out=SINK)
    text = to_text(explanation(planned))
    assert "port late     +I, the dropped records, unchanged" in text
    assert "from w.late   +I, which has no retractions" in text
    assert planned.node("late_out").schema.event_time is None
    assert [node.id for node in planned.sinks] == ["out", "late_out"]


@pytest.mark.parametrize(
    ("given", "operator", "parameters", "error", "sentence"),
    [
        (
            source(),
            *TUMBLE,
            PipelineError,
            r"unknown output 'later'. Did you mean late\? Available: out, late.",
        ),
        (
            source(changelog=True, rows=[]),
            *TUMBLE,
            PlanRejected,
            r"routing late records needs an insert-only input, but t emits \+I -U \+U -D. Keep them in the ledger.",
        ),
        (
            source(),
            "window_assign",
            {"size_ms": 4000, "late_records": "port"},
            PipelineError,
            "rows can be late only for session windows, not for tumble windows",
        ),
        (
            source(),
            "deduplicate",
            {"keys": ["k"], "late_records": "port"},
            PipelineError,
            "rows can be late only if the first row by event_time is emitted when_complete",
        ),
        (
            source(),
            "over_aggregate",
            {"order": "arrival", "frame": "rows", "aggregates": [COUNT], "late_records": "port"},
            PipelineError,
            "in the order of arrival no row is late",
        ),
    ],
)
def test_what_cannot_be_routed_is_refused(
    given: Given, operator: str, parameters: Mapping[str, Any], error: type[StudioError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        plan_of("t -> w -> out\nw.later -> late_out", t=given, w=(operator, parameters), out=SINK, late_out=SINK)
