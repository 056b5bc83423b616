"""Runs jobs on Flink: one batch per line of stdin, with one line of answers each. Runs in Flink's interpreter.

    [{"tables": [{"name": "t", "columns": [["k", "STRING"], ["rt", "TIMESTAMP_LTZ(3)"]], "computed": [["p", "..."]],
                  "time": "rt", "delay_ms": 0, "processing_time": null, "mode": "insert", "key": [], "marks": false}],
      "arrivals": [["t", "+I", "a", 1000]], "rows_per_second": null,
      "views": [["n", "SELECT ... FROM t"]], "sql": "SELECT * FROM n", "sink_key": null, "options": {}}, ...]

The queries of a batch share no table, so they run side by side as one Flink job: the start of a job costs more than a
few rows. Parallelism 1, a watermark after every record. `time` is the column with the event time; mode is insert, all
or upsert. Times are epoch ms in both directions. All tables of a query are views of one stream. Its rows arrive one by
one with `rows_per_second`, which keeps their order for operators with two inputs; null: all at once.
Rows of no table come first then: those that arrive while an operator starts lose their order between its inputs.
With `marks`, each row of a table is followed by the watermark after it in ms, and a row of the kind null moves only the
watermark. `sink_key`: the changelog is that which an upsert sink with this key receives.
A job {"statements": [...]} is a script, run by itself; it answers {"printed": [...]}, the lines of its SELECTs. With
"settings" it has those of Flink in place of the ones above.
The answers: [{"changelog": [["+I", ...], ...], "columns": [...], "plan": "..."} or {"error": "..."}, ...].
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from pyflink.common import Configuration, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway
from pyflink.table import ExplainDetail, Schema, StreamTableEnvironment
from pyflink.table.changelog_mode import ChangelogMode

_SYMBOLS = ("+I", "-U", "+U", "-D")
_KINDS = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}
# Options outlive a job within one JVM, so every job sets all options.
_DEFAULTS = {
    "table.exec.state.ttl": "0 ms",
    "table.exec.mini-batch.enabled": "false",
    "table.exec.mini-batch.size": "-1",
    "table.exec.mini-batch.allow-latency": "0 ms",
    "table.optimizer.agg-phase-strategy": "AUTO",
}
_SETTINGS = {
    "parallelism.default": "1",
    "pipeline.auto-watermark-interval": "0 ms",
    "execution.buffer-timeout.interval": "0 ms",
    # The heap backend loses updates of Top N with an offset.
    "state.backend.type": "rocksdb",
}
_STARTING_SECONDS = 2
# Of tables with marks: the watermark after a row, and whether the row is only that.
_MARK = "studio mark"
_ONLY = "studio only a mark"

Answer = dict[str, Any]


def answers(jobs: list[dict[str, Any]]) -> list[Answer]:
    """The answer to each job. If a job fails at run time, all jobs of its batch run again one by one."""
    if any("statements" in job for job in jobs):
        return [_printed(job["statements"], job.get("settings", _SETTINGS)) for job in jobs]
    environment = _environment(_SETTINGS)
    planned = [_planned(environment, job) for job in jobs]
    going = [outcome.results for outcome in planned if not isinstance(outcome, str)]
    try:
        if going:
            environment._j_stream_execution_environment.executeAsync()
        changelogs = iter([_records(results) for results in going])
    except Exception as error:  # noqa: BLE001 - what Flink refuses is an answer
        if len(jobs) == 1:
            return [{"error": str(error)}]
        return [answers([job])[0] for job in jobs]
    return [
        {"error": outcome}
        if isinstance(outcome, str)
        else {"changelog": next(changelogs), "columns": outcome.columns, "plan": outcome.plan}
        for outcome in planned
    ]


def _printed(statements: list[str], settings: dict[str, str]) -> Answer:
    """The changelogs of a script's SELECTs, each after a line with its columns; a blank line between two."""
    printed: list[str] = []
    try:
        tables = StreamTableEnvironment.create(_environment(settings))
        tables.get_config().set("table.local-time-zone", "UTC")
        for name, value in _DEFAULTS.items():
            tables.get_config().set(name, value)
        for statement in statements:
            option = re.fullmatch(r"SET '([^']*)' = '([^']*)'", statement)
            if option is not None:
                tables.get_config().set(option[1], option[2])
                continue
            result = tables.execute_sql(statement)
            if statement.startswith(("SELECT", "WITH")):
                names = result.get_table_schema().get_field_names()
                with result.collect() as rows:
                    printed += [""] * bool(printed) + ["|".join(names)]
                    printed += [f"{_SYMBOLS[row.get_row_kind().value]}|{'|'.join(map(str, row))}" for row in rows]
            elif result.get_job_client() is not None:
                result.wait()
    except Exception as error:  # noqa: BLE001 - what Flink refuses is an answer
        return {"error": str(error)}
    return {"printed": printed}


