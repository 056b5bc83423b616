"""Measures the store's load of a run's files and DuckDB reading the same files into plain tables, in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb

from engine.expressions.analyzer import TypeRules
from engine.planner import plan
from engine.runtime import run
from engine.script import script_of
from engine.spark.run_files import LocalFiles
from engine.spark.session import get_spark
from storage.store import Store
from tests.bench.measured import Job, Measured, Spent, Stopwatch, answer
from tests.bench.workloads import script

TURNS: Final = 3
STORE, AT_THE_END, PLAIN = "store", "found out at the end", "plain tables"


class Remembered:
    """A recorder that records its calls, to replay them to other recorders."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, verb: str) -> Callable[..., None]:
        return lambda *given, **named: self._calls.append((verb, given, named))

    def tell(self, recorder: object) -> None:
        """Replay all calls except `finish`."""
        for verb, given, named in self._calls:
            if verb != "finish":
                getattr(recorder, verb)(*given, **named)

    def files(self) -> dict[tuple[str, str], list[str]]:
        """The Parquet files by edge."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for output in (given[0] for verb, given, _ in self._calls if verb == "commit"):
            for edge, files in output.edges.items():
                found.setdefault(edge, {}).update(dict.fromkeys(file.path for file in files))
        return {edge: list(files) for edge, files in found.items()}


def load(job: Job) -> Measured:
    """Measure the load of a workload's edges."""
    spark, folder, scratch = get_spark(job.engine), Path(job.events).parent, Path(job.scratch)
    analyzer, remembered = TypeRules(), Remembered()
    pipeline = script_of(script(job.workload, Path(job.events).name), analyzer, folder).pipeline
    given: dict[str, Any] = {} if job.epochs is None else {"epochs": job.epochs}
    planned = plan(pipeline, analyzer, folder)
    run(planned, spark=spark, recorder=remembered, folder=folder, files=LocalFiles(scratch / "run"), **given)
    parts: list[Spent] = []
    for turn in range(TURNS):
        with Store.open(scratch / f"store-{turn}.duckdb") as store:
            recorder = store.record(store.runs.create("bench", pipeline.to_json(), engine="local").run_id)
            watch = Stopwatch()
            remembered.tell(recorder)
            parts.append(watch.lap(STORE))
            recorder.finish()
            parts.append(watch.lap(AT_THE_END))
        with duckdb.connect(scratch / f"plain-{turn}.duckdb") as connection:
            watch = Stopwatch()
            for number, files in enumerate(remembered.files().values()):
                connection.execute(f"CREATE TABLE edge_{number} AS FROM read_parquet(?)", [files])
            parts.append(watch.lap(PLAIN))
    return Measured(tuple(parts))


if __name__ == "__main__":
    answer(load)
