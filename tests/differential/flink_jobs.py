"""Runs jobs on Flink, one per line of stdin, and prints a line for each. Runs in Flink's own interpreter.

    {"columns": [["k", "STRING"], ["rt", "BIGINT"]], "rows": [["a", 1000]], "time": "rt", "delay_ms": 0,
     "kinds": false, "views": [["n", "SELECT ... FROM t"]], "sql": "SELECT * FROM n", "options": {}}

One table `t` per job, one parallel task, a watermark after every record. `time` is a column of epoch ms that
becomes an event time. With kinds a row starts with its kind. Times come back in microseconds.
The answer: {"changelog": [["+I", ...], ...]} or {"error": "..."}.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from pyflink.common import Configuration, Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment
from pyflink.table.changelog_mode import ChangelogMode

_KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
_SYMBOLS = {kind: symbol for symbol, kind in _KINDS.items()}
_TYPES = {"STRING": Types.STRING, "BIGINT": Types.LONG, "INT": Types.INT, "DOUBLE": Types.DOUBLE}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Options outlive a job within one JVM, so all that a job may set are set.
_DEFAULTS = {
    "table.exec.state.ttl": "0 ms",
    "table.exec.mini-batch.enabled": "false",
    "table.exec.mini-batch.size": "-1",
    "table.exec.mini-batch.allow-latency": "0 ms",
    "table.optimizer.agg-phase-strategy": "AUTO",
}


def run(job: dict[str, Any]) -> list[list[Any]]:
    """The changelog of a job, in the order in which Flink gave it."""
    settings = Configuration()
    settings.set_string("parallelism.default", "1")
    settings.set_string("pipeline.auto-watermark-interval", "0 ms")
    # The heap backend loses updates of Top N with an offset.
    settings.set_string("state.backend.type", "rocksdb")
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    tables.get_config().set("table.local-time-zone", "UTC")
    for name, value in (_DEFAULTS | job.get("options", {})).items():
        tables.get_config().set(name, value)
    time = job.get("time")
    physical = [(f"{name}_ms" if name == time else name, type_) for name, type_ in job["columns"]]
    types = Types.ROW_NAMED([name for name, _ in physical], [_TYPES[type_]() for _, type_ in physical])
    stream = environment.from_collection([_row(row, kinds=job["kinds"]) for row in job["rows"]], types)
    schema = Schema.new_builder()
    for name, type_ in physical:
        schema.column(name, type_)
    if time:
        schema.column_by_expression(time, f"TO_TIMESTAMP_LTZ({time}_ms, 3)")
        schema.watermark(time, f"{time} - INTERVAL '{job['delay_ms'] / 1000:.3f}' SECOND(3)")
    mode = ChangelogMode.all() if job["kinds"] else ChangelogMode.insert_only()
    tables.create_temporary_view("source", tables.from_changelog_stream(stream, schema.build(), mode))
    names = ", ".join(f"`{name}`" for name, _ in job["columns"])
    for name, sql in [["t", f"SELECT {names} FROM source"], *job.get("views", [])]:
        tables.create_temporary_view(name, tables.sql_query(sql))
    with tables.execute_sql(job["sql"]).collect() as rows:
        return [[_SYMBOLS[row.get_row_kind()], *map(_plain, row)] for row in rows]


def _row(given: list[Any], *, kinds: bool) -> Row:
    if not kinds:
        return Row(*given)
    row = Row(*given[1:])
    row.set_row_kind(_KINDS[given[0]])
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        since = value.replace(tzinfo=UTC) - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return value


def main() -> None:
    """Run the jobs of stdin one after the other, in one JVM."""
    for line in sys.stdin:
        try:
            found: dict[str, Any] = {"changelog": run(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - what Flink refuses is an answer
            found = {"error": str(error)}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
