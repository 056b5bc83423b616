"""Flink in the command line: its installation, and the check of a run against it.

python -m engine flink                    where Flink is, or what its installation takes
python -m engine flink install
python -m engine flink remove
python -m engine flink gateway https://host:8083 [--token-file FILE]       ask a SQL Gateway; --forget: no longer
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
from engine.errors import EngineUnavailable
from engine.flink.asking import Asked, Asking
from engine.flink.environment import ENVIRONMENT, SIZE, VERSION, install, python_in, remove, require_python
from engine.flink.gateway import Gateway
from engine.flink.places import Installed, Named, forget, name, named, place
from engine.flink.process import Session
from engine.model.pipeline import Pipeline
from engine.model.printing import table
from engine.spark.session import get_spark

CHECKS = ("spark", "flink")


def add_flink(commands: Any) -> None:
    """Declare the command in the parser."""
    command = commands.add_parser("flink", help="install Flink for checking, in an environment of its own")
    command.add_argument("action", nargs="?", choices=["install", "remove", "gateway"], help="default: say where it is")
    command.add_argument("address", nargs="?", help="of a SQL Gateway that is asked instead: http(s)://host:port")
    command.add_argument("--token-file", type=Path, metavar="FILE", help="a file with its token; - is standard input")
    command.add_argument("--forget", action="store_true", help="with gateway: forget it, and its token")
    command.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file beside which it is installed")


def with_named_check(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--check` as `--check=spark`: its value may be left out, also before the pipeline."""
    rewritten: list[str] = []
    for argument in arguments:
        if rewritten[-1:] == ["--check"]:
            rewritten[-1] = f"--check={argument if argument in CHECKS else CHECKS[0]}"
            if argument in CHECKS:
                continue
        rewritten.append(argument)
    return [*rewritten[:-1], f"--check={CHECKS[0]}"] if rewritten[-1:] == ["--check"] else rewritten


def flink(args: Namespace, home: Path) -> int:
    """Run the command. Raises StudioError."""
    if args.action == "remove":
        remove(home)
    if args.action == "install":
        sys.stderr.write(f"Flink {VERSION} into {home}: {SIZE}.\n")
        cancel = Cancel()
        with cancelling(cancel):
            install(home, lambda line: _say(f"  {line}"), cancel)
    if args.action == "gateway":
        _gateway(args)
    if (gateway := named()) is not None:
        sys.stdout.write(f"the SQL Gateway {gateway.address}{'' if gateway.is_asked else ', which is not asked'}\n")
    python = python_in(home)
    sys.stdout.write(f"{python or f'Flink {VERSION} is not installed: {SIZE}. {ENVIRONMENT} is not set.'}\n")
    return 0


def _gateway(args: Namespace) -> None:
    """Name a gateway that answers, or forget it."""
    if args.forget:
        forget()
    elif args.address:
        token = ""
        if args.token_file is not None:
            try:
                token = (sys.stdin.read() if str(args.token_file) == "-" else args.token_file.read_text()).strip()
            except (OSError, ValueError) as error:
                message = f"{args.token_file} cannot be read: {error}."
                raise EngineUnavailable(message) from error
        version = Gateway(args.address, token).version()
        name(Named(args.address, token))
        _say(f"Flink {version} answers.")


def check_with_flink(pipeline: Pipeline, folder: Path, engine: str, home: Path, say: Callable[[str], None]) -> int:
    """Ask Flink about every sink, and print what it says. Returns 1 if something differs. Raises StudioError."""
    flink = place(home, Session()) or Installed(require_python(home))
    asking = Asking(pipeline, None, folder, lambda: get_spark(engine))
    status = 0
    try:
        for sink in asking.sinks:
            asked = asking.asked(sink, flink.ask)
            for line in lines_of(asked):
                say(line)
            if asked.compared is not None and not asked.is_equal:
                status = 1
    finally:
        flink.cancel()
    return status


def lines_of(asked: Asked) -> list[str]:
    """What Flink said as lines, with the first difference as a table."""
    lines = [asked.sentence]
    if asked.compared is not None and asked.compared.at is not None:
        sides = [("ours", asked.compared.ours), ("Flink", asked.compared.theirs)]
        rows = [
            (who, *("NULL" if value is None else str(value) for value in _cells(asked, record)))
            for who, record in sides
        ]
        width = len(asked.columns) + 2
        lines += table(("", "kind", *asked.columns), [(*row, *[""] * (width - len(row))) for row in rows])
    lines += [f"asked: {asked.by}"] if asked.by else []
    return [*lines, f"FLINK.md: {asked.known}"] if asked.known else lines


def _cells(asked: Asked, record: Sequence[Any] | None) -> list[Any]:
    return [] if record is None else [record[0], *asked.values(record)]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
