"""Manually entered rows: for examples, tests and experiments.

Input: the document's own `rows`, one by one in order of arrival. An item is a list of values, an object
by column name, or `{"watermark": ms}`, an event that only moves the watermark ("max": the end of time).
Output: insert-only; with `changelog` each row starts with its kind (`["-U", ...]`, or `"kind"` in an
object), and all kinds are possible. A row that does not fit is rejected; its line is its number, from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa

from engine.contract.derived import Derived
from engine.contract.frames import KIND, WATERMARK
from engine.contract.parameters import Parameters, parameter
from engine.contract.scan import ReadPart, Rejected, Scan
from engine.contract.source import PrimaryKey, Source, TypedColumn
from engine.errors import PipelineError, unknown_name
from engine.model.changelog import INSERT, SYMBOLS, UpdateKind
from engine.model.free_names import free_name
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.timeline import MAX_WATERMARK
from engine.model.types import STRING, quote
from engine.reading.documents.document_values import MAX_EVENT_TIME_MS, MIN_EVENT_TIME_MS, OUT_OF_RANGE, Unfit, coerce
from engine.reading.flink_table import create_table, from_changelog, row_sql, rows_above
from engine.reading.typed.casts import has_times
from engine.reading.typed.columns import check_names, column_of, derive_source
from engine.reading.typed.typed_rows import RowTypes

_RAW_CHARS: Final = 500


class StandsFor(Parameters):
    """A table of a script whose connector is not read: its options, and by column the metadata of its messages."""

    options: dict[str, str] = parameter("Options", "As in WITH (...), without passwords.")
    metadata: dict[str, str] = parameter("Metadata", "The key of each metadata column.", default_factory=dict)


class Rows(Source):
    """Manually entered rows."""

    operator: ClassVar[str] = "rows"
    title: ClassVar[str] = "Rows"
    summary: ClassVar[str] = "Rows typed in by hand, in order of arrival."

    columns: tuple[TypedColumn, ...] = parameter("Columns", "Names and types of the columns, in order.", default=())
    rows: tuple[list[Any] | dict[str, Any], ...] = parameter(
        "Rows",
        'The rows, in order of arrival. {"watermark": ms} advances the watermark. A number in a timestamp '
        "column is epoch ms.",
        default=(),
    )
    changelog: bool = parameter(
        "Rows carry their kind", "Each row starts with +I, -U, +U or -D. Otherwise all rows are +I.", default=False
    )
    updates_by_key: bool = parameter(
        "Updates come without -U",
        "If rows carry their kind: a +I or +U replaces the row of its primary key (an upsert source).",
        default=False,
    )
    primary_key: PrimaryKey = ()

    in_query: bool = parameter(
        "VALUES in a query",
        "In SQL: the rows stand in a query, not in a table. Flink's plan does not know that they never "
        "change, so that a Top N by a COUNT of them retracts its rows.",
        default=False,
        last=True,
    )
    stands_for: StandsFor | None = parameter(
        "Stands for", "The table of a script for which the rows are used.", default=None, hidden=True
    )

    @property
    def instead_of(self) -> Mapping[str, str] | None:
        """The options of the table of a script, if there is one."""
        return self.stands_for.options if self.stands_for is not None else None

    @property
    def is_known_steady(self) -> bool:
        """Not as VALUES. Source: Flink FlinkRelMdModifiedMonotonicity."""
        return not self.in_query

    @property
    def update_kind(self) -> UpdateKind:
        """Only +U if updates are by key, else -U and +U."""
        return UpdateKind.ONLY_UPDATE_AFTER if self.updates_by_key else UpdateKind.BEFORE_AND_AFTER

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        check_names([column.name for column in self.columns], node, "columns")
        columns = [column_of(column.name, column.type, node, "columns") for column in self.columns]
        return derive_source(self, node, columns, self.primary_key, self.changelog)

    def scan(self, node: str, folder: Path) -> Scan:
        """The rows as typed values, and the rejected ones."""
        schema = self.derive(node, folder).schema
        records: list[list[Any]] = []
        given: list[list[Any]] = []
        lines: list[int] = []
        rejected: list[Rejected] = []
        for line, item in enumerate(self.rows, start=1):
            try:
                record, values = self._record(item, schema, node)
                records.append(record)
                given.append(values)
                lines.append(line)
            except Unfit as error:
                raw = json.dumps(item, ensure_ascii=False)[:_RAW_CHARS]
                rejected.append(Rejected(node, line, raw, str(error)))
        has_marks = any(record[0] is None for record in records)
        fields = [(KIND, pa.int8()), (WATERMARK, pa.int64())]
        fields += [(column.name, column.type.arrow) for column in schema]
        columns = zip(*records, strict=True) if records else [()] * len(fields)
        arrays = [pa.array(values, type_) for values, (_, type_) in zip(columns, fields, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        part = ReadPart(batch, node, lines, rejected, cut=_cut(given, schema))
        return Scan((part,), _itself, has_marks=has_marks)

    @property
    def metadata_keys(self) -> Mapping[str, str]:
        """Those of the table for which its rows stand."""
        return {} if self.stands_for is None else self.stands_for.metadata

    def rows_about(self, node: str, folder: Path) -> int:
        """Their number."""
        return len(self.rows)

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Rows:
        """The first rows."""
        return self.model_copy(update={"rows": self.rows[:rows]})

    def flink_sql(self, node: str, schema: Schema) -> str:
        """A file table into which the script inserts the rows; with kinds, it is read as a changelog.

        Without rows there is no file that Flink could read; its generator of none needs no file. Where the rows stand
        for a table, it is that table: the script has its rows in comments.
        """
        if self.stands_for is not None:
            table = create_table(node, schema, self, self.stands_for.options, self.primary_key)
            return rows_above(self.rows) + table
        read = Schema(tuple(column for column in schema if column.name in [spec.name for spec in self.columns]))
        rows = [self._sql(item, read) for item in self.rows]
        lost = sum(row is None for row in rows)
        note = (
            (f"-- {lost} of the rows cannot be written in SQL: watermarks, or values that do not fit.\n")
            if lost
            else ""
        )
        values = ",\n".join(f"  {row}" for row in rows if row is not None)
        file = {"connector": "filesystem", "path": f"{node}-rows", "format": "json"}
        options = file if values else {"connector": "datagen", "number-of-rows": "0"}
        if not self.changelog:
            table = create_table(node, schema, self, options, self.primary_key)
            return f"{note}{table}" + (f";\n\nINSERT INTO {quote(node)} VALUES\n{values}" if values else "")
        kind = free_name("kind", schema.names)
        keys = self.primary_key if self.updates_by_key else ()
        table, _, view = from_changelog(node, schema, self, options, kind, keys).partition(";\n\n")
        insert = f"INSERT INTO {quote(f'{node} rows')} VALUES\n{values};\n\n" if values else ""
        return f"{note}{table};\n\n{insert}{view}"

    def _sql(self, item: list[Any] | dict[str, Any], schema: Schema) -> str | None:
        """A row for VALUES; None for a watermark or a row that does not fit."""
        try:
            kind, values = self._kind_and_values(item, schema)
        except Unfit:
            return None
        types = [column.type for column in schema]
        return row_sql([SYMBOLS[kind], *values], [STRING, *types]) if self.changelog else row_sql(values, types)

    def _record(self, item: list[Any] | dict[str, Any], schema: Schema, node: str) -> tuple[list[Any], list[Any]]:
        """Kind, watermark and values of one item, and the values as given. Raises Unfit with the reason."""
        if isinstance(item, dict) and set(item) == {"watermark"} and "watermark" not in schema:
            nothing = [None] * len(schema)
            return [None, _watermark(item["watermark"], node), *nothing], nothing
        kind, values = self._kind_and_values(item, schema)
        row = [_value(value, column) for value, column in zip(values, schema, strict=True)]
        return [kind, None, *row], values

    def _kind_and_values(self, item: list[Any] | dict[str, Any], schema: Schema) -> tuple[int, list[Any]]:
        kind: Any = SYMBOLS[INSERT]
        if isinstance(item, dict):
            fields = dict(item)
            if self.changelog:
                kind = fields.pop("kind", None)
            if unknown := [name for name in fields if name not in schema]:
                message = unknown_name("column", unknown[0], schema.names)
                raise Unfit(message)
            values = [fields.get(name) for name in schema.names]
        else:
            values = list(item)
            if self.changelog:
                kind = values.pop(0) if values else None
            if len(values) != len(schema):
                message = f"{len(values)} values for {len(schema)} columns ({', '.join(schema.names)})"
                raise Unfit(message)
        if kind not in SYMBOLS:
            message = f"the row starts with {json.dumps(kind)}, which is not a row kind; use {', '.join(SYMBOLS)}"
            raise Unfit(message)
        return SYMBOLS.index(kind), values


def _itself(part: ReadPart) -> Iterator[ReadPart]:
    yield part


def _cut(rows: Sequence[Sequence[Any]], schema: Schema) -> dict[str, int]:
    """By column, how many values of these rows lose digits beyond microseconds."""
    timed = [(at, column) for at, column in enumerate(schema) if has_times(column.type)]
    texts = [
        pa.array([json.dumps(row[at]) if isinstance(row[at], str | list | dict) else None for row in rows], pa.string())
        for at, _ in timed
    ]
    return RowTypes(tuple(column for _, column in timed)).cut(texts)


def _value(value: Any, column: Column) -> Any:
    try:
        coerced = coerce(value, column.type)
    except Unfit as error:
        message = f"column {column.name!r}: {json.dumps(value, ensure_ascii=False)} {error}"
        raise Unfit(message) from error
    if coerced is None and column.time is not None:
        message = f"column {column.name!r}: the event time is null"
        raise Unfit(message)
    if isinstance(coerced, int) and column.time in (TimeUnit.EPOCH_MS, TimeUnit.EPOCH_S):
        ms = coerced * 1000 if column.time is TimeUnit.EPOCH_S else coerced
        if not MIN_EVENT_TIME_MS <= ms <= MAX_EVENT_TIME_MS:
            message = f"column {column.name!r}: {json.dumps(value)} {OUT_OF_RANGE}"
            raise Unfit(message)
    return coerced


def _watermark(value: Any, node: str) -> int:
    if value == "max":
        return MAX_WATERMARK
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    message = f'rows: a watermark is a number of ms or "max", not {json.dumps(value)}.'
    raise PipelineError(message, node, "rows")


SOURCE = Rows
