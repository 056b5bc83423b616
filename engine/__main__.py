"""The studio without the app.

    python -m engine run PIPELINE [--engine local[2]] [--epochs N] [--edge NODE] [--format table|jsonl] [--store FILE]
                                  [--check] [--allow-python]
    python -m engine run --live PIPELINE [--interval TIME] [--records N] ...
    python -m engine resume RUN [--end] [--store FILE] ...
    python -m engine record RUN [--store FILE]
    python -m engine export RUN FILE [--edge NODE] [--as-of EVENT] [--format NAME] [--store FILE]
    python -m engine explain PIPELINE
    python -m engine sql PIPELINE [--program]
    python -m engine servers [--stop]

PIPELINE is a document (.json) or a script of Flink SQL (.sql), of which the last SELECT or INSERT is the job; paths in
it are relative to it. `run` prints the changelog of the sink, or of one node, on standard output; `sql` the pipeline as
a script, or as a PySpark program; `servers` the Spark servers that wait for the next run. A live run takes what its
sources get, until Ctrl-C stops it; one that is in a store goes on with `resume`, and `resume --end` ends its sources.
`record` prints the pipeline of a run, with recordings of what the run had as its sources; `export` writes a changelog
of it, or the table after an event (`engine.export_command`).
Exit status 2 and one sentence on standard error for anything that the user got wrong, 1 where a run fails, 130 (by
SIGTERM 143) where it is interrupted; what a script says in vain is warned of there.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

if __name__ == "__main__":
    # While modules load, Ctrl-C ends it without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from engine.arguments import count, time_ms
from engine.contract.operator import OUT, Analyzer
from engine.contract.recorder import Recorder
from engine.errors import (
    EngineUnavailable,
    PipelineError,
    RunCancelled,
    RunFailed,
    StudioError,
    shortened,
    unknown_name,
)
from engine.export_command import add_export, export
from engine.interrupts import Interrupted, cancelling, ending
from engine.live_command import resume_live, start_live
from engine.model.pipeline import Pipeline
from engine.model.schema import Schema
from engine.planner import Plan, plan
from engine.python_functions import consent
from engine.reading.files.storage import Storage, looking_at
from engine.reading.files.web import fetching
from engine.running import Collected
from engine.runtime.failures import TRACEBACKS, unexpected_sentence
from engine.scratch import scratch, sweep
from engine.spark.engine_storage import storage_of
from engine.spark.engines import engine_called
from engine.spark.run_files import temporary_files
from engine.spark.session import DEFAULT_MASTER, get_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from storage.store import Store

_LARGEST: Final = 64 << 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says. Gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Changelog Studio without the app.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run a pipeline and print a changelog")
    running.add_argument("--epochs", type=count, help="split the run into this many epochs; default: by input size")
    running.add_argument("--check", action="store_true", help="compare the result with Spark's own batch answer")
    running.add_argument("--live", action="store_true", help="keep reading the sources until Ctrl-C")
    resuming = commands.add_parser("resume", help="continue a live run that was stopped or killed")
    resuming.add_argument("run", type=count, metavar="RUN", help="the number of the run in the store")
    resuming.add_argument("--end", action="store_true", help="read what is there, then end the sources")
    recording = commands.add_parser(
        "record", help="record what a run's sources read, and print its pipeline over the recordings"
    )
    recording.add_argument("run", type=count, metavar="RUN", help="the number of the run in the store")
    recording.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")
    add_export(commands)
    for command in (running, resuming):
        command.add_argument(
            "--edge", metavar="NODE", help="print this output (NODE or NODE.late) instead of the sink's"
        )
        command.add_argument("--format", choices=["table", "jsonl"], default="table")
        command.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")
        command.add_argument(
            "--interval", type=time_ms, metavar="TIME", help="the time between the epochs of a live run, such as 500ms"
        )
        command.add_argument(
            "--records", type=count, metavar="N", help="the most records that a live run reads per epoch"
        )
        command.add_argument("--allow-python", action="store_true", help="run the pipeline's own code in Python")
    explaining = commands.add_parser("explain", help="print the plan: modes, keys, strategies, kernels and why")
    writing = commands.add_parser("sql", help="print the pipeline as a script of Flink SQL")
    writing.add_argument("--program", action="store_true", help="print a PySpark program instead")
    of_engine = f"local[N], spark://..., sc://..., or an engine's name (default {DEFAULT_MASTER})"
    for command in (running, explaining, writing):
        command.add_argument("pipeline", type=Path, metavar="PIPELINE", help="a .json document or a .sql script")
        command.add_argument("--engine", default=DEFAULT_MASTER, help=of_engine)
    resuming.add_argument("--engine", help="default: the engine that the run was on")
    listing = commands.add_parser("servers", help="list the Spark servers that the studio keeps running, or end them")
    listing.add_argument("--stop", action="store_true", help="end them; runs on them fail")
    args = parser.parse_args(arguments)
    try:
        with ending():
            return _done(args)
    except (RunFailed, RunCancelled) as error:
        return _complain(str(error), 1)
    except StudioError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt as error:
        status = error.status if isinstance(error, Interrupted) else 130
        return _complain("the run was interrupted.", status)
    except BrokenPipeError:
        # Whoever read the changelog has seen enough; nothing more can be written, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get(TRACEBACKS):
            raise
        if isinstance(error, OSError) and sys.stdout is sys.__stdout__:
            # What could not be written is not tried again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
        return _complain(unexpected_sentence(error), 1)


def _done(args: argparse.Namespace) -> int:
    """Do what the arguments say. Raises whatever goes wrong."""
    sweep()
    if getattr(args, "allow_python", False):
        os.environ[consent.ENVIRONMENT] = consent.ALL
    if args.command == "servers":
        return _servers(args)
    if args.command in ("resume", "record", "export"):
        return {"resume": _resume, "record": _record, "export": _export}[args.command](args)
    with looking_at(_storage_of(args.engine)):
        return {"explain": _explain, "run": _run, "sql": _sql}[args.command](args)


def _explain(args: argparse.Namespace) -> int:
    from engine.contract.explanation import to_text
    from engine.runtime.explain import explanation

    with _asking():
        job = _job(args)
        text = to_text(explanation(plan(job.pipeline, job.analyzer, job.folder)))
    sys.stdout.write(text)
    return 0


def _sql(args: argparse.Namespace) -> int:
    from engine.script import program_of, sql_of

    with _asking():
        job = _job(args)
        if not args.program:
            written = sql_of(job.pipeline, job.analyzer, job.folder)
    if args.program:
        sys.stdout.write(program_of(job.pipeline))
        return 0
    sys.stdout.write(written.text)
    for warning in written.warnings:
        _complain(warning, 0)
    return 0


def _storage_of(engine: str) -> Storage | None:
    """What an engine sees that this machine does not. An engine that is none is refused where it is needed."""
    try:
        return storage_of(engine_called(engine), lambda: get_spark(engine))
    except EngineUnavailable:
        return None


def _servers(args: argparse.Namespace) -> int:
    from engine.spark.servers import servers

    for server in servers():
        state = "running"
        if args.stop:
            server.close(20)
            state = "ended"
        sys.stdout.write(f"{server.master}  process {server.jvm}  {state}\n")
    return 0


def _run(args: argparse.Namespace) -> int:
    # The store first: that another process has it is known at once, and Spark takes seconds to start.
    with scratch("web") as web, fetching(web), _opened(args.store) as store:
        with _asking():
            job = _job(args)
        if args.live:
            return start_live(args, job.pipeline, job.analyzer, job.folder, _edge_of(args, job.sink), store)
        with _asking():
            planned = plan(job.pipeline, job.analyzer, job.folder)
            edge = _edge_of(args, job.sink)(planned)
        kept = None
        if store is not None:
            name = engine_called(args.engine).name
            created = store.runs.create(args.pipeline.stem, job.pipeline.to_json(), engine=name)
            kept = store.record(created.run_id)
        try:
            return _print(args, planned, job.folder, edge, kept)
        except KeyboardInterrupt:
            if store is not None and kept is not None and store.runs.get(created.run_id).goes_on:
                kept.fail(RunCancelled().sentence, cancelled=True)
            raise


def _resume(args: argparse.Namespace) -> int:
    with _opened(_place(args)) as store:
        assert store is not None
        return resume_live(args, _edge_of(args, None), store)


def _export(args: argparse.Namespace) -> int:
    with _opened(_place(args)) as store:
        return _complain(export(args, store), 0)


def _place(args: argparse.Namespace) -> Path:
    from storage import default_path

    return args.store or default_path()


def _record(args: argparse.Namespace) -> int:
    from engine.recordings import on_recordings

    with _opened(_place(args)) as store:
        assert store is not None
        run, files = store.runs.get(args.run), store.recordings.write(args.run)
        pipeline = on_recordings(Pipeline.from_json(run.document), files, Path())
    sys.stdout.write(f"{pipeline.to_json()}\n")
    return 0


def _print(args: argparse.Namespace, planned: Plan, folder: Path, edge: tuple[str, str], kept: Recorder | None) -> int:
    """Run the pipeline and print the changelog of an edge, then on standard error what was late or rejected."""
    from engine.runtime import run
    from engine.runtime.lines import lines

    spark = get_spark(args.engine)
    with temporary_files(engine_called(args.engine), spark) as files:
        output = Collected(files, kept)
        cancel = Event()
        with cancelling(cancel):
            run(planned, spark=spark, recorder=output, folder=folder, files=files, epochs=args.epochs, cancel=cancel)
        for text in lines(spark, files, _schema(planned, edge), output.records(*edge), args.format):
            sys.stdout.write(text)
        sys.stdout.flush()
        for what, number in output.count(spark).items():
            if number:
                _complain(f"{number} {what}{'s' * (number > 1)}.", 0)
        return _check(planned, spark, output) if args.check else 0


def _check(planned: Plan, spark: SparkSession, output: Collected) -> int:
    """Say of every sink, and of whatever differs, whether it is the batch answer. 1 where something differs."""
    from engine.batch.checking import check

    checked = check(planned, spark, output.recorded(planned))
    for node in checked.nodes:
        if node.is_sink or not node.is_equal:
            _complain(node.sentence, 0)
        for different in node.differences:
            cells = ", ".join(f"{name}={value}" for name, value in zip(node.columns, different.row, strict=True))
            _complain(f"    {cells}: {different.in_batch} in batch, {different.in_stream} in the stream", 0)
    return 0 if checked.is_equal else 1


@contextmanager
def _asking() -> Iterator[None]:
    """Nothing runs yet: whatever goes wrong here is wrong with what was asked."""
    try:
        yield
    except (StudioError, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACKS):
            raise
        raise StudioError(unexpected_sentence(error)) from error


@contextmanager
def _opened(path: Path | None) -> Iterator[Store | None]:
    """The store that was asked for. The command line is the one place where the engine meets it."""
    if path is None:
        yield None
        return
    from storage.errors import StoreError, StoreWriteFailed
    from storage.store import Store

    try:
        with Store.open(path) as store:
            yield store
    except StoreWriteFailed as error:
        raise RunFailed(str(error)) from error
    except StoreError as error:
        raise StudioError(str(error)) from error


@dataclass(frozen=True)
class _Job:
    """What a file says. sink: the one that its last statement is, where it is a script."""

    pipeline: Pipeline
    analyzer: Analyzer
    folder: Path
    sink: str | None = None


def _job(args: argparse.Namespace) -> _Job:
    from engine.script import script_of
    from engine.spark.analyzer import SparkAnalyzer

    path: Path = args.pipeline
    text = _text_of(path)
    analyzer = SparkAnalyzer(lambda: get_spark(args.engine))
    folder = path.resolve().parent
    if path.suffix.lower() != ".sql":
        return _Job(Pipeline.from_json(text), analyzer, folder)
    script = script_of(text, analyzer, folder, path.stem)
    for warning in script.warnings:
        _complain(warning, 0)
    return _Job(script.pipeline, analyzer, folder, script.jobs[-1] if script.jobs else None)


def _edge_of(args: argparse.Namespace, job: str | None) -> Callable[[Plan], tuple[str, str]]:
    return lambda planned: _edge(planned, args.edge, job)


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) <= _LARGEST:
            return data.decode("utf-8")
        reason = f"it is larger than {_LARGEST >> 20} MB, which no pipeline is"
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or "it is no file"
    except ValueError:
        reason = "this is no file name"
    message = f"{shortened(str(path))} cannot be read: {reason}."
    raise PipelineError(message)


def _edge(planned: Plan, wanted: str | None, job: str | None) -> tuple[str, str]:
    """The node and port of `NODE` or `NODE.PORT`; without either those of the one sink."""
    if wanted is not None:
        name, _, port = wanted.partition(".")
        node = planned.node(name)
        known = (OUT, *node.second)
        if (port or OUT) not in known:
            message = f"{name}: {unknown_name('output', port, known)}."
            raise PipelineError(message)
        return node.id, port or OUT
    if job is not None:
        return job, OUT
    sinks = [node.id for node in planned.sinks]
    if len(sinks) > 1:
        message = f"the pipeline ends in {', '.join(sinks)}; choose one with --edge."
        raise PipelineError(message)
    return sinks[0], OUT


def _schema(planned: Plan, edge: tuple[str, str]) -> Schema:
    node, port = edge
    node_plan = planned.node(node)
    return node_plan.schema if port == OUT else node_plan.second[port].schema


def _complain(sentence: str, status: int) -> int:
    # A terminal may not have every character, nor may a name that came from a file be one.
    sys.stderr.write(f"{shortened(sentence, 2000)}\n".encode(errors="backslashreplace").decode())
    return status


if __name__ == "__main__":
    exit_status = main()
    # What is left is Python's own end, which a signal would fill with tracebacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(exit_status)
