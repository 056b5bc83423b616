"""Evaluates the expressions of a step over records: in this process if the result is certainly the same, else in Spark.

Spark evaluates all remaining expressions in one query; plain columns need no Spark at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.contract.frames import EACH
from engine.expressions import Expression
from engine.expressions.costs import bounded
from engine.expressions.parsing import SPARK, UNREADABLE, called, tree_of
from engine.functions.spark_text import SparkText
from engine.model.row_values import to_pylist
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from engine.contract.step import ColumnCall

Spark = Callable[[], "SparkSession"]

_AT: Final = "__at"
_NUMBER: Final = "__number"


@dataclass(frozen=True)
class Selected:
    """Records and the values of expressions. records: the records that meet the condition, with all their columns.

    numbers: if records are repeated per element of a list, the element's index in it. columns: by expression.
    """

    records: pa.Table
    columns: Mapping[str, Any]
    numbers: Sequence[int] | None = None


def select(
    expressions: Sequence[str],
    schema: Schema,
    records: pa.Table,
    spark: Spark,
    *,
    where: str | None = None,
    each: str | None = None,
) -> Selected:
    """Compute expressions over the records that meet the condition, once per element of the list `each`.

    The condition is evaluated first: it may exclude records for which the other expressions fail.
    """
    import pyarrow as pa

    numbers: Sequence[int] | None = None
    if where is not None and (passes := without_spark(where, schema, records)) is not None:
        records, where = records.filter(passes), None
    if where is None and each is not None and (lists := _lists_without_spark(each, schema, records)) is not None:
        records, schema, numbers = _exploded(records, schema, lists)
        each = None
    columns: dict[str, Any] = {}
    if where is None and each is None:
        columns = {text: without_spark(text, schema, records) for text in dict.fromkeys(expressions)}
        open_ = [text for text, column in columns.items() if column is None]
    else:
        plain = [text for text in dict.fromkeys(expressions) if Expression.parse(text).plain_column(schema)]
        columns = {text: without_spark(text, schema, records) for text in plain}
        open_ = [text for text in dict.fromkeys(expressions) if text not in plain]
    if not len(records):
        return Selected(records, columns | {text: pa.nulls(0) for text in open_}, () if numbers is None else numbers)
    if where is None and each is None and not open_:
        return Selected(records, columns, numbers)
    asked = _with_spark(open_, schema, records, spark(), where, each)
    if where is not None or each is not None:
        records = records.take(asked[_AT])
        numbers = asked[_NUMBER].to_pylist() if each is not None else None
        columns = {text: without_spark(text, schema, records) for text in columns}
    return Selected(records, columns | {text: asked[f"__x{at}"] for at, text in enumerate(open_)}, numbers)


def with_call(records: pa.Table, schema: Schema, call: ColumnCall, spark: Spark) -> tuple[pa.Table, Schema]:
    """The records with the results of a Python function, which runs in Spark's workers, never in this process."""
    import pyarrow as pa

    from engine.python_functions import on_spark
    from engine.spark.watching import in_time

    wide = Schema((*schema, Column(call.name, call.type)))
    if not len(records):
        return records.append_column(call.name, pa.nulls(0, call.type.arrow)), wide
    computed = select(call.arguments, schema, records, spark).columns
    names = [f"__x{at}" for at in range(len(call.arguments))]
    given = [pa.array(range(len(records)), pa.int64()), *(computed[text] for text in call.arguments)]
    frame = spark().createDataFrame(pa.table(given, names=[_AT, *names]))
    with in_time(frame.sparkSession, f"{call.name} over {len(records):,} records"):
        called = on_spark.with_call(frame, call, names).toArrow().sort_by(_AT)
    return records.append_column(call.name, called.column(call.name).cast(call.type.arrow)), wide


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


def _lists_without_spark(each: str, schema: Schema, records: pa.Table) -> list[Sequence[int]] | None:
    """The elements by record, if they are a sequence of numbers, as for windows; else None."""
    try:
        tree = tree_of(each)
    except UNREADABLE:
        return None
    if called(tree) == "array":
        return _same_for_all(tree.expressions, schema, records)
    if called(tree) != "sequence" or len(tree.expressions) != 3:
        return None
    ends = [without_spark(SparkText(end.sql(dialect=SPARK), leaf=end), schema, records) for end in tree.expressions]
    if any(end is None for end in ends):
        return None
    ranges: list[Sequence[int]] = []
    for first, last, step in zip(*(end.to_pylist() for end in ends), strict=True):
        if first is None or last is None or step is None:
            ranges.append(())
        elif not step or (last - first) * step < 0:
            # Spark reports an error for it.
            return None
        else:
            ranges.append(range(first, last + (1 if step > 0 else -1), step))
    return ranges


def _same_for_all(elements: Sequence[Any], schema: Schema, records: pa.Table) -> list[Sequence[int]] | None:
    """The elements of an array of integers, such as the sets of GROUPING SETS; else None."""
    import pyarrow as pa

    columns = [without_spark(element.sql(dialect=SPARK), schema, records) for element in elements]
    if not columns or any(column is None or column.type != pa.int64() or column.null_count for column in columns):
        return None
    return [*zip(*(column.to_pylist() for column in columns), strict=True)]


def _exploded(records: pa.Table, schema: Schema, lists: Sequence[Sequence[int]]) -> tuple[pa.Table, Schema, list[int]]:
    """The records once per element, with the element as a column; and each element's index."""
    import pyarrow as pa

    places = [place for place, items in enumerate(lists) for _ in items]
    numbers = [number for items in lists for number in range(len(items))]
    elements = pa.array([item for items in lists for item in items], pa.int64())
    wide = Schema((*schema, Column(EACH, BIGINT)))
    return records.take(pa.array(places, pa.int64())).append_column(EACH, elements), wide, numbers


def _with_spark(
    expressions: Sequence[str],
    schema: Schema,
    records: pa.Table,
    spark: SparkSession,
    where: str | None,
    each: str | None,
) -> pa.Table:
    """One query to Spark: `__at`, the record's index; `__number`, the element's; a column per expression."""
    import pyarrow as pa
    from pyspark.sql import functions as f

    from engine.spark.watching import in_time

    indexed = records.select(list(schema.names)).append_column(_AT, pa.array(range(len(records)), pa.int64()))
    frame = spark.createDataFrame(indexed).selectExpr(
        _AT, *(f"CAST({quote(column.name)} AS {column.type}) AS {quote(column.name)}" for column in schema)
    )
    if where is not None:
        frame = frame.where(f.expr(bounded(where)))
    if each is not None:
        frame = frame.select("*", f.posexplode(f.expr(each)).alias(_NUMBER, EACH))
    else:
        frame = frame.withColumn(_NUMBER, f.lit(0))
    rows = frame.select(_AT, _NUMBER, *(f.expr(bounded(text)).alias(f"__x{at}") for at, text in enumerate(expressions)))
    with in_time(spark, f"the answer for {len(records):,} records"):
        answer = rows.toArrow()
    return answer.sort_by([(_AT, "ascending"), (_NUMBER, "ascending")])
