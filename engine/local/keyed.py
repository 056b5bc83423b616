"""A keyed step, key by key: its records in order of position, and the loop of its kernel. For replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.frames import KIND, SEQ, STEP
from engine.contract.kernel import Emitted, Input, Kernel, Key, KeyLoop, Loop, Now, Output
from engine.contract.state_in_words import Label
from engine.contract.step import Keyed
from engine.expressions import Expression
from engine.expressions.analyzer import TypeRules
from engine.local.values import Spark, plain_values, select
from engine.mini_batch.bundles import KeyedRecord, key_hash
from engine.model.position import ORDINALS
from engine.model.row_values import to_pylist
from engine.model.schema import Schema
from engine.model.spark_types import type_of_data
from engine.model.timeline import Clock, Timeline
from engine.model.types import Type
from engine.planner import NodePlan
from engine.runtime.keyed.inputs import hashed_order, plain_type
from engine.runtime.keyed.local_times import LocalTimes

if TYPE_CHECKING:
    import pyarrow as pa

_NAN: Final = float("nan")


@dataclass(frozen=True)
class Gathered:
    """The input of a keyed step. records: in order of position. labels: by port, the labels of the values.

    key_types: the Spark types of the key's parts.
    """

    records: Sequence[KeyedRecord]
    labels: Mapping[int, tuple[Label, ...]]
    key_types: tuple[Type, ...]


def gather(node: NodePlan, step: Keyed, inputs: Mapping[int, pa.Table], spark: Spark) -> Gathered:
    """The records of some or all inputs in the form for the kernel, each with its key."""
    keyed_records: list[KeyedRecord] = []
    labels: dict[int, tuple[Label, ...]] = {}
    key_types: tuple[Type, ...] = ()
    for port, table in inputs.items():
        input_, schema = step.inputs[port], node.inputs[port].schema
        chosen = select((*input_.keys, *input_.values), schema, table, spark, where=input_.where)
        if not len(chosen.records):
            continue
        size = len(chosen.records)
        key_types = tuple(_spark_type(chosen.columns[key].type) for key in input_.keys)
        labels[port] = tuple(_label(value, schema, chosen.columns[value]) for value in input_.values)
        keys = _rows([plain_values(chosen.columns[key]) for key in input_.keys], size)
        rows = _rows([plain_values(chosen.columns[value]) for value in input_.values], size)
        position = [chosen.records.column(name).to_pylist() for name in (SEQ, STEP, KIND)]
        keyed_records += [
            KeyedRecord(comparable(key), Input(seq, kind, row, port, record_step))
            for seq, record_step, kind, key, row in zip(*position, keys, rows, strict=True)
        ]
    keyed_records.sort(key=lambda each: (each.record.seq, each.record.step + ORDINALS[each.record.port]))
    return Gathered(keyed_records, labels, key_types)


def comparable(key: Key) -> Key:
    """A key in a form in which equal keys are equal in Python, also with NaN."""
    return tuple(_NAN if part != part else tuple(part) if isinstance(part, list) else part for part in key)


def key_order(node: NodePlan, step: Keyed, key_types: Sequence[Type]) -> Callable[[Key], int]:
    """The hash by which Flink's hash maps order the keys."""
    return key_hash(key_types, hashed_order(step, node.inputs[0].schema) if key_types else ())


def plain_loop(
    make: Callable[[], Kernel], timeline: Clock, *, rank: int = 0, ports: int = 1, now: Now | None = None
) -> Loop:
    """The loop of a plain kernel. now: the run's recorded clock, if state expires."""
    return KeyLoop(make(), Output(timeline, rank, ports=ports, now=now))


def loop_of(node: NodePlan, step: Keyed, timeline: Timeline, now: Now | None = None) -> Loop:
    """The loop of a step's kernel."""
    if step.kernel is not None:
        return plain_loop(step.kernel, timeline, rank=node.rank, ports=len(step.inputs), now=now)
    assert step.columnar.make is not None
    return ChunkLoop(step.columnar.make, _layout(node, step), timeline, Output(timeline, node.rank), now)


def rows_in_instants(emitted: list[Emitted], times: LocalTimes) -> list[Emitted]:
    """The same records, whose window_time is an instant again."""
    if not times.columns or not emitted:
        return emitted
    columns = times.outputs(list(zip(*(record.row for record in emitted), strict=True)))
    shown = (to_pylist(column) if at in times.columns else column for at, column in enumerate(columns))
    return [record._replace(row=row) for record, row in zip(emitted, zip(*shown, strict=True), strict=True)]


def _rows(columns: Sequence[Sequence[Any]], size: int) -> Sequence[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * size


def _label(expression: str, schema: Schema, made: Any) -> Label:
    import pyarrow as pa

    column = Expression.parse(expression).plain_column(schema)
    return Label(column.name if column else expression.replace("`", ""), pa.types.is_timestamp(made.type))


def _layout(node: NodePlan, step: Keyed) -> Layout:
    """The Arrow types for a columnar kernel, as in a run."""

    def types_of(texts: Sequence[str], schema: Schema) -> tuple[pa.DataType, ...]:
        return tuple(_type_of(text, schema, node.derived.expression_types) for text in texts)

    schemas = [input_.schema for input_ in node.inputs]
    return Layout(
        types_of(step.inputs[0].keys, schemas[0]),
        tuple(types_of(input_.values, schema) for input_, schema in zip(step.inputs, schemas, strict=True)),
        tuple(plain_type(column.type.arrow) for column in node.schema),
        node.rank,
    )


def _type_of(expression: str, schema: Schema, known: Mapping[str, Type]) -> pa.DataType:
    """The type of an expression. known: those that were judged when the operator was planned."""
    if (column := Expression.parse(expression).plain_column(schema)) is not None:
        return plain_type(column.type.arrow)
    type_ = known.get(expression) or TypeRules().type_of(expression, schema, "", "")
    return plain_type(type_.arrow)


def _spark_type(type_: Any) -> Type:
    from pyspark.sql.pandas.types import from_arrow_type

    return type_of_data(from_arrow_type(type_))
