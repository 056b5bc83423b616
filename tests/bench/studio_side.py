"""Our side: a pipeline from its text to the end of the run, with the changelogs of all edges stored in DuckDB."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from engine.contract.recorder import EpochOutput, ForwardingRecorder, Progress, Recorder
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.runtime import run
from engine.script import script_of
from engine.spark.engines import Engine, save_engine
from engine.spark.run_files import files_of
from engine.spark.session import disconnect, engine_of, get_spark
from storage.store import Store
from tests.bench import process_tree
from tests.bench.measured import EpochSpent, Job, Measured, NodeSpent, Stopwatch, answer
from tests.bench.phases import Phases
from tests.bench.workloads import script
from tests.remote.connect_server import connect_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FETCHED: Final = "fetched"
AFTER: Final = "in the background, after the end"


class Epochs(ForwardingRecorder):
    """Notes what each epoch takes until it is committed; the first one with the reading of the sources."""

    def __init__(self, to: Recorder, store: Path) -> None:
        super().__init__(to)
        self._store, self._watch, self._peak = store, Stopwatch(), process_tree.Peak(os.getpid())
        self._peak.start()
        self.spent: list[EpochSpent] = []

    def commit(self, output: EpochOutput) -> None:
        """Forward the call, and note."""
        super().commit(output)
        self._note(f"{output.epoch + 1}")

    def end(self) -> None:
        """Note what came after the last epoch."""
        self._note(AFTER)
        self._peak.stop()

    def _note(self, name: str) -> None:
        lap = self._watch.lap(name)
        self.spent.append(EpochSpent(name, lap.wall_s, lap.cpu, self._peak.take(), self._store.stat().st_size))


def kept(
    spark: SparkSession, document: str, folder: Path, scratch: Path, epochs: int | None = None, store_file: str = ""
) -> Measured:
    """Run a document (.json or .sql) into a fresh store, which is opened before the measurement, as in the app.

    folder: the base of the document's relative paths. epochs: None leaves the number to the engine. store_file: of the
    store, if it is to stay.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        file, progress = Path(store_file or Path(name) / "studio.duckdb"), Progress()
        analyzer = TypeRules()
        files = files_of(engine_of(spark), spark, Path(name) / "run", f"bench-{uuid4().hex}")
        with Store.open(file) as store:
            phases = Phases(progress)
            phases.start()
            is_script = not document.lstrip().startswith("{")
            pipeline = script_of(document, analyzer, folder).pipeline if is_script else Pipeline.from_json(document)
            planned = plan(pipeline, analyzer, folder)
            run_id = store.runs.create("bench", pipeline.to_json(), engine="local").run_id
            recorder = Epochs(store.record(run_id), file)
            given = {"folder": folder, "files": files, "epochs": epochs, "progress": progress}
            run(planned, spark=spark, recorder=recorder, frees=True, **given)
            parts = phases.end()
            store.preparation.wait()
            recorder.end()
            records = sum(edge.total for edge in store.runs.edges(run_id))
        nodes = (NodeSpent(node.node, node.seconds, node.records_out or 0) for node in progress.nodes.values())
        return Measured(parts, tuple(nodes), tuple(recorder.spent), records, file.stat().st_size)


def workload(job: Job) -> Measured:
    """Measure a workload, on a session that has run it over the first events."""
    with _session(job) as spark:
        for file, store in ((Path(job.first), ""), (Path(job.events), job.store)):
            measured = kept(spark, script(job.workload, file.name), file.parent, Path(job.scratch), job.epochs, store)
    return measured


@contextmanager
def _session(job: Job) -> Iterator[SparkSession]:
    """The session on an engine; for FETCHED, on a separate server whose workspace the client cannot see."""
    if job.engine != FETCHED:
        yield get_spark(job.engine)
        return
    os.environ["XDG_CONFIG_HOME"] = job.scratch
    with connect_server(Path(job.scratch) / "server", is_short_lived=False) as server:
        save_engine(Engine(FETCHED, server.address, server.workspace, server.token))
        yield get_spark(FETCHED)
        disconnect(FETCHED)


if __name__ == "__main__":
    answer(workload)
