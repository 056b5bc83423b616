"""Windows in a time zone: the same bytes for any number of tasks and epochs, and where the clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from engine.model.pipeline import Pipeline
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.model.zones import Zone, zone_named
from engine.runtime.in_process import in_process
from tests.golden.trace import TraceRecorder, run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
ZONE = "America/Los_Angeles"
HOUR = 3_600_000


def los_angeles() -> Zone:
    zone = zone_named(ZONE)
    assert zone is not None
    return zone


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


# What Flink's TimeWindowUtil.toEpochMillsForTimer and toEpochMills give.
FLINK = (
    ("2024-03-10T01:59:59.999", "2024-03-10T09:59:59.999", "2024-03-10T09:59:59.999"),
    ("2024-03-10T02:00:00", "2024-03-10T10:00:00", "2024-03-10T10:00:00"),
    ("2024-03-10T02:30:00", "2024-03-10T10:00:00", "2024-03-10T10:30:00"),
    ("2024-03-10T02:59:59.999", "2024-03-10T10:00:00", "2024-03-10T10:59:59.999"),
    ("2024-03-10T03:00:00", "2024-03-10T10:00:00", "2024-03-10T10:00:00"),
    ("2024-03-10T03:30:00", "2024-03-10T10:30:00", "2024-03-10T10:30:00"),
    ("2024-11-03T00:59:59.999", "2024-11-03T07:59:59.999", "2024-11-03T07:59:59.999"),
    ("2024-11-03T01:00:00", "2024-11-03T09:00:00", "2024-11-03T08:00:00"),
    ("2024-11-03T01:59:59.999", "2024-11-03T09:59:59.999", "2024-11-03T08:59:59.999"),
    ("2024-11-03T02:00:00", "2024-11-03T10:00:00", "2024-11-03T10:00:00"),
)


@pytest.mark.parametrize(("local", "timer", "instant"), FLINK)
def test_local_times_are_over_and_begin_when_flink_says(local: str, timer: str, instant: str) -> None:
    at = np.array([ms(local)])
    assert los_angeles().timers_ms(at).tolist() == [ms(timer)]
    assert los_angeles().instants_ms(at).tolist() == [ms(instant)]


def test_what_is_reached_is_the_last_local_time_that_is_over() -> None:
    zone, random = los_angeles(), Random(7)
    days = [ms("2024-03-10T00:00:00"), ms("2024-11-03T00:00:00"), ms("1969-10-26T00:00:00"), ms("2024-07-01T00:00:00")]
    instants = np.array([day + random.randrange(26 * HOUR) for day in days for _ in range(500)])
    reached = zone.reached_ms(instants)
    assert (zone.timers_ms(reached) <= instants).all()
    assert (zone.timers_ms(reached + 1) > instants).all()
    shown = [datetime.fromtimestamp(at / 1000, ZoneInfo(ZONE)).replace(tzinfo=UTC) for at in instants.tolist()]
    assert zone.local_ms(instants).tolist() == [round(at.timestamp() * 1000) for at in shown]
    ends = np.array([MIN_WATERMARK, MAX_WATERMARK])
    assert zone.reached_ms(ends).tolist() == ends.tolist()


def test_a_watermark_in_local_time_stands_still_while_an_hour_is_shown_again() -> None:
    marks = [ms("2024-11-03T07:30:00") + at * HOUR // 2 for at in range(5)]
    line = los_angeles().timeline(Timeline.of(list(enumerate(marks, start=1))))
    assert line.seqs.tolist() == [1, 2, 4, 5]
    shown = [datetime.fromtimestamp(at / 1000, UTC).strftime("%H:%M:%S") for at in line.marks.tolist()]
    assert shown == ["00:30:00", "00:59:59", "01:00:00", "01:30:00"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("asia/tokyo", "Did you mean Asia/Tokyo?"),
        ("Europe/Brelin", "Did you mean Europe/Berlin?"),
        ("UTC+2", "or an offset such as GMT+02:00"),
        ("+02:00", "or an offset such as GMT+02:00"),
        ("EST", "is no time zone"),
        ("GMT+2:00", "is no time zone"),
    ],
)
def test_a_zone_that_flink_does_not_take_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="is no time zone") as raised:
        zone_named(name)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("name", ["GMT+5", "GMT+05:30", "GMT-0800", "Etc/GMT+5", "Asia/Kathmandu"])
def test_offsets_are_zones(name: str) -> None:
    zone = zone_named(name)
    assert zone is not None
    text = zone.text(0, is_instant=True)
    assert datetime.fromisoformat(text).timestamp() == 0
    assert zone.text(0, is_instant=False) == "1970-01-01T00:00:00.000"


def pipeline() -> Pipeline:
    """Events around both changes of a year, out of order, in windows of all kinds."""
    random = Random(11)
    starts = [ms("2024-03-10T06:00:00"), ms("2024-11-03T06:00:00")]
    times = sorted(start + random.randrange(28 * HOUR) for start in starts for _ in range(60))
    rows = [[random.randrange(3), time - random.choice((0, 0, 0, HOUR, 3 * HOUR))] for time in times]
    timed = {"event_time": "ms", "watermark_delay_ms": 60_000}
    source = {"columns": [{"name": "k", "type": "int"}, {"name": "ms", "type": "bigint"}], "rows": rows, **timed}
    counted = {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]}
    day, hop = {"kind": "tumble", "size_ms": 24 * HOUR}, {"kind": "hop", "size_ms": HOUR, "slide_ms": HOUR // 2}
    nodes: dict[str, tuple[str, dict[str, Any]]] = {
        "a": ("rows", source),
        "days": ("window_aggregate", {**day, **counted, "window_time": True}),
        "hours": ("window_aggregate", {**hop, **counted}),
        "lasting": ("window_aggregate", {**hop, **counted, "allowed_lateness_ms": 2 * HOUR}),
        "grown": ("window_aggregate", {"kind": "cumulate", "size_ms": 24 * HOUR, "step_ms": 6 * HOUR, **counted}),
        "sessions": ("window_aggregate", {"kind": "session", "gap_ms": HOUR // 3, **counted, "window_time": True}),
        "visits": ("window_assign", {"kind": "session", "gap_ms": HOUR // 3, "partition_by": ["k"]}),
        "assigned": ("window_assign", day),
        "best": ("window_topn", {**day, "order_by": [{"column": "ms"}], "rank_end": 2}),
        "pairs": ("window_join", {"left_keys": ["k"], "right_keys": ["k"], "windows": "tumble", "size_ms": HOUR}),
        "again": (
            "window_aggregate",
            {
                "window_start": "window_start",
                "window_end": "window_end",
                "group_by": [],
                "aggregates": [{"function": "COUNT", "name": "n"}],
                "window_time": True,
            },
        ),
    }
    edges = [("a", name, "in") for name in nodes if name not in ("a", "pairs", "again")]
    edges += [("assigned", "again", "in"), ("a", "pairs", "left"), ("a", "pairs", "right")]
    return Pipeline.from_dict(
        {
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, (op, given) in nodes.items()],
            "edges": [{"source": source, "target": target, "target_port": port} for source, target, port in edges],
            "options": {"table.local-time-zone": ZONE},
        }
    )


def text_of(trace: TraceRecorder) -> str:
    trace.fires = [fire for at, fire in enumerate(trace.fires) if fire not in trace.fires[:at]]
    return trace.text()


def test_any_epochs_and_tasks_give_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    made = pipeline()
    whole = run_locally(made, spark, HERE)
    with in_process():
        cut = run_pipeline(made, spark, HERE, tmp_path / "cut", epochs=7, partitions=3)
        once = run_pipeline(made, spark, HERE, tmp_path / "once")
    assert {late["node"] for late in whole.late} >= {"days", "hours", "lasting", "sessions", "again", "pairs", "best"}
    for late in whole.late:
        if late["node"] != "lasting":
            assert late["lateness_ms"] == late["watermark_ms"] - (late["window_end_ms"] - 1), late
    assert text_of(cut) == text_of(once) == text_of(whole)
    days = [fire for fire in whole.fires if fire["node"] == "days"]
    assert {(fire["window_end_ms"] - fire["window_start_ms"]) // HOUR for fire in days} == {23, 24, 25}


def test_workers_know_the_zone(spark: SparkSession, tmp_path: Path) -> None:
    made = pipeline()
    assert text_of(run_pipeline(made, spark, HERE, tmp_path, epochs=2, partitions=2)) == text_of(
        run_locally(made, spark, HERE)
    )
