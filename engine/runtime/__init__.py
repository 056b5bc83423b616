"""Running a plan on Spark, epoch by epoch.

ingest       read the sources, number their events
watermarks   every source's watermark after each event
epoch        one epoch: every operator as (inputs' delta, state) -> (output delta, new state)
native       stateless steps in Spark SQL
keyed        stateful steps: one frame, sorted by key and position, through a kernel
key_times    which keys took longest
worker       the loop inside Spark's Python workers
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from uuid import uuid4

import engine
from engine.changelog import APPEND
from engine.errors import RunCancelled, RunFailed, StudioError
from engine.operator import OUT, Source
from engine.planner import Plan
from engine.planner.explain import explanation
from engine.recorder import EdgeInfo, EpochOutput, NodeProgress, Progress, Recorder, RunPlan
from engine.runtime.engine_adapter import cancellable
from engine.runtime.epoch import EpochRunner
from engine.runtime.ingest import ingest
from engine.runtime.watermarks import watermarks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(
    plan: Plan,
    *,
    spark: SparkSession,
    recorder: Recorder,
    folder: Path,
    work: Path,
    epochs: int = 1,
    partitions: int | None = None,
    progress: Progress | None = None,
    cancel: Event | None = None,
) -> None:
    """Run a plan to the end of its sources and hand every epoch to the recorder.

    folder: what relative file names are relative to. work: an empty folder for the run's files, which
    Spark's workers see too; the caller removes it. partitions: of the keyed steps, by default one per core.
    The output is the same for any number of epochs and partitions.
    Raises SourceError, RunFailed (with the node), RunCancelled; the recorder has been told before.
    """
    progress = progress or Progress()
    cancel = cancel or Event()
    progress.nodes = {node.id: NodeProgress(node.id, "waiting") for node in plan.nodes}
    try:
        with cancellable(spark, f"run-{uuid4().hex}", cancel):
            _run(plan, spark, recorder, folder, work, epochs, partitions, progress, cancel)
        recorder.finish()
        progress.phase = "finished"
    except StudioError as error:
        progress.phase = "failed"
        _mark(progress, error)
        recorder.fail(str(error), error.node, cancelled=isinstance(error, RunCancelled))
        raise
    except Exception as error:
        failed = RunCancelled() if cancel.is_set() else RunFailed(failure_sentence(error), _running(progress))
        progress.phase = "failed"
        _mark(progress, failed)
        recorder.fail(str(failed), failed.node, cancelled=cancel.is_set())
        raise failed from error


def _run(
    plan: Plan,
    spark: SparkSession,
    recorder: Recorder,
    folder: Path,
    work: Path,
    epochs: int,
    partitions: int | None,
    progress: Progress,
    cancel: Event,
) -> None:
    from pyspark.cloudpickle import register_pickle_by_value

    # Workers need not find our code on their path: it travels with the functions.
    register_pickle_by_value(engine)  # type: ignore[no-untyped-call]
    recorder.begin(_describe(plan, epochs))
    progress.phase = "reading the sources"
    for node in plan.sources:
        progress.nodes[node.id].state = "running"
    ingested = ingest(plan, spark, folder, work, epochs)
    _check_cancelled(cancel)
    progress.phase = "following the watermarks"
    marks = watermarks(plan, spark, ingested, work)
    progress.epochs = ingested.epochs
    partitions = partitions or int(spark.conf.get("spark.sql.shuffle.partitions", "4") or 4)
    runner = EpochRunner(plan, spark, ingested, marks, work, partitions)
    for epoch in range(ingested.epochs):
        progress.epoch = epoch
        outputs = {}
        for node in plan.nodes:
            _check_cancelled(cancel)
            progress.phase = f"running {node.id}"
            at = progress.nodes[node.id]
            at.state, at.epoch = "running", epoch
            started = time.monotonic()
            outputs[node.id] = runner.run_node(node, epoch)
            at.seconds += time.monotonic() - started
            at.records_out = (at.records_out or 0) + outputs[node.id].count()
            at.state = "done" if epoch == ingested.epochs - 1 else "waiting"
        _check_cancelled(cancel)
        progress.phase = "keeping the changelogs"
        recorder.commit(
            EpochOutput(
                epoch=epoch,
                edges={
                    (name, port): folder
                    for name, output in outputs.items()
                    for port, folder in ((OUT, output.records), *output.second.items())
                },
                watermarks=marks.of(epoch),
                late=tuple(output.late for output in outputs.values() if output.late is not None),
                fires=tuple(output.fires for output in outputs.values() if output.fires is not None),
                rejected=ingested.rejected if epoch == 0 else (),
                key_times={name: output.key_times for name, output in outputs.items() if output.key_times is not None},
                last_seq=ingested.bounds(epoch)[1],
                is_last=epoch == ingested.epochs - 1,
            )
        )


def _describe(plan: Plan, epochs: int) -> RunPlan:
    edges = []
    for node in plan.nodes:
        key = min(node.derived.upsert_keys, key=lambda names: (len(names), sorted(names)), default=None)
        in_order = tuple(name for name in node.schema.names if key is not None and name in key)
        source = node.operator
        edges.append(
            EdgeInfo(
                node=node.id,
                port=OUT,
                operator=source.operator,
                role=node.role,
                schema=node.schema,
                mode=str(node.mode),
                upsert_key=in_order,
                watermark_delay_ms=source.watermark_delay_ms
                if isinstance(source, Source) and node.schema.event_time is not None
                else None,
            )
        )
        edges += [
            EdgeInfo(node.id, port, source.operator, node.role, derived.schema, str(APPEND))
            for port, derived in node.second.items()
        ]
    return RunPlan(plan.pipeline.to_json(), tuple(edges), explanation(plan), epochs)


def _check_cancelled(cancel: Event) -> None:
    if cancel.is_set():
        raise RunCancelled


def _running(progress: Progress) -> str:
    return next((node.node for node in progress.nodes.values() if node.state == "running"), "")


def _mark(progress: Progress, error: StudioError) -> None:
    for node in progress.nodes.values():
        if node.node == error.node or (not error.node and node.state == "running"):
            node.state, node.error = "failed", error.sentence


def failure_sentence(error: Exception) -> str:
    """A foreign error in one sentence: what a kernel raised, or what Spark says."""
    from engine.analyzer import sentence_of

    raised = re.findall(r"^[A-Za-z_][\w.]*: .+$", str(error), re.MULTILINE)
    if "Traceback" in str(error) and raised:
        return f"it failed while running: {raised[-1].partition(': ')[2]}"
    return f"it failed while running: {sentence_of(error)[:500]}"
