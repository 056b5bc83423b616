"""The commands that keep a run as a test, and run kept tests.

python -m engine keep 12 tests/late-order --name "A late order" --edge totals
python -m engine keep 12 tests/first-retraction --smallest 7        only what record 7 of the output needs
python -m engine test tests --junit results.xml
python -m engine test tests --update                                shows each difference, and asks
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from engine.command_line.arguments import count
from engine.command_line.edges import chosen_edge
from engine.contract.operator import OUT
from engine.errors import PipelineError
from engine.kept.judging import Verdict, judged
from engine.kept.junit import to_xml
from engine.kept.keeping import Chosen, Recorded, keep
from engine.kept.kept_test import KeptTest, tests_in
from engine.kept.manifest import Wanted
from engine.kept.replaying import LATE, InProcess, OnEngine
from engine.model.pipeline import Pipeline
from engine.pipeline_files import job_in
from engine.spark.session import DEFAULT_MASTER, get_spark

_YES: Final = ("y", "yes")


def add_keep(commands: Any) -> None:
    """Declare `keep` and `test` in the parser."""
    keeping = commands.add_parser("keep", help="keep what a run read and gave as a test, in a folder of texts")
    keeping.add_argument("run", type=count, metavar="RUN", help="the number of the run in the store")
    keeping.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    keeping.add_argument("--name", help="the name of the test; default: the folder's")
    keeping.add_argument("--words", default="", help="what the test shows, for people")
    keeping.add_argument("--edge", action="append", metavar="NODE", help="an output, or what was late (NODE.late)")
    keeping.add_argument("--table", action="store_true", help="expect the final table instead of the changelog")
    keeping.add_argument("--any-order", action="store_true", help="the order of records does not count")
    keeping.add_argument("--any-kind", action="store_true", help="only that a row comes or goes counts")
    keeping.add_argument(
        "--smallest",
        type=count,
        metavar="N",
        help="keep only what record N of the output needs",
    )
    keeping.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")
    testing = commands.add_parser("test", help="run kept tests; the exit status is 1 if one is not as expected")
    testing.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="tests, or folders with tests in them")
    testing.add_argument("--pipeline", type=Path, metavar="FILE", help="test this pipeline instead of the kept ones")
    testing.add_argument(
        "--engine", help="local[N], spark://..., sc://..., or an engine's name; default: in this process, without Spark"
    )
    testing.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    testing.add_argument("--update", action="store_true", help="show each difference, and ask whether it is right")
    testing.add_argument("--yes", action="store_true", help="with --update: accept without asking")
    for command in (keeping, testing):
        command.add_argument("--allow-python", action="store_true", help="run the pipeline's own code in Python")


def keep_run(args: Namespace, store: Any) -> str:
    """Keep a run. Returns a sentence. Raises StudioError, StoreError."""
    run = store.runs.get(args.run)
    outputs: dict[str, list[str]] = {}
    edges = store.runs.edges(args.run)
    for edge in edges:
        outputs.setdefault(edge.node, []).append(edge.port)
    late = list(store.late.totals(args.run).by_node)
    for node in late:
        outputs[node] = list(dict.fromkeys((*outputs[node], LATE)))
    sinks = [edge.node for edge in edges if edge.role == "sink"]
    usual = sinks if args.smallest else [*sinks, *(f"{node}.{LATE}" for node in late)]
    chosen = [chosen_edge(edge_name, outputs, sinks) for edge_name in args.edge or usual]
    names = tuple(node if port == OUT else f"{node}.{port}" for node, port in chosen)
    if args.smallest and len(names) > 1:
        message = f"--smallest is about one output; choose it with --edge: {', '.join(names)}."
        raise PipelineError(message)
    pipeline = Pipeline.from_json(run.document).model_copy(update={"identity": run.identity})
    test = keep(
        Recorded(pipeline, store.recordings.write(args.run)),
        Wanted.of(
            name=args.name or args.folder.name,
            edges=names,
            words=args.words,
            expects="table" if args.table else "changelog",
            order=not (args.any_order or args.table),
            kinds=not args.any_kind,
        ),
        args.folder,
        InProcess(lambda: get_spark(DEFAULT_MASTER)),
        Chosen(names[0], args.smallest - 1) if args.smallest else None,
    )
    return f"{args.folder}: {test.records} events, and what is expected of {', '.join(names)}."


def run_tests(args: Namespace) -> int:
    """Run tests, and print a line for each and the first difference. Returns the exit status. Raises StudioError."""
    pipeline = None if args.pipeline is None else job_in(args.pipeline).pipeline
    if args.yes and not args.update:
        message = "--yes accepts differences without asking; it goes with --update."
        raise PipelineError(message)
    folders = [*tests_in(args.folders)]
    place = InProcess(lambda: get_spark(DEFAULT_MASTER)) if args.engine is None else OnEngine(get_spark(args.engine))
    verdicts, bad = [], 0
    for folder in folders:
        verdict = judged(KeptTest.in_folder(folder), place, pipeline)
        verdicts.append(verdict)
        _say(f"{'ok  ' if verdict.is_same else 'FAIL'}  {folder}  {verdict.sentence}")
        for difference in verdict.differences:
            for line in difference.lines():
                _say(f"      {line}")
        if not verdict.is_same and not (args.update and _accepted(args, verdict, pipeline)):
            bad += 1
    if args.junit is not None:
        try:
            args.junit.write_text(to_xml(verdicts), encoding="utf-8")
        except OSError as error:
            message = f"{args.junit} cannot be written: {error.strerror}."
            raise PipelineError(message) from error
    _say(f"{len(verdicts) - bad} of {len(verdicts)} tests are as expected.")
    return 1 if bad else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _accepted(args: Namespace, verdict: Verdict, pipeline: Pipeline | None) -> bool:
    """Ask whether a difference is right, and keep it then."""
    if verdict.problem:
        return False
    if not args.yes:
        sys.stdout.write("      Is this right from now on? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in _YES:
            return False
    verdict.test.accept(verdict.answers, pipeline)
    _say("      accepted.")
    return True
