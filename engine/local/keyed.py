"""A keyed step, key by key: its records in order of position, and the loop of its kernel. For replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from engine.columnar.in_process import ChunkLoop
from engine.columnar.positions import by_position
from engine.contract.columnar_kernel import Layout
from engine.contract.frames import PORT, POSITION, changelog_schema
from engine.contract.kernel import Emitted, Input, Kernel, Key, KeyLoop, Loop, Now, Output
from engine.contract.recorder import EdgeFile
from engine.contract.state_in_words import Label
from engine.contract.step import Keyed
from engine.expressions import Expression
from engine.expressions.analyzer import TypeRules
from engine.local.jobs import LocalJobs, Spark
from engine.mini_batch.bundles import KeyedRecord, key_hash
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.model.schema import Schema
from engine.model.timeline import Clock, Timeline
from engine.model.types import Timestamp, Type
from engine.planner import NodePlan
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.in_process import in_process
from engine.runtime.keyed.inputs import Gathered as Pieces
from engine.runtime.keyed.inputs import Shape, StepInput, hashed_order, plain_type
from engine.runtime.keyed.inputs import gather as pieces_of
from engine.runtime.keyed.local_times import LocalTimes
from engine.spark.run_files import LocalFiles
from engine.spark.workspace import Workspace

_NAN: Final = float("nan")


@dataclass(frozen=True)
class Gathered:
    """The input of a keyed step. records: in order of position. labels: by port, the labels of the values.

    key_types: the types of the key's parts; both are empty without records.
    """

    records: Sequence[KeyedRecord] = ()
    labels: tuple[tuple[Label, ...], ...] = ()
    key_types: tuple[Type, ...] = ()


def gather(node: NodePlan, step: Keyed, inputs: Mapping[int, pa.Table], spark: Spark) -> Gathered:
    """The records of some or all inputs in the form for the kernel, each with its key."""
    if not any(map(len, inputs.values())):
        return Gathered()
    workspace = Workspace.in_memory()
    jobs = LocalJobs(LocalFiles(Path(workspace.root)))
    try:
        edges = [_edge(workspace, input_.schema, port, inputs.get(port)) for port, input_ in enumerate(node.inputs)]
        given = StepInput(step, edges, [None] * len(edges))
        with in_process(checks=False):
            shape, pieces = pieces_of(
                *(workspace, given, ("inputs",), lambda edge: jobs.frame(edge, spark())),
                partial(jobs.run, node=node.id),
            )
        rows = Pieces(workspace, shape, (pieces,), is_spread=True).read(0)
    finally:
        workspace.remove()
    order = by_position(rows)
    labels = (
        tuple(_label(text, input_.schema, shape.types[name]) for text, name in zip(keyed.values, names, strict=True))
        for keyed, input_, names in zip(step.inputs, node.inputs, shape.values, strict=True)
    )
    records = _records(rows if order is None else rows.take(pa.array(order)), shape)
    return Gathered(records, tuple(labels), shape.key_types)


def _edge(workspace: Workspace, schema: Schema, port: int, table: pa.Table | None) -> EdgeRecords:
    """The records of an input as a run has them."""
    if table is None or not len(table):
        return EdgeRecords(schema, (), 0)
    path = workspace.place(f"{port}.parquet")
    workspace.write(path, table.select([*POSITION, *schema.names]).cast(changelog_schema(schema)))
    return EdgeRecords(schema, (EdgeFile(path),), len(table))


def _records(rows: pa.RecordBatch, shape: Shape) -> list[KeyedRecord]:
    """Rows of the shape, in their order."""
    lists = {name: to_pylist(rows.column(name)) for name in rows.schema.names}

    def of(names: Sequence[str]) -> Sequence[Row]:
        return list(zip(*(lists[name] for name in names), strict=True)) if names else [()] * len(rows)

    keys, values, ports = of(shape.keys), [*map(of, shape.values)], lists.get(PORT, [0] * len(rows))
    ends_with_port = len(values) > 1
    return [
        KeyedRecord(comparable(key), Input(seq, kind, values[port][at], port, path[:-1] if ends_with_port else path))
        for at, (key, seq, path, kind, port) in enumerate(
            zip(keys, *(lists[name] for name in POSITION), ports, strict=True)
        )
    ]


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


def _label(expression: str, schema: Schema, type_: Type) -> Label:
    column = Expression.parse(expression).plain_column(schema)
    return Label(column.name if column else expression.replace("`", ""), isinstance(type_, Timestamp))


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
