"""Runs of small pipelines as Spark leaves them in a store, computed by the local executor.

Planner, kernels and explanations are those of a run on Spark, so that tests of the storage and of the pages see what
real operators say. Expressions are those that Arrow can evaluate, without Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from engine.contract.operator import OUT, Operator
from engine.contract.recorder import RunPlan
from engine.contract.source import Source
from engine.expressions.analyzer import TypeRules
from engine.local import LocalRun
from engine.local.sources import read
from engine.model.changelog import SYMBOLS
from engine.model.pipeline import Pipeline
from engine.planner import NodePlan, Plan, plan
from engine.runtime import described
from engine.runtime.edges.views import views_of
from storage import Store
from storage.model import SavedPipeline
from tests.storage.written_runs import Epoch, Event


def run_locally(
    store: Store, folder: Path, pipeline: Pipeline, saved: SavedPipeline | None = None, identity: str = ""
) -> int:
    """Run a pipeline in one epoch and keep it; its number. folder: what relative file names are relative to."""
    return keep(store, pipeline, *computed(pipeline, folder), saved, identity)


def keep(
    store: Store,
    pipeline: Pipeline,
    run_plan: RunPlan,
    epoch: Epoch,
    saved: SavedPipeline | None = None,
    identity: str = "",
) -> int:
    """Keep a run of one epoch as finished; its number. saved: the version that it is of, else of this identity."""
    of_version: dict[str, Any] = {"identity": identity}
    if saved is not None:
        of_version = {"pipeline_id": saved.pipeline_id, "pipeline_version": saved.version, "identity": saved.identity}
    run = store.runs.create(pipeline.name, pipeline.to_json(), engine="local[2]", **of_version)
    recorder = store.record(run.run_id)
    recorder.begin(run_plan)
    with TemporaryDirectory() as files:
        recorder.commit(epoch.write(Path(files), run_plan.edges))
    recorder.finish()
    return run.run_id


def computed(pipeline: Pipeline, folder: Path) -> tuple[RunPlan, Epoch]:
    """What a recorder is told of a pipeline's run, and its only epoch."""
    planned = plan(pipeline, TypeRules(), folder)
    run = LocalRun(planned, read(planned, no_spark, folder), no_spark)
    epoch = Epoch(
        records=_records(planned, run),
        watermarks=sorted((event for node in planned.sources for event in _events(node, run)), key=_seq),
        late=[late for node in planned.nodes for late in _lates(node, run)],
        fires=[(node.id, *fire) for node in planned.nodes for fire in run.fires(node.id)],
        rejected=[row for node in planned.sources for row in _rejected(node, folder)],
    )
    return described(planned, 1, views_of(planned)), epoch


def no_spark() -> NoReturn:
    message = "this pipeline needs Spark"
    raise AssertionError(message)


def _records(planned: Plan, run: LocalRun) -> Mapping[str, Sequence[Event]]:
    found = {}
    for node in planned.nodes:
        for port in (OUT, *node.second):
            table = run.records(node.id, port)
            columns = [table.column(name).to_pylist() for name in table.schema.names]
            found[node.id if port == OUT else f"{node.id}.{port}"] = [
                (seq, step, SYMBOLS[kind], tuple(row)) for seq, step, kind, *row in zip(*columns, strict=True)
            ]
    return found


def _events(node: NodePlan, run: LocalRun) -> Iterator[tuple[Any, ...]]:
    """Every event of a source, its end last: also of one without event time."""
    *marks, end = run.marks[node.id]
    if node.schema.event_time is None:
        yield from ((seq, node.id, None, None, False) for seq in run.records(node.id).column("__seq").to_pylist())
    yield from ((mark.seq, node.id, mark.event_time_ms, mark.watermark_ms, False) for mark in marks)
    yield end.seq, node.id, end.event_time_ms, end.watermark_ms, True


def _lates(node: NodePlan, run: LocalRun) -> Iterator[tuple[Any, ...]]:
    for port, *late in run.lates(node.id):
        assert isinstance(node.operator, Operator)
        yield node.id, node.operator.ports[port], *late


def _rejected(node: NodePlan, folder: Path) -> Iterator[tuple[Any, ...]]:
    assert isinstance(node.operator, Source)
    scan = node.operator.scan(node.id, folder)
    assert scan is not None
    for part in scan.parts:
        yield from ((node.id, *row) for read_part in scan.read(part) for row in read_part.rejected)


def _seq(event: tuple[Any, ...]) -> int:
    seq: int = event[0]
    return seq
