"""Mini-batch in runs: bundles count the operator's input, and are the same for any partitions and epochs.

The keys of a bundle are emitted in order of their buckets in Flink's hash map: b, then a and c, then d; k2 before k1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.model.changelog import UPDATE_BEFORE
from engine.model.pipeline import Pipeline
from engine.runtime.in_process import in_process
from tests.engine.planning import columns, pipeline_of
from tests.golden.trace import TraceRecorder, run_pipeline

WORDS = ["a", "b", "a", "c", "b", "a", "a", "a", "d"]
OPTIONS = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "3",
    "table.exec.mini-batch.allow-latency": "1 h",
}
ONE_PHASE = {"table.optimizer.agg-phase-strategy": "ONE_PHASE"}
COUNTS = ("aggregate", {"group_by": ["word"], "aggregates": [{"function": "COUNT", "name": "cnt"}]})
EVENTS = [
    ["k1", 1, 1000],
    ["k1", 2, 900],
    ["k2", 3, 1500],
    ["k1", 4, 1000],
    ["k2", 5, 1400],
    ["k1", 6, 2000],
    ["k1", 7, 1999],
    ["k2", 8, 1500],
]


def source(ddl: str, rows: list[Any], **more: Any) -> tuple[str, dict[str, Any]]:
    return ("rows", {"columns": columns(ddl), "rows": rows, **more})


def with_options(pipeline: Pipeline, **options: str) -> Pipeline:
    return pipeline.model_copy(update={"options": OPTIONS | options})


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a pipeline in one epoch, cut into epochs on several partitions, and in Spark's workers: all are equal.

    In the last run, keys and values are those that Spark computes, as if Arrow could not.
    """

    def run(pipeline: Pipeline, epochs: int = 4) -> TraceRecorder:
        with in_process():
            whole = run_pipeline(pipeline, spark, tmp_path, tmp_path / "whole")
            cut = run_pipeline(pipeline, spark, tmp_path, tmp_path / "cut", epochs=epochs, partitions=3)
        assert cut.text() == whole.text()
        monkeypatch.setattr("engine.runtime.keyed.inputs.compiled", lambda *given: None)
        there = run_pipeline(pipeline, spark, tmp_path, tmp_path / "there", epochs=2, partitions=6)
        assert there.text() == whole.text()
        return whole

    return run


def counted(trace: TraceRecorder) -> str:
    """The counts that went out, each with its event: `3:a=2`. Retractions are left out."""
    rows = ((one.seq, *one.row) for one in trace.records["counts"] if one.kind != UPDATE_BEFORE)
    return " ".join(f"{seq}:{word}={count}" for seq, word, count in rows)


def test_every_third_record_ends_a_bundle_whatever_its_key(runs: Any) -> None:
    pipeline = pipeline_of("w -> counts", w=source("word string", [[word] for word in WORDS]), counts=COUNTS)
    trace = runs(with_options(pipeline, **ONE_PHASE))
    assert counted(trace) == "3:b=1 3:a=2 6:b=2 6:c=1 6:a=3 9:a=5 9:d=1"


def test_in_two_phases_it_is_the_folds_of_bundles_that_are_counted(runs: Any) -> None:
    # Folds: b:1 a:2 | b:1 c:1 a:1 | a:2 d:1, so that the operator's own bundles are b a b | c a a | d.
    pipeline = pipeline_of("w -> counts", w=source("word string", [[word] for word in WORDS]), counts=COUNTS)
    trace = runs(with_options(pipeline), epochs=5)
    assert counted(trace) == "6:b=2 6:a=2 9:c=1 9:a=5 10:d=1"


def test_bundles_follow_each_other_in_a_cascade(runs: Any) -> None:
    events = source("k string, v bigint, rt bigint", EVENTS, event_time="rt", watermark_delay_ms=500)
    total = {"group_by": [], "aggregates": [{"function": "SUM", "argument": "v", "name": "total"}]}
    pipeline = pipeline_of(
        "t -> last -> total",
        t=events,
        last=("deduplicate", {"keys": ["k"], "order": "event_time", "keep": "last"}),
        total=("aggregate", total),
    )
    trace = runs(with_options(pipeline, **ONE_PHASE))
    assert trace.changelog("last", "k", "v") == [
        "+I(k2, 3)",
        "+I(k1, 1)",
        "-U(k1, 1)",
        "+U(k1, 4)",
        "-U(k1, 4)",
        "+U(k1, 6)",
        "-U(k2, 3)",
        "+U(k2, 8)",
    ]
    assert trace.changelog("total") == ["+I(3)", "-U(3)", "+U(9)", "-U(9)", "+U(14)"]


def test_the_watermark_moves_in_steps_of_the_latency_and_ends_bundles(runs: Any) -> None:
    rows = [["a", 500], ["b", 999], ["a", 1000], ["a", 1500], ["a", 2600], ["a", 2700]]
    window = {"group_by": ["word"], "kind": "tumble", "size_ms": 1000, "aggregates": [{"function": "COUNT"}]}
    pipeline = pipeline_of(
        """
        w -> windows
        w -> counts
        """,
        w=source("word string, rt bigint", rows, event_time="rt"),
        counts=COUNTS,
        windows=("window_aggregate", window),
    )
    options = {"table.exec.mini-batch.size": "100", "table.exec.mini-batch.allow-latency": "1 s"}
    trace = runs(with_options(pipeline, **options))
    assert [row["watermark_ms"] for row in trace.watermarks[:-1]] == [None, 999, 999, 999, 2600, 2600]
    assert counted(trace) == "2:b=1 2:a=1 5:a=4 7:a=5"


def test_a_join_folds_both_sides_and_ends_its_bundles_with_either_input(runs: Any) -> None:
    lefts = [["+I", "a", 1], ["-D", "a", 1], ["+I", "a", 2], ["+I", "b", 3]]
    rights = [["+I", "a", 10], ["+I", "b", 20], ["-D", "b", 20], ["+I", "b", 21]]
    pipeline = Pipeline.from_dict(
        {
            "nodes": [
                {"id": name, "operator": operator, "parameters": parameters}
                for name, (operator, parameters) in {
                    "l": source("k string, x bigint", lefts, changelog=True),
                    "r": source("k string, y bigint", rights, changelog=True),
                    "j": ("join", {"kind": "left", "left_keys": ["k"], "right_keys": ["k"]}),
                }.items()
            ],
            "edges": [
                {"source": "l", "target": "j", "target_port": "left"},
                {"source": "r", "target": "j", "target_port": "right"},
            ],
            "options": OPTIONS | {"table.exec.mini-batch.size": "100"},
        }
    )
    # The left source ends at 5, before the right one begins, so its rows are padded there.
    trace = runs(pipeline)
    assert [(one.seq, one.kind, one.row[1], one.row[3]) for one in trace.records["j"]] == [
        (5, 0, 3, None),
        (5, 0, 2, None),
        (10, 3, 3, None),
        (10, 0, 3, 21),
        (10, 3, 2, None),
        (10, 0, 2, 10),
    ]
