"""A changelog as lines of text, in order of position, formatted where the records are.

A terminal wants one long stream; a driver that turned every record into Python objects would take minutes
for a few million of them. Workers sort, format and write files of text, the driver passes those on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.contract.frames import POSITION, SEQ, STEP
from engine.model.printing import Printed, aligned, cells, head, json_line, widths
from engine.model.schema import Schema, quote
from engine.runtime.edges import EdgeRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WIDTHS_FROM: Final = 1000
_CHUNK: Final = 5_000
_PART: Final = 500_000
_READ: Final = 1 << 20


def lines(
    spark: SparkSession, schema: Schema, epochs: Sequence[EdgeRecords], form: str, scratch: Path
) -> Iterator[str]:
    """An output as text, in chunks of whole lines. form: "jsonl", or "table", aligned.

    epochs: its records, epoch by epoch. scratch: an empty folder for the text, which the
    caller removes. A table's widths are those of its first thousand records.
    """
    names = schema.names
    frames = [_local(records.frame(spark), schema) for records in epochs if records.files]
    if form == "jsonl":
        for at, frame in enumerate(frames):
            yield from _formatted(frame, lambda record: json_line(names, record), scratch / str(at))
        return
    first: list[Printed] = []
    for frame in frames:
        if len(first) < _WIDTHS_FROM:
            rows = frame.orderBy(SEQ, STEP).limit(_WIDTHS_FROM - len(first)).collect()
            first += [_printed(row) for row in rows]
    wide = widths([head(names), *map(cells, first)])
    yield f"{aligned(head(names), wide)}\n{aligned(['-' * width for width in wide], wide)}\n"
    for at, frame in enumerate(frames):
        yield from _formatted(frame, lambda record: aligned(cells(record), wide), scratch / str(at))


def _local(frame: DataFrame, schema: Schema) -> DataFrame:
    from pyspark.sql import functions as f

    # Python would turn timestamps into local times of this machine.
    columns = [
        f.col(quote(column.name)).cast(re.sub(r"\btimestamp\b", "timestamp_ntz", column.type)) for column in schema
    ]
    return frame.select(*POSITION, *columns)


def _formatted(frame: DataFrame, form: Callable[[Printed], str], folder: Path) -> Iterator[str]:
    def text(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            done = [form(_printed(row)) for row in rows]
            chunks = ["\n".join(done[at : at + _CHUNK]) for at in range(0, len(done), _CHUNK)]
            if chunks:
                yield pa.RecordBatch.from_arrays([pa.array(chunks, pa.string())], names=["text"])

    parts = max(1, frame.count() // _PART)
    ordered = frame.repartitionByRange(parts, SEQ, STEP).sortWithinPartitions(SEQ, STEP)
    ordered.mapInArrow(text, "text string").write.text(str(folder))
    for file in sorted(folder.glob("part-*")):
        with file.open(encoding="utf-8", newline="") as written:
            while chunk := written.read(_READ):
                yield chunk


def _printed(row: Sequence[Any]) -> Printed:
    seq, step, kind, *values = row
    return Printed(seq, bytes(step), kind, values)
