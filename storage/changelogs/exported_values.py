"""Instants in exported files, as SQL over a column, also within rows, arrays and maps.

    text       2024-03-10 06:59:00.5Z, as Flink's formats csv and json write a TIMESTAMP_LTZ in any time zone
    typed      TIMESTAMP WITH TIME ZONE

A TIMESTAMP has no zone and stays as it is stored. Source: Flink RowDataToJsonConverters, RowDataToCsvConverters.
"""

from __future__ import annotations

from typing import Final, Literal

from engine.model.type_texts import spark_type
from engine.model.types import Array, Map, Row, Type
from storage.database.sql import identifier, literal
from storage.model import EdgeColumn

Format = Literal["csv", "json", "debezium", "parquet", "duckdb", "sqlite"]
_TYPED: Final = ("parquet", "duckdb")


def exported(column: EdgeColumn, format_: Format) -> str:
    """The value of a column of an alias c."""
    return _value(f"c.{identifier(column.stored_as)}", spark_type(column.type), format_, 0)


def instant(micros: str, format_: Format) -> str:
    """An instant of microseconds as SQL."""
    return f"make_timestamptz({micros})" if format_ in _TYPED else f"make_timestamp({micros})::VARCHAR || 'Z'"


def _value(place: str, type_: Type, format_: Format, depth: int) -> str:
    if not type_.has_instants:
        return place
    variable = f"v{depth}"

    def part(place: str, type_: Type) -> str:
        return _value(place, type_, format_, depth + 1)

    match type_:
        case Array():
            return f"list_transform({place}, lambda {variable}: {part(variable, type_.element)})"
        case Map():
            key, value = part(f"{variable}.key", type_.key), part(f"{variable}.value", type_.value)
            entries = f"lambda {variable}: struct_pack(key := {key}, value := {value})"
            return f"map_from_entries(list_transform(map_entries({place}), {entries}))"
        case Row():
            fields = (
                f"{identifier(name)} := {part(f'struct_extract({place}, {literal(name)})', of)}"
                for name, of in type_.fields
            )
            return f"CASE WHEN {place} IS NOT NULL THEN struct_pack({', '.join(fields)}) END"
    return instant(f"epoch_us({place})", format_)
