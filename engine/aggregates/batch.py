"""Aggregate functions in Spark SQL with Flink's types: over the rows of groups, or over frames.

Functions that depend on the order of arrival order by position. A retraction removes their oldest equal value, which
only the changelog shows; all other functions read the table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import functions_beside
from engine.aggregates.parameters import Aggregate
from engine.aggregates.planned_calls import argument_types, value_of
from engine.aggregates.python_function import PythonFunction
from engine.contract.batch_rows import PUTS
from engine.contract.frames import key_name
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def grouped(
    rows: DataFrame,
    changes: DataFrame | None,
    keys: Mapping[str, str],
    aggregates: Sequence[Aggregate],
    schema: Schema,
    output: Schema,
    steady: Collection[str] = (),
) -> DataFrame:
    """One row per group that has rows: the keys, then the results.

    keys: SQL expressions by the names of their columns. changes: the changelog of an input that retracts.
    steady: the results that no retraction changes, computed over all rows that ever existed.
    """
    from pyspark.sql import functions as f

    def per_group(frame: DataFrame, calls: Sequence[Aggregate], takes_back: bool) -> DataFrame:
        keyed = frame.select("*", *(f.expr(key).alias(key_name(at)) for at, key in enumerate(keys.values())))
        results = [
            f.expr(_call(call, aggregates, schema, output, takes_back=takes_back)).alias(call.output_name)
            for call in calls
        ]
        return keyed.groupBy(*(key_name(at) for at in range(len(keys)))).agg(f.count("*").alias("__rows"), *results)

    late_known = [call for call in aggregates if changes is not None and call.function.goes_by_arrival]
    steady_calls = [call for call in aggregates if changes is not None and call.output_name in steady]
    plain = [call for call in aggregates if call not in late_known and call not in steady_calls]
    groups = per_group(rows, plain, False).where("__rows > 0")

    def beside(groups: DataFrame, other: DataFrame, calls: Sequence[Aggregate]) -> DataFrame:
        renamed = other.select(
            *(f.col(key_name(at)).alias(f"__o{at}") for at in range(len(keys))),
            *(f.col(quote(call.output_name)) for call in calls),
        )
        same = [f.col(key_name(at)).eqNullSafe(f.col(f"__o{at}")) for at in range(len(keys))]
        return groups.join(renamed, same or f.lit(True), "left").drop(*(f"__o{at}" for at in range(len(keys))))

    if changes is not None and late_known:
        groups = beside(groups, per_group(changes, late_known, True), late_known)
    if changes is not None and steady_calls:
        groups = beside(groups, per_group(changes.where(PUTS), steady_calls, False), steady_calls)
    groups = _with_results(groups, aggregates, schema)
    named = [f.col(key_name(at)).alias(name) for at, name in enumerate(keys)]
    return groups.select(*named, *(f.col(quote(call.output_name)) for call in aggregates))


def _with_results(groups: DataFrame, aggregates: Sequence[Aggregate], schema: Schema) -> DataFrame:
    """The groups, with the results of functions in Python computed from their values."""
    from engine.python_functions.on_spark import with_fold

    for call in aggregates:
        if isinstance(call.function, PythonFunction):
            groups = with_fold(groups, call.output_name, call.function.called(argument_types(call, schema)))
    return groups


def over_frames(
    rows: DataFrame, aggregates: Sequence[Aggregate], schema: Schema, output: Schema, over: str
) -> DataFrame:
    """Each row with the results over its frame. over: the frame, `OVER (PARTITION BY ...)`."""
    from pyspark.sql import functions as f

    results = [
        f.expr(_call(call, aggregates, schema, output, over=f" {over}")).alias(call.output_name) for call in aggregates
    ]
    return rows.select("*", *results)


def _call(
    call: Aggregate,
    calls: Sequence[Aggregate],
    schema: Schema,
    output: Schema,
    *,
    over: str = "",
    takes_back: bool = False,
) -> str:
    value = "1" if call.argument is None else f"({value_of(call, schema)})"
    if call.filter is not None:
        value = f"CASE WHEN {call.filter} THEN {value} END"
    asked = BatchCall(
        value,
        output.column(call.output_name).type,
        call.distinct and not call.function.ignores_distinct,
        call.filter,
        call.separator,
        functions_beside(call, calls),
        over,
        takes_back,
        call.offset,
        call.percentage,
        call.frequency is not None,
    )
    return call.function.batch(asked)
