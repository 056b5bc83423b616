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

    left, right = schemas
    names = [column.name for column in joined(left, right, JoinKind.INNER)]
    bounds = (START_MS, END_MS) if windowed else ()
    sides = []
    for side, input_, schema, own in ((0, inputs[0], left, names), (1, inputs[1], right, names[len(left) :])):
        extra = [f"{key} AS __{side}k{at}" for at, key in enumerate(keys[side])]
        extra += [f"{name} AS __{side}{name[2:]}" for name in bounds]
        table = input_.table
        if times is not None:
            wait_ms = (-within[0], within[1])[side]
            table = _kept_until(table, input_.watermarks, times[side], keys[side], wait_ms)
            extra += [f"{name} AS __{side}{name[2:]}" for name in ("__t", "__w", "__until")]
            extra.append(f"struct({SEQ}, {STEP}) AS __{side}p")
        columns = [f"{quote(column.name)} AS {quote(name)}" for column, name in zip(schema, own, strict=False)]
        sides.append(table.selectExpr(*columns, *extra))
    tests = [f"__0k{at} = __1k{at}" for at in range(len(keys[0]))]
    tests += [f"__0{name[2:]} = __1{name[2:]}" for name in bounds]
    if times is not None:
        tests.append(f"__0t - __1t BETWEEN {within[0]} AND {within[1]}")
        tests.append("CASE WHEN __0p > __1p THEN __0w <= __1until ELSE __1w <= __0until END")
    if condition is not None:
        tests.append(f"({condition})")
    how = {JoinKind.SEMI: "left_semi", JoinKind.ANTI: "left_anti"}.get(kind, kind.value)
    pairs = sides[0].join(sides[1], f.expr(" AND ".join(tests) or "true"), how)
    for name in bounds:
        mine = f.col(f"__0{name[2:]}")
        either = mine if kind.is_left_only else f.coalesce(mine, f.col(f"__1{name[2:]}"))
        pairs = pairs.withColumn(name, either)
    return pairs.select(*(quote(name) for name in names[: len(left) if kind.is_left_only else None]), *bounds)


def _kept_until(rows: DataFrame, watermarks: DataFrame, time_ms: str, keys: Sequence[str], wait_ms: int) -> DataFrame:
    """Each row with its time `__t`, the watermark that it met `__w`, and up to which one it is kept, `__until`.

    A key lets go of its rows when the watermark passes the first to arrive of them; earlier ones stay as long.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    timed = rows.join(watermarks, SEQ, "left").selectExpr(
        "*", f"{time_ms} AS __t", f"coalesce({WATERMARK_MS}, {MIN_WATERMARK + 1}) AS __w"
    )
    before = Window.partitionBy(*map(f.expr, keys)).orderBy(*PLACED).rowsBetween(-_LOOKED_BACK, -1)
    held = timed.withColumn("__held", f.collect_list("__t").over(before))
    first = f"get(filter(__held, x -> x + {wait_ms} >= __w), 0)"
    return held.selectExpr("*", f"greatest(__t, coalesce({first}, __t)) + {wait_ms} AS __until")
