"""Runs a plan on Spark, epoch by epoch.

arrivals      the events: sources read once, numbered, with their watermarks; bounded, or live
edges         the data between steps: files of records, views of them, and the stateless steps computed on the way
keyed         stateful steps: records distributed by key over tasks, sorted, and processed by kernels with keyed state
outbox        the records that a live run's sinks write to their targets
context       what all parts of one run share
epoch         one epoch: every operator as (inputs' delta, state) -> (output delta, new state)
steps         how the operators of a plan run on Spark, as values
explain       the plan explained, and the kernel of each node
record_waits  tasks that wait too long for the records that Spark computes
record_search the record that they wait for
reports       the reports of tasks to the driver
disk          the disk that a run's files are on
in_process    the same tasks without Spark: for small live epochs, previews and tests
lines         a changelog as text
rehearsal     a warm-up run
archiving     creates the archive of classes with one
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from engine.contract.cancel import Cancel
from engine.contract.live import Live
from engine.contract.operator import OUT
from engine.contract.recorder import (
    ALL,
    EdgeInfo,
    EdgeView,
    EpochOutput,
    NodeProgress,
    Progress,
    Recorder,
    RecorderError,
    RunPlan,
)
from engine.contract.source import Source
from engine.errors import EngineLost, RunCancelled, RunFailed, StudioError, TookTooLong
from engine.model.changelog import APPEND
from engine.planner import Plan
from engine.python_functions.consent import require_consent
from engine.runtime.arrivals.ingest import EpochEvents, Ingested, ingest
from engine.runtime.arrivals.intake import given_of, take_in
from engine.runtime.arrivals.live import LiveEvents
from engine.runtime.arrivals.units import BYTES, Unit
from engine.runtime.context import RunContext
from engine.runtime.disk import ends_before_full, no_room
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.edges.shares import shares_of
from engine.runtime.edges.staying import Staying
from engine.runtime.epoch import EpochRunner, NodeOutput
from engine.runtime.explain import explanation
from engine.runtime.outbox import Outbox
from engine.runtime.record_waits import Watched
from engine.runtime.reports import Report
from engine.spark.cancelling import cancellable
from engine.spark.failures import failing_node, failure_sentence
from engine.spark.run_files import RunFiles, brought
from engine.spark.session import loss_of
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Intake:
    """The events of a bounded run, for other runs of the same sources: read and numbered by the first of them, whose
    files stay as long. plan: for which they are numbered.
    """

    plan: Plan
    ingested: Ingested | None = None


WAITING: Final = "waiting for records"
"""The phase of a live run that computes nothing."""


def run(
    plan: Plan,
    *,
    spark: SparkSession,
    recorder: Recorder,
    folder: Path,
    files: RunFiles,
    epochs: int | None = None,
    partitions: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    live: Live | None = None,
    intake: Intake | None = None,
    when_lost: Callable[[StudioError], StudioError | None] = lambda lost: lost,
    frees: bool = False,
    stays_in: Workspace | None = None,
) -> None:
    """Run a plan to the end of its sources and hand every epoch to the recorder.

    folder: the base of relative file names. files: of the run, which the caller removes. epochs: by default chosen by
    the size of the input. partitions: of the keyed steps, by default one per core, or a single one for few records.
    The output does not depend on epochs and partitions. live: set for a live run, which takes what its sources receive;
    the workspace is then a new folder inside the run's own one. intake: shared with other runs of the same sources.
    when_lost: the error with which a run ends whose engine ended; None if its caller runs it again, on another one, and
    the recorder is told of no end. frees: whether the files of a bounded run are deleted with each epoch that was
    committed, as the recorder does not need them any more. stays_in: where the changelogs of a bounded run stay.
    Raises SourceError, RunFailed (with the node), RunCancelled, after the recorder has been told.
    """
    progress = progress or Progress()
    cancel = cancel or Cancel()
    progress.nodes = {node.id: NodeProgress(node.id, "waiting") for node in plan.nodes}
    progress.away = {}
    try:
        require_consent((node.id, node.operator) for node in plan.nodes)
        with ends_before_full(files, cancel), cancellable(spark, f"run-{uuid4().hex}", cancel) as watch:
            jobs = Watched(files, watch)
            context = RunContext(plan, lambda: spark, recorder, folder, jobs, progress, cancel, partitions)
            if live is not None:
                is_over = _run_live(context, live)
            else:
                _run_bounded(context, intake or Intake(plan), epochs, frees=frees, stays_in=stays_in)
                is_over = True
        if is_over:
            recorder.finish()
        else:
            recorder.stop()
        progress.phase = "finished" if is_over else "stopped"
    except Exception as error:
        failed = _failure(error, spark, files, progress, cancel)
        if live is not None and isinstance(failed, RunCancelled):
            # Uncommitted output does not count.
            progress.phase = "stopped"
            recorder.stop()
            raise failed from error
        if isinstance(failed, EngineLost):
            if (end := when_lost(failed)) is None:
                raise failed from error
            failed = end
        progress.phase = "failed"
        _mark(progress, failed)
        recorder.fail(str(failed), failed.node, cancelled=isinstance(failed, RunCancelled))
        if failed is error:
            raise
        raise failed from error


def _run_bounded(
    run: RunContext, intake: Intake, epochs: int | None, *, frees: bool, stays_in: Workspace | None
) -> None:
    """Process the sources to their end. frees, stays_in: as of `run`."""
    run_plan = described(run.plan, epochs or 1, run.views, stay=stays_in is not None)
    run.recorder.begin(run_plan)
    if intake.ingested is None:
        intake.ingested = _taken_in(run, intake.plan, epochs)
    ingested = intake.ingested
    run.check_cancelled()
    run.progress.epochs = ingested.epochs
    runner = EpochRunner(run)
    staying = None
    if stays_in is not None:
        edges = frozenset((edge.node, edge.port) for edge in run_plan.edges if edge.stays and edge.view is None)
        staying = Staying(run.spark, runner.workspace, stays_in, edges)
    for events in ingested:
        output = _run_epoch(runner, events, staying)
        run.check_cancelled()
        run.progress.phase = "keeping the changelogs"
        run.recorder.commit(brought(run.files, output))
        if frees and not events.is_last_taken:
            run.files.sweep(runner.kept.paths, events.number)


def _taken_in(run: RunContext, plan: Plan, epochs: int | None) -> Ingested:
    """Read the sources of a plan to their end, and number their events."""
    progress = run.progress
    progress.phase = "reading the sources"
    for node in plan.sources:
        progress.nodes[node.id].state = "running"
    started = time.monotonic()
    givens = [given_of(plan, node, run.folder) for node in plan.sources]
    for given in givens:
        sizes = [path.stat().st_size for path in given.inputs]
        progress.nodes[given.node.id].bytes_there = sum(sizes) or None
    read = take_in(givens, run.spark, run.folder, run.jobs, partial(_heard, progress))
    ingested = ingest(plan, run.spark, read, run.files, epochs=epochs)
    for node in plan.sources:
        # One job reads all sources: each source gets the time of the whole job.
        progress.nodes[node.id].seconds += time.monotonic() - started
    return ingested


def _heard(progress: Progress, report: Report) -> None:
    """Add a task's report on a part of a source."""
    at = progress.nodes[report["node"]]
    if "unit" in report:
        at.rows_read = (at.rows_read or 0) + Unit(*report["unit"]).records
    at.bytes_read = (at.bytes_read or 0) + report.get(BYTES, 0) or None


