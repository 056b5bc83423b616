"""Spark's types as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.model.type_texts import spark_type
from engine.model.types import Array, Map, Row, Type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def type_of_data(type_: DataType) -> Type:
    """The type of a column of Spark's."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    # Spark's own text has no quotes around the names of fields.
    if isinstance(type_, StructType):
        return Row(tuple((field.name, type_of_data(field.dataType)) for field in type_.fields))
    if isinstance(type_, ArrayType):
        return Array(type_of_data(type_.elementType))
    if isinstance(type_, MapType):
        return Map(type_of_data(type_.keyType), type_of_data(type_.valueType))
    return spark_type(type_.simpleString())
