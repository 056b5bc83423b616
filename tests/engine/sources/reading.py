"""Reads a source in a test: records in order of arrival, and what was rejected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.contract.source import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read(spark: SparkSession, source: Source, folder: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The values of the records, as Spark prints them, in order; and (file, line, raw, reason) of the rejected."""
    frames = source.read(spark, "n", folder)
    names = [column.name for column in source.derive("n", folder).schema]
    assert [field.name for field in frames.records.schema] == ["__ordinal", "__kind", "__watermark", *names]
    texts = ["CAST(`" + name.replace("`", "``") + "` AS STRING)" for name in names]
    rows = frames.records.orderBy("__ordinal").selectExpr("__ordinal", *texts).collect()
    ordinals = [row[0] for row in rows]
    assert len(set(ordinals)) == len(ordinals)
    if frames.rejected is None:
        return [tuple(row[1:]) for row in rows], []
    return [tuple(row[1:]) for row in rows], [tuple(row) for row in frames.rejected.orderBy("file", "line").collect()]


def types(source: Source, folder: Path) -> dict[str, str]:
    """The type of each column."""
    return {column.name: column.type for column in source.derive("n", folder).schema}