def _environment(settings: dict[str, str]) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(int(settings["parallelism.default"]))
    return environment


class _Planned(NamedTuple):
    """A job. results: the iterator over its records, to be read once the environment runs."""

    results: Any
    columns: list[str]
    plan: str


def _planned(environment: StreamExecutionEnvironment, job: dict[str, Any]) -> _Planned | str:
    """A job that is ready to run; the error if Flink rejects it."""
    try:
        tables = StreamTableEnvironment.create(environment)
        tables.get_config().set("table.local-time-zone", "UTC")
        for name, value in (_DEFAULTS | job.get("options", {})).items():
            tables.get_config().set(name, value)
        _create_tables(environment, tables, job)
        for name, sql in job.get("views", []):
            tables.create_temporary_view(f"`{name}`", tables.sql_query(sql))
        query = _with_one_time(tables, tables.sql_query(job["sql"]))
        plan = tables.sql_query(job["sql"]).explain(ExplainDetail.CHANGELOG_MODE) if job.get("plan") else ""
        if job.get("sink_key") is None:
            stream = tables.to_changelog_stream(query)
        else:
            stream = tables.to_changelog_stream(query, _keyed(query, job["sink_key"]), _mode("upsert"))
        return _Planned(stream._j_data_stream.collectAsync(), list(query.get_schema().get_field_names()), plan)
    except Exception as error:  # noqa: BLE001 - what Flink refuses is an answer
        return str(error)


def _keyed(query: Any, key: list[str]) -> Schema:
    """The schema of an upsert sink for a query."""
    schema = Schema.new_builder()
    for column in query._j_table.getResolvedSchema().getColumns():
        type_ = str(column.getDataType().toString()).replace(" *ROWTIME*", "").removesuffix(" NOT NULL")
        schema.column(column.getName(), f"{type_} NOT NULL" if column.getName() in key else type_)
    return schema.primary_key(*key).build()


def _with_one_time(tables: StreamTableEnvironment, query: Any) -> Any:
    """The query. Several event times become plain columns, since a stream can have only one."""
    columns = [
        (column.getName(), str(column.getDataType().toString()))
        for column in query._j_table.getResolvedSchema().getColumns()
    ]
    if sum("*ROWTIME*" in type_ for _, type_ in columns) < 2:
        return query
    # Of TIMESTAMP(3) NOT NULL *ROWTIME*, a CAST accepts the first word only.
    items = [
        f"CAST(`{name}` AS {type_.partition(' ')[0]}) AS `{name}`" if "*ROWTIME*" in type_ else f"`{name}`"
        for name, type_ in columns
    ]
    tables.create_temporary_view("times", query)
    return tables.sql_query(f"SELECT {', '.join(items)} FROM times")


def _records(results: Any) -> list[list[Any]]:
    """The changelog of a job, in Flink's order."""
    changelog = []
    try:
        while results.hasNext():
            row = results.next()
            changelog.append([row.getKind().shortString(), *(_plain(row.getField(at)) for at in range(row.getArity()))])
    finally:
        results.close()
    return changelog


def _create_tables(
    environment: StreamExecutionEnvironment, tables: StreamTableEnvironment, job: dict[str, Any]
) -> None:
    wide = ["from_table", *(f"{table['name']}_{name}" for table in job["tables"] for name, _ in _given(table))]
    everything = Schema.new_builder()
    for name in wide:
        everything.column(name, "STRING")
    stream = _stream(environment, job, wide)
    tables.create_temporary_view(
        "everything", tables.from_changelog_stream(stream, everything.build(), ChangelogMode.all())
    )
    for table in job["tables"]:
        _create(tables, table)


def _stream(environment: StreamExecutionEnvironment, job: dict[str, Any], wide: list[str]) -> DataStream:
    """All rows as texts, in order of arrival: the table's name, then the columns of all tables; others' are NULL."""
    types = {f"{table['name']}_{name}": type_ for table in job["tables"] for name, type_ in _given(table)}
    jvm = get_gateway().jvm
    kinds = {symbol: getattr(jvm.org.apache.flink.types.RowKind, kind) for symbol, kind in _KINDS.items()}
    rows = jvm.java.util.ArrayList()
    per_second = job.get("rows_per_second")
    for _ in range(math.ceil(_STARTING_SECONDS * (per_second or 0))):
        rows.add(jvm.org.apache.flink.types.Row(kinds["+I"], len(wide)))
    for table, kind, *values in job["arrivals"]:
        columns = next(_given(spec) for spec in job["tables"] if spec["name"] == table)
        if _has_marks(columns):
            values.append("false" if kind else "true")
        own = {f"{table}_{name}": value for (name, _), value in zip(columns, values, strict=True)}
        row = jvm.org.apache.flink.types.Row(kinds[kind or "+I"], len(wide))
        row.setField(0, table)
        for at, name in enumerate(wide[1:], start=1):
            value = own.get(name)
            if value is not None:
                row.setField(at, _text(value, types[name]))
        rows.add(row)
    type_ = Types.ROW_NAMED(wide, [Types.STRING()] * len(wide)).get_java_type_info()
    java = environment._j_stream_execution_environment
    datagen = jvm.org.apache.flink.connector.datagen
    limits = jvm.org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy
    source = datagen.source.DataGeneratorSource(
        datagen.functions.FromElementsGeneratorFunction(type_, java.getConfig(), rows),
        rows.size(),
        limits.perSecond(float(per_second)) if per_second else limits.noOp(),
        type_,
    )
    strategy = jvm.org.apache.flink.api.common.eventtime.WatermarkStrategy.noWatermarks()
    return DataStream(java.fromSource(source, strategy, "everything", type_))


