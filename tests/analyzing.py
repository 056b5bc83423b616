"""One analyzer for all tests on a session, and what Spark itself says of expressions.

Types are known without Spark (`engine.expressions.inference`); `test_inference` compares them with Spark's, in a few
large questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.model.schema import Schema
from engine.model.spark_types import type_of_data
from engine.spark.analyzer import SparkAnalyzer, sentence_of, without_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOGETHER = 200


@lru_cache(maxsize=4)
def analyzer_of(spark: SparkSession) -> SparkAnalyzer:
    """The analyzer that all tests on this session share."""
    return SparkAnalyzer(lambda: spark)


def types_on(spark: SparkSession, schema: Schema, expressions: Sequence[str]) -> dict[str, str]:
    """By expression, its type in Spark, or why Spark refuses it."""
    frame = without_rows(spark, schema)
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
            return [sentence_of(error)]
        half = len(expressions) // 2
        return _types(frame, expressions[:half]) + _types(frame, expressions[half:])
