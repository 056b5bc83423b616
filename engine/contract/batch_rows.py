"""Changelogs as tables in Spark SQL: folded by key or by whole row, each row with the position of its record.

Rows are compared by values that Spark can compare: a map by its sorted entries, a floating-point number by ten digits
(a FLOAT by five), since sums in another order differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.contract.frames import KIND, PLACED
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.schema import Schema
from engine.model.types import DOUBLE, FLOAT, FLOATS, STRING, Array, Map, Type, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PUTS = f"{KIND} IN ({INSERT}, {UPDATE_AFTER})"
TAKES = f"{KIND} IN ({UPDATE_BEFORE}, {DELETE})"


def table_of(changelog: DataFrame, schema: Schema, key: Sequence[str], *, insert_only: bool) -> DataFrame:
    """The table that a changelog results in: its columns, and the position of the record that inserted each row."""
    if insert_only:
        return changelog.drop(KIND)
    if key:
        return by_key(changelog, key).where(PUTS).drop(KIND)
    return by_whole_row(changelog, schema).drop(KIND)


def by_key(changelog: DataFrame, key: Sequence[str]) -> DataFrame:
    """The last record of each key, whatever its kind."""
    from pyspark.sql import functions as f

    return first_of(changelog, [quote(name) for name in key], [f.desc(name) for name in PLACED])


def by_whole_row(changelog: DataFrame, schema: Schema, *others: str) -> DataFrame:
    """The last copies of rows with more insertions than retractions. others: more columns that distinguish rows."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    same = [*(f.expr(comparable(quote(column.name), column.type)) for column in schema), *map(f.col, others)]
    puts = f.expr(PUTS)
    nth = f.row_number().over(Window.partitionBy(*same, puts).orderBy(*PLACED))
    taken = f.sum(f.when(puts, 0).otherwise(1)).over(Window.partitionBy(*(same or [f.lit(1)])))
    numbered = changelog.withColumn("__nth", nth).withColumn("__taken", taken)
    return numbered.where(f"{PUTS} AND __nth > __taken").drop("__nth", "__taken")


def first_of(frame: DataFrame, keys: Sequence[str], order: Sequence[Column]) -> DataFrame:
    """The first row of each key in an order. keys: SQL expressions."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    window = Window.partitionBy(*(f.expr(key) for key in keys)).orderBy(*order)
    return frame.withColumn("__nth", f.row_number().over(window)).where("__nth = 1").drop("__nth")


def comparable(value: str, type_: Type, *, unordered: bool = False) -> str:
    """A value in a form for comparing and grouping. unordered: a list, or a string of one, in any order."""
    if unordered:
        listed = f"split({value}, '')" if type_ == STRING else comparable(value, type_)
        return f"array_sort({listed})"
    if type_ in (DOUBLE, FLOAT):
        digits = 9 if type_ == DOUBLE else 4
        number = (
            f"CASE WHEN abs({value}) < 1e-9D THEN '0' ELSE format_string('%.{digits}e', CAST({value} AS DOUBLE)) END"
        )
        return f"CASE WHEN isnan({value}) THEN 'NaN' ELSE {number} END"
    if isinstance(type_, Map):
        return f"array_sort(map_entries({value}))"
    if isinstance(type_, Array) and type_.element in FLOATS:
        return f"transform({value}, x -> {comparable('x', type_.element)})"
    return value


def shown(name: str, type_: Type) -> str:
    """A value to collect in Python, without the conversion of timestamps to local time."""
    plain = type_.unzoned
    return quote(name) if plain == type_ else f"CAST({quote(name)} AS {plain}) AS {quote(name)}"
