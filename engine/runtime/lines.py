"""A changelog as lines of text, in order of position, formatted by the workers.

A terminal needs one long stream; a driver that converted every record to Python objects would take minutes
for a few million of them. Workers sort, format and write text files, which the driver forwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from engine.contract.frames import POSITION, SEQ, STEP
from engine.model.printing import Printed, aligned, cells, head, json_line, printable, widths
from engine.model.schema import Schema
from engine.model.types import Type, quote
from engine.model.zones import Zone
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.reports import Batches, Report, run_tasks, task_name
from engine.spark.run_files import RunFiles
from engine.spark.workspace import writing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_WIDTHS_FROM: Final = 1000
_PART: Final = 500_000
_READ: Final = 1 << 20

Read = Callable[["pa.RecordBatch | pa.Table"], Iterator[Printed]]


def lines(
    spark: SparkSession,
    files: RunFiles,
    schema: Schema,
    epochs: Sequence[EdgeRecords],
    form: str,
    zone: Zone | None = None,
    name: str = "",
) -> Iterator[str]:
    """An output as text, in chunks of whole lines. form: "jsonl", or "table", aligned.

    files: of the run, where the text is written too. epochs: the records of the output, epoch by epoch. A table's
    column widths are those of its first thousand records. zone: instants are shown in it. name: of the output, if there
    are several.
    """
    read = partial(_printed, types=[None] * len(POSITION) + [column.type for column in schema], zone=zone)
    names = schema.names
    frames = [_local(records.frame(spark), schema) for records in epochs if records.files]
    if form == "jsonl":
        for at, frame in enumerate(frames):
            yield from _formatted(
                frame, files, read, lambda record: json_line(names, record, name), f"text-{name}-{at}"
            )
        return
    first: list[Printed] = []
    for frame in frames:
        if len(first) < _WIDTHS_FROM:
            first += read(frame.orderBy(SEQ, STEP).limit(_WIDTHS_FROM - len(first)).toArrow())
    wide = widths([head(names), *map(cells, first)])
    yield f"{aligned(head(names), wide)}\n{aligned(['-' * width for width in wide], wide)}\n"
    for at, frame in enumerate(frames):
        yield from _formatted(frame, files, read, lambda record: aligned(cells(record), wide), f"text-{name}-{at}")


def _local(frame: DataFrame, schema: Schema) -> DataFrame:
    from pyspark.sql import functions as f

    # Python would convert timestamps to local times of this machine.
    columns = [f.col(quote(column.name)).cast(str(column.type.unzoned)) for column in schema]
    return frame.select(*POSITION, *columns)


def _formatted(
    frame: DataFrame, files: RunFiles, read: Read, form: Callable[[Printed], str], folder: str
) -> Iterator[str]:
    workspace = files.workspace

    def task(batches: Batches) -> Iterator[Report]:
        path = workspace.place(folder, f"{task_name()}.txt")
        with writing(path) as text:
            for batch in batches:
                text.write("".join(f"{form(record)}\n" for record in read(batch)).encode())
        yield {"text": path}

    parts = max(1, frame.count() // _PART)
    ordered = frame.repartitionByRange(parts, SEQ, STEP).sortWithinPartitions(SEQ, STEP)
    # Task names begin with their partition number.
    for path in sorted(report["text"] for report in run_tasks(ordered, task)):
        with files.bring([path])[path].open(encoding="utf-8", newline="") as written:
            while chunk := written.read(_READ):
                yield chunk


def _printed(rows: pa.RecordBatch | pa.Table, types: Sequence[Type | None], zone: Zone | None) -> Iterator[Printed]:
    columns = [printable(column, type_, zone) for column, type_ in zip(rows.columns, types, strict=True)]
    for seq, step, kind, *values in zip(*columns, strict=True):
        yield Printed(seq, bytes(step), kind, values)
