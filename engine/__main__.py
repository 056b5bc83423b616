"""The studio without the app.

    python -m engine run PIPELINE [--engine local[2]] [--epochs N] [--edge NODE] [--format table|jsonl] [--store FILE]
                                  [--check [spark|flink]] [--allow-python]
    python -m engine run --store FILE [--keep-edges NODE,NODE] [--keep-keys N] PIPELINE ...
    python -m engine run --live PIPELINE [--interval TIME] [--records N] ...
    python -m engine resume RUN [--end] [--store FILE] ...
    python -m engine record RUN [--store FILE]
    python -m engine export RUN FILE [--edge NODE] [--as-of EVENT] [--format NAME] [--store FILE]
    python -m engine keep RUN FOLDER [--smallest N] [--table] [--store FILE] ...
    python -m engine test FOLDER... [--engine ENGINE] [--junit FILE] [--update] ...
    python -m engine explain PIPELINE
    python -m engine sql PIPELINE [--program]
    python -m engine flink [install|remove]
    python -m engine servers [--stop] [--all]

PIPELINE is a document (.json) or a script of Flink SQL (.sql). Its paths are relative to it. `run` prints the changelog
of the sink, or of one node, on standard output; of a script, that of each SELECT and INSERT below its name, or in JSON
Lines with its name as `output`, and a live run that of the last one; `sql` prints the pipeline as
a script, or as a PySpark program; `servers` lists the Spark servers that wait for the next run. A live run reads its
sources until Ctrl-C stops it. A stored live run continues with `resume`; `resume --end` ends its sources.
`record` prints the pipeline of a run, with recordings of the run's input as its sources; `export` writes a changelog
of a run, or the table after an event (`engine.command_line.export`); `keep` makes a test of a run, and `test` runs
tests (`engine.command_line.kept`). `--check flink` asks Flink (`engine.command_line.flink`).
The exit status is 2 for a user error, with one sentence on standard error, also if it is in a statement of a script,
and the others ran; 1 for a failed run, and 130 (for SIGTERM
143) for an interrupted run. Warnings about ignored parts of a script go to standard error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # While modules are loaded, Ctrl-C ends the process silently.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from engine.command_line.arguments import count, time_ms
from engine.command_line.bounded import print_run
from engine.command_line.edges import chosen_edge
from engine.command_line.export import add_export, export
from engine.command_line.flink import CHECKS, add_flink, check_with_flink, flink, with_named_check
from engine.command_line.interrupts import Interrupted, ending
from engine.command_line.kept import add_keep, keep_run, run_tests
from engine.command_line.live import resume_live, start_live
from engine.contract.operator import OUT
from engine.errors import (
    EngineUnavailable,
    RunCancelled,
    RunFailed,
    StudioError,
    shortened,
)
from engine.expressions.analyzer import TypeRules
from engine.flink.environment import home_beside
from engine.model.options import KEEP_EDGES, KEEP_KEYS, check_options
from engine.model.pipeline import Pipeline
from engine.pipeline_files import Job, job_in
from engine.planner import Plan, plan
from engine.python_functions import consent
from engine.reading.files.storage import Storage, looking_at
from engine.reading.files.web import fetching
from engine.scratch import scratch, sweep
from engine.spark.engine_storage import storage_of
from engine.spark.engines import Engine, engine_called
from engine.spark.failures import TRACEBACKS, unexpected_sentence
from engine.spark.run_files import RunFiles
from engine.spark.session import DEFAULT_MASTER, get_spark
from engine.spark.staying_folder import staying_folder
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from storage.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Changelog Studio without the app.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run a pipeline and print a changelog")
    running.add_argument("--epochs", type=count, help="split the run into this many epochs; default: by input size")
    check = "compare the result with Spark's own batch answer (the default), or with Flink's changelog"
    running.add_argument("--check", choices=CHECKS, help=check)
    running.add_argument("--live", action="store_true", help="keep reading the sources until Ctrl-C")
    running.add_argument(
        "--keep-edges",
        metavar="NODE,NODE",
        help="keep only the records of these outputs (NODE or NODE.late) in the store",
    )
    running.add_argument(
        "--keep-keys", type=count, metavar="N", help="keep the records of one key in N, by a hash of the key"
    )
    resuming = commands.add_parser("resume", help="continue a live run that was stopped or killed")
    resuming.add_argument("run", type=count, metavar="RUN", help="the number of the run in the store")
    resuming.add_argument("--end", action="store_true", help="read what is there, then end the sources")
    recording = commands.add_parser(
        "record", help="record what a run's sources read, and print its pipeline over the recordings"
    )
    recording.add_argument("run", type=count, metavar="RUN", help="the number of the run in the store")
    recording.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")
    add_export(commands)
    add_keep(commands)
    add_flink(commands)
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
    listing = commands.add_parser("servers", help="list the Spark servers of this checkout, or end them")
    listing.add_argument("--stop", action="store_true", help="end them; runs on them fail")
    listing.add_argument("--all", action="store_true", help="those of all checkouts of this user")
    args = parser.parse_args(with_named_check(sys.argv[1:] if arguments is None else arguments))
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
        # The reader of the changelog has closed the pipe; nothing more can be written, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get(TRACEBACKS):
            raise
        if isinstance(error, OSError) and sys.stdout is sys.__stdout__:
            # Avoid a second attempt to write the rest at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
        return _complain(unexpected_sentence(error), 1)


def _done(args: argparse.Namespace) -> int:
    """Run the command. Raises all errors."""
    sweep()
    if getattr(args, "allow_python", False):
        os.environ[consent.ENVIRONMENT] = consent.ALL
    if args.command == "servers":
        return _servers(args)
    if args.command == "flink":
        return flink(args, home_beside(_place(args)))
    if args.command in ("resume", "record", "export", "keep", "test"):
        return {"resume": _resume, "record": _record, "export": _export, "keep": _keep, "test": _test}[args.command](
            args
        )
    with looking_at(_storage_of(args.engine)):
        return {"explain": _explain, "run": _run, "sql": _sql}[args.command](args)


def _explain(args: argparse.Namespace) -> int:
    from engine.contract.explanation import to_text
    from engine.runtime.explain import explanation

    with _asking():
        job = _job(args)
        text = to_text(explanation(plan(job.pipeline, TypeRules(), job.folder)))
    sys.stdout.write(text)
    return _status(job)


def _sql(args: argparse.Namespace) -> int:
    from engine.script import program_of, sql_of

    with _asking():
        job = _job(args)
        if not args.program:
            written = sql_of(job.pipeline, TypeRules(), job.folder)
    if args.program:
        sys.stdout.write(program_of(job.pipeline))
        return 0
    sys.stdout.write(written.text)
    for warning in written.warnings:
        _complain(warning, 0)
    return _status(job)


def _storage_of(engine: str) -> Storage | None:
    """The storage of an engine, or None. An invalid engine is reported later, when it is used."""
    try:
        return storage_of(engine_called(engine), lambda: get_spark(engine))
    except EngineUnavailable:
        return None


def _servers(args: argparse.Namespace) -> int:
    from engine.spark.servers import servers

    for server in servers(of_all=args.all):
        state = "running"
        if args.stop:
            server.close(20)
            state = "ended"
        where = f"  {server.checkout}" if args.all else ""
        sys.stdout.write(f"{server.master}  process {server.jvm}  {state}{where}\n")
    return 0


def _run(args: argparse.Namespace) -> int:
    # The store is opened first: a lock by another process is reported at once, while Spark takes seconds to start.
    with scratch("web") as web, fetching(web), _opened(args.store) as store:
        with _asking():
            job = _keeping(args, _job(args))
        if _status(job) and not job.sinks and args.edge is None:
            return _status(job)
        if args.live:
            edge_of = _edge_of(args, job.sinks[-1] if job.sinks else None)
            return start_live(args, job.pipeline, job.identity, TypeRules(), job.folder, edge_of, store)
        with _asking():
            planned = plan(job.pipeline, TypeRules(), job.folder)
            edges = [_edge_of(args, sink)(planned) for sink in job.sinks or (None,)][: 1 if args.edge else None]
        recorder = None

        def stays(engine: Engine, files: RunFiles) -> Workspace | None:
            if store is None:
                return None
            return staying_folder(engine, files, created.run_id, partial(store.staying.note, created.run_id))

        if store is not None:
            name = engine_called(args.engine).name
            document = job.pipeline.to_json()
            created = store.runs.create(args.pipeline.stem, document, engine=name, identity=job.identity)
            recorder = store.record(created.run_id)
        try:
            status = print_run(args, planned, job.folder, edges, recorder, _complain, stays)
            if args.check == CHECKS[1]:
                home = home_beside(_place(args))
                status = status or check_with_flink(job.pipeline, job.folder, args.engine, home, _said)
            return status or _status(job)
        except KeyboardInterrupt:
            if store is not None and recorder is not None and store.runs.get(created.run_id).goes_on:
                recorder.fail(RunCancelled().sentence, cancelled=True)
            raise
        finally:
            if store is not None:
                for sentence in store.staying.sweep(created.run_id):
                    _complain(sentence, 0)


def _keeping(args: argparse.Namespace, job: Job) -> Job:
    """The job with what it is told to keep. Raises PipelineError."""
    told = {KEEP_EDGES.name: args.keep_edges, KEEP_KEYS.name: args.keep_keys}
    options = {name: str(value) for name, value in told.items() if value is not None}
    check_options(options)
    return replace(job, pipeline=job.pipeline.model_copy(update={"options": {**job.pipeline.options, **options}}))


def _resume(args: argparse.Namespace) -> int:
    with _opened(_place(args)) as store:
        assert store is not None
        return resume_live(args, _edge_of(args, None), store)


def _export(args: argparse.Namespace) -> int:
    with _opened(_place(args)) as store:
        return _complain(export(args, store), 0)


def _keep(args: argparse.Namespace) -> int:
    with _opened(_place(args)) as store:
        return _complain(keep_run(args, store), 0)


def _test(args: argparse.Namespace) -> int:
    return run_tests(args)


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


@contextmanager
def _asking() -> Iterator[None]:
    """Before the run starts: every error here is a user error."""
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
    """The store in the arguments, if any. Only the command line connects the engine with a store."""
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


def _job(args: argparse.Namespace) -> Job:
    job = job_in(args.pipeline)
    for sentence in job.warnings:
        _complain(sentence, 0)
    return job


def _status(job: Job) -> int:
    """Of a command that does what it can: 2 if a statement of the script could not be read."""
    return 0 if job.is_whole else 2


def _edge_of(args: argparse.Namespace, job: str | None) -> Callable[[Plan], tuple[str, str]]:
    def edge(planned: Plan) -> tuple[str, str]:
        outputs = {node.id: (OUT, *planned.node(node.id).second) for node in planned.pipeline.nodes}
        return chosen_edge(args.edge, outputs, [node.id for node in planned.sinks] if job is None else [job])

    return edge


def _said(line: str) -> None:
    _complain(line, 0)


def _complain(sentence: str, status: int) -> int:
    # A terminal may not support every character, and names from files may contain invalid ones.
    sys.stderr.write(f"{shortened(sentence, 2000)}\n".encode(errors="backslashreplace").decode())
    return status


if __name__ == "__main__":
    exit_status = main()
    # Only Python's own shutdown is left; a signal there would print tracebacks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(exit_status)
