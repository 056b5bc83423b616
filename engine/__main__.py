"""The studio without the app.

    python -m engine run PIPELINE.json [--engine local[2]] [--epochs N] [--edge NODE] [--format table|jsonl]
                                       [--store FILE]
    python -m engine explain PIPELINE.json

`run` prints the changelog of the sink, or of one node, on standard output. Exit status 2 and one sentence
on standard error for anything that the user got wrong, 1 where a run fails, 130 where it is interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import PipelineError, RunCancelled, RunFailed, StudioError
from engine.pipeline import Pipeline
from engine.planner import Plan, plan
from engine.planner.explain import to_text
from engine.recorder import EpochOutput, Recorder, RunPlan
from engine.session import DEFAULT_MASTER, get_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says. Gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Changelog Studio without the app.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run a pipeline and print a changelog")
    running.add_argument("--epochs", type=_count, default=1, help="split the run into so many epochs")
    running.add_argument("--edge", metavar="NODE", help="print the output of this node instead of the sink's")
    running.add_argument("--format", choices=["table", "jsonl"], default="table")
    running.add_argument("--store", type=Path, metavar="FILE", help="also keep the run in this DuckDB file")
    explaining = commands.add_parser("explain", help="print the plan: modes, keys, strategies and why")
    for command in (running, explaining):
        command.add_argument("pipeline", type=Path, metavar="PIPELINE.json")
        command.add_argument("--engine", default=DEFAULT_MASTER, help=f"Spark's master URL (default {DEFAULT_MASTER})")
    given = parser.parse_args(arguments)
    try:
        return _explain(given) if given.command == "explain" else _run(given)
    except (RunFailed, RunCancelled) as error:
        return _complain(str(error), 1)
    except StudioError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt:
        return _complain("the run was interrupted.", 130)
    except BrokenPipeError:
        # Whoever read the changelog has seen enough; nothing more can be written, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _explain(given: argparse.Namespace) -> int:
    planned, _ = _plan(given)
    sys.stdout.write(to_text(planned))
    return 0


def _run(given: argparse.Namespace) -> int:
    from engine.runtime import run
    from engine.runtime.lines import lines

    planned, folder = _plan(given)
    edge = _edge(planned, given.edge)
    spark = get_spark(given.engine)
    with tempfile.TemporaryDirectory(prefix="changelog-studio-") as work, _keeping(given) as kept:
        output = _Collected(kept)
        run(planned, spark=spark, recorder=output, folder=folder, work=Path(work) / "run", epochs=given.epochs)
        for text in lines(spark, planned.node(edge), output.folders(edge), given.format, Path(work) / "text"):
            sys.stdout.write(text)
        sys.stdout.flush()
        for what, count in output.count(spark).items():
            if count:
                _complain(f"{count} {what}{'s' * (count > 1)}.", 0)
    return 0


class _Collected:
    """A recorder that remembers where the output is, and hands it on to the store where there is one."""

    def __init__(self, store: Recorder | None) -> None:
        self._store = store
        self._outputs: list[EpochOutput] = []

    def begin(self, plan: RunPlan) -> None:
        """Hand on."""
        if self._store is not None:
            self._store.begin(plan)

    def commit(self, output: EpochOutput) -> None:
        """Remember an epoch: its files stay until the command ends."""
        self._outputs.append(output)
        if self._store is not None:
            self._store.commit(output)

    def finish(self) -> None:
        """Hand on."""
        if self._store is not None:
            self._store.finish()

    def fail(self, sentence: str, node: str = "", *, cancelled: bool = False) -> None:
        """Hand on."""
        if self._store is not None:
            self._store.fail(sentence, node, cancelled=cancelled)

    def folders(self, node: str) -> list[Path]:
        """Where a node's output is, epoch by epoch."""
        return [output.edges[node, "out"] for output in self._outputs]

    def count(self, spark: SparkSession) -> Mapping[str, int]:
        """How many records were late and how many rows rejected."""
        counts = {"late record": 0, "rejected row": 0}
        for output in self._outputs:
            for what, folders in (("late record", output.late), ("rejected row", output.rejected)):
                for folder in folders:
                    counts[what] += spark.read.schema("node string").parquet(str(folder)).count()
        return counts


@contextmanager
def _keeping(given: argparse.Namespace) -> Iterator[Recorder | None]:
    """The recorder of a new run in the store that was asked for. The command line is the one place that joins both."""
    if given.store is None:
        yield None
        return
    from storage.errors import StoreError
    from storage.store import Store

    try:
        with Store.open(given.store) as store:
            document = given.pipeline.read_text(encoding="utf-8")
            created = store.runs.create(given.pipeline.stem, document, engine=given.engine)
            yield store.record(created.run_id)
    except StoreError as error:
        raise StudioError(str(error)) from error


def _plan(given: argparse.Namespace) -> tuple[Plan, Path]:
    from engine.analyzer import SparkAnalyzer

    path: Path = given.pipeline
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        message = f"{path} cannot be read: {reason}."
        raise PipelineError(message) from error
    folder = path.resolve().parent
    return plan(Pipeline.from_json(text), SparkAnalyzer(lambda: get_spark(given.engine)), folder), folder


def _edge(planned: Plan, wanted: str | None) -> str:
    if wanted is not None:
        return planned.node(wanted).id
    sinks = [node.id for node in planned.sinks]
    if len(sinks) > 1:
        message = f"the pipeline ends in {', '.join(sinks)}; say which to print with --edge."
        raise PipelineError(message)
    return sinks[0]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) < 1:
        message = f"{text!r} is not a number of at least 1"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _complain(sentence: str, status: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
