"""Runs jobs on Flink, one per line of stdin, and prints a line for each. Runs in Flink's own interpreter.

    {"tables": [{"name": "t", "columns": [["k", "STRING"], ["rt", "BIGINT"]], "time": "rt", "delay_ms": 0,
                 "mode": "insert", "key": []}],
     "arrivals": [["t", "+I", "a", 1000]], "rows_per_second": null,
     "views": [["n", "SELECT ... FROM t"]], "sql": "SELECT * FROM n", "options": {}}

One parallel task, a watermark after every record. `time` is a column of epoch ms that becomes an event time;
mode is insert, all or upsert. Times come back in microseconds. The tables are cut out of one stream: so many rows
per second of it arrive one by one, which keeps their order where two tables meet; null: all at once.
The answer: {"changelog": [["+I", ...], ...]} or {"error": "..."}.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from pyflink.common import Configuration, RowKind, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway
from pyflink.table import Schema, StreamTableEnvironment
from pyflink.table.changelog_mode import ChangelogMode

_SYMBOLS = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}
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
    settings.set_string("execution.buffer-timeout.interval", "0 ms")
    # The heap backend loses updates of Top N with an offset.
    settings.set_string("state.backend.type", "rocksdb")
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    tables.get_config().set("table.local-time-zone", "UTC")
    for name, value in (_DEFAULTS | job.get("options", {})).items():
        tables.get_config().set(name, value)
    wide = ["from_table", *(f"{table['name']}_{name}" for table in job["tables"] for name, _ in table["columns"])]
    everything = Schema.new_builder()
    for name in wide:
        everything.column(name, "STRING")
    stream = _stream(environment, job, wide)
    tables.create_temporary_view(
        "everything", tables.from_changelog_stream(stream, everything.build(), ChangelogMode.all())
    )
    for table in job["tables"]:
        _create(tables, table)
    for name, sql in job.get("views", []):
        tables.create_temporary_view(f"`{name}`", tables.sql_query(sql))
    with tables.execute_sql(job["sql"]).collect() as rows:
        return [[_SYMBOLS[row.get_row_kind()], *map(_plain, row)] for row in rows]


def _stream(environment: StreamExecutionEnvironment, job: dict[str, Any], wide: list[str]) -> DataStream:
    """All rows in order of arrival as texts: a table's name, then the columns of all tables, those of others NULL."""
    jvm = get_gateway().jvm
    kinds = {symbol: getattr(jvm.org.apache.flink.types.RowKind, kind.name) for kind, symbol in _SYMBOLS.items()}
    rows = jvm.java.util.ArrayList()
    for table, kind, *values in job["arrivals"]:
        columns = next(one["columns"] for one in job["tables"] if one["name"] == table)
        own = {f"{table}_{name}": value for (name, _), value in zip(columns, values, strict=True)}
        row = jvm.org.apache.flink.types.Row(kinds[kind], len(wide))
        row.setField(0, table)
        for at, name in enumerate(wide[1:], start=1):
            value = own.get(name)
            row.setField(at, None if value is None else str(value))
        rows.add(row)
    type_ = Types.ROW_NAMED(wide, [Types.STRING()] * len(wide)).get_java_type_info()
    java = environment._j_stream_execution_environment
    datagen = jvm.org.apache.flink.connector.datagen
    limits = jvm.org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy
    per_second = job.get("rows_per_second")
    source = datagen.source.DataGeneratorSource(
        datagen.functions.FromElementsGeneratorFunction(type_, java.getConfig(), rows),
        rows.size(),
        limits.perSecond(float(per_second)) if per_second else limits.noOp(),
        type_,
    )
    strategy = jvm.org.apache.flink.api.common.eventtime.WatermarkStrategy.noWatermarks()
    return DataStream(java.fromSource(source, strategy, "everything", type_))


def _create(tables: StreamTableEnvironment, table: dict[str, Any]) -> None:
    """A view of one table's rows, with its own watermark and key."""
    name, time, key = table["name"], table.get("time"), table.get("key") or []
    own = [(column, type_, f"{column}_ms" if column == time else column) for column, type_ in table["columns"]]
    items = ", ".join(f"CAST(`{name}_{column}` AS {type_}) AS `{called}`" for column, type_, called in own)
    rows = tables.sql_query(f"SELECT {items} FROM everything WHERE from_table = '{name}'")
    schema = Schema.new_builder()
    for _, type_, called in own:
        schema.column(called, f"{type_} NOT NULL" if called in key else type_)
    if time:
        schema.column_by_expression(time, f"TO_TIMESTAMP_LTZ({time}_ms, 3)")
        schema.watermark(time, f"{time} - INTERVAL '{table['delay_ms'] / 1000:.3f}' SECOND(3)")
    if key:
        schema.primary_key(*key)
    stream = tables.to_changelog_stream(rows)
    found = tables.from_changelog_stream(stream, schema.build(), _mode(table["mode"]))
    tables.create_temporary_view(f"{name}_physical", found)
    names = ", ".join(f"`{column}`" for column, _, _ in own)
    tables.create_temporary_view(name, tables.sql_query(f"SELECT {names} FROM `{name}_physical`"))


def _mode(name: str) -> ChangelogMode:
    if name == "upsert":
        # With whole rows in deletes, as ours have them.
        return ChangelogMode(get_gateway().jvm.org.apache.flink.table.connector.ChangelogMode.upsert(False))
    return ChangelogMode.all() if name == "all" else ChangelogMode.insert_only()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        since = value.replace(tzinfo=UTC) - _EPOCH
        # Times have milliseconds; on the way into Python they lose a microsecond now and then.
        return (since.days * 86_400_000 + since.seconds * 1000 + round(since.microseconds / 1000)) * 1000
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
