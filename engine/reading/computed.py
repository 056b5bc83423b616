"""Computed columns of a source: made of those that it reads, record by record, before anything else sees them.

One of them can be the event time. A record of which that is null is rejected, as with a time that is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.frames import FILE, KIND, LINE, ORDINAL, RAW, REASON, REJECTED_COLUMNS, TIME, WATERMARK
from engine.contract.operator import Analyzer, Derived
from engine.contract.scan import RAW_CHARS, ReadPart, Rejected, milliseconds
from engine.contract.source import Source, SourceFrames
from engine.expressions import Expression
from engine.model.schema import Column, Schema, arrow_type, quote
from engine.reading.columns import time_unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def output_of(source: Source, node: str, folder: Path, analyzer: Analyzer) -> Derived:
    """What a source puts out: what it reads, then the computed columns. Raises ExpressionError and PipelineError."""
    read = source.derive(node, folder)
    if not source.computed:
        return read
    columns = list(read.schema)
    for at, computed in enumerate(source.computed):
        type_ = analyzer.type_of(computed.expression, read.schema, node, f"computed.{at}.expression")
        column = Column(computed.name, type_)
        if computed.name == source.event_time:
            column = replace(column, nullable=False, time=time_unit(column, source.event_time_unit, node))
        columns.append(column)
    return replace(read, schema=Schema(tuple(columns)))


def frames_of(
    source: Source, spark: SparkSession, node: str, folder: Path, places: Mapping[str, str] | None = None
) -> SourceFrames:
    """All records with their computed columns. places: as `Source.read` has it. Raises SourceError."""
    from pyspark.sql import functions as F

    frames = source.read(spark, node, folder, places)
    if not source.computed:
        return frames
    # Of a rejected row some values are there, others not: nothing is computed of it, nor can that fail.
    is_record = F.col(REASON).isNull()
    values = [F.when(is_record, F.expr(computed.expression)).alias(computed.name) for computed in source.computed]
    read = [F.col(quote(name)) for name in source.derive(node, folder).schema.names]
    rows = frames.rows.select(ORDINAL, KIND, WATERMARK, *read, *values, *REJECTED_COLUMNS)
    if source.event_time not in [computed.name for computed in source.computed]:
        return SourceFrames(rows)
    is_timeless = is_record & F.col(KIND).isNotNull() & F.col(quote(source.event_time)).isNull()
    instead = {
        FILE: F.lit(node),
        LINE: F.col(ORDINAL),
        RAW: F.to_json(F.struct(*read)),
        REASON: F.lit(f"column {source.event_time!r}: the event time is null"),
    }
    judged = rows.withColumn("__is_timeless", is_timeless)
    return SourceFrames(
        judged.withColumns(
            {name: F.when(F.col("__is_timeless"), value).otherwise(F.col(name)) for name, value in instead.items()}
        ).drop("__is_timeless")
    )


def computation_of(source: Source, schema: Schema, node: str, folder: Path) -> Callable[[ReadPart], ReadPart] | None:
    """What makes records of what a worker has read: computed columns in Arrow, and TIME.

    None where an expression has to be asked of Spark. schema: the source's output, computed columns included.
    """
    read = source.derive(node, folder).schema
    made: list[tuple[Column, Callable[[pa.RecordBatch], pa.Array]]] = []
    for computed in source.computed:
        arrow_function = Expression.parse(computed.expression).arrow(read)
        if arrow_function is None:
            return None
        made.append((schema.column(computed.name), arrow_function))
    time = schema.event_time
    is_computed = time is not None and time.name not in read

    def compute(part: ReadPart) -> ReadPart:
        records = part.records
        for column, function in made:
            records = records.append_column(column.name, function(part.records).cast(arrow_type(column.type)))
        if time is None:
            return part._replace(records=records)
        times = records.column(time.name)
        rejected = list(part.rejected)
        if is_computed and times.null_count:
            is_record = pc.is_valid(records.column(KIND)) if KIND in records.schema.names else None
            is_timeless = pc.is_null(times) if is_record is None else pc.and_(pc.is_null(times), is_record)
            before = part.lines_before()
            places = np.flatnonzero(is_timeless.to_numpy(zero_copy_only=False)).tolist()
            lines = [before + part.lines[at] for at in places]
            rows = part.records.filter(is_timeless).select(list(read.names)).to_pylist()
            reason = f"column {time.name!r}: the event time is null"
            rejected += [
                Rejected(part.file, line, json.dumps(row, default=str, ensure_ascii=False)[:RAW_CHARS], reason)
                for line, row in zip(lines, rows, strict=True)
            ]
            records = records.filter(pc.invert(is_timeless))
        records = records.append_column(TIME, milliseconds(records.column(time.name), time))
        return part._replace(records=records, rejected=rejected)

    return compute
