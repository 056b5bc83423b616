"""A bounded run of the command line: its changelogs on standard output, what was late or rejected on standard error."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.command_line.flink import CHECKS
from engine.command_line.interrupts import cancelling
from engine.contract.cancel import Cancel
from engine.contract.operator import OUT
from engine.contract.recorder import Recorder
from engine.errors import StudioError
from engine.model.schema import Schema
from engine.planner import Plan
from engine.running import Collected
from engine.spark.engines import Engine, engine_called
from engine.spark.run_files import RunFiles, temporary_files
from engine.spark.session import get_spark
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Complain = Callable[[str, int], int]
"""Writes a sentence on standard error, and returns the exit status."""


def print_run(
    args: Namespace,
    planned: Plan,
    folder: Path,
    edges: Sequence[tuple[str, str]],
    kept: Recorder | None,
    complain: Complain,
    stays: Callable[[Engine, RunFiles], Workspace | None],
) -> int:
    """Run the pipeline and print the changelogs of some edges, each below its name if there are several.

    stays: the folder of the workspace where the changelogs stay, if they do.
    """
    from engine.runtime import run
    from engine.runtime.lines import lines

    spark, engine = get_spark(args.engine), engine_called(args.engine)
    with temporary_files(engine, spark) as files:
        _say_size(planned, spark, folder, engine, Path(files.workspace.root).parent, args.store, complain)
        output = Collected(files, kept)
        cancel = Cancel()
        with cancelling(cancel):
            stays_in = stays(engine, files)
            run(
                planned,
                spark=spark,
                recorder=output,
                folder=folder,
                files=files,
                epochs=args.epochs,
                cancel=cancel,
                stays_in=stays_in,
            )
        for at, (node, port) in enumerate(edges):
            name = "" if len(edges) == 1 else node
            if name and args.format == "table":
                sys.stdout.write(f"{'' if at == 0 else chr(10)}== {name}\n")
            changelog, schema = output.records(node, port), _schema(planned, node, port)
            sys.stdout.writelines(lines(spark, files, schema, changelog, args.format, planned.zone, name))
        sys.stdout.flush()
        for sentence in output.problems(spark).sentences():
            complain(sentence, 0)
        return _check(planned, spark, output, complain) if args.check == CHECKS[0] else 0


def _say_size(
    planned: Plan,
    spark: SparkSession,
    folder: Path,
    engine: Engine,
    files: Path,
    store: Path | None,
    complain: Complain,
) -> None:
    """Say what a large run will take, or that it is not known, and if a disk will not hold it."""
    from engine.local.run_size import run_size
    from engine.spark.server_command import cores_of

    try:
        size = run_size(planned, lambda: spark, folder, frees=False)
    except StudioError:
        # Whatever is wrong with the rows, the run says it, with its node.
        return
    if not size.is_told:
        return
    if store is None:
        size = replace(size, kept_bytes=0, spilled_bytes=0)
    complain(size.sentence(cores_of(engine.address) if engine.address.startswith("local") else None), 0)
    shortage = size.shortage(store and store.absolute().parent, None if engine.workspace else files)
    if shortage:
        complain(shortage, 0)


def _check(planned: Plan, spark: SparkSession, output: Collected, complain: Complain) -> int:
    """Print the batch check of every sink, of every node that differs, and of pairs that no stream could have made.

    Returns 1 if something differs.
    """
    from engine.batch_check.check import check

    checked = check(planned, spark, output.recorded(planned))
    for node in checked.nodes:
        if node.is_sink or not node.is_equal:
            complain(node.sentence, 0)
        for different in node.differences:
            cells = ", ".join(f"{name}={value}" for name, value in zip(node.columns, different.row, strict=True))
            complain(f"    {cells}: {different.in_batch} in batch, {different.in_stream} in the stream", 0)
        if node.let_go:
            complain(node.let_go_sentence, 0)
    return 0 if checked.is_equal else 1


def _schema(planned: Plan, node: str, port: str) -> Schema:
    node_plan = planned.node(node)
    return node_plan.schema if port == OUT else node_plan.second[port].schema
