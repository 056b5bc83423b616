"""The input of a keyed step: its files, the computation on their records, and the key that distributes them over tasks.

    files of all inputs -> keys and values of their records -> those of one bucket -> `engine.runtime.keyed.bucket`

Keys and values are computed in Arrow, in the tasks that need them; if one of them is an expression that only Spark can
evaluate, Spark writes the keys and values of all inputs first. With many buckets, the buckets are first written as
files; otherwise each task would read all input files for the few records of its own.

Values common to all records (the path of a source's records, the kind of an insert-only input, a single port) are not
transferred: the task knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from engine.columnar.paths import longer
from engine.contract.columnar_kernel import Layout
from engine.contract.frames import KIND, PORT, POSITION, SEQ, STEP, arrow_fields, key_name, value_name
from engine.contract.recorder import EdgeFile
from engine.contract.step import Keyed, KeyedInput
from engine.expressions import Expression, mentioned
from engine.expressions.costs import bounded
from engine.model.position import ordinal
from engine.model.schema import Schema
from engine.model.spark_types import type_of_data
from engine.model.types import BOOLEAN, VOID, Type, quote
from engine.planner import NodePlan
from engine.runtime.edges.records import EdgeRecords, frame_of_kinds, meeting, of_kinds
from engine.runtime.keyed.hashing import Hashes, bucket_of, hashes_of
from engine.runtime.record_search import Suspects, suspects_of
from engine.runtime.reports import Batches, Report, RunTasks, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from engine.expressions.vectors import ArrowFunction

# With more buckets than these, the input is distributed once, instead of being read by each task.
READ_BY_EACH: Final = 4


@dataclass(frozen=True)
class Shape:
    """The columns of a step's input. keys: of the key. values: by port, the columns of the values.

    kind, step: common to all records, if KIND or STEP is left out. rows: the columns, timestamps as BIGINT
    microseconds. types: of keys and values, before that.
    """

    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    rows: pa.Schema
    kind: int | None = None
    step: bytes | None = None
    types: Mapping[str, Type] = field(default_factory=dict)

    @property
    def key_fields(self) -> tuple[pa.Field, ...]:
        """The columns of the key."""
        return tuple(self.rows.field(name) for name in self.keys)

    @property
    def key_types(self) -> tuple[Type, ...]:
        """The types of the key's parts."""
        return tuple(self.types[name] for name in self.keys)


@dataclass(frozen=True)
class Share:
    """The keys of one bucket."""

    bucket: int
    buckets: int

    def of(self, keys: Sequence[pa.Array], size: int) -> pa.Array:
        """Flags of the rows whose keys these are."""
        return pa.array(bucket_of(hashes_of(keys, size), self.buckets) == self.bucket)


class Piece(Protocol):
    """A part of a step's input."""

    def batches(self, workspace: Workspace, shape: Shape, share: Share | None = None) -> Iterator[pa.RecordBatch]:
        """Its records as rows of the shape, or those of a share of the keys."""


@dataclass(frozen=True)
class EdgePiece:
    """A file of an input's edge, and the computation on its records.

    columns: the columns of the edge to read. kinds: those that pass; None for all. made: by column of the shape.
    is_of_several: whether the step has other ports.
    """

    records: EdgeRecords
    file: EdgeFile
    columns: tuple[str, ...]
    kinds: frozenset[int] | None
    where: ArrowFunction | None
    made: Mapping[str, ArrowFunction]
    port: int
    is_of_several: bool

    def batches(self, workspace: Workspace, shape: Shape, share: Share | None = None) -> Iterator[pa.RecordBatch]:
        """Its records as rows of the shape. Values are computed for the share's records only."""
        position = [name for name in (SEQ, STEP, KIND) if name in shape.rows.names]
        if self.kinds is not None and KIND not in position:
            position.append(KIND)
        for batch in self.records.batches(workspace, self.file, [*position, *self.columns]):
            chosen = of_kinds(batch, self.kinds)
            if self.where is not None:
                chosen = meeting(chosen, self.where(chosen))
            columns = {name: plain(self.made[name](chosen)) for name in shape.keys}
            if share is not None:
                mine = share.of(list(columns.values()), chosen.num_rows)
                chosen, columns = chosen.filter(mine), {name: column.filter(mine) for name, column in columns.items()}
            columns |= {name: chosen.column(name) for name in position}
            if PORT in shape.rows.names:
                columns[PORT] = pa.array(np.full(chosen.num_rows, self.port, np.int8))
            if self.is_of_several:
                columns[STEP] = longer(columns[STEP], ordinal(self.port))
            columns |= {name: plain(function(chosen)) for name, function in self.made.items() if name not in columns}
            yield _rows(columns, chosen.num_rows, shape.rows)


@dataclass(frozen=True)
class RowsPiece:
    """A file whose rows already have the columns of the shape."""

    path: str

    def batches(self, workspace: Workspace, shape: Shape, share: Share | None = None) -> Iterator[pa.RecordBatch]:
        """Its records as rows of the shape, or those of a share of the keys."""
        for batch in workspace.read(self.path, shape.rows.names):
            rows = _rows(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows, shape.rows)
            keys = [rows.column(name) for name in shape.keys]
            yield rows if share is None else rows.filter(share.of(keys, rows.num_rows))


