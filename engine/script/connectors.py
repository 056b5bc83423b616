"""Tables of a script as nodes: sources over files, servers or generated rows, or sinks.

    filesystem   csv, json, parquet, avro, excel, debezium-json, canal-json, maxwell-json; paths relative to the script
    jdbc         a table of a database (`engine.script.jdbc_tables`)
    datagen      generated rows
    faker        made-up rows (`engine.script.faker_tables`)
    kafka, upsert-kafka          topics (`engine.script.kafka_tables`)
    postgres-cdc                 changes of a table (`engine.script.postgres_tables`)
    filesystem, jdbc, topics, as sinks   what live runs can write (`engine.script.sink_tables`), switched off
    print, blackhole, kafka, ... as sinks: nothing is sent; only the changelog that a sink accepts matters

A table into which the script inserts VALUES becomes a source of these rows, whatever its connector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from engine.contract.operator import Analyzer
from engine.contract.source import Source
from engine.errors import OutOfReach, SourceError, SourceMissing, StudioError, unknown_name
from engine.expressions.flink_sql import flink
from engine.model.options import milliseconds
from engine.model.pipeline import Node
from engine.model.schema import Column, Schema
from engine.model.types import INTEGERS, STRING
from engine.reading.files.buckets import is_bucket
from engine.reading.files.web import is_web
from engine.reading.flink_table import ALIGNMENT_DRIFT, ALIGNMENT_GROUP, ALIGNMENT_INTERVAL, IDLE_TIMEOUT
from engine.reading.recorded import is_recording
from engine.registry import configured
from engine.script.avro_tables import avro_options
from engine.script.computed_columns import computed_columns
from engine.script.datagen_tables import generated
from engine.script.faker_tables import CONNECTOR as FAKER
from engine.script.faker_tables import faked
from engine.script.file_facts import with_file_facts
from engine.script.inserted_rows import rows_of, stand_in, with_metadata
from engine.script.jdbc_tables import CONNECTOR as JDBC
from engine.script.jdbc_tables import jdbc_table, why_elsewhere
from engine.script.kafka_tables import TOPICS, topics, with_casts
from engine.script.known_options import require_known_options
from engine.script.postgres_tables import CONNECTOR, changes, with_constants
from engine.script.recorded_clock import START_MS, proctimes_of
from engine.script.sink_tables import target_of
from engine.script.tables import NOT_READ, TableDdl
from engine.sources.recording import Recording

FORMATS: Final = {
    "csv": "csv",
    "json": "jsonl",
    "parquet": "parquet",
    "avro": "avro",
    "excel": "excel",
    "debezium-json": "debezium_json",
    "canal-json": "canal_json",
    "maxwell-json": "maxwell_json",
}
_CSV: Final = {"csv.field-delimiter": "separator", "csv.quote-character": "quote", "csv.null-literal": "null_text"}
_OF_NO_MATTER: Final = re.compile(
    r"(source|sink|scan|auto-compaction|compaction|partition)\..*|.*\.(ignore-parse-errors|fail-on-missing-field"
    r"|timestamp-format\.standard|allow-comments|encode\..*|map-null-key\..*)"
)
_NO_KINDS: Final = "{} cannot take the row kind from a column. Use the table itself."
_WATCH: Final = "source.monitor-interval"
_NOT_WATCHED: Final = ("parquet", "avro", "excel")
_WAITING: Final = {
    IDLE_TIMEOUT: "idle_timeout_ms",
    ALIGNMENT_GROUP: "alignment_group",
    ALIGNMENT_DRIFT: "alignment_drift_ms",
    ALIGNMENT_INTERVAL: "alignment_interval_ms",
}
_CHANGELOG_FORMATS: Final = ("debezium-json", "debezium-avro-confluent", "canal-json", "maxwell-json", "ogg-json")
_SERVED: Final[Mapping[str, Callable[[TableDdl, list[str]], tuple[str, dict[str, Any]]]]] = {
    **dict.fromkeys(TOPICS, topics),
    CONNECTOR: changes,
    FAKER: faked,
}
CONNECTORS: Final = ("filesystem", JDBC, "datagen", *_SERVED)
INSTEAD: Final = "The table has no rows until you enter some in its node, or the script inserts them by VALUES."
# The last three are Confluent's.
_UNREAD_FORMATS: Final = ("orc", "protobuf", "ogg-json", "json-registry", "avro-registry", "proto-registry")
# Comments above a table that tell its node.
_OF_A_NODE: Final = ("node", "parameters")


_OLD: Final = "connector.type"


def why_unread(ddl: TableDdl) -> str | None:
    """Why a table has no source here; None if it has one. Raises SqlRejected for a slip in the word connector."""
    name = ddl.options.get("connector", "")
    if not name and _OLD in ddl.options:
        return (
            f"Flink would refuse this: {_OLD!r} is an option of Flink 1.10. Write 'connector' = "
            f"{ddl.options[_OLD]!r}, and the other options as Flink has them now."
        )
    if not name:
        if near := get_close_matches("connector", ddl.options, n=1):
            message = f"'connector' is missing. Is {near[0]!r} meant to be it?"
            raise ddl.rejected(message)
        return "it names no 'connector' (Confluent's tables need none)."
    if name not in CONNECTORS:
        near = get_close_matches(name, CONNECTORS, n=1, cutoff=0.8)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        return f"the connector {name!r} is not read here (available: {', '.join(CONNECTORS)}).{meant}"
    if name == JDBC:
        return why_elsewhere(ddl)
    format_ = ddl.options.get("value.format", ddl.options.get("format"))
    key = ddl.options.get("key.format")
    for format_name in (format_, key):
        if format_name in _UNREAD_FORMATS and name in (*TOPICS, "filesystem"):
            return f"the format {format_name!r} is not read here."
    return None


@dataclass(frozen=True)
class SourceTable:
    """A source node. columns: visible to queries, in the declared order. proctime: the processing-time columns."""

    node: Node
    columns: tuple[str, ...]
    proctime: tuple[str, ...]
    warnings: tuple[str, ...]

    def by_arrival(self, column: str, *, only_clock: bool) -> SourceTable:
        """The source with a column of arrival times as its event time, instead of any other event time.

        only_clock: the clock of the pipeline goes by it, and the event time stays as it is.
        """
        if only_clock:
            return replace(self, node=self.node.with_parameters({**self.node.parameters, "arrival_column": column}))
        parameters = {name: value for name, value in self.node.parameters.items() if name != "watermark_delay_ms"}
        parameters |= {"event_time": column, "processing_time": True}
        return replace(self, node=self.node.with_parameters(parameters))


def source_table(
    ddl: TableDdl,
    node_id: str,
    folder: Path,
    analyzer: Analyzer,
    rows: list[list[Any]] | None,
    kind_column: str | None = None,
    clock_ms: int = START_MS,
) -> SourceTable:
    """The source of a table. rows: inserted by the script at clock_ms. kind_column: the kinds of a changelog.

    Rows in a comment above the table stand for what its connector would read. A table whose file is not here, or whose
    place is none, has no rows until some are entered. Raises SqlRejected.
    """
    try:
        return _source_table(ddl, node_id, folder, analyzer, rows, kind_column, clock_ms, None)
    except SourceError as error:
        # A node of the studio is what it is.
        if not ddl.statement.directives.keys().isdisjoint(_OF_A_NODE):
            raise ddl.rejected(error.sentence) from error
        why, path = error.sentence, ddl.options.get("path", "")
        if isinstance(error, SourceMissing):
            is_anywhere = Path(path).is_absolute()
            where = "on this machine" if is_anywhere else f"in {folder.absolute()}: put it there, or give its full path"
            why = f"there is no file {path} {where}."
        return _source_table(ddl, node_id, folder, analyzer, rows, kind_column, clock_ms, why)


def _source_table(
    ddl: TableDdl,
    node_id: str,
    folder: Path,
    analyzer: Analyzer,
    rows: list[list[Any]] | None,
    kind_column: str | None,
    clock_ms: int,
    why_not: str | None,
) -> SourceTable:
    """The same. why_not: why what its connector reads is not here. Raises SourceError and SqlRejected."""
    require_known_options(ddl)
    warnings: list[str] = list(ddl.warnings)
    waiting = _waiting(ddl)
    ddl = replace(ddl, options={name: text for name, text in ddl.options.items() if name not in _WAITING})
    if (ddl.connector, ddl.options.get("number-of-rows")) == ("datagen", "0"):
        rows = []
    entered = ddl.statement.directives.get("rows")
    if rows is not None and entered is None:
        ddl, rows = with_metadata(ddl, rows, clock_ms)
    if kind_column is not None:
        ddl, rows = _without_kinds(ddl, kind_column, rows)
    if entered is not None:
        operator, (ddl, parameters) = "rows", stand_in(ddl, clock_ms)
        parameters["rows"] = entered
    elif rows is not None:
        operator, parameters = "rows", rows_of(ddl, rows)
    elif (why := why_not or why_unread(ddl)) is not None:
        operator, (ddl, parameters) = "rows", stand_in(ddl, clock_ms)
        warnings.append(f"{ddl.name}: {why} {INSTEAD}")
    elif ddl.connector == "datagen" and kind_column is None:
        operator, parameters = "datagen", generated(ddl, warnings)
    elif ddl.connector == "filesystem":
        ddl = with_file_facts(ddl, warnings)
        operator, parameters = _file(ddl, node_id, folder, warnings)
    elif ddl.connector == JDBC:
        operator, parameters = jdbc_table(ddl, warnings)
        if "path" in parameters:
            parameters |= _types(ddl, operator, parameters, node_id, folder)
        elif kind_column is not None:
            raise ddl.rejected(_NO_KINDS.format(operator))
    elif ddl.connector in _SERVED and kind_column is None:
        ddl = with_casts(ddl, warnings) if ddl.connector in TOPICS else ddl
        ddl = with_constants(ddl, warnings) if ddl.connector == CONNECTOR else ddl
        operator, parameters = _SERVED[ddl.connector](ddl, warnings)
    else:
        raise ddl.rejected(_NO_KINDS.format(ddl.connector))
    metadata = ddl.metadata if "metadata" in parameters else ()
    if not metadata:
        warnings[:0] = [
            f"{ddl.name}: the metadata column {column.name} is ignored; its connector has no metadata here."
            for column in ddl.metadata
        ]
    if kind_column is not None:
        parameters |= {"changelog": True} if operator == "rows" else {"kind_column": kind_column}
    parameters |= waiting
    proctime = proctimes_of(ddl)
    schema = Schema((*ddl.columns, *(Column(column.name, column.type) for column in metadata)))
    computed = computed_columns(ddl, node_id, analyzer, schema)
    if computed:
        parameters["computed"] = [
            {"name": name, "expression": flink(value.flink) if value.is_flink else value}
            for name, value in computed.items()
        ]
    if ddl.watermark is not None:
        parameters |= {"event_time": ddl.watermark.column, "watermark_delay_ms": ddl.watermark.delay_ms}
        column = next((candidate for candidate in ddl.columns if candidate.name == ddl.watermark.column), None)
        if column is not None and column.type in INTEGERS:
            message = (
                f"the event time {column.name} is a number. Compute a timestamp of it: {column.name}_time AS "
                f"TO_TIMESTAMP_LTZ({column.name}, 3), and WATERMARK FOR that."
            )
            raise ddl.rejected(message)
        if column is not None and column.type == STRING:
            message = (
                f"the event time {column.name} is a text. Compute a timestamp of it: {column.name}_time AS "
                f"TO_TIMESTAMP({column.name}), and WATERMARK FOR that."
            )
            raise ddl.rejected(message)
    elif operator == "generator":
        parameters["event_time"] = None
    if ddl.start_ms not in (None, START_MS):
        parameters["start_ms"] = ddl.start_ms
    if ddl.primary_key and operator not in ("datagen", FAKER):
        parameters["primary_key"] = ddl.primary_key
    node = Node(id=node_id, operator=operator, parameters=parameters)
    _check(node, ddl, folder)
    names = [
        *(column.name for column in ddl.columns if column.name != kind_column),
        *(column.name for column in metadata),
        *(column.name for column in ddl.computed),
    ]
    # A clock that only other columns are computed of is not among the table's columns.
    names = sorted((name for name in names if name in ddl.order), key=ddl.order.index)
    return SourceTable(node, tuple(name for name in names if name not in proctime), proctime, tuple(warnings))


def _waiting(ddl: TableDdl) -> dict[str, Any]:
    """The idle timeout and the watermark alignment of a source."""
    parameters: dict[str, Any] = {}
    for option, name in _WAITING.items():
        text = ddl.options.get(option)
        if text is None:
            continue
        parameters[name] = text if option == ALIGNMENT_GROUP else milliseconds(text)
        if parameters[name] is None:
            message = f"the option {option!r} is a time such as 5 s, not {text!r}."
            raise ddl.rejected(message)
    return parameters


def sink_parameters(ddl: TableDdl) -> dict[str, Any]:
    """The sink's mode for a table: upserts by its key, a changelog, or appended rows; and where it writes.

    Raises SqlRejected.
    """
    require_known_options(ddl)
    if ddl.primary_key:
        return {"mode": "upsert", "keys": ddl.primary_key, **target_of(ddl)}
    # Sinks of Flink 1.10 take the key of the query.
    if ddl.connector in ("", *NOT_READ) or _OLD in ddl.options or ddl.options.get("format") in _CHANGELOG_FORMATS:
        return {"mode": "changelog", **target_of(ddl)}
    return {"mode": "append", **target_of(ddl)}


def _without_kinds(
    ddl: TableDdl, kind_column: str, rows: list[list[Any]] | None
) -> tuple[TableDdl, list[list[Any]] | None]:
    """The table without its kind column, and its rows with the kind as first value."""
    names = [column.name for column in ddl.columns]
    if kind_column not in names:
        message = f"kind column: {unknown_name('column', kind_column, names)}."
        raise ddl.rejected(message)
    if rows is None:
        return ddl, None
    at = names.index(kind_column)
    moved = [[row[at], *row[:at], *row[at + 1 :]] for row in rows]
    return replace(ddl, columns=tuple(column for column in ddl.columns if column.name != kind_column)), moved


def _file(ddl: TableDdl, node_id: str, folder: Path, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    options = dict(ddl.options)
    options.pop("connector", None)
    path, format_ = options.pop("path", ""), options.pop("format", "")
    if not path:
        message = "'path' is missing: 'path' = 'rows.csv', relative to the script."
        raise ddl.rejected(message)
    if not format_:
        message = f"'format' is missing: 'format' = 'csv'. Available: {', '.join(FORMATS)}."
        raise ddl.rejected(message)
    if format_ not in FORMATS:
        message = f"the format {format_!r} is not supported. Available: {', '.join(FORMATS)}."
        raise ddl.rejected(message)
    operator = FORMATS[format_]
    parameters: dict[str, Any] = {"path": re.sub(r"^file:(//)?", "", path)}
    if operator == "csv":
        parameters |= {"header": False, "names": [column.name for column in ddl.columns]}
        parameters["empty_is_null"] = options.get("csv.null-literal") == ""
        parameters |= {name: options.pop(option) for option, name in _CSV.items() if option in options}
    elif operator == "excel":
        parameters |= {"table": options.pop("excel.sheet", ""), "header": options.pop("excel.header", "true") == "true"}
    elif operator == "avro":
        parameters |= {"legacy_timestamps": True} | avro_options(ddl, options, [("avro.", "avro")])
    if operator not in _NOT_WATCHED and (text := options.pop(_WATCH, None)) is not None:
        parameters["monitor_interval_ms"] = milliseconds(text)
        if not parameters["monitor_interval_ms"]:
            message = f"the option {_WATCH!r} is a time such as 5 s, not {text!r}."
            raise ddl.rejected(message)
    metadata = [{"name": column.name, "of": column.key} for column in ddl.metadata]
    if metadata and operator != "excel":
        parameters["metadata"] = metadata
    if "monitor_interval_ms" in parameters or is_web(path) or operator == "avro":
        # The declared columns are trusted: the files may not exist yet, and Avro has NULL where one has no such field.
        parameters |= {"types": {column.name: column.type.flink for column in ddl.columns}, "fixed_columns": True}
    warnings += ddl.ignored(option for option in options if not _OF_NO_MATTER.fullmatch(option))
    if operator == "parquet" and is_recording(folder / parameters["path"]):
        return Recording.operator, parameters
    if "fixed_columns" in parameters:
        return operator, parameters
    return operator, parameters | _types(ddl, operator, parameters, node_id, folder)


def _types(ddl: TableDdl, operator: str, parameters: dict[str, Any], node_id: str, folder: Path) -> dict[str, Any]:
    """The declared types that differ from the types inferred from the file."""
    declared = {column.name: column.type.flink for column in ddl.columns}
    try:
        source = configured(Node(id=node_id, operator=operator, parameters=parameters))
        assert isinstance(source, Source)
        inferred = {column.name: column.type.flink for column in source.derive(node_id, folder).schema}
    except StudioError as error:
        _pass_on(error, ddl)
        # An empty file, for example, has no types; other errors are reported for the whole node.
        inferred = {}
    types = {name: type_ for name, type_ in declared.items() if inferred.get(name) != type_}
    return {"types": types} if types else {}


def _check(node: Node, ddl: TableDdl, folder: Path) -> None:
    try:
        source = configured(node)
        assert isinstance(source, Source)
        source.derive(node.id, folder)
    except StudioError as error:
        _pass_on(error, ddl)
        raise ddl.rejected(error.sentence) from error


def _pass_on(error: StudioError, ddl: TableDdl) -> None:
    """Raise the error again if it says that the files are not here, or that their store does not give them."""
    is_away = isinstance(error, SourceError) and is_bucket(ddl.options.get("path", ""))
    if is_away or isinstance(error, (SourceMissing, OutOfReach)):
        raise error
