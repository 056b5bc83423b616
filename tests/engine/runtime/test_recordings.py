"""Recordings of live runs, read by real runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.contract.recorder import EpochOutput, stretches
from engine.model.pipeline import Pipeline
from engine.model.timeline import Timeline
from engine.recordings import on_recordings
from engine.runtime.in_process import in_process
from storage import Store
from tests.engine.runtime.test_live import Fed, feeder, rows, run_live, two_sources
from tests.golden.trace import TraceRecorder, run_locally, run_pipeline


class Stored(Fed):
    """A live run that is also recorded in a store. seen: called after each epoch."""

    def __init__(self, feed: Callable[[], bool], store: Store, run_id: int, seen: Callable[[], None]) -> None:
        super().__init__(feed)
        self._kept = store.record(run_id)
        self._seen = seen
        self.outputs: list[EpochOutput] = []

    def begin(self, plan: Any) -> None:
        super().begin(plan)
        self._kept.begin(plan)

    def commit(self, output: EpochOutput) -> None:
        self._kept.commit(output)
        self.outputs.append(output)
        self._seen()
        super().commit(output)

    def finish(self) -> None:
        self._kept.finish()
        super().finish()


TTL = {"table.exec.state.ttl": "40 ms"}
BY_ARRIVAL = {**TTL, "changelog-studio.clock": "ARRIVAL_COLUMN"}


@pytest.mark.parametrize("options", [{}, TTL, BY_ARRIVAL], ids=["no TTL", "a TTL", "a TTL by arrival"])
def test_a_pipeline_on_what_a_live_run_had_says_what_that_run_said(
    options: Mapping[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        pipeline = two_sources(**options)
        run_id = store.runs.create("live", pipeline.to_json()).run_id
        feed = feeder(tmp_path, 1, {"left": list(rows(1, 60)), "right": list(rows(51, 40))})
        so_far: list[dict[str, Path]] = []

        def seen() -> None:
            if store.runs.get(run_id).epochs_done == 5:
                so_far.append(dict(store.recordings.write(run_id)))

        live = Stored(feed, store, run_id, seen)
        run_live(pipeline, spark, tmp_path, tmp_path / "state", live)
        assert live.late
        if options:
            marks = store.replays.marks(run_id)
            times = [marks.time_at(output.last_seq) for output in live.outputs]
            assert times == clock_of(live, options)
            curves = [{point.seq: point.clock_ms for point in held.points} for held in store.held_states.of_run(run_id)]
            assert curves
            assert all(
                curve[output.last_seq] == at for curve in curves for output, at in zip(live.outputs, times, strict=True)
            )

        again = on_recordings(pipeline, store.recordings.write(run_id), tmp_path)
        with in_process():
            recorded = run_pipeline(again, spark, tmp_path, tmp_path / "recorded", epochs=3, partitions=2)
        assert comparable(recorded.text()) == comparable(live.text())
        assert_same_locally(again, recorded, spark, tmp_path)

        # A recording during the run: exactly the records so far. Spark's workers read this one.
        some = on_recordings(pipeline, so_far[0], tmp_path)
        part = run_pipeline(some, spark, tmp_path, tmp_path / "part", partitions=1)
        assert_same_locally(some, part, spark, tmp_path)
        for name in ("left", "right"):
            assert 0 < len(part.records[name]) < len(live.records[name])
            assert part.records[name] == live.records[name][: len(part.records[name])]
        changed: Pipeline = again.model_copy(update={"options": {**options, "changelog-studio.retraction": "false"}})
        with in_process():
            without = run_pipeline(changed, spark, tmp_path, tmp_path / "changed", partitions=2)
        assert without.records["left"] == live.records["left"]
        assert without.records["top"] != live.records["top"]


def clock_of(live: Stored, options: Mapping[str, str]) -> list[int | None]:
    """The recorded clock at the end of each epoch: the time of its decision, or the largest of `left` so far."""
    if options == TTL:
        return [decision.now_ms for decision in live.decisions]
    left = [(record.seq, record.row[-1]) for record in live.records["left"]]
    return [max(time for seq, time in left if seq <= output.last_seq) for output in live.outputs]


def assert_same_locally(pipeline: Pipeline, recorded: TraceRecorder, spark: SparkSession, folder: Path) -> None:
    """The local executor equals the run on recordings. It keeps no rejected rows."""
    local = run_locally(pipeline, spark, folder)
    recorded.fires = [fire for at, fire in enumerate(recorded.fires) if fire not in recorded.fires[:at]]
    recorded.rejected = []
    assert local.text() == recorded.text()


def comparable(text: str) -> list[str]:
    """A trace without the operators of the sources. Rejected rows are sorted, since they have no position."""
    records, _, rejected = text.partition("== rejected rows")
    lines = records.replace(": csv ", ": recording ").splitlines()
    return [*lines, *sorted(line for line in rejected.splitlines() if line)]


def test_a_source_that_is_idle_holds_no_watermark_in_a_live_run_nor_in_its_recording(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The clock's decisions are invented: which epochs end with an idle source."""
    with Store.open(tmp_path / "studio.duckdb") as store:
        pipeline = two_sources(**{"table.exec.source.idle-timeout": "1 h"})
        # A window over both sources, whose watermark is held back by the slower one.
        both = {"id": "both", "operator": "union", "parameters": {}}
        total = {"function": "COUNT", "name": "n"}
        window = {"kind": "tumble", "size_ms": 500, "group_by": [], "aggregates": [total]}
        per_window = {"id": "per_window", "operator": "window_aggregate", "parameters": window}
        edges = [{"source": name, "target": "both"} for name in ("left", "right")]
        edges += [{"source": "both", "target": "per_window"}]
        raw = pipeline.model_dump(mode="json")
        pipeline = Pipeline.from_dict(
            {**raw, "nodes": [*raw["nodes"], both, per_window], "edges": [*raw["edges"], *edges]}
        )
        feed = feeder(tmp_path, 3, {"left": list(rows(1, 60)), "right": list(rows(51, 20))})
        first = Fed(feed)
        with in_process():
            run_live(pipeline, spark, tmp_path, tmp_path / "first", first)
        decisions = list(first.decisions)
        for at, name in ((2, "right"), (5, "left"), (6, "right"), (8, "right")):
            decisions[at] = replace(decisions[at], idle=[name])

        run_id = store.runs.create("idle", pipeline.to_json()).run_id
        live = Stored(lambda: True, store, run_id, lambda: None)
        with in_process():
            run_live(pipeline, spark, tmp_path, tmp_path / "live", live, decisions=decisions)
        assert live.text() != first.text()
        turns = stretches(turn for output in live.outputs for turn in output.turns)
        assert set(turns) == {"left", "right"}
        # The recording has the idle times, too: the same windows fire again at the same events, in any split.
        again = on_recordings(pipeline, store.recordings.write(run_id), tmp_path)
        with in_process():
            recorded = run_pipeline(again, spark, tmp_path, tmp_path / "recorded", epochs=3, partitions=2)
        assert comparable(recorded.text()) == comparable(live.text())
        assert_same_locally(again, recorded, spark, tmp_path)
        # The pages show the operator's watermark: a window fires at the event at which it reaches the window's end.
        shown = store.timeline.timeline(run_id, node="per_window").combined.to_pylist()
        steps = Timeline.of([(row["seq"], row["watermark_ms"]) for row in shown])
        fired = [row for row in live.fires if row["node"] == "per_window" and row["seq"] <= shown[-1]["seq"]]
        assert len(fired) >= 3
        assert all(steps.at(row["seq"]) >= row["window_end_ms"] - 1 for row in fired)
        assert all(steps.at(row["seq"] - 1) < row["window_end_ms"] - 1 for row in fired)
