"""Tables of a script as nodes: the source of a table's connector and format, a sink, or rows.

A source says which tables it reads, and how (`Source.from_table`). A table into which the script inserts VALUES becomes
a source of these rows, whatever its connector; so does one that nothing here reads, whose rows can be entered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from engine.contract.declared_table import ReadTable
from engine.contract.operator import Analyzer
from engine.contract.source import Source
from engine.errors import OutOfReach, SourceError, SourceMissing, StudioError, unknown_name
from engine.expressions.flink_sql import flink
from engine.model.pipeline import Node
from engine.model.schema import Column, Schema
from engine.model.types import INTEGERS, STRING
from engine.operators.sink import Sink
from engine.reading.files.buckets import is_bucket
from engine.reading.flink_table import with_watermarks
from engine.reading.tables.jdbc import kind_in
from engine.registry import configured, connectors
from engine.script.computed_columns import computed_columns
from engine.script.inserted_rows import rows_of, stand_in, with_metadata
from engine.script.known_options import require_known_options
from engine.script.recorded_clock import START_MS, proctimes_of
from engine.script.tables import TableDdl, filled
from engine.sources.rows import Rows

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
    if name not in connectors():
        near = get_close_matches(name, connectors(), n=1, cutoff=0.8)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        return f"the connector {name!r} is not read here (available: {', '.join(connectors())}).{meant}"
    formats = (ddl.options.get(option) for option in ("value.format", "format", "key.format"))
    unread = next((format_ for format_ in formats if format_ in _UNREAD_FORMATS), None)
    return None if unread is None else f"the format {unread!r} is not read here."


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
    options, waiting = with_watermarks(ddl)
    ddl = replace(ddl, options=options)
    if (ddl.connector, options.get("number-of-rows")) == ("datagen", "0"):
        rows = []
    entered = ddl.statement.directives.get("rows")
    if rows is not None and entered is None:
        ddl, rows = with_metadata(ddl, rows, clock_ms)
    if kind_column is not None:
        ddl, rows = _without_kinds(ddl, kind_column, rows)
    cls: type[Source] = Rows
    if entered is not None:
        ddl, parameters = stand_in(ddl, clock_ms)
        parameters["rows"] = entered
    elif rows is not None:
        parameters = rows_of(ddl, rows)
    elif isinstance(found := why_not or why_unread(ddl) or _source_of(ddl, folder), str):
        ddl, parameters = stand_in(ddl, clock_ms)
        warnings.append(f"{ddl.name}: {found} {INSTEAD}")
    else:
        cls, ddl, parameters = found, *_read(found, ddl, warnings)
        if "types" in cls.model_fields and "fixed_columns" not in parameters:
            parameters |= _types(ddl, cls.operator, parameters, node_id, folder)
    if kind_column is not None:
        if cls is not Rows and "kind_column" not in cls.model_fields:
            where = cls.operator if cls.addresses() else ddl.connector
            message = f"{where} cannot take the row kind from a column. Use the table itself."
            raise ddl.rejected(message)
        parameters |= {"changelog": True} if cls is Rows else {"kind_column": kind_column}
    parameters |= waiting
    proctime = proctimes_of(ddl)
    schema = Schema((*ddl.columns, *(Column(column.name, column.type) for column in ddl.metadata)))
    computed = computed_columns(ddl, node_id, analyzer, schema)
    if computed:
        parameters["computed"] = [
            {"name": name, "expression": flink(value.flink) if value.is_flink else value}
            for name, value in computed.items()
        ]
    if ddl.watermark is not None:
        parameters |= {"event_time": ddl.watermark.column, "watermark_delay_ms": ddl.watermark.delay_ms}
        _require_time(ddl, ddl.watermark.column)
    if ddl.start_ms not in (None, START_MS) and "start_ms" in cls.model_fields:
        parameters["start_ms"] = ddl.start_ms
    if ddl.primary_key and "primary_key" in cls.model_fields:
        parameters["primary_key"] = ddl.primary_key
    node = Node(id=node_id, operator=cls.operator, parameters=parameters)
    _check(node, ddl, folder)
    names = [
        *(column.name for column in ddl.columns if column.name != kind_column),
        *(column.name for column in ddl.metadata),
        *(column.name for column in ddl.computed),
    ]
    # A clock that only other columns are computed of is not among the table's columns.
    names = sorted((name for name in names if name in ddl.order), key=ddl.order.index)
    return SourceTable(node, tuple(name for name in names if name not in proctime), proctime, tuple(warnings))


def _source_of(ddl: TableDdl, folder: Path) -> type[Source] | str:
    """The source that reads a table, or why none does. Raises SqlRejected."""
    sources: Sequence[type[Source]] = connectors()[ddl.connector]
    if any(source.table_format for source in sources):
        sources = _of_format(ddl, sources)
    if (cls := next((source for source in sources if source.takes(ddl, folder)), None)) is not None:
        return cls
    known = " or ".join(f"'{address}'" for source in sources for address in source.addresses())
    if not (url := ddl.options.get("url", "")):
        message = f"'url' is missing: 'url' = {known}."
        raise ddl.rejected(message)
    # The rest of it may have a password.
    return f"the URL 'jdbc:{kind_in(url)}:...' is not read here (available: {known})."


def _of_format(ddl: TableDdl, sources: Sequence[type[Source]]) -> Sequence[type[Source]]:
    """The sources for the format of a table. Raises SqlRejected."""
    format_ = ddl.options.get("format", "")
    if any(source.table_format == format_ for source in sources):
        return [source for source in sources if source.table_format == format_]
    known = f"Available: {', '.join(dict.fromkeys(source.table_format for source in sources))}."
    if not format_:
        message = f"'format' is missing: 'format' = 'csv'. {known}"
        raise ddl.rejected(message)
    message = f"the format {format_!r} is not supported. {known}"
    raise ddl.rejected(message)


def _read(cls: type[Source], ddl: TableDdl, warnings: list[str]) -> tuple[TableDdl, dict[str, Any]]:
    """The parameters of a source, and the table with the metadata that it has. Raises SqlRejected."""
    table: ReadTable = cls.from_table(ddl)
    warnings[:0] = [
        f"{ddl.name}: the metadata column {column.name} is ignored{cls.other_metadata}."
        for column in ddl.metadata
        if column.name not in table.told
    ]
    warnings += table.notes
    computed = (*map(filled, table.filled), *ddl.computed)
    return replace(ddl, metadata=table.metadata, computed=computed), dict(table.parameters)


def _require_time(ddl: TableDdl, name: str) -> None:
    """Raise SqlRejected for an event time that is a number or a text."""
    type_ = next((column.type for column in ddl.columns if column.name == name), None)
    if type_ is not None and (type_ in INTEGERS or type_ == STRING):
        what = "a text" if type_ == STRING else "a number"
        time = f"TO_TIMESTAMP({name})" if type_ == STRING else f"TO_TIMESTAMP_LTZ({name}, 3)"
        advice = f"Compute a timestamp of it: {name}_time AS {time}, and WATERMARK FOR that."
        message = f"the event time {name} is {what}. {advice}"
        raise ddl.rejected(message)


def sink_parameters(ddl: TableDdl) -> dict[str, Any]:
    """The parameters of a table as a sink. Raises SqlRejected."""
    require_known_options(ddl)
    return Sink.from_table(ddl)


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
