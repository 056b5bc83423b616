"""Computed columns of a source: made of those that it reads, record by record, before anything else sees them.

One of them can be the event time. A record of which that is null is rejected, as with a time that is read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.operator import Analyzer, Derived, Source, SourceFrames
from engine.reading.columns import KIND, ORDINAL, time_unit
from engine.schema import Column, Schema, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def output_of(source: Source, node: str, folder: Path, analyzer: Analyzer) -> Derived:
    """What a source puts out: what it reads, then the computed columns. Raises ExpressionError and PipelineError."""
    read = source.derive(node, folder)
    if not source.computed:
        return read
    columns = list(read.schema)
    for at, computed in enumerate(source.computed):
        found = analyzer.type_of(computed.expression, read.schema, node, f"computed.{at}.expression")
        column = Column(computed.name, found)
        if computed.name == source.event_time:
            column = replace(column, nullable=False, time=time_unit(column, source.event_time_unit, node))
        columns.append(column)
    return replace(read, schema=Schema(tuple(columns)))


def frames_of(source: Source, spark: SparkSession, node: str, folder: Path) -> SourceFrames:
    """All records with their computed columns. Raises SourceError."""
    from pyspark.sql import functions as F

    frames = source.read(spark, node, folder)
    if not source.computed:
        return frames
    values = [F.expr(computed.expression).alias(computed.name) for computed in source.computed]
    records = frames.records.select("*", *values)
    if source.event_time not in [computed.name for computed in source.computed]:
        return replace(frames, records=records)
    timeless = F.col(KIND).isNotNull() & F.col(quote(source.event_time)).isNull()
    read = [F.col(quote(name)) for name in source.derive(node, folder).schema.names]
    rejected = records.where(timeless).select(
        F.lit(node).alias("file"),
        F.col(ORDINAL).alias("line"),
        F.to_json(F.struct(*read)).alias("raw"),
        F.lit(f"column {source.event_time!r}: the event time is null").alias("reason"),
    )
    if frames.rejected is not None:
        rejected = frames.rejected.unionByName(rejected)
    return SourceFrames(records.where(~timeless), rejected)