@dataclass(frozen=True)
class StepInput:
    """What a keyed step reads in an epoch. passing: the kinds of each input that reach the step; None for all."""

    step: Keyed
    edges: Sequence[EdgeRecords]
    passing: Sequence[frozenset[int] | None]

    def suspects(self) -> Sequence[Suspects]:
        """Its records, with the expressions of the step."""
        return [
            suspects_of(records, kinds, (*keyed.keys, *keyed.values), keyed.where)
            for records, kinds, keyed in zip(self.edges, self.passing, self.step.inputs, strict=True)
        ]


@dataclass(frozen=True)
class Gathered:
    """A step's input: pieces by bucket. is_spread: whether a bucket's pieces hold nothing but its records."""

    workspace: Workspace
    shape: Shape
    pieces: tuple[tuple[Piece, ...], ...]
    is_spread: bool

    @property
    def buckets(self) -> int:
        """The number of tasks."""
        return len(self.pieces)

    def read(self, bucket: int) -> pa.RecordBatch:
        """The records of a bucket in any order."""
        share = None if self.is_spread else Share(bucket, self.buckets)
        pieces = (piece.batches(self.workspace, self.shape, share) for piece in self.pieces[bucket])
        records = [batch for batches in pieces for batch in batches]
        return pa.concat_batches(records) if records else _rows({}, 0, self.shape.rows)


def gather(
    workspace: Workspace,
    given: StepInput,
    folder: Sequence[str],
    frame: Callable[[EdgeRecords], DataFrame],
    run: RunTasks,
) -> tuple[Shape, tuple[Piece, ...]]:
    """The whole input of a step. frame: of an edge, and run: the tasks over it, if Spark computes it."""
    step, inputs = given.step, given.edges
    functions_of = [compiled(keyed, records.schema) for keyed, records in zip(step.inputs, inputs, strict=True)]
    if any(functions is None for functions in functions_of):
        return _pieces_of(workspace, _gathered_frame(frame, given), step, folder, run)
    has_ports = len(inputs) > 1
    implied = inputs[0] if not has_ports else EdgeRecords(inputs[0].schema, (), 0)
    keys = tuple(key_name(at) for at in range(len(step.inputs[0].keys)))
    fields = [*([PORT] if has_ports else []), SEQ]
    fields += [*([STEP] if implied.step is None else []), *([KIND] if implied.kind is None else [])]
    types: dict[str, Type] = {}
    values: list[tuple[str, ...]] = []
    pieces_now: list[Piece] = []
    for port, (keyed, records, functions) in enumerate(zip(step.inputs, inputs, functions_of, strict=True)):
        assert functions is not None
        computed = {name: functions[key] for name, key in zip(keys, keyed.keys, strict=True)}
        # Parts of a key among the values need no second copy, unless the records of other inputs have them too.
        places = {} if has_ports else {key: name for name, key in zip(keys, keyed.keys, strict=True)}
        names = tuple(places.setdefault(value, value_name(port, at)) for at, value in enumerate(keyed.values))
        values.append(names)
        computed |= {name: functions[value] for name, value in zip(names, keyed.values, strict=True)}
        types |= {name: function.type for name, function in computed.items()}
        pieces_now += _edge_pieces(keyed, records, functions, computed, given.passing[port], port, has_ports)
    rows = pa.schema([*arrow_fields(*fields), *((name, plain_type(type_.arrow)) for name, type_ in types.items())])
    return Shape(keys, tuple(values), rows, implied.kind, implied.step, types), tuple(pieces_now)


def _edge_pieces(
    one: KeyedInput,
    records: EdgeRecords,
    functions: Mapping[str, ArrowFunction],
    made: Mapping[str, ArrowFunction],
    kinds: frozenset[int] | None,
    port: int,
    is_of_several: bool,
) -> list[EdgePiece]:
    """An input's files. functions: the input's expressions, compiled; the others as in `EdgePiece`."""
    where = None if one.where is None else functions[one.where]
    columns = mentioned((*one.keys, *one.values, one.where), records.schema)
    without_files = replace(records, files=())
    return [EdgePiece(without_files, file, columns, kinds, where, made, port, is_of_several) for file in records.files]


def spread(
    spark: SparkSession | None,
    workspace: Workspace,
    shape: Shape,
    pieces: Sequence[Piece],
    buckets: int,
    folder: Sequence[str],
) -> Gathered:
    """The input by buckets of keys, written as files."""
    if not shape.keys:
        buckets = 1
    if buckets <= READ_BY_EACH:
        return Gathered(workspace, shape, (tuple(pieces),) * buckets, is_spread=buckets == 1)

    def task(piece: Piece) -> Iterator[Report]:
        name = task_name()
        files = [PartFile(workspace.place(*folder, f"{at}-{name}.parquet"), shape.rows) for at in range(buckets)]
        for batch in piece.batches(workspace, shape):
            places = bucket_of(key_hashes(batch, shape.keys), buckets)
            for at in np.unique(places).tolist():
                files[at].write(batch.filter(pa.array(places == at)))
        for at, file in enumerate(files):
            if file.close():
                yield {"bucket": at, "path": file.path}

    reports = run_each(spark, [partial(task, piece) for piece in pieces])
    by_bucket: list[list[Piece]] = [[] for _ in range(buckets)]
    for report in sorted(reports, key=lambda report: str(report["path"])):
        by_bucket[report["bucket"]].append(RowsPiece(report["path"]))
    return Gathered(workspace, shape, tuple(map(tuple, by_bucket)), is_spread=True)