def _run_live(run: RunContext, live: Live) -> bool:
    """Process incoming data epoch by epoch. False if the run was stopped."""
    arriving = LiveEvents(run, live)
    run_plan = described(run.plan, 1, run.views)
    run.recorder.begin(run_plan)
    runner = EpochRunner(run, arriving.can_be_idle, is_live=True)
    runner.go_on(arriving.kept())
    with ExitStack() as stack:
        outbox = Outbox.of(run, live, run_plan.edges, stack)
        arriving.sweep(runner.kept.paths | outbox.paths)
        if not outbox.begin():
            return False
        run.progress.phase = WAITING
        # Closed whatever happens: the next attempt may connect to the same sources.
        for events in stack.enter_context(closing(arriving.epochs())):
            output = _run_epoch(runner, events)
            run.check_cancelled()
            run.progress.phase = "keeping the changelogs"
            outbox.take(output)
            checkpoint = arriving.checkpoint(events, runner.kept, outbox)
            complete = replace(output, decision=arriving.decision, checkpoint=checkpoint)
            run.recorder.commit(brought(run.files, complete))
            run.progress.epochs = events.number + 1
            if not outbox.deliver():
                return False
            run.progress.phase = WAITING
            arriving.sweep(runner.kept.paths)
    if not arriving.was_stopped:
        arriving.sweep(frozenset())
    return not arriving.was_stopped


