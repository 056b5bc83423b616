"""A step's keys and values of some records, as its Spark SQL expressions make them.

What means the same on Arrow columns needs no Spark: nearly all do. The others are computed by Spark, so that
they mean the same as in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from engine.described import Label
from engine.expressions import Expression
from engine.schema import Column, Schema, quote
from engine.step import KeyedInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

POSITION: Final = ("__seq", "__step", "__kind")
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

    column = Expression.parse(expression).plain_column(schema)
    return Label(column.name if column else expression.replace("`", ""), pa.types.is_timestamp(made.type))


def _type(expression: str, schema: Schema, made: Any) -> str:
    from pyspark.sql.pandas.types import from_arrow_type

    function = Expression.parse(expression).arrow(schema)
    return function.type if function else str(from_arrow_type(made.type).simpleString())


def _key_column(expression: str, schema: Schema) -> Column | None:
    """The column that a part of a key is, as it is or as an integer of another width."""
    parsed = Expression.parse(expression)
    plain, column = parsed.plain_column(schema), parsed.cast_column(schema)
    if plain is not None or column is None:
        return plain
    function = parsed.arrow(schema)
    is_whole = column.type in _WHOLE and function is not None and function.type in _WHOLE
    return column if is_whole else None


def _without_spark(expression: str, schema: Schema, records: pa.Table) -> Any:
    """The column that an expression makes, where that is the same on Arrow; else None."""
    function = Expression.parse(expression).arrow(schema)
    return None if function is None else function(records)


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
