"""A run whose state expires: the recorded clock decides, not the number of tasks, and not where epochs end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from engine.model.pipeline import Pipeline
from engine.runtime.in_process import in_process
from tests.golden.trace import TraceRecorder, plan_of, run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
TTL = "table.exec.state.ttl"
CLOCK = "changelog-studio.clock"
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "20 ms",
    "table.exec.mini-batch.size": "4",
}
COLUMNS = [{"name": name, "type": "bigint"} for name in ("k", "v", "at")]


def pipeline(options: Mapping[str, str], mode: str = "in_turn", every: int = 1, events_of_each: int = 60) -> Pipeline:
    """Two sources out of order, and what keeps state that expires, over both."""
    random = Random(40)

    def events(start: int) -> dict[str, Any]:
        times = sorted(random.randrange(start, 400) for _ in range(events_of_each))
        rows: list[Any] = [[random.randrange(5), random.randrange(3), time - random.randrange(9)] for time in times]
        middle = events_of_each // 2
        rows[middle:middle] = [{"watermark": 150}]
        timed = {"event_time": "at", "watermark_delay_ms": 10, "watermark_every": every, "arrival_column": "at"}
        return {"columns": COLUMNS, "rows": rows, **timed}

    dedup = {"keys": ["k"], "order": "event_time"}
    by_v = {"group_by": ["v"], "aggregates": [{"function": "SUM", "argument": "k", "name": "s"}]}
    nodes = {
        "a": ("rows", events(0)),
        "b": ("rows", events(100)),
        "both": ("union", {}),
        "latest": ("deduplicate", {**dedup, "keep": "last"}),
        "first": ("deduplicate", {**dedup, "keep": "first"}),
        "arrived": ("deduplicate", {"keys": ["k", "v"], "order": "arrival", "keep": "last"}),
        "seen": ("deduplicate", {"keys": ["v"], "order": "arrival", "keep": "first"}),
        "sums": ("aggregate", by_v),
        "by_sum": ("sink", {"mode": "upsert", "keys": ["s"]}),
    }
    edges = [("a", "both"), ("b", "both"), ("latest", "sums"), ("sums", "by_sum")]
    edges += [("both", name) for name in ("latest", "first", "arrived", "seen")]
    return Pipeline.from_dict(
        {
            "name": "state with a TTL",
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, (op, given) in nodes.items()],
            "edges": [{"source": source, "target": target} for source, target in edges],
            "arrival": {"mode": mode},
            "options": dict(options),
        }
    )


Run = Callable[..., str]


@pytest.fixture
def text_of(spark: SparkSession, tmp_path: Path) -> Run:
    places = count()

    def ran(made: Pipeline, epochs: int, partitions: int) -> str:
        work = tmp_path / f"{next(places)}"
        return without_repeats(run_pipeline(made, spark, HERE, work, epochs=epochs, partitions=partitions))

    return ran


def without_repeats(trace: TraceRecorder) -> str:
    """The text of a trace; on Spark, every task reports its fired windows."""
    trace.fires = [fire for at, fire in enumerate(trace.fires) if fire not in trace.fires[:at]]
    return trace.text()


@pytest.mark.parametrize(
    ("mode", "every", "options"),
    [
        ("in_turn", 1, {}),
        ("by_column", 3, {}),
        ("one_after_the_other", 2, {}),
        ("in_turn", 1, MINI_BATCH),
    ],
)
def test_any_epochs_and_tasks_give_the_same_bytes(
    mode: str, every: int, options: Mapping[str, str], spark: SparkSession, text_of: Run
) -> None:
    made = pipeline({TTL: "30 ms", **options}, mode, every)
    with in_process():
        whole = text_of(made, 1, 1)
        assert text_of(made, 7, 3) == whole
        assert without_repeats(run_locally(made, spark, HERE)) == whole
        assert text_of(pipeline({TTL: "1 d", **options}, mode, every), 1, 1) != whole, "something has expired"


def test_workers_read_the_clock_too(text_of: Run, spark: SparkSession) -> None:
    made = pipeline({TTL: "30 ms"})
    assert text_of(made, 3, 2) == without_repeats(run_locally(made, spark, HERE))


def test_a_ttl_that_never_ends_is_none_but_for_what_is_repeated(text_of: Run) -> None:
    with in_process():
        longest = text_of(pipeline({TTL: f"{1 << 62} ms"}), 5, 2)
        unread = text_of(pipeline({TTL: "30 ms", CLOCK: "NONE"}), 5, 2)
    assert records(longest) == records(unread)


def records(text: str) -> list[str]:
    """The records of a trace."""
    return [line for line in text.splitlines() if any(kind in line for kind in ("+I", "-U", "+U", "-D"))]


def test_the_plan_says_what_obeys(spark: SparkSession) -> None:
    planned = plan_of(pipeline({TTL: "30 ms"}), spark, HERE)
    states = {node.id: node.strategy.state for node in planned.nodes}
    assert states["latest"] == "per key: the kept row; each entry goes 30 ms after its last write"
    assert states["both"] == "none"
    assert "last write" not in plan_of(pipeline({}), spark, HERE).node("latest").strategy.state
