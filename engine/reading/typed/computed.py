"""Computed columns of a source: derived from the columns it reads, record by record, before any other operator.

A record whose computed column fails is rejected. A computed column can be the event time; if that is null, the record
is rejected too, like one whose read event time is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.derived import Derived
from engine.contract.frames import FILE, KIND, LINE, ORDINAL, RAW, REASON, REJECTED_COLUMNS, TIME, WATERMARK
from engine.contract.operator import Analyzer
from engine.contract.scan import RAW_CHARS, ReadPart, Rejected, Scan, milliseconds, rows_of
from engine.contract.source import ComputedColumn, Source, SourceFrames
from engine.expressions import Expression
from engine.expressions.costs import bounded
from engine.expressions.failing import failure_of
from engine.model.schema import Column, Schema
from engine.model.types import quote
from engine.reading.typed.columns import time_unit

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_VALUE_CHARS: Final = 100
_MOST_NAMED: Final = 3


def output_of(source: Source, node: str, folder: Path, analyzer: Analyzer) -> Derived:
    """A source's output: its read columns, those of files, then the computed ones.

    Raises ExpressionError and PipelineError.
    """
    read = source.derive(node, folder)
    schema = source.with_file_columns(read.schema, folder)
    columns = list(schema)
    for at, computed in enumerate(source.computed):
        type_ = analyzer.type_of(computed.expression, schema, node, f"computed.{at}.expression")
        column = Column(computed.name, type_)
        if computed.name == source.event_time:
            column = replace(column, nullable=False, time=time_unit(column, source.event_time_unit, node))
        columns.append(column)
    return replace(read, schema=Schema(tuple(columns)))


def frames_of(
    source: Source, spark: SparkSession, node: str, folder: Path, given: Scan | Mapping[str, str] | None = None
) -> SourceFrames:
    """All records with their computed columns. given: a scan of them, or positions for `Source.read`.

    Raises SourceError.
    """
    from pyspark.sql import functions as F

    if isinstance(given, Scan):
        schema, of_files = source.read_schema(node, folder), source.file_columns(folder)
        frames = SourceFrames(rows_of(given, spark, schema, with_lines=bool(source.computed), of_files=of_files))
    else:
        frames = source.read(spark, node, folder, given)
    if not source.computed:
        return frames
    # Rejected rows have only some of their values: their computed columns are neither evaluated nor able to fail.
    is_record = F.col(REASON).isNull() & F.col(KIND).isNotNull()
    schema = source.read_schema(node, folder)
    read = [F.col(quote(name)) for name in schema.names]
    values, reasons = [], []
    for computed in source.computed:
        failure = _failure(computed, frames.rows)
        can_be = is_record & ~failure
        values.append(F.when(can_be, F.expr(bounded(computed.expression))).alias(computed.name))
        reasons.append(F.when(is_record & failure, _reason(computed, schema)))
    if source.event_time in [computed.name for computed in source.computed]:
        missing = F.col(quote(source.event_time)).isNull()
        reasons.append(F.when(is_record & missing, F.lit(_timeless(source.event_time))))
    rows = frames.rows.select(ORDINAL, KIND, WATERMARK, *read, *values, *REJECTED_COLUMNS)
    judged = rows.withColumn("__failure", F.coalesce(*reasons))
    instead = {
        FILE: F.coalesce(F.col(FILE), F.lit(node)),
        LINE: F.coalesce(F.col(LINE), F.col(ORDINAL)),
        RAW: F.substring(F.to_json(F.struct(*read)), 1, RAW_CHARS),
        REASON: F.col("__failure"),
    }
    is_rejected = F.col("__failure").isNotNull()
    return SourceFrames(
        judged.withColumns(
            {name: F.when(is_rejected, value).otherwise(F.col(name)) for name, value in instead.items()}
        ).drop("__failure")
    )


def _failure(computed: ComputedColumn, rows: DataFrame) -> SparkColumn:
    """The condition under which a computed column fails."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    failure = failure_of(computed.expression)
    if failure is None:
        return F.lit(False)
    try:
        rows.select(F.expr(failure)).schema  # noqa: B018
    except AnalysisException:
        # The studio and Spark may parse a text differently; such a failure ends the run, as for other expressions.
        return F.lit(False)
    return F.expr(failure)


