"""Recordings of live runs, read by the real loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from engine.contract.recorder import EpochOutput
from engine.model.pipeline import Pipeline
from engine.recordings import on_recordings
from engine.runtime.in_process import in_process
from storage import Store
from tests.engine.runtime.test_live import Fed, feeder, rows, run_live, two_sources
from tests.golden.trace import run_pipeline


class Stored(Fed):
    """A live run that is in a store, too. seen: called after each epoch."""

    def __init__(self, feed: Callable[[], bool], store: Store, run_id: int, seen: Callable[[], None]) -> None:
        super().__init__(feed)
        self._kept = store.record(run_id)
        self._seen = seen

    def begin(self, plan: Any) -> None:
        super().begin(plan)
        self._kept.begin(plan)

    def commit(self, output: EpochOutput) -> None:
        self._kept.commit(output)
        self._seen()
        super().commit(output)

    def finish(self) -> None:
        self._kept.finish()
        super().finish()


def test_a_pipeline_on_what_a_live_run_had_says_what_that_run_said(spark: SparkSession, tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        pipeline = two_sources()
        run_id = store.runs.create("live", pipeline.to_json()).run_id
        feed = feeder(tmp_path, 1, {"left": list(rows(1, 60)), "right": list(rows(51, 40))})
        so_far: list[dict[str, Path]] = []

        def seen() -> None:
            if store.runs.get(run_id).epochs_done == 5:
                so_far.append(dict(store.recordings.write(run_id)))

        live = Stored(feed, store, run_id, seen)
        run_live(pipeline, spark, tmp_path, tmp_path / "state", live)
        assert live.late

        again = on_recordings(pipeline, store.recordings.write(run_id), tmp_path)
        with in_process():
            recorded = run_pipeline(again, spark, tmp_path, tmp_path / "recorded", epochs=3, partitions=2)
        assert comparable(recorded.text()) == comparable(live.text())

        # Of a run that went on: what had come until then, and not a record more.
        with in_process():
            part = run_pipeline(
                on_recordings(pipeline, so_far[0], tmp_path), spark, tmp_path, tmp_path / "part", partitions=1
            )
        for name in ("left", "right"):
            assert 0 < len(part.records[name]) < len(live.records[name])
            assert part.records[name] == live.records[name][: len(part.records[name])]
        changed: Pipeline = again.model_copy(update={"options": {"changelog-studio.retraction": "false"}})
        with in_process():
            without = run_pipeline(changed, spark, tmp_path, tmp_path / "changed", partitions=2)
        assert without.records["left"] == live.records["left"]
        assert without.records["top"] != live.records["top"]


def comparable(text: str) -> list[str]:
    """A trace without the names of the sources, and rejected rows in one order: they have no position."""
    records, _, rejected = text.partition("== rejected rows")
    lines = records.replace(": csv ", ": recording ").splitlines()
    return [*lines, *sorted(line for line in rejected.splitlines() if line)]
