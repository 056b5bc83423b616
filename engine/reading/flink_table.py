"""A source as Flink SQL: CREATE TABLE with its event time, its watermark and its key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from engine.contract.declared_table import DeclaredTable
from engine.contract.source import Source
from engine.model.changelog import RowKind
from engine.model.durations import interval
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.types import (
    BOOLEAN,
    DATE,
    FLOATS,
    INTEGERS,
    MILLISECONDS,
    STRING,
    Decimal,
    Row,
    Time,
    Timestamp,
    Type,
    literal,
    quote,
)
from engine.reading.declared_options import DeclaredOptions
from engine.reading.typed.casts import moment_of
from engine.reading.typed.kinds import WORDS

_PLAIN_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_PLAIN_TIME_OF_DAY: Final = re.compile(r"\d\d:\d\d:\d\d(\.\d{1,3})?")
_PLAIN_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


def create_table(
    node: str,
    schema: Schema,
    source: Source,
    options: Mapping[str, str],
    primary_key: Sequence[str] = (),
    not_null: Sequence[str] = (),
) -> str:
    """The CREATE TABLE statement of a source.

    Flink's watermarks need a TIMESTAMP(3): an event time that counts ms or s gets a computed column
    `<name>_time` beside it.
    """
    keys, metadata = {*primary_key, *not_null}, source.metadata_keys
    computed = [column.name for column in source.computed]
    lines = [
        f"  {quote(column.name)} {column.type.flink}{' NOT NULL' if column.name in keys else ''}"
        + (f" METADATA FROM {literal(metadata[column.name])} VIRTUAL" if column.name in metadata else "")
        for column in schema
        if column.name not in computed
    ]
    lines += [f"  {quote(column.name)} AS {column.expression}" for column in source.computed]
    column = schema.event_time
    if column is not None:
        timed = quote(column.name)
        if column.time is not TimeUnit.TIMESTAMP:
            factor = " * 1000" if column.time is TimeUnit.EPOCH_S else ""
            timed = quote(f"{column.name}_time")
            lines.append(f"  {timed} AS TO_TIMESTAMP_LTZ({quote(column.name)}{factor}, 3)")
        lines.append(f"  WATERMARK FOR {timed} AS {timed} - {interval(source.watermark_delay_ms or 0)}")
    if primary_key:
        lines.append(f"  PRIMARY KEY ({', '.join(quote(name) for name in primary_key)}) NOT ENFORCED")
    settings = [f"  {literal(key)} = {literal(value)}" for key, value in {**options, **_watermarks(source)}.items()]
    columns = ",\n".join(lines)
    return f"CREATE TABLE {quote(node)} (\n{columns}\n) WITH (\n" + ",\n".join(settings) + "\n)"


_GROUP: Final = "scan.watermark.alignment.group"
_TIMES: Final = {
    "scan.watermark.idle-timeout": "idle_timeout_ms",
    "scan.watermark.alignment.max-drift": "alignment_drift_ms",
    "scan.watermark.alignment.update-interval": "alignment_interval_ms",
}


def with_watermarks(table: DeclaredTable) -> tuple[dict[str, str], dict[str, Any]]:
    """The options of a table without those of its watermarks, and these as parameters. Raises StudioError."""
    options = DeclaredOptions(table)
    times = {field: options.duration_ms(option) for option, field in _TIMES.items()}
    group = {"alignment_group": group} if (group := options.take(_GROUP)) else {}
    left = {name: text for name, text in table.options.items() if name == "connector" or name in options.left}
    return left, {**group, **{field: time_ms for field, time_ms in times.items() if time_ms is not None}}


def _watermarks(source: Source) -> dict[str, str]:
    """The watermark options of a source, besides WATERMARK FOR."""
    times = {option: getattr(source, field) for option, field in _TIMES.items()}
    group = {_GROUP: source.alignment_group} if source.alignment_group is not None else {}
    return group | {
        option: f"{time_ms} ms"
        for option, time_ms in times.items()
        if time_ms is not None and (group or "alignment" not in option)
    }


def from_changelog(
    node: str, schema: Schema, source: Source, options: Mapping[str, str], kind_column: str, upsert_key: Sequence[str]
) -> str:
    """A table of plain rows, its kind column first, and the view that reads them as a changelog.

    Flink's FROM_CHANGELOG does not support upserts, so with an upsert key the view has a comment for its reader.
    """
    rows = f"{node} rows"
    plain = create_table(rows, Schema((Column(kind_column, STRING), *schema)), source, options)
    words = {
        RowKind(kind).name: ", ".join(dict.fromkeys(form for word in spellings for form in (word.upper(), word)))
        for kind, spellings in WORDS.items()
    }
    pairs = ",\n".join(f"    {literal(text)}, {literal(kind)}" for kind, text in words.items())
    key = ", ".join(map(quote, upsert_key))
    note = f"-- Upserts by {key}: Flink replaces rows by their key in connectors such as upsert-kafka only.\n"
    return (
        f"{plain};\n\n{note if upsert_key else ''}CREATE VIEW {quote(node)} AS SELECT * FROM FROM_CHANGELOG(\n"
        f"  input => TABLE {quote(rows)},\n  op => DESCRIPTOR({quote(kind_column)}),\n"
        f"  op_mapping => MAP[\n{pairs}\n  ]\n)"
    )


def rows_above(rows: Sequence[Any]) -> str:
    """Comments above a table with the rows that stand for what its connector would read, a line for each."""
    lines = [json.dumps([row], ensure_ascii=False) for row in rows] or ["[]"]
    return "".join(f"-- studio.rows: {line}\n" for line in lines)


def row_sql(row: Sequence[Any], types: Sequence[Type]) -> str | None:
    """A row for VALUES; None where a value has no literal."""
    items = [_literal(value, type_) for value, type_ in zip(row, types, strict=True)]
    return None if any(item is None for item in items) else f"({', '.join(item or '' for item in items)})"


def _literal(value: Any, type_: Type) -> str | None:
    name = type_.flink
    if isinstance(type_, Row) and isinstance(value, dict | list):
        return _row_literal(value, type_, name)
    match value:
        case None:
            return f"CAST(NULL AS {name})"
        case bool():
            return str(value).upper() if type_ == BOOLEAN else None
        case int() if type_.is_instant:
            return f"TO_TIMESTAMP_LTZ({value}, 3)"
        case int() if isinstance(type_, Timestamp):
            return _moment(value)
        case int() if type_ in INTEGERS or isinstance(type_, Decimal):
            return str(value)
        case int() | float() if type_ in FLOATS:
            return f"CAST({value!r} AS {name})"
        case str() if type_ == STRING:
            return literal(value) if "\n" not in value else None
        case str() if isinstance(type_, Timestamp) and _PLAIN_TIME.fullmatch(value):
            if not type_.is_instant:
                return f"TIMESTAMP {literal(value)}"
            # Of UTC in any time zone, which CAST is not. A text has milliseconds there.
            is_finer = len(value.partition(".")[2]) > MILLISECONDS
            return f"TO_TIMESTAMP_LTZ({moment_of(value)}, 6)" if is_finer else f"TO_TIMESTAMP_LTZ({literal(value)})"
        case str() if type_ == DATE and _PLAIN_DATE.fullmatch(value):
            return f"DATE {literal(value)}"
        case str() if isinstance(type_, Time) and _PLAIN_TIME_OF_DAY.fullmatch(value):
            return f"CAST(TIME {literal(value)} AS {name})"
        case str() if isinstance(type_, Decimal) or type_ in FLOATS:
            return f"CAST({literal(value)} AS {name})"
    return None


def _moment(ms: int) -> str | None:
    try:
        moment = datetime(1970, 1, 1) + timedelta(milliseconds=ms)  # noqa: DTZ001 - a TIMESTAMP has no zone
    except OverflowError:
        return None
    return f"TIMESTAMP '{moment.isoformat(' ', 'milliseconds')}'"


def _row_literal(value: dict[str, Any] | list[Any], type_: Row, name: str) -> str | None:
    fields = type_.fields
    values = [value.get(field) for field, _ in fields] if isinstance(value, dict) else value
    if len(values) != len(fields):
        return None
    items = [_literal(item, inner) for item, (_, inner) in zip(values, fields, strict=True)]
    return None if None in items else f"CAST(ROW({', '.join(item or '' for item in items)}) AS {name})"