def _run_epoch(runner: EpochRunner, events: EpochEvents, staying: Staying | None = None) -> EpochOutput:
    """Run every node in one epoch. An edge is handed over as soon as it is complete, unless it stays."""
    run, progress = runner.run, runner.run.progress
    files, epoch = run.files, events.number
    progress.epoch = epoch
    outputs: dict[str, NodeOutput] = {}
    edges: dict[tuple[str, str], EdgeRecords] = {}
    for node in run.plan.nodes:
        run.check_cancelled()
        progress.phase = f"running {node.id}"
        at = progress.nodes[node.id]
        at.state, at.epoch = "running", epoch
        started = time.monotonic()
        outputs[node.id] = runner.run_node(node, events)
        at.seconds += time.monotonic() - started
        at.records_out = (at.records_out or 0) + outputs[node.id].records.rows
        for port, records in ((OUT, outputs[node.id].records), *outputs[node.id].second.items()):
            if (node.id, port) not in run.views:
                edges[node.id, port] = records
                if files.are_here and (staying is None or (node.id, port) not in staying.edges):
                    run.recorder.take(epoch, node.id, port, records.files)
        at.state = "done" if events.is_last else "waiting"
    runner.end_epoch(events)
    if staying is not None:
        run.check_cancelled()
        progress.phase = "writing the changelogs into the workspace"
    return EpochOutput(
        epoch=epoch,
        edges={edge: records.files for edge, records in edges.items()},
        clocks=events.clock_files(),
        watermarks=events.watermark_files(files),
        late=tuple(file for output in outputs.values() for file in output.late),
        fires=tuple(file for output in outputs.values() for file in output.fires),
        rejected=events.rejected,
        cut=events.cut,
        key_times={name: output.key_times for name, output in outputs.items() if output.key_times},
        expired=tuple(file for output in outputs.values() for file in output.expired),
        held=tuple(output.held for output in outputs.values() if output.held is not None),
        last_seq=events.last_seq,
        is_last=events.is_last,
        turns=events.turns,
        now=events.now,
        staying={} if staying is None else staying.write(epoch, edges),
    )


def described(plan: Plan, epochs: int, views: Mapping[tuple[str, str], EdgeView], *, stay: bool = False) -> RunPlan:
    """The description of a run for a recorder, before the first epoch. views: of `engine.runtime.edges.views`.

    stay: changelogs of which all records are kept stay in the workspace.

    Raises PipelineError if it is to keep an output that does not exist.
    """
    edges, shares = [], shares_of(plan, views)
    for node in plan.nodes:
        source = node.operator
        edges.append(
            EdgeInfo(
                node=node.id,
                port=OUT,
                operator=source.operator,
                role=node.role,
                schema=node.schema,
                mode=str(node.mode),
                upsert_key=node.row_key or (),
                watermark_delay_ms=source.watermark_delay_ms
                if isinstance(source, Source) and node.schema.event_time is not None
                else None,
                view=views.get((node.id, OUT)),
                share=shares[node.id, OUT],
                stays=stay and shares[node.id, OUT] == ALL,
            )
        )
        edges += [
            EdgeInfo(
                *(node.id, port, source.operator, node.role, derived.schema, str(APPEND)),
                share=shares[node.id, port],
                stays=stay and shares[node.id, port] == ALL,
            )
            for port, derived in node.second.items()
        ]
    return RunPlan(plan.pipeline.to_json(), tuple(edges), explanation(plan), epochs)


def _failure(error: Exception, spark: SparkSession, files: RunFiles, progress: Progress, cancel: Cancel) -> StudioError:
    """The reason why a run failed: it was cancelled, lost its engine, or a node failed."""
    if cancel.is_set():
        # Whatever error the interruption of a job caused.
        return error if isinstance(error, RunCancelled) else cancel.error()
    if isinstance(error, TookTooLong):
        # The engine may have been ended because of it.
        return error
    if (loss := loss_of(spark, error)) is not None:
        return EngineLost(loss)
    if isinstance(error, RecorderError):
        return RunFailed(str(error))
    # If a source's units cannot be written, the error says that the source cannot be read.
    if "No space left on device" in f"{error} {error.__cause__}":
        return RunFailed(no_room(files))
    if isinstance(error, StudioError):
        return error
    return RunFailed(failure_sentence(error), failing_node(error) or _running(progress))


def _running(progress: Progress) -> str:
    return next((node.node for node in progress.nodes.values() if node.state == "running"), "")


def _mark(progress: Progress, error: StudioError) -> None:
    for node in progress.nodes.values():
        if node.node == error.node or (not error.node and node.state == "running"):
            node.state, node.error = "failed", error.sentence
        elif node.state == "running":
            node.state = "waiting"
