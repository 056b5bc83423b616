"""The matches of whole tables: the rows of each partition in order, through the kernel in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.columnar.columns import Columns, same_rows, taken
from engine.columnar.paths import empty
from engine.contract.columnar_kernel import Chunk, Layout, Records, no_state
from engine.contract.frames import PLACED, SEQ, STEP, key_name, value_name
from engine.contract.sending import sent
from engine.model.schema import Schema
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.model.types import BIGINT, Timestamp, Type, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from engine.patterns.kernel import MatchKernel


def matched(
    table: DataFrame,
    keys: Sequence[str],
    values: Sequence[str],
    kernel: Callable[[Layout], MatchKernel],
    output: Schema,
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
    matches = rows.mapInArrow(sent(_found(kernel, len(keys), len(values), output)), numbers)
    return matches.select(*(_as_time(column.name, column.type) for column in output))


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
    kernel: Callable[[Layout], MatchKernel], keys: int, values: int, output: Schema
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    types = [(column.name, _numbered(column.type)) for column in output]

    def batches(records: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = pa.schema([(name, type_.arrow) for name, type_ in types])
        for rows in _whole_keys(records, keys):
            columns = rows.columns[:keys], rows.columns[keys : keys + values]
            of_keys, of_values = ([column.type for column in arrays] for arrays in columns)
            layout = Layout(tuple(of_keys), (tuple(of_values),), tuple(schema.types))
            yield pa.RecordBatch.from_arrays(list(_matches(kernel(layout), *columns)), schema=schema)

    return batches


def _whole_keys(records: Iterator[pa.RecordBatch], keys: int) -> Iterator[pa.RecordBatch]:
    """The rows of some keys at a time."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    for batch in records:
        if not batch.num_rows:
            continue
        before = waiting[-1].slice(waiting[-1].num_rows - 1) if waiting else batch.slice(0, 1)
        firsts = np.flatnonzero(_begins(pa.concat_batches([before, batch]).columns[:keys], batch.num_rows + 1)[1:])
        if not len(firsts):
            waiting.append(batch)
            continue
        if whole := pa.concat_batches([*waiting, batch.slice(0, firsts[-1])]):
            yield whole
        waiting = [batch.slice(firsts[-1])]
    if waiting:
        yield pa.concat_batches(waiting)


def _begins(keys: Sequence[pa.Array], size: int) -> NDArray[np.bool_]:
    """Whether each row has another key than the row before it."""
    begins = np.ones(size, np.bool_)
    begins[1:] = ~same_rows([key.slice(1) for key in keys], [key.slice(0, size - 1) for key in keys], size - 1)
    return begins


def _matches(kernel: MatchKernel, keys: Sequence[pa.Array], values: Sequence[pa.Array]) -> Columns:
    """The matches in all rows, without watermarks between them."""
    size = len(values[0])
    begins = _begins(keys, size)
    firsts = np.flatnonzero(begins)
    records = Records(
        np.cumsum(begins) - 1,
        np.arange(1, size + 1),
        empty(size),
        np.zeros(size, np.int8),
        np.zeros(size, np.int8),
        (tuple(values),),
        np.full(size, MIN_WATERMARK),
    )
    chunk = Chunk(taken(keys, firsts), len(firsts), records, no_state(kernel.state_schema))
    return kernel.advance(chunk, Timeline.of([(size + 1, MAX_WATERMARK)])).emitted.columns
