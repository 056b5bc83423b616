"""Joins of two tables in Spark SQL: on keys, on windows, on intervals of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.contract.batch_input import BatchInput
from engine.contract.frames import END_MS, PLACED, SEQ, START_MS, STEP, WATERMARK_MS
from engine.joins.sides import JoinKind, joined
from engine.model.schema import Schema
from engine.model.timeline import MIN_WATERMARK
from engine.model.types import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOOKED_BACK: Final = 64
_PLACE: Final = f"struct({SEQ}, {STEP})"
_OF_TIME: Final = ("__t", "__w", "__last", "__until", "__before", "__dropped")
# Of two rows, the later one finds the other until the watermark has passed that, or a row before it has removed it.
_LET_GO: Final = """CASE WHEN __0p > __1p
    THEN __1until < __0w OR coalesce(__0before.p > __1p AND __0before.w > __1last, false)
    ELSE __0until < __1w OR coalesce(__1before.p > __0p AND __1before.w > __0last, false) END"""
_PASSED_MS: Final = "CASE WHEN __0p > __1p THEN __0w - __1last ELSE __1w - __0last END"


def paired(
    inputs: Sequence[BatchInput],
    schemas: tuple[Schema, Schema],
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    kind: JoinKind,
    condition: str | None,
    *,
    times: tuple[str, str] | None = None,
    within: tuple[int, int] = (0, 0),
    windowed: bool = False,
) -> DataFrame:
    """The pairs, and the rows without a partner that the kind keeps, in the columns of a joined row.

    keys: of both sides, as SQL. times, within: the left event time less the right one lies between these, in ms,
    and the earlier row was still kept when the later one came: the watermark had not let it go.
    windowed: both sides have START_MS and END_MS, and so has the result.
    """
    from pyspark.sql import functions as f

    left = schemas[0]
    bounds = (START_MS, END_MS) if windowed else ()
    sides = _sides(inputs, schemas, keys, bounds, times, within)
    tests = _tests(keys, bounds, within if times else None, condition)
    if times is not None:
        tests.append(f"NOT {_LET_GO}")
    how = {JoinKind.SEMI: "left_semi", JoinKind.ANTI: "left_anti"}.get(kind, kind.value)
    pairs = _joined(sides, tests, how)
    for name in bounds:
        mine = f.col(f"__0{name[2:]}")
        either = mine if kind.is_left_only else f.coalesce(mine, f.col(f"__1{name[2:]}"))
        pairs = pairs.withColumn(name, either)
    names = _names(schemas)[: len(left) if kind.is_left_only else None]
    return pairs.select(*map(quote, names), *bounds)


def let_go(
    inputs: Sequence[BatchInput],
    schemas: tuple[Schema, Schema],
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    condition: str | None,
    times: tuple[str, str],
    within: tuple[int, int],
) -> DataFrame:
    """The pairs of whole tables whose earlier row the watermark had let go before the later one came, in one row.

    Their number, and by how many ms the watermark had passed such a row at most. inputs: with the list of their dropped
    rows, which met nobody.
    """
    sides = _sides(inputs, schemas, keys, (), times, within)
    pairs = _joined(sides, [*_tests(keys, (), within, condition), f"({_LET_GO} OR __0dropped OR __1dropped)"])
    return pairs.selectExpr("count(*)", f"max(greatest({_PASSED_MS}, 1))")


def _marked(input_: BatchInput) -> DataFrame:
    """The rows, each with whether it was dropped."""
    from pyspark.sql import functions as f

    if input_.late is None:
        return input_.table.withColumn("__dropped", f.lit(False))
    rows = input_.table.join(input_.late.select(*PLACED, f.lit(True).alias("__late")), [*PLACED], "left")
    return rows.withColumn("__dropped", f.coalesce("__late", f.lit(False))).drop("__late")


def _joined(sides: tuple[DataFrame, DataFrame], tests: Sequence[str], how: str = "inner") -> DataFrame:
    from pyspark.sql import functions as f

    return sides[0].join(sides[1], f.expr(" AND ".join(tests) or "true"), how)


def _names(schemas: tuple[Schema, Schema]) -> list[str]:
    return [column.name for column in joined(*schemas, JoinKind.INNER)]


def _sides(
    inputs: Sequence[BatchInput],
    schemas: tuple[Schema, Schema],
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    bounds: Sequence[str],
    times: tuple[str, str] | None,
    within: tuple[int, int],
) -> tuple[DataFrame, DataFrame]:
    """The rows of both sides in the columns of a joined row; their keys, bounds and times as `__0...`, `__1...`."""
    left, names = schemas[0], _names(schemas)
    sides = []
    for side, (schema, own) in enumerate(zip(schemas, (names, names[len(left) :]), strict=True)):
        table = inputs[side].table
        extra = [f"{key} AS __{side}k{at}" for at, key in enumerate(keys[side])]
        extra += [f"{name} AS __{side}{name[2:]}" for name in bounds]
        if times is not None:
            wait_ms = (-within[0], within[1])[side]
            table = _kept_until(_marked(inputs[side]), inputs[side].watermarks, times[side], keys[side], wait_ms)
            extra += [f"{name} AS __{side}{name[2:]}" for name in _OF_TIME]
            extra.append(f"{_PLACE} AS __{side}p")
        columns = [f"{quote(column.name)} AS {quote(name)}" for column, name in zip(schema, own, strict=False)]
        sides.append(table.selectExpr(*columns, *extra))
    return sides[0], sides[1]


def _tests(
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    bounds: Sequence[str],
    within: tuple[int, int] | None,
    condition: str | None,
) -> list[str]:
    """What is true of a pair, as SQL."""
    tests = [f"__0k{at} = __1k{at}" for at in range(len(keys[0]))]
    tests += [f"__0{name[2:]} = __1{name[2:]}" for name in bounds]
    if within is not None:
        tests.append(f"__0t - __1t BETWEEN {within[0]} AND {within[1]}")
    if condition is not None:
        tests.append(f"({condition})")
    return tests


def _kept_until(rows: DataFrame, watermarks: DataFrame, time_ms: str, keys: Sequence[str], wait_ms: int) -> DataFrame:
    """Each row with its time `__t`, the watermark that it met `__w`, and the one up to which it is kept, `__until`.

    `__last`: the latest time of a partner; a row that comes when the watermark is there is not kept. A key lets go of
    its rows when the watermark passes the first to arrive of them; earlier ones stay as long, or until the next row of
    the other side has met them. `__before`: the place and the watermark of the row before it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    timed = rows.join(watermarks, SEQ, "left").selectExpr(
        "*", f"{time_ms} AS __t", f"coalesce({WATERMARK_MS}, {MIN_WATERMARK + 1}) AS __w"
    )
    of_key = Window.partitionBy(*map(f.expr, keys)).orderBy(*PLACED)
    before = of_key.rowsBetween(-_LOOKED_BACK, -1)
    # As in the kernel: the watermark is before the last time of a partner, and rows after 1970 await none before it.
    last = f"(__t + {wait_ms})"
    stays = f"__w < {last} AND NOT ({last} <= 0 AND __t >= 0)"
    held = timed.withColumn("__held", f.collect_list(f.expr(f"CASE WHEN {stays} THEN __t END")).over(before))
    first = f"get(filter(__held, x -> x + {wait_ms} >= __w), 0)"
    until = f"CASE WHEN {stays} THEN greatest(__t, coalesce({first}, __t)) + {wait_ms} ELSE {MIN_WATERMARK} END"
    own = f.expr(f"struct({_PLACE} AS p, __w AS w)")
    placed = held.withColumn("__before", f.lag(own).over(of_key))
    return placed.selectExpr("*", f"{last} AS __last", f"{until} AS __until")