def _gathered_frame(frame_of: Callable[[EdgeRecords], DataFrame], given: StepInput) -> DataFrame:
    """The keys and values of all inputs, as Spark computes them."""
    whole: DataFrame | None = None
    for port, (records, kinds) in enumerate(zip(given.edges, given.passing, strict=True)):
        frame = frame_of_kinds(frame_of(records), kinds)
        part = _gathered(frame, port, given.step.inputs[port], len(given.edges))
        whole = part if whole is None else whole.unionByName(part, allowMissingColumns=True)
    assert whole is not None
    return whole


def _pieces_of(
    workspace: Workspace, frame: DataFrame, step: Keyed, folder: Sequence[str], run: RunTasks
) -> tuple[Shape, tuple[Piece, ...]]:
    """A gathered frame as pieces."""
    types = {field.name: type_of_data(field.dataType) for field in frame.schema.fields}
    arrow = pa.schema([(name, type_.arrow) for name, type_ in types.items()])

    def task(batches: Batches) -> Iterator[Report]:
        file = PartFile(workspace.place(*folder, "computed", f"{task_name()}.parquet"), arrow)
        for batch in batches:
            file.write(pa.RecordBatch.from_arrays(batch.columns, schema=arrow))
        if file.close():
            yield {"path": file.path}

    paths = sorted(report["path"] for report in run(frame, task))
    keys = tuple(key_name(at) for at in range(len(step.inputs[0].keys)))
    values = [tuple(value_name(port, at) for at in range(len(keyed.values))) for port, keyed in enumerate(step.inputs)]
    names = [PORT, *POSITION, *keys, *(name for of_port in values for name in of_port)]
    rows = pa.schema([(name, plain_type(arrow.field(name).type)) for name in names])
    shape = Shape(keys, tuple(values), rows, types=types)
    return shape, tuple(map(RowsPiece, paths))


def hashed_order(step: Keyed, schema: Schema) -> list[int]:
    """The indexes of a key's parts in Flink's order: plain columns in the order of the input."""
    keys = step.inputs[0].keys
    places = {quote(name): at for at, name in enumerate(schema.names)}
    order = list(range(len(keys)))
    return sorted(order, key=lambda at: places[keys[at]]) if all(key in places for key in keys) else order


def layout_of(node: NodePlan, shape: Shape) -> Layout:
    """The Arrow types that a columnar kernel receives."""
    return Layout(
        tuple(shape.rows.field(name).type for name in shape.keys),
        tuple(tuple(shape.rows.field(name).type for name in names) for names in shape.values),
        tuple(plain_type(column.type.arrow) for column in node.schema),
        node.rank,
    )


def key_hashes(rows: pa.RecordBatch, keys: Sequence[str]) -> Hashes:
    """The hashes of the keys of some rows."""
    return hashes_of([rows.column(name) for name in keys], rows.num_rows)


def plain(column: pa.Array) -> pa.Array:
    """Timestamps as BIGINT microseconds: kernels compute with integers, without time zones."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def compiled(one: KeyedInput, schema: Schema) -> dict[str, ArrowFunction] | None:
    """An input's expressions by text, compiled for Arrow; None if one of them needs Spark."""
    functions: dict[str, ArrowFunction] = {}
    for text in (*one.keys, *one.values, *([one.where] if one.where is not None else [])):
        function = Expression.parse(text).arrow(schema)
        if function is None or function.type == VOID:
            return None
        functions[text] = function
    return functions if one.where is None or functions[one.where].type == BOOLEAN else None


def _gathered(frame: DataFrame, port: int, input_: KeyedInput, ports: int) -> DataFrame:
    from pyspark.sql import functions as f

    if input_.where is not None:
        frame = frame.where(f.expr(bounded(input_.where)))
    step: Column = f.col(STEP)
    if ports > 1:
        step = f.concat(step, f.lit(ordinal(port)))
    return frame.select(
        f.lit(port).cast("tinyint").alias(PORT),
        f.col(SEQ),
        step.alias(STEP),
        f.col(KIND),
        *(f.expr(bounded(key)).alias(key_name(at)) for at, key in enumerate(input_.keys)),
        *(f.expr(bounded(value)).alias(value_name(port, at)) for at, value in enumerate(input_.values)),
    )


def _rows(columns: Mapping[str, pa.Array], size: int, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [columns[field.name] if field.name in columns else pa.nulls(size, field.type) for field in schema]
    typed = [a if a.type == field.type else a.cast(field.type) for a, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(typed, schema=schema)


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type of a column after `plain`."""
    return pa.int64() if pa.types.is_timestamp(type_) else type_
