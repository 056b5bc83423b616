"""Reads a source in a test: records in order of arrival, and rejected rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.contract.frames import KIND, ORDINAL, REASON, REJECTED_COLUMNS, WATERMARK
from engine.contract.source import Source
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read(spark: SparkSession, source: Source, folder: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The values of the records as Spark's texts, in order; and (file, line, raw, reason) of the rejected rows."""
    frame = source.read(spark, "n", folder).rows
    names = [column.name for column in source.derive("n", folder).schema]
    assert [field.name for field in frame.schema] == [ORDINAL, KIND, WATERMARK, *names, *REJECTED_COLUMNS]
    texts = [f"CAST({quote(name)} AS STRING)" for name in names]
    # One Spark job for both.
    rows = frame.orderBy(ORDINAL).selectExpr(ORDINAL, *REJECTED_COLUMNS, *texts).collect()
    records = [row for row in rows if row[REASON] is None]
    assert len({row[ORDINAL] for row in records}) == len(records)
    rejected = [tuple(row[name] for name in REJECTED_COLUMNS) for row in rows if row[REASON] is not None]
    values = 1 + len(REJECTED_COLUMNS)
    return [tuple(row[values:]) for row in records], sorted(rejected, key=lambda row: row[:2])


def types(source: Source, folder: Path) -> str:
    """The columns with their types: `k string, v bigint`."""
    return ", ".join(f"{column.name} {column.type}" for column in source.derive("n", folder).schema)
