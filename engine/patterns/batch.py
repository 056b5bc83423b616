"""The matches of whole tables: the rows of each partition in order, through the automaton in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engine.contract.frames import PLACED, SEQ, STEP, key_name, value_name
from engine.contract.sending import sent
from engine.model.schema import Schema
from engine.model.types import BIGINT, Timestamp, Type, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from engine.patterns.kernel import MatchKernel


def matched(
    table: DataFrame, keys: Sequence[str], values: Sequence[str], kernel: Callable[[], MatchKernel], output: Schema
) -> DataFrame:
    """One row per match. values: the expressions of a kernel's row, the time first."""
    from pyspark.sql import functions as f

    expressions = [(key_name(at), quote(name)) for at, name in enumerate(keys)]
    expressions += [(value_name(0, at), text) for at, text in enumerate(values)]
    rows = table.select(*(f.expr(text).alias(name) for name, text in expressions), *PLACED)
    types = [field.dataType for field in rows.schema]
    rows = rows.select(
        *(_as_number(name, type_) for (name, _), type_ in zip(expressions, types, strict=False)), *PLACED
    )
    key_names = [key_name(at) for at in range(len(keys))]
    rows = rows.repartition(*map(f.col, key_names)) if keys else rows.coalesce(1)
    rows = rows.sortWithinPartitions(*key_names, SEQ, STEP)
    numbers = ", ".join(f"{quote(column.name)} {_numbered(column.type)}" for column in output)
    found = rows.mapInArrow(sent(_found(kernel, len(keys), len(values), output)), numbers)
    return found.select(*(_as_time(column.name, column.type) for column in output))


def _numbered(type_: Type) -> Type:
    return BIGINT if isinstance(type_, Timestamp) else type_


def _as_number(name: str, type_: DataType) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql.types import TimestampNTZType, TimestampType

    is_time = isinstance(type_, TimestampType | TimestampNTZType)
    return f.expr(f"unix_micros(CAST({name} AS TIMESTAMP))").alias(name) if is_time else f.col(name)


def _as_time(name: str, type_: Type) -> Any:
    from pyspark.sql import functions as f

    whole = quote(name)
    if not isinstance(type_, Timestamp):
        return f.col(whole)
    return f.expr(f"CAST(timestamp_micros({whole}) AS {type_})").alias(name)


def _found(
    kernel: Callable[[], MatchKernel], keys: int, values: int, output: Schema
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    types = [(column.name, _numbered(column.type)) for column in output]

    def batches(records: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        matching = kernel()
        schema = pa.schema([(name, type_.arrow) for name, type_ in types])
        in_order = (row for batch in records for row in zip(*(one.to_pylist() for one in batch.columns), strict=True))
        for key, rows in groupby(in_order, lambda row: row[:keys]):
            found = matching.whole(key, [row[keys : keys + values] for row in rows])
            if found:
                arrays = [pa.array(one, of.type) for one, of in zip(zip(*found, strict=True), schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return batches
