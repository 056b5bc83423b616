"""What Spark itself says of expressions, in a few large questions.

Types are known without Spark (`engine.expressions.inference`); `test_inference` compares them with Spark's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.model.schema import Schema
from engine.model.spark_types import type_of_data
from engine.spark.conditions import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOGETHER = 200


def _without_rows(spark: SparkSession, schema: Schema) -> DataFrame:
    """A frame with these columns. Unlike `createDataFrame`, it asks the server nothing: a quarter of a question."""
    from pyspark.sql import functions

    columns = (functions.lit(None).cast(str(column.type)).alias(column.name) for column in schema)
    return spark.range(0).select(*columns)


def types_on(spark: SparkSession, schema: Schema, expressions: Sequence[str]) -> dict[str, str]:
    """By expression, its type in Spark, or why Spark refuses it."""
    frame = _without_rows(spark, schema)
    found: dict[str, str] = {}
    for start in range(0, len(expressions), _TOGETHER):
        part = expressions[start : start + _TOGETHER]
        found |= dict(zip(part, _types(frame, part), strict=True))
    return found


def _types(frame: DataFrame, expressions: Sequence[str]) -> list[str]:
    from pyspark.errors import PySparkException

    try:
        fields = frame.selectExpr(*(f"{text} AS v{at}" for at, text in enumerate(expressions))).schema.fields
        return [str(type_of_data(field.dataType)) for field in fields]
    except PySparkException as error:
        if len(expressions) == 1:
            return [plain(str(error))]
        half = len(expressions) // 2
        return _types(frame, expressions[:half]) + _types(frame, expressions[half:])