def _reason(computed: ComputedColumn, schema: Schema) -> SparkColumn:
    """The reason to reject a row, with the values that its column is computed from."""
    from pyspark.sql import functions as F

    parts = [F.lit(_not_computed(computed.name))]
    for at, name in enumerate(_made_of(computed, schema)):
        value = F.concat(F.lit('"'), F.substring(F.col(quote(name)).cast("string"), 1, _VALUE_CHARS), F.lit('"'))
        parts += [F.lit(f"{', ' if at else ' of '}{name} = "), F.coalesce(value, F.lit("NULL"))]
    return F.concat(*parts)


def _reason_of(column: str, names: Sequence[str], row: Mapping[str, object]) -> str:
    """The same for a row in Python. names: `_made_of`."""
    values = (f'"{str(row[name])[:_VALUE_CHARS]}"' if row[name] is not None else "NULL" for name in names)
    listed = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    return _not_computed(column) + (f" of {listed}" if listed else "")


def _made_of(computed: ComputedColumn, schema: Schema) -> list[str]:
    """The first columns that an expression mentions."""
    names = Expression.parse(computed.expression).columns(schema)
    return [name for name in schema.names if name in names][:_MOST_NAMED]


def _not_computed(column: str) -> str:
    return f"column {column!r}: it cannot be computed"


def _timeless(name: str) -> str:
    return f"column {name!r}: the event time is null"


def computation_of(source: Source, schema: Schema, node: str, folder: Path) -> Callable[[ReadPart], ReadPart] | None:
    """A function from a worker's read part to records: columns of files, computed ones in Arrow, and TIME.

    None if Spark has to evaluate an expression. schema: the source's output, including computed columns.
    """
    read, of_files = source.read_schema(node, folder), source.file_columns(folder)
    computations: list[tuple[Sequence[str], Column, Callable[[pa.RecordBatch], pa.Array]]] = []
    for computed in source.computed:
        arrow_function = Expression.parse(computed.expression).arrow(read)
        if arrow_function is None:
            return None
        computations.append((_made_of(computed, read), schema.column(computed.name), arrow_function))
    time = schema.event_time
    is_computed = time is not None and time.name not in read

    # Workers have no sqlglot, so the columns that an expression mentions are determined here.
    read_names = list(read.names)

    def compute(part: ReadPart) -> ReadPart:
        part = part.with_file_columns(of_files)
        records = part.records
        reasons: dict[int, str] = {}
        for names, column, function in computations:
            values, failed = _applied(function, part.records)
            records = records.append_column(column.name, values.cast(column.type.arrow))
            for at in failed:
                row = part.records.slice(at, 1).to_pylist()[0]
                reasons.setdefault(at, _reason_of(column.name, names, row))
        if time is not None and is_computed and (times := records.column(time.name)).null_count:
            is_record = pc.is_valid(records.column(KIND)) if KIND in records.schema.names else None
            is_timeless = pc.is_null(times) if is_record is None else pc.and_(pc.is_null(times), is_record)
            for at in np.flatnonzero(is_timeless.to_numpy(zero_copy_only=False)).tolist():
                reasons.setdefault(at, _timeless(time.name))
        rejected = list(part.rejected)
        if reasons:
            before = part.lines_before()
            is_lost = np.zeros(records.num_rows, np.bool_)
            for at in sorted(reasons):
                raw = json.dumps(
                    part.records.slice(at, 1).select(read_names).to_pylist()[0], default=str, ensure_ascii=False
                )
                file = part.files[at] if part.files else part.file
                rejected.append(Rejected(file, before + part.lines[at], raw[:RAW_CHARS], reasons[at]))
                is_lost[at] = True
            records = records.filter(pa.array(~is_lost))
        if time is not None:
            records = records.append_column(TIME, milliseconds(records.column(time.name), time))
        return part._replace(records=records, rejected=rejected)

    return compute


def _applied(function: Callable[[pa.RecordBatch], pa.Array], records: pa.RecordBatch) -> tuple[pa.Array, list[int]]:
    """Apply a function to records: null where it fails, and the indexes of failures, found by bisection."""
    try:
        return function(records), []
    except (ValueError, ArithmeticError):
        if records.num_rows == 1:
            return pa.nulls(1), [0]
    half = records.num_rows // 2
    (first, failed), (other, more) = (_applied(function, records.slice(*cut)) for cut in ((0, half), (half,)))
    type_ = other.type if pa.types.is_null(first.type) else first.type
    return pa.concat_arrays([first.cast(type_), other.cast(type_)]), failed + [half + at for at in more]
