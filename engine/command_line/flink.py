"""Flink in the command line: its installation, and the check of a run against it.

python -m engine flink                    where Flink is, or what its installation takes
python -m engine flink install
python -m engine flink remove
python -m engine run PIPELINE --check flink
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.command_line.interrupts import cancelling
from engine.contract.cancel import Cancel
from engine.flink.asking import Asked, Asking
from engine.flink.environment import ENVIRONMENT, SIZE, VERSION, install, python_in, remove, require_python
from engine.flink.process import Session
from engine.model.pipeline import Pipeline
from engine.model.printing import table
from engine.spark.session import get_spark

CHECKS = ("spark", "flink")


def add_flink(commands: Any) -> None:
    """Declare the command in the parser."""
    command = commands.add_parser("flink", help="install Flink for checking, in an environment of its own")
    command.add_argument("action", nargs="?", choices=["install", "remove"], help="default: say where it is")
    command.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file beside which it is installed")


def with_named_check(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--check` as `--check=spark`: its value may be left out, also before the pipeline."""
    found: list[str] = []
    for argument in arguments:
        if found[-1:] == ["--check"]:
            found[-1] = f"--check={argument if argument in CHECKS else CHECKS[0]}"
            if argument in CHECKS:
                continue
        found.append(argument)
    return [*found[:-1], f"--check={CHECKS[0]}"] if found[-1:] == ["--check"] else found


def flink(args: Namespace, home: Path) -> int:
    """Run the command. Raises StudioError."""
    if args.action == "remove":
        remove(home)
    if args.action == "install":
        sys.stderr.write(f"Flink {VERSION} into {home}: {SIZE}.\n")
        cancel = Cancel()
        with cancelling(cancel):
            install(home, lambda line: _say(f"  {line}"), cancel)
    python = python_in(home)
    sys.stdout.write(f"{python or f'Flink {VERSION} is not installed: {SIZE}. {ENVIRONMENT} is not set.'}\n")
    return 0


def check_with_flink(pipeline: Pipeline, folder: Path, engine: str, home: Path, say: Callable[[str], None]) -> int:
    """Ask Flink about every sink, and print what it says. Returns 1 if something differs. Raises StudioError."""
    python, session = require_python(home), Session()
    asking = Asking(pipeline, None, folder, lambda: get_spark(engine))
    status = 0
    try:
        for sink in asking.sinks:
            asked = asking.asked(sink, lambda job: session.ask(python, job))
            for line in lines_of(asked):
                say(line)
            if asked.compared is not None and not asked.is_equal:
                status = 1
    finally:
        session.cancel()
    return status


def lines_of(asked: Asked) -> list[str]:
    """What Flink said as lines, with the first difference as a table."""
    found = [asked.sentence]
    if asked.compared is not None and asked.compared.at is not None:
        sides = [("ours", asked.compared.ours), ("Flink", asked.compared.theirs)]
        rows = [(who, *("NULL" if value is None else str(value) for value in record or ())) for who, record in sides]
        width = len(asked.columns) + 2
        found += table(("", "kind", *asked.columns), [(*row, *[""] * (width - len(row))) for row in rows])
    return [*found, f"FLINK.md: {asked.known}"] if asked.known else found


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
