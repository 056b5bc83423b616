"""Runs published scripts in Flink and records what their SELECTs give. Runs in Flink's own interpreter.

    python tests/published/in_flink.py tests/published/scripts/*.sql

Topics and folders become JSON files of a temporary folder, which is all that this Flink can reach. Each answer is
written beside the scripts, as `answers/NAME.txt`: one changelog record per line, after a line with the columns, and a
blank line between two SELECTs; or why Flink refuses the script.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

_ELSEWHERE = re.compile(
    r"'connector'\s*=\s*'(?:kafka|filesystem)'(?:[^()']|'[^']*')*?(?=\s*\)(?:\s*;|\s*$))", re.MULTILINE
)
_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|`[^`]*`|;|[^;'`-]+|-")


def statements(text: str) -> Iterator[str]:
    """The statements of a script, a statement set as one."""
    current = ""
    for token in _TOKEN.findall(text):
        if token != ";":
            current += "" if token.startswith("--") else token
            continue
        if re.match(r"\s*EXECUTE\s+STATEMENT\s+SET", current) and not re.search(r"\bEND\s*$", current):
            current += token
            continue
        yield current.strip()
        current = ""


def answer(text: str) -> list[str]:
    """The changelogs of the SELECTs, each after a blank line but the first."""
    settings = Configuration()
    settings.set_string("parallelism.default", "1")
    settings.set_string("pipeline.auto-watermark-interval", "0 ms")
    settings.set_string("state.backend.type", "rocksdb")
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment(settings))
    tables.get_config().set("table.local-time-zone", "UTC")
    printed: list[str] = []
    for statement in statements(text):
        option = re.fullmatch(r"SET '([^']*)' = '([^']*)'", statement)
        if option is not None:
            tables.get_config().set(option[1], option[2])
            continue
        created = re.match(r"CREATE\s+(?:TEMPORARY\s+)?TABLE", statement)
        if created:
            file = f"'connector' = 'filesystem', 'path' = '{tempfile.mkdtemp()}', 'format' = 'json'"
            statement = _ELSEWHERE.sub(lambda _, file=file: file, statement)
        result = tables.execute_sql(statement)
        if statement.startswith(("INSERT", "EXECUTE")):
            result.wait()
        elif statement.startswith(("SELECT", "WITH")):
            tables_of = result.get_table_schema().get_field_names()
            with result.collect() as rows:
                printed += [""] * bool(printed) + ["|".join(tables_of)]
                printed += [f"{_SYMBOLS[row.get_row_kind().value]}|{'|'.join(map(str, row))}" for row in rows]
    return printed


_SYMBOLS = ("+I", "-U", "+U", "-D")


def main() -> None:
    """Record the answers, one script after the other."""
    for name in map(Path, sys.argv[1:]):
        try:
            lines = answer(name.read_text(encoding="utf-8"))
        except Exception as error:  # noqa: BLE001 - what Flink refuses is an answer
            reasons = [line.strip() for line in str(error).splitlines() if "Exception: " in line]
            lines = [f"refused: {(reasons or [str(error)[:200]])[-1]}"]
        sys.stdout.write(f"{name.stem}: {lines[:3]}\n")
        sys.stdout.flush()
        if lines:
            (name.parent.parent / "answers" / f"{name.stem}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