def _given(table: dict[str, Any]) -> list[list[str]]:
    """The columns of a table's rows; with marks, also the watermark, and whether the row is nothing else."""
    columns: list[list[str]] = table["columns"]
    if not table.get("marks"):
        return columns
    (type_,) = [type_ for name, type_ in columns if name == table["time"]] or ["TIMESTAMP_LTZ(3)"]
    return [*columns, [_MARK, type_], [_ONLY, "BOOLEAN"]]


def _has_marks(columns: list[list[str]]) -> bool:
    return columns[-1][0] == _ONLY


def _create(tables: StreamTableEnvironment, table: dict[str, Any]) -> None:
    """A view of one table's rows, with its own watermark and key."""
    name, time, key = table["name"], table.get("time"), table.get("key") or []
    given, computed = _given(table), table.get("computed", [])
    items = ", ".join(f"{_typed(f'`{name}_{column}`', type_)} AS `{column}`" for column, type_ in given)
    rows = tables.sql_query(f"SELECT {items} FROM everything WHERE from_table = '{name}'")
    schema = Schema.new_builder()
    for column, type_ in given:
        schema.column(column, f"{type_} NOT NULL" if column in key else type_)
    for column, expression in computed:
        schema.column_by_expression(column, expression)
    if table.get("processing_time"):
        schema.column_by_expression(table["processing_time"], "PROCTIME()")
    if time and _has_marks(given):
        schema.watermark(time, f"`{_MARK}`")
    elif time:
        schema.watermark(time, f"`{time}` - INTERVAL '{table['delay_ms'] / 1000:.3f}' SECOND(3)")
    if key:
        schema.primary_key(*key)
    view = tables.from_changelog_stream(tables.to_changelog_stream(rows), schema.build(), _mode(table["mode"]))
    if not _has_marks(given):
        tables.create_temporary_view(f"`{name}`", view)
        return
    tables.create_temporary_view(f"`{name} and watermarks`", view)
    own = ", ".join(f"`{column}`" for column, _ in [*table["columns"], *computed])
    own += f", `{table['processing_time']}`" * bool(table.get("processing_time"))
    rows = tables.sql_query(f"SELECT {own} FROM `{name} and watermarks` WHERE NOT `{_ONLY}`")
    tables.create_temporary_view(f"`{name}`", rows)


def _text(value: Any, type_: str) -> str:
    """A value as a text: a TIMESTAMP by its digits, which no time zone changes."""
    if type_.startswith("TIMESTAMP(") and isinstance(value, int):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
        return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
    return str(value)


def _typed(text: str, type_: str) -> str:
    """The SQL that converts a text to its type; an instant is in epoch ms."""
    return f"TO_TIMESTAMP_LTZ(CAST({text} AS BIGINT), 3)" if type_ == "TIMESTAMP_LTZ(3)" else f"CAST({text} AS {type_})"


def _mode(name: str) -> ChangelogMode:
    if name == "upsert":
        # With whole rows in deletes, as in our sources.
        return ChangelogMode(get_gateway().jvm.org.apache.flink.table.connector.ChangelogMode.upsert(False))
    return ChangelogMode.all() if name == "all" else ChangelogMode.insert_only()


def _plain(value: Any) -> Any:
    """A Java value in the form of the conformance cases: times in epoch ms, decimals as text, maps as sorted pairs."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            # By entry: a lookup by key would convert an int to an Integer, not to a Long.
            java: Any = value
            pairs = [[_plain(entry.getKey()), _plain(entry.getValue())] for entry in java.entrySet()]
            return sorted(pairs, key=lambda pair: (pair[0] is not None, str(type(pair[0])), pair[0]))
        case Sequence():
            return [_plain(element) for element in value]
    match value.getClass().getSimpleName():
        case "LocalDateTime":
            return value.toInstant(get_gateway().jvm.java.time.ZoneOffset.UTC).toEpochMilli()
        case "Instant":
            return value.toEpochMilli()
        case "BigDecimal":
            return value.toPlainString()
        case "Row":
            return [_plain(value.getField(at)) for at in range(value.getArity())]
    return value.toString()


def main() -> None:
    """Run the batches of stdin one after the other, in one JVM."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answers(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
