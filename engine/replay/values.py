"""A step's keys and values of some records, as its Spark SQL expressions make them.

What is a column, a column as a wider integer, or an event time in ms needs no Spark: nearly all are. The
others are computed by Spark, so that they mean the same as in the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from engine.described import Label
from engine.references import plain_column
from engine.schema import Column, Schema, quote
from engine.step import KeyedInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

POSITION: Final = ("__seq", "__step", "__kind")
_WIDER: Final = re.compile(r"CAST\((`(?:[^`]|``)+`) AS (SMALLINT|INT|BIGINT)\)")
_SECONDS: Final = re.compile(r"CAST\((`(?:[^`]|``)+`) AS BIGINT\) \* 1000")
_INSTANT: Final = re.compile(r"unix_millis\(CAST\((`(?:[^`]|``)+`) AS TIMESTAMP\)\)")
_PRESENT: Final = re.compile(r"`(?:[^`]|``)+` IS NOT NULL(?: AND `(?:[^`]|``)+` IS NOT NULL)*")
_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")


class Record(NamedTuple):
    """An input record as a kernel gets it, with its key."""

    seq: int
    step: bytes
    kind: int
    key: tuple[Any, ...]
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Values:
    """The keys and values of some records, column by column. labels: what the values are called.

    key_types: the Spark types of the key's parts.
    """

    positions: Sequence[Sequence[Any]]
    keys: Sequence[Sequence[Any]]
    values: Sequence[Sequence[Any]]
    labels: tuple[Label, ...]
    key_types: tuple[str, ...]

    def records(self) -> Iterator[Record]:
        """The records, one by one."""
        size = len(self.positions[0])
        keys: Sequence[tuple[Any, ...]] = list(zip(*self.keys, strict=True)) or [()] * size
        rows: Sequence[tuple[Any, ...]] = list(zip(*self.values, strict=True)) or [()] * size
        yield from map(Record._make, zip(*self.positions, keys, rows, strict=True))


def key_columns(given: KeyedInput, schema: Schema) -> tuple[str | None, ...]:
    """By part of the key the column that it is; None where it is computed of several or otherwise."""
    return tuple(column.name if (column := _key_column(key, schema)) else None for key in given.keys)


def values_of(given: KeyedInput, schema: Schema, records: pa.Table, spark: Callable[[], SparkSession]) -> Values:
    """What the step makes of these records: those that pass its condition, each with key and values."""
    expressions = (*given.keys, *given.values, *((given.where,) if given.where is not None else ()))
    made = {each: _without_spark(each, schema, records) for each in dict.fromkeys(expressions)}
    open_ = [each for each, column in made.items() if column is None]
    if open_:
        made |= _with_spark(open_, schema, records, spark())
    kept = None if given.where is None else _plain(made[given.where])

    def plain(expression: str) -> list[Any]:
        found = _plain(made[expression])
        return found if kept is None else [value for value, is_kept in zip(found, kept, strict=True) if is_kept]

    position = [records.column(name).to_pylist() for name in POSITION]
    if kept is not None:
        position = [[value for value, is_kept in zip(held, kept, strict=True) if is_kept] for held in position]
    labels = tuple(_label(each, schema, made[each]) for each in given.values)
    types = tuple(_type(each, schema, made[each]) for each in given.keys)
    return Values(position, [plain(key) for key in given.keys], [plain(value) for value in given.values], labels, types)


def _label(expression: str, schema: Schema, made: Any) -> Label:
    import pyarrow as pa

    column = plain_column(expression, schema)
    return Label(column.name if column else expression.replace("`", ""), pa.types.is_timestamp(made.type))


def _type(expression: str, schema: Schema, made: Any) -> str:
    from pyspark.sql.pandas.types import from_arrow_type

    if match := _WIDER.fullmatch(expression):
        return match[2].lower()
    column = plain_column(expression, schema)
    return column.type if column else str(from_arrow_type(made.type).simpleString())


def _key_column(expression: str, schema: Schema) -> Column | None:
    match = _WIDER.fullmatch(expression)
    column = plain_column(match[1] if match else expression, schema)
    return None if column is None or (match and column.type not in _WHOLE) else column


def _without_spark(expression: str, schema: Schema, records: pa.Table) -> Any:
    """The column that an expression makes, where that is plain; else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column := _key_column(expression, schema):
        return records.column(column.name)
    if (match := _SECONDS.fullmatch(expression)) and (column := plain_column(match[1], schema)):
        return pc.multiply(records.column(column.name).cast(pa.int64()), 1000) if column.type in _WHOLE else None
    if (match := _INSTANT.fullmatch(expression)) and (column := plain_column(match[1], schema)):
        if not column.type.startswith("timestamp"):
            return None
        # Down, not towards zero: before 1970 as well.
        micros = records.column(column.name).cast(pa.int64()).to_pylist()
        return pa.chunked_array([pa.array([None if at is None else at // 1000 for at in micros], pa.int64())])
    if _PRESENT.fullmatch(expression):
        names = [part.removesuffix(" IS NOT NULL") for part in expression.split(" AND ")]
        columns = [plain_column(name, schema) for name in names]
        if all(columns):
            present = [pc.is_valid(records.column(column.name)) for column in columns if column is not None]
            whole = present[0]
            for part in present[1:]:
                whole = pc.and_(whole, part)
            return whole
    return None


def _with_spark(expressions: Sequence[str], schema: Schema, records: pa.Table, spark: SparkSession) -> dict[str, Any]:
    import pyarrow as pa
    from pyspark.sql import functions as f

    made = (
        spark.createDataFrame(records.append_column("__at", pa.array(range(len(records)), pa.int64())))
        .selectExpr(
            "__at", *(f"CAST({quote(column.name)} AS {column.type}) AS {quote(column.name)}" for column in schema)
        )
        .select("__at", *(f.expr(each).alias(f"__x{at}") for at, each in enumerate(expressions)))
        .orderBy("__at")
        .toArrow()
    )
    return {each: made.column(f"__x{at}") for at, each in enumerate(expressions)}


def _plain(column: Any) -> list[Any]:
    """Values as kernels know them: instants are BIGINT microseconds."""
    import pyarrow as pa

    found: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return found
