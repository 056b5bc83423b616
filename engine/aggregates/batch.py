"""Aggregate functions as Spark SQL, typed as Flink types them: over the rows of groups, or over frames.

What depends on the order of arrival goes by position. Where rows are taken back, LISTAGG, ARRAY_AGG, FIRST_VALUE and
LAST_VALUE lose the oldest equal value, which only the changelog tells; everything else is asked of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from engine.aggregates.functions import Function
from engine.aggregates.parameters import Aggregate
from engine.batch.rows import TAKES
from engine.contract.frames import SEQ, STEP, key_name
from engine.model.schema import INTEGER_BITS, Schema, decimal_scale, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BY_ARRIVAL: Final = frozenset({Function.LISTAGG, Function.ARRAY_AGG, Function.FIRST_VALUE, Function.LAST_VALUE})
_SPARK: Final = {
    Function.STDDEV_POP: "stddev_pop",
    Function.STDDEV_SAMP: "stddev_samp",
    Function.VAR_POP: "var_pop",
    Function.VAR_SAMP: "var_samp",
}


def grouped(
    rows: DataFrame,
    changes: DataFrame | None,
    keys: Mapping[str, str],
    aggregates: Sequence[Aggregate],
    given: Schema,
    output: Schema,
) -> DataFrame:
    """One row per group that has rows: the keys, then the results.

    keys: SQL expressions by the names of their columns. changes: the changelog of an input that takes rows back.
    """
    from pyspark.sql import functions as f

    def per_group(frame: DataFrame, calls: Sequence[Aggregate], taken: bool) -> DataFrame:
        keyed = frame.select("*", *(f.expr(key).alias(key_name(at)) for at, key in enumerate(keys.values())))
        results = [
            f.expr(_call(call, aggregates, given, output, taken=taken)).alias(call.output_name) for call in calls
        ]
        return keyed.groupBy(*(key_name(at) for at in range(len(keys)))).agg(f.count("*").alias("__rows"), *results)

    late_known = [call for call in aggregates if changes is not None and call.function in _BY_ARRIVAL]
    found = per_group(rows, [call for call in aggregates if call not in late_known], False).where("__rows > 0")
    if changes is not None and late_known:
        other = per_group(changes, late_known, True).drop("__rows")
        renamed = other.select(
            *(f.col(key_name(at)).alias(f"__o{at}") for at in range(len(keys))),
            *(f.col(quote(call.output_name)) for call in late_known),
        )
        same = [f.col(key_name(at)).eqNullSafe(f.col(f"__o{at}")) for at in range(len(keys))]
        found = found.join(renamed, same or f.lit(True), "left")
    named = [f.col(key_name(at)).alias(name) for at, name in enumerate(keys)]
    return found.select(*named, *(f.col(quote(call.output_name)) for call in aggregates))


def over_frames(
    rows: DataFrame, aggregates: Sequence[Aggregate], given: Schema, output: Schema, over: str
) -> DataFrame:
    """Each row with the results over its frame. over: the frame, `OVER (PARTITION BY ...)`."""
    from pyspark.sql import functions as f

    results = [
        f.expr(_call(call, aggregates, given, output, over=f" {over}")).alias(call.output_name) for call in aggregates
    ]
    return rows.select("*", *results)


def _call(
    call: Aggregate, calls: Sequence[Aggregate], given: Schema, output: Schema, *, taken: bool = False, over: str = ""
) -> str:
    """A call as a Spark SQL expression. taken: the rows are records, some of which take others back."""
    type_ = output.column(call.output_name).type
    value = "1" if call.argument is None else quote(call.argument) if call.argument in given else f"({call.argument})"
    if call.filter is not None:
        value = f"CASE WHEN {call.filter} THEN {value} END"
    once = "DISTINCT " if call.distinct and not over else ""
    if over and call.distinct and call.function in (Function.COUNT, Function.SUM, Function.AVG):
        return _distinct_over(call, value, type_, over)
    number = f"count({once}{value}){over}"
    match call.function:
        case Function.COUNT:
            return number
        case Function.SUM:
            return _sum(value, once, type_, over)
        case Function.AVG:
            return _average(call, calls, value, once, type_, over)
        case Function.MIN | Function.MAX:
            return f"{call.function.value.lower()}({value}){over}"
        case Function.COLLECT:
            values = f"collect_list({value}){over}"
            count = f"CAST(size(filter({values}, y -> y <=> k)) AS INT)"
            return f"map_from_entries(transform(array_distinct({values}), k -> struct(k, {count})))"
        case Function.LISTAGG | Function.ARRAY_AGG | Function.FIRST_VALUE | Function.LAST_VALUE:
            return _by_arrival(call, value, type_, over, taken=taken)
        case _:
            spread = f"{_SPARK[call.function]}({once}CAST({value} AS DOUBLE)){over}"
            return f"CAST({spread} AS {type_})"


def _sum(value: str, once: str, type_: str, over: str) -> str:
    scale = decimal_scale(type_)
    if type_ in INTEGER_BITS:
        return _wrapped(f"sum({once}CAST({value} AS DECIMAL(38,0))){over}", type_)
    if scale is not None:
        return f"sum({once}CAST({value} AS DECIMAL(38,{scale}))){over}"
    return f"CAST(sum({once}CAST({value} AS DOUBLE)){over} AS {type_})"


def _wrapped(total: str, type_: str) -> str:
    """An exact sum in two's complement."""
    half = 1 << (INTEGER_BITS[type_] - 1)
    return f"CAST(pmod({total} + {half}BD, {half * 2}BD) - {half}BD AS {type_})"


