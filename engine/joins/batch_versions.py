"""The version of a table that was valid at a row's event time, or when it arrived, in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import PUTS, comparable, first_of
from engine.contract.frames import PLACED, SEQ, STEP, WATERMARK_MS
from engine.joins.sides import JoinKind, joined
from engine.model.schema import Schema
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def at_their_time(
    inputs: tuple[BatchInput, BatchInput],
    schemas: tuple[Schema, Schema],
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    times: tuple[str, str],
    kind: JoinKind,
    condition: str | None,
) -> DataFrame:
    """Each left row with the last version of its key up to its time; of one time the later arrival counts.

    A version that arrived after the row was emitted is too late for it. A late row is emitted when the watermark
    next advances, and sees the versions that arrived until then.
    """
    from pyspark.sql import functions as f

    (left, right), (probe, versions) = schemas, inputs
    names = [column.name for column in joined(left, right, JoinKind.INNER)]
    rows = probe.table.join(probe.watermarks, SEQ, "left").selectExpr(
        *map(quote, left.names),
        *(f"{key} AS __0k{at}" for at, key in enumerate(keys[0])),
        f"{times[0]} AS __0t",
        f"struct({SEQ}, {STEP}) AS __0p",
        f"{WATERMARK_MS} AS __0w",
        *PLACED,
    )
    if probe.late is not None:
        late = probe.late.select(*PLACED, f.lit(True).alias("__late")).distinct()
        rows = rows.join(late, [*PLACED], "left")
    else:
        rows = rows.withColumn("__late", f.lit(None).cast("boolean"))
    renamed = [f"{quote(column.name)} AS {quote(name)}" for column, name in zip(right, names[len(left) :], strict=True)]
    marked = versions.changelog.join(versions.watermarks, SEQ, "left").selectExpr(
        *renamed,
        *(f"{key} AS __1k{at}" for at, key in enumerate(keys[1])),
        f"{times[1]} AS __1t",
        f"struct({SEQ}, {STEP}) AS __1p",
        WATERMARK_MS,
        f"{PUTS} AS __is_row",
    )
    same = [f.col(f"__0k{at}").eqNullSafe(f.col(f"__1k{at}")) for at in range(len(keys[0]))]
    arrived = "__1p < __0p AND __late IS NULL"
    waited = f"__1p > __0p AND (coalesce({WATERMARK_MS} < __0t, true) OR {WATERMARK_MS} <=> __0w)"
    in_time = f"__1t <= __0t AND (({arrived}) OR ({waited}))"
    candidates = rows.join(marked, [*same, f.expr(in_time)], "left")
    last = first_of(candidates, PLACED, [f.desc_nulls_last("__1t"), f.desc_nulls_last("__1p")])
    meets = f"coalesce(__is_row, false) AND coalesce({condition or 'true'}, false)"
    if kind is JoinKind.INNER:
        return last.where(meets)
    return last.selectExpr(
        *map(quote, left.names),
        *(f"CASE WHEN {meets} THEN {quote(name)} END AS {quote(name)}" for name in names[len(left) :]),
    )


def as_it_stood(
    inputs: tuple[BatchInput, BatchInput],
    schemas: tuple[Schema, Schema],
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    kind: JoinKind,
    condition: str | None,
) -> DataFrame:
    """Each left row with the rows that were in the table when it arrived."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    (left, right), (probe, table) = schemas, inputs
    names = [column.name for column in joined(left, right, JoinKind.INNER)]
    rows = probe.table.selectExpr(
        *map(quote, left.names),
        *(f"{key} AS __0k{at}" for at, key in enumerate(keys[0])),
        f"struct({SEQ}, {STEP}) AS __0p",
    )
    # Of equal rows, the first to arrive is the first to be deleted.
    same = [f.expr(comparable(quote(column.name), column.type)) for column in right]
    nth = f.row_number().over(Window.partitionBy(*same, f.expr(PUTS)).orderBy(*PLACED))
    changes = table.changelog.withColumn("__nth", nth).withColumn("__1p", f.expr(f"struct({SEQ}, {STEP})"))
    gone = f.min(f.expr(f"CASE WHEN NOT ({PUTS}) THEN __1p END")).over(Window.partitionBy(*same, "__nth"))
    renamed = [f"{quote(column.name)} AS {quote(name)}" for column, name in zip(right, names[len(left) :], strict=True)]
    there = (
        changes.withColumn("__gone", gone)
        .where(PUTS)
        .selectExpr(*renamed, *(f"{key} AS __1k{at}" for at, key in enumerate(keys[1])), "__1p", "__gone")
    )
    tests = [f"__0k{at} = __1k{at}" for at in range(len(keys[0]))]
    tests += ["__1p < __0p", "(__gone IS NULL OR __gone > __0p)"]
    tests += [f"({condition})"] if condition is not None else []
    return rows.join(there, f.expr(" AND ".join(tests)), kind.value).select(*map(quote, names))
