"""One analyzer for all tests on a session: of the same columns and expression Spark is asked once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from engine.spark.analyzer import SparkAnalyzer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@lru_cache(maxsize=4)
def analyzer_of(spark: SparkSession) -> SparkAnalyzer:
    """The analyzer that all tests on this session share."""
    return SparkAnalyzer(lambda: spark)
