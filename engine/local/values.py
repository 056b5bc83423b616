"""Evaluates the expressions of a step over records: in this process if the result is certainly the same, else in Spark.

Spark evaluates all remaining expressions in one query; plain columns need no Spark at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.expressions import Expression
from engine.expressions.costs import bounded
from engine.model.row_values import to_pylist
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


Spark = Callable[[], "SparkSession"]

_AT: Final = "__at"


@dataclass(frozen=True)
class Selected:
    """Records and the values of expressions. records: the records that meet the condition, with all their columns.

    columns: by expression.
    """

    records: pa.Table
    columns: Mapping[str, Any]


def select(
    expressions: Sequence[str], schema: Schema, records: pa.Table, spark: Spark, *, where: str | None = None
) -> Selected:
    """Compute expressions over the records that meet the condition.

    The condition is evaluated first: it may exclude records for which the other expressions fail.
    """
    import pyarrow as pa

    if where is not None and (passes := without_spark(where, schema, records)) is not None:
        records, where = records.filter(passes), None
    texts = list(dict.fromkeys(expressions))
    here = texts if where is None else [text for text in texts if Expression.parse(text).plain_column(schema)]
    columns = {text: without_spark(text, schema, records) for text in here}
    open_ = [text for text in texts if columns.get(text) is None]
    if not len(records):
        return Selected(records, columns | {text: pa.nulls(0) for text in open_})
    if where is None and not open_:
        return Selected(records, columns)
    asked = _with_spark(open_, schema, records, spark(), where)
    if where is not None:
        records = records.take(asked[_AT])
        columns = {text: without_spark(text, schema, records) for text in columns}
    return Selected(records, columns | {text: asked[f"__x{at}"] for at, text in enumerate(open_)})


def without_spark(expression: str, schema: Schema, records: pa.Table) -> Any:
    """The values of an expression over these records; None if it needs Spark. Raises OverflowError."""
    parsed = Expression.parse(expression)
    if (column := parsed.plain_column(schema)) is not None:
        return records.column(column.name)
    function = parsed.arrow(schema)
    return None if function is None else function(records)


def plain_values(column: Any) -> list[Any]:
    """Values in the form for kernels: instants are BIGINT microseconds."""
    import pyarrow as pa

    return to_pylist(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)


def _with_spark(
    expressions: Sequence[str], schema: Schema, records: pa.Table, spark: SparkSession, where: str | None
) -> pa.Table:
    """One query to Spark: `__at`, the record's index, and a column per expression."""
    import pyarrow as pa
    from pyspark.sql import functions as f

    from engine.spark.watching import in_time

    indexed = records.select(list(schema.names)).append_column(_AT, pa.array(range(len(records)), pa.int64()))
    frame = spark.createDataFrame(indexed).selectExpr(
        _AT, *(f"CAST({quote(column.name)} AS {column.type}) AS {quote(column.name)}" for column in schema)
    )
    if where is not None:
        frame = frame.where(f.expr(bounded(where)))
    rows = frame.select(_AT, *(f.expr(bounded(text)).alias(f"__x{at}") for at, text in enumerate(expressions)))
    with in_time(spark, f"the answer for {len(records):,} records"):
        return rows.toArrow().sort_by(_AT)
