"""Mini-batch for few records: one task reads them all, and determines the bundle of each.

The result equals that of `engine.runtime.mini_batch.on_spark`, whose join, grouping and windows take Spark seconds even
for few records. Both store the records of open bundles in the same files, so epochs of both kinds can alternate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.codes import codes_of
from engine.contract.bundling import Bundling
from engine.contract.frames import ENDS, PORT, POSITION, SEQ, STEP, arrow_fields, key_name, value_name
from engine.contract.kernel import End
from engine.mini_batch.bundles import Bundles, unordered
from engine.model.binary_row import hash_of, row_encoder
from engine.model.types import Type
from engine.runtime.keyed.inputs import EdgePiece, Piece, RowsPiece, Shape, StepInput, compiled, edge_pieces, plain_type
from engine.runtime.keyed.positions import by_position
from engine.runtime.mini_batch.on_spark import FOLDS, Flushes
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENDS: Final = (pa.int64(), pa.binary(), pa.int32())


@dataclass(frozen=True)
class _Task:
    """A step's input with the records of open bundles. given: the shape as read; kept: the shape as stored.

    hashed: the parts of a key in Flink's order.
    """

    workspace: Workspace
    pieces: tuple[Piece, ...]
    given: Shape
    kept: pa.Schema
    bundling: Bundling
    flushes: Flushes
    rank: int
    hashed: tuple[int, ...]
    key_types: tuple[Type, ...]
    folder: tuple[str, ...]

    def __call__(self) -> Iterator[Report]:
        """Write the records of bundles that end, and those of the others. Reports the two files, None for no file."""
        rows = self._rows()
        positions = list(zip(rows.column(SEQ).to_pylist(), rows.column(STEP).to_pylist(), strict=True))
        codes = codes_of([rows.column(name) for name in self.given.keys], rows.num_rows)[0].tolist()
        carried_folds = _ends_in(rows, FOLDS)
        bundles = Bundles(self.bundling, self.flushes.load().tolist(), self.rank, self._hash(rows, codes))
        folds, ends = bundles.folds_and_ends(positions, codes, carried_folds)
        bundle_columns = dict(zip((*FOLDS, *ENDS), (*_columns(folds), *_columns(ends)), strict=True))
        is_open = bundle_columns[ENDS[0]].is_null()
        yield {
            "closed": self._written("closed", rows, bundle_columns, pc.invert(is_open), _plain_rows(self.given)),
            "open": self._written("open", rows, bundle_columns, is_open, self.kept),
        }

    def _rows(self) -> pa.RecordBatch:
        """All records in order of position."""
        parts = [batch for piece in self.pieces for batch in piece.batches(self.workspace, self.given)]
        rows = pa.concat_batches(parts) if parts else self.given.rows.empty_table().to_batches()[0]
        order = by_position(rows)
        return rows if order is None else rows.take(pa.array(order))

    def _hash(self, rows: pa.RecordBatch, codes: Sequence[int]) -> Callable[[int], int]:
        """The hash by which Flink's hash map orders the key of a code."""
        encode = row_encoder([self.key_types[at] for at in self.hashed]) if self.hashed else None
        if encode is None:
            return unordered
        columns = [rows.column(self.given.keys[at]) for at in self.hashed]
        first = dict(zip(reversed(codes), range(len(codes) - 1, -1, -1), strict=True))
        return lambda code: hash_of(encode(tuple(column[first[code]].as_py() for column in columns)))

    def _written(
        self, what: str, rows: pa.RecordBatch, made: dict[str, pa.Array], mask: pa.Array, schema: pa.Schema
    ) -> str | None:
        columns = [made[field.name] if field.name in made else rows.column(field.name) for field in schema]
        typed = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
        file = PartFile(self.workspace.place(*self.folder, what, f"{task_name()}.parquet"), schema)
        file.write(pa.RecordBatch.from_arrays(typed, schema=schema).filter(mask))
        return file.path if file.close() else None


def bundled_in_one_task(
    spark: SparkSession,
    workspace: Workspace,
    given: StepInput,
    carried: Sequence[str],
    flushes: Flushes,
    *,
    rank: int,
    hashed: Sequence[int],
    folder: Sequence[str],
) -> tuple[Shape, tuple[Piece, ...], tuple[str, ...]] | None:
    """A step's input as pieces, with the ends of bundles, and the files of the records whose bundle is still open.

    None if only Spark can evaluate a key or a value. carried: the files of the open records of the previous epoch.
    """
    step, inputs = given.step, given.edges
    functions = [compiled(side, records.schema) for side, records in zip(step.inputs, inputs, strict=True)]
    if any(function is None for function in functions):
        return None
    keys = tuple(key_name(at) for at in range(len(step.inputs[0].keys)))
    values = tuple(
        tuple(value_name(port, at) for at in range(len(side.values))) for port, side in enumerate(step.inputs)
    )
    pieces: list[EdgePiece] = []
    types: dict[str, Type] = {}
    for port, (side, records, code) in enumerate(zip(step.inputs, inputs, functions, strict=True)):
        assert code is not None
        used = {name: code[text] for name, text in zip((*keys, *values[port]), (*side.keys, *side.values), strict=True)}
        types |= {name: function.type for name, function in used.items()}
        pieces += edge_pieces(side, records, code, used, given.passing[port], port, len(inputs) > 1)
    assert step.bundling is not None
    open_schema = pa.schema(
        [
            *arrow_fields(PORT, *POSITION),
            *(pa.field(name, type_.arrow) for name, type_ in types.items()),
            *(pa.field(name, type_) for names in (FOLDS, ENDS) for name, type_ in zip(names, _ENDS, strict=True)),
        ]
    )
    read = Shape(keys, values, pa.schema([pa.field(field.name, plain_type(field.type)) for field in open_schema]))
    shape = Shape(keys, values, _plain_rows(read))
    if not pieces and not carried:
        return shape, (), ()
    task = _Task(
        workspace,
        (*pieces, *map(RowsPiece, carried)),
        read,
        open_schema,
        step.bundling,
        flushes,
        rank,
        tuple(hashed),
        tuple(types[key] for key in keys),
        tuple(folder),
    )
    (report,) = run_each(spark, [task])
    closed, still_open = ((report[what],) if report[what] else () for what in ("closed", "open"))
    return shape, tuple(map(RowsPiece, closed)), still_open


def _plain_rows(given: Shape) -> pa.Schema:
    """The columns that a kernel receives."""
    return pa.schema([field for field in given.rows if field.name not in FOLDS])


def _ends_in(rows: pa.RecordBatch, names: Sequence[str]) -> list[End | None]:
    parts = zip(*(rows.column(name).to_pylist() for name in names), strict=True)
    return [None if part[0] is None else End(*part) for part in parts]


def _columns(ends: Sequence[End | None]) -> list[Any]:
    return [pa.array([None if end is None else end[at] for end in ends], type_) for at, type_ in enumerate(_ENDS)]
