"""Rankings in Spark SQL with Flink's order: NULL is lowest, and of rows with equal keys the earlier one is first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import by_key
from engine.contract.frames import KIND, PLACED, RANK
from engine.model.changelog import UPDATE_BEFORE
from engine.model.types import quote
from engine.ranking.sort_keys import Nulls

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Order = tuple[str, bool, Nulls]


@dataclass(frozen=True)
class Ranked:
    """A ranking: partition, order (name, descending, the place of NULL) and rank range.

    end: a number, or the column whose value in a partition's first row is the end.
    function: row_number, rank, dense_rank.
    """

    partition: Sequence[str]
    order: Sequence[Order]
    start: int
    end: int | str
    function: str = "row_number"


def best(rows: DataFrame, wanted: Ranked) -> DataFrame:
    """The rows whose rank is in the range, with the rank as RANK."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    partition = Window.partitionBy(*(f.col(quote(name)) for name in wanted.partition))
    order = [sorted_by(*item) for item in wanted.order]
    if wanted.function == "row_number":
        order += [f.col(name) for name in PLACED]
    ranked = rows.withColumn(RANK, f.expr(f"{wanted.function}()").over(partition.orderBy(*order)).cast("bigint"))
    last: Column = f.lit(wanted.end)
    if isinstance(wanted.end, str):
        ranked = ranked.withColumn("__last", f.first(quote(wanted.end)).over(partition.orderBy(*PLACED)))
        last = f.col("__last")
    return ranked.where(f.col(RANK).between(f.lit(wanted.start), last))


def standing_since(input_: BatchInput, row_key: Sequence[str], order: Sequence[Order]) -> DataFrame:
    """The last record of each key, at the position where its sort key last changed: an equal key moves no row.

    A deleted row stays, as in UpdateFast.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    own = Window.partitionBy(*(f.col(quote(name)) for name in row_key)).orderBy(*PLACED)
    place = f.struct(*(f.col(quote(name)) for name, _, _ in order))
    moved = f.when(~place.eqNullSafe(f.lag(place).over(own)), f.struct(*PLACED))
    since = input_.changelog.where(f"{KIND} <> {UPDATE_BEFORE}").withColumn("__since", moved)
    since = since.withColumn("__since", f.last("__since", ignorenulls=True).over(own))
    rows = by_key(since, row_key)
    return rows.withColumns({name: f.col("__since")[name] for name in PLACED}).drop(KIND, "__since")


def ever_there(input_: BatchInput) -> DataFrame:
    """Every record as a row, as UpdateFast of a Top 1 treats them."""
    return input_.changelog.where(f"{KIND} <> {UPDATE_BEFORE}").drop(KIND)


def sorted_by(column: str, descending: bool, nulls: Nulls) -> Column:
    """One column of an order: NULL is lowest, unless NULLS FIRST or LAST is given."""
    from pyspark.sql import functions as f

    value = f.col(quote(column))
    first = nulls is Nulls.FIRST or (nulls is Nulls.LOWEST and not descending)
    if descending:
        return value.desc_nulls_first() if first else value.desc_nulls_last()
    return value.asc_nulls_first() if first else value.asc_nulls_last()
