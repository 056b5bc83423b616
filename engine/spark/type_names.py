"""Spark's types, under the names that schemas use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.model.row_types import row_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def type_name(type_: DataType) -> str:
    """A type in Spark's DDL; field names are in backticks, which Spark's own texts omit."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(type_, StructType):
        return row_type((field.name, type_name(field.dataType)) for field in type_.fields)
    if isinstance(type_, ArrayType):
        return f"array<{type_name(type_.elementType)}>"
    if isinstance(type_, MapType):
        return f"map<{type_name(type_.keyType)},{type_name(type_.valueType)}>"
    name: Any = type_.simpleString()
    return str(name)
