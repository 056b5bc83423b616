"""The live runs of the command line: started, stopped by Ctrl-C, and resumed."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from engine.command_line.interrupts import heard
from engine.command_line.printing_recorder import PrintingRecorder
from engine.contract.cancel import Cancel
from engine.contract.live import Begun, Checkpoint, Control, Live
from engine.contract.operator import Analyzer
from engine.contract.recorder import Recorder
from engine.errors import PipelineError, RunCancelled, RunFailed, StudioError
from engine.live_runs.planning import plan_live
from engine.model.pipeline import Pipeline
from engine.planner import Plan
from engine.scratch import scratch
from engine.spark.engines import engine_called
from engine.spark.run_files import live_files
from engine.spark.session import get_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Store(Protocol):
    """The required part of a store."""

    @property
    def runs(self) -> Any:
        """Its runs."""

    def record(self, run_id: int) -> Recorder:
        """The recorder of a run."""


ChooseEdge = Callable[[Plan], tuple[str, str]]


def start_live(
    args: Namespace,
    pipeline: Pipeline,
    identity: str,
    analyzer: Analyzer,
    folder: Path,
    edge: ChooseEdge,
    store: Store | None,
) -> int:
    """Run a pipeline live and print an edge continuously. Raises StudioError."""
    if args.check or args.epochs:
        message = "--check and --epochs are for runs that end by themselves; leave out --live, or the two."
        raise PipelineError(message)
    planned = plan_live(pipeline, analyzer, folder)
    shown = edge(planned)
    # The run is created once nothing but the run itself can fail: otherwise it would stay without an epoch.
    spark = get_spark(args.engine)
    live = Live(Control(), args.interval, args.records)
    if store is None:
        with scratch("live") as place:
            return _follow(args, spark, planned, folder, shown, live, place, None, "")
    name = engine_called(args.engine).name
    started = Begun(str(folder), args.interval, args.records)
    created = store.runs.create(
        args.pipeline.stem,
        planned.pipeline.to_json(),
        engine=name,
        live=started,
        identity=identity,
        composed=pipeline.to_json(),
    )
    live.name, live.writes = store.runs.live(created.run_id).name, True
    state = store.runs.state_folder(created.run_id)
    again = f"python -m engine resume {created.run_id} --store {args.store}"
    return _follow(args, spark, planned, folder, shown, live, state, store.record(created.run_id), again)


def resume_live(args: Namespace, edge: ChooseEdge, store: Store) -> int:
    """Continue a live run after its last epoch. Raises StudioError."""
    from engine.expressions.analyzer import TypeRules

    run = store.runs.get(args.run)
    begun = store.runs.live(args.run)
    if begun is None or not run.can_resume:
        what = "is not live" if begun is None else f"is {run.status.value}"
        message = f"run {args.run} {what}: only a live run that was stopped, killed or has failed can go on."
        raise PipelineError(message)
    args.engine = args.engine or run.engine
    folder = Path(begun.folder)
    planned = plan_live(Pipeline.from_json(run.document), TypeRules(), folder)
    checkpoint = Checkpoint.from_json(begun.checkpoint) if begun.checkpoint else None
    interval_ms, records = args.interval or begun.interval_ms, args.records or begun.records
    live = Live(Control(), interval_ms, records, checkpoint, name=begun.name, writes=True)
    if args.end:
        live.control.stop(end=True)
    again = f"python -m engine resume {args.run}" + (f" --store {args.store}" if args.store else "")
    state = store.runs.state_folder(args.run)
    shown, spark = edge(planned), get_spark(args.engine)
    return _follow(args, spark, planned, folder, shown, live, state, store.record(args.run), again)


def _follow(
    args: Namespace,
    spark: SparkSession,
    planned: Plan,
    folder: Path,
    edge: tuple[str, str],
    live: Live,
    state: Path,
    store: Recorder | None,
    again: str,
) -> int:
    """Run, and print. state: the folder of the run's state. again: the command that resumes the run."""
    from engine.runtime import run

    files = live_files(engine_called(args.engine), spark, state, live.name)
    shown = PrintingRecorder(files.workspace, edge, args.format, _print, store, planned.zone)
    live.say = lambda node, sentence: _say(f"{node}: {sentence}")
    cancel = Cancel()
    with _stopping(live.control, cancel):
        _say("the run is live. Ctrl-C stops it." + (f" {again} takes it up again." if again else ""))
        stopped = False
        try:
            run(planned, spark=spark, recorder=shown, folder=folder, files=files, live=live, cancel=cancel)
        except RunCancelled:
            stopped = True
        except StudioError as error:
            _say(str(error))
            if again:
                _say(f"committed epochs are stored. Resume with: {again}")
            return 1 if isinstance(error, RunFailed) else 2
    for sentence in shown.problems.sentences():
        _say(sentence)
    if stopped or not shown.is_over:
        _say(f"the run was stopped. Resume with: {again}" if again else "the run was stopped; it was kept in no store.")
    return 0


@contextmanager
def _stopping(control: Control, cancel: Cancel) -> Iterator[None]:
    """Within it, Ctrl-C stops the run after its epoch; a second one stops it at once and drops the epoch."""

    def stop(_: int) -> None:
        if asked.is_set():
            cancel.set()
            return
        asked.set()
        control.stop()
        _say("stopping after this epoch; Ctrl-C once more drops it.")

    asked = Event()
    with heard(stop):
        yield


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