def _average(call: Aggregate, calls: Sequence[Aggregate], value: str, once: str, type_: str, over: str) -> str:
    number = f"nullif(count({once}{value}){over}, 0)"
    scale = decimal_scale(type_)
    if type_ in INTEGER_BITS:
        # Flink takes AVG for SUM / COUNT where it has both anyway; then the sum has wrapped.
        beside = {
            other.function
            for other in calls
            if (other.argument, other.filter, other.distinct) == (call.argument, call.filter, call.distinct)
        }
        kept = type_ if {Function.SUM, Function.COUNT} <= beside else "bigint"
        return f"CAST({_wrapped(f'sum({once}CAST({value} AS DECIMAL(38,0))){over}', kept)} DIV {number} AS {type_})"
    if scale is not None:
        exact = f"CAST(sum({once}CAST({value} AS DECIMAL(30,{scale}))){over} AS DECIMAL(30,{scale}))"
        return f"CAST({exact} / CAST({number} AS DECIMAL(10,0)) AS {type_})"
    return f"CAST(avg({once}CAST({value} AS DOUBLE)){over} AS {type_})"


def _by_arrival(call: Aggregate, value: str, type_: str, over: str, *, taken: bool) -> str:
    """The values in order of arrival, and what the function makes of them."""
    wanted = "true" if call.function is Function.ARRAY_AGG else f"({value}) IS NOT NULL"
    if call.filter is not None:
        wanted = f"({wanted}) AND ({call.filter})"
    entry = f"named_struct('s', {SEQ}, 'p', {STEP}, 't', {TAKES if taken else 'false'}, 'v', {value})"
    entries = f"array_sort(collect_list(CASE WHEN {wanted} THEN {entry} END){over})"
    values = f"transform({entries}, x -> x.v)"
    if taken:
        item = type_[6:-1] if call.function is Function.ARRAY_AGG else type_
        place = "array_position(transform(a, y -> y <=> x.v), true)"
        without = f"concat(slice(a, 1, CAST({place} AS INT) - 1), slice(a, CAST({place} AS INT) + 1, size(a)))"
        kept = f"CASE WHEN NOT x.t THEN array_append(a, x.v) WHEN {place} = 0 THEN a ELSE {without} END"
        values = f"aggregate({entries}, CAST(array() AS array<{item}>), (a, x) -> {kept})"
    if call.distinct:
        values = f"array_distinct({values})"
    match call.function:
        case Function.FIRST_VALUE:
            return f"get({values}, 0)"
        case Function.LAST_VALUE:
            return f"get(reverse({values}), 0)"
        case Function.LISTAGG:
            separator = call.separator.replace("\\", "\\\\").replace("'", "\\'")
            return f"nullif(array_join({values}, '{separator}'), CASE WHEN size({values}) = 0 THEN '' END)"
        case _:
            return f"CASE WHEN size({values}) > 0 THEN {values} END"


def _distinct_over(call: Aggregate, value: str, type_: str, over: str) -> str:
    """Spark has no DISTINCT over frames: the distinct values as a list."""
    values = f"array_distinct(collect_list({value}){over})"
    if call.function is Function.COUNT:
        return f"CAST(size({values}) AS BIGINT)"
    total = f"aggregate({values}, CAST(0 AS DECIMAL(38,6)), (a, x) -> CAST(a + x AS DECIMAL(38,6)))"
    if call.function is Function.AVG:
        total = f"{total} / nullif(size({values}), 0)"
    return f"CASE WHEN size({values}) > 0 THEN CAST({total} AS {type_}) END"
