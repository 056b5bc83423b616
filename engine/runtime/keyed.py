"""A keyed step on Spark: one frame of all inputs and states, sorted by key and position, through a kernel.

What is the same in all records (the path of a source's records, the kind of an insert-only input, the port of the only
one) does not travel: the task knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from engine.columnar import Layout
from engine.frames import EPOCH, IS_EMPTY, KIND, PORT, SEQ, STATE, STEP, arrow_fields, key_name, value_name
from engine.planner import NodePlan
from engine.position import ordinal
from engine.runtime.edges import EdgeRecords
from engine.schema import Schema, arrow_type, quote
from engine.step import Keyed, KeyedInput

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

STATE_PORT: Final = -1
STATE_BITS: Final = 32
"""A state row's number is that of its epoch, above so many bits of its place in the file."""
_BEFORE_ALL: Final = 1 << 20


@dataclass(frozen=True)
class Gathered:
    """The shape of a step's input. keys: columns of the key. values: by port, columns of the values.

    kind, step: of all records, where KIND or STEP is left out. has_ports: whether there is a PORT.
    """

    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    has_ports: bool
    kind: int | None = None
    step: bytes | None = None


def gather(
    step: Keyed, inputs: Sequence[DataFrame], given: Sequence[EdgeRecords] = (), *, whole: bool = False
) -> tuple[DataFrame, Gathered]:
    """One frame of all inputs. given: what is known of them; whole: every column shall be there all the same."""
    ports = len(inputs)
    keys = tuple(key_name(at) for at in range(len(step.inputs[0].keys)))
    if ports > 1 or whole or not given:
        counts = [len(one.values) for one in step.inputs]
        values = tuple(tuple(value_name(port, at) for at in range(count)) for port, count in enumerate(counts))
        frames = [_input(frame, port, step.inputs[port], ports) for port, frame in enumerate(inputs)]
        found = frames[0]
        for frame in frames[1:]:
            found = found.unionByName(frame, allowMissingColumns=True)
        return found, Gathered(keys, values, has_ports=True)
    return _alone(step.inputs[0], inputs[0], given[0], keys)


def _alone(
    one: KeyedInput, frame: DataFrame, given: EdgeRecords, keys: tuple[str, ...]
) -> tuple[DataFrame, Gathered]:
    from pyspark.sql import functions as f

    places = {expression: name for expression, name in zip(one.keys, keys, strict=True)}
    names = [places.setdefault(value, value_name(0, at)) for at, value in enumerate(one.values)]
    if one.where is not None:
        frame = frame.where(f.expr(one.where))
    position = [SEQ, *([STEP] if given.step is None else []), *([KIND] if given.kind is None else [])]
    # Two parts of a key may be one expression: each is a column of its own.
    found = frame.select(
        *position,
        *(f.expr(key).alias(name) for key, name in zip(one.keys, keys, strict=True)),
        *(f.expr(value).alias(name) for value, name in places.items() if name not in keys),
    )
    return found, Gathered(keys, (tuple(names),), has_ports=False, kind=given.kind, step=given.step)


def _input(frame: DataFrame, port: int, given: KeyedInput, ports: int) -> DataFrame:
    from pyspark.sql import functions as f

    if given.where is not None:
        frame = frame.where(f.expr(given.where))
    step: Column = f.col(STEP)
    if ports > 1:
        step = f.concat(step, f.lit(ordinal(port)))
    return frame.select(
        f.lit(port).cast("tinyint").alias(PORT),
        f.col(SEQ),
        step.alias(STEP),
        f.col(KIND),
        *(f.expr(key).alias(key_name(at)) for at, key in enumerate(given.keys)),
        *(f.expr(value).alias(value_name(port, at)) for at, value in enumerate(given.values)),
    )


def hashed_order(step: Keyed, schema: Schema) -> list[int]:
    """The places of a key's parts as Flink has them: plain columns in the order of the input."""
    keys = step.inputs[0].keys
    places = {quote(name): at for at, name in enumerate(schema.names)}
    order = list(range(len(keys)))
    return sorted(order, key=lambda at: places[keys[at]]) if all(key in places for key in keys) else order


def layout_of(node: NodePlan, whole: DataFrame, shape: Gathered) -> Layout:
    """The Arrow types that a columnar kernel meets."""
    types = {field.name: _plain_type(field.dataType.simpleString()) for field in whole.schema.fields}
    return Layout(
        tuple(types[name] for name in shape.keys),
        tuple(tuple(types[name] for name in names) for names in shape.values),
        tuple(_plain_type(column.type) for column in node.schema),
        node.rank,
    )


def state_schema(whole: DataFrame, shape: Gathered, kept: pa.Schema | None) -> pa.Schema:
    """What is kept of keys in files: the key, then a blob, or the columns of a columnar kernel."""
    types = {field.name: arrow_type(field.dataType.simpleString()) for field in whole.schema.fields}
    keys = [pa.field(name, types[name]) for name in shape.keys]
    if kept is None:
        return pa.schema([*keys, *arrow_fields(STATE)])
    # Of a key that has become empty there is a row all the same, and nothing in it.
    return pa.schema([*keys, *arrow_fields(IS_EMPTY), *(pa.field(item.name, item.type) for item in kept)])


def with_states(
    spark: SparkSession, whole: DataFrame, shape: Gathered, states: Sequence[tuple[int, Sequence[str]]]
) -> DataFrame:
    """A step's input with what was kept of the keys, by epoch: before all events, the latest epoch last.

    What is kept of one key is in one file, and stays in the order in which it was written there.
    """
    from pyspark.sql import functions as f

    kept: DataFrame | None = None
    for epoch, paths in states:
        if paths:
            place = f.col("_metadata.row_index")
            number = f.lit((epoch - _BEFORE_ALL) << STATE_BITS).cast("bigint") + place
            part = spark.read.parquet(*paths).withColumn(EPOCH, number)
            kept = part if kept is None else kept.unionByName(part)
    if kept is None:
        return whole
    position = {
        PORT: f.lit(STATE_PORT).cast("tinyint"),
        SEQ: f.col(EPOCH),
        STEP: f.lit(b""),
        KIND: f.lit(0).cast("tinyint"),
    }
    head = [column.alias(name) for name, column in position.items() if name in whole.columns or name == PORT]
    rest = [f.col(quote(name)) for name in kept.columns if name != EPOCH]
    given = whole if PORT in whole.columns else whole.withColumn(PORT, f.lit(0).cast("tinyint"))
    return given.unionByName(kept.select(*head, *rest), allowMissingColumns=True)


def in_order(whole: DataFrame, shape: Gathered, partitions: int) -> DataFrame:
    """Partitioned by key, sorted by key and position."""
    spread = whole.repartition(partitions, *shape.keys) if shape.keys else whole.repartition(1)
    return spread.sortWithinPartitions(*shape.keys, SEQ, *([STEP] if STEP in whole.columns else []))


def _plain_type(type_: str) -> pa.DataType:
    found = arrow_type(type_)
    return pa.int64() if pa.types.is_timestamp(found) else found


