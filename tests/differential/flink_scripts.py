"""Runs scripts in Flink unchanged, one file name per argument. Runs in Flink's own interpreter.

The output of print sinks goes to standard output, after a line `## NAME` for each script. Only relative paths are
changed: they refer to an empty folder.
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


def run(text: str) -> None:
    """Execute every statement, and wait for each insert to finish."""
    settings = Configuration()
    settings.set_string("parallelism.default", "1")
    settings.set_string("pipeline.auto-watermark-interval", "0 ms")
    settings.set_string("state.backend.type", "rocksdb")
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    tables = StreamTableEnvironment.create(environment)
    tables.get_config().set("table.local-time-zone", "UTC")
    for statement in statements(text):
        option = re.fullmatch(r"SET '([^']*)' = '([^']*)'", statement)
        if option is not None:
            tables.get_config().set(option[1], option[2])
            continue
        result = tables.execute_sql(statement)
        if statement.startswith(("INSERT", "EXECUTE")):
            result.wait()


def statements(text: str) -> Iterator[str]:
    """The statements of a script that the studio wrote: each ends with a semicolon at a line end, a set with END."""
    current = ""
    for line in text.splitlines():
        current += "" if line.startswith("--") else f"{line}\n"
        is_open = current.lstrip().startswith("EXECUTE STATEMENT SET") and line != "END;"
        if line.endswith(";") and not is_open:
            yield current.strip().rstrip(";")
            current = ""


def main() -> None:
    """Run the scripts one after the other."""
    for name in sys.argv[1:]:
        folder = tempfile.mkdtemp()
        text = re.sub(r"'path' = '(?!/)", f"'path' = '{folder}/", Path(name).read_text(encoding="utf-8"))
        sys.stdout.write(f"## {Path(name).stem}\n")
        sys.stdout.flush()
        run(text)


if __name__ == "__main__":
    main()
