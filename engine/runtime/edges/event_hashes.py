"""What each event made the sinks of a run receive, as a hash per event, to compare runs of the same records.

A record's hash is over its sink, its kind and its values; that of an event is the sum of its records' hashes, so that
their order does not count. A task hashes a file of records, and one task compares all events of two runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.contract.frames import KIND, SEQ
from engine.contract.recorder import EdgeFile
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Hashes = NDArray[np.uint64]
_NULL: Final = np.uint64(0x9E3779B97F4A7C15)
_FACTOR: Final = np.uint64(0xFF51AFD7ED558CCD)
_IN_BITS: Final = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@dataclass(frozen=True)
class Compared:
    """Two runs, event by event. events: those with records in either; changed: those whose records differ.

    first: the first of these, None if there is none.
    """

    events: int
    changed: int
    first: int | None


def hashed(spark: SparkSession, workspace: Workspace, edges: Sequence[Sequence[EdgeRecords]]) -> tuple[str, ...]:
    """The files with the hashes of a run. edges: of each sink, its epochs."""
    work = [
        partial(_hash_file, workspace, records, file, place)
        for place, epochs in enumerate(edges)
        for records in epochs
        for file in records.files
    ]
    return tuple(report["path"] for report in run_each(spark, work))


def compared(
    spark: SparkSession, workspace: Workspace, ours: Sequence[str], theirs: Sequence[str], last_seq: int
) -> Compared:
    """The hashes of two runs in comparison. last_seq: of both."""
    (report,) = run_each(spark, [partial(_compare, workspace, ours, theirs, last_seq)])
    return Compared(report["events"], report["changed"], report["first"])


def _hash_file(workspace: Workspace, records: EdgeRecords, file: EdgeFile, place: int) -> Iterator[Report]:
    """By event of a file, in order: its number, the sum of hashes, and the number of records."""
    seqs: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    hashes: list[Hashes] = [np.zeros(0, np.uint64)]
    for batch in records.batches(workspace, file, [SEQ, KIND, *records.schema.names]):
        seqs.append(batch.column(SEQ).to_numpy())
        hashes.append(row_hashes(place, batch.columns[1:]))
    order = np.argsort(whole := np.concatenate(seqs), kind="stable")
    whole = whole[order]
    starts = np.flatnonzero(np.diff(whole, prepend=-1))
    sums = np.add.reduceat(np.concatenate(hashes)[order], starts) if len(starts) else np.zeros(0, np.uint64)
    counts = np.diff(starts, append=len(whole))
    path = workspace.place("hashes", str(place), f"{task_name()}-{blake2b(file.path.encode()).hexdigest()[:8]}.npy")
    yield {"path": workspace.save(path, np.stack([whole[starts], sums.view(np.int64), counts]))}


def _compare(workspace: Workspace, ours: Sequence[str], theirs: Sequence[str], last_seq: int) -> Iterator[Report]:
    (our_sums, our_counts), (their_sums, their_counts) = (_of_run(workspace, side, last_seq) for side in (ours, theirs))
    differs = np.flatnonzero((our_sums != their_sums) | (our_counts != their_counts))
    events = int(np.count_nonzero(our_counts + their_counts))
    yield {"events": events, "changed": len(differs), "first": int(differs[0]) if len(differs) else None}


def _of_run(workspace: Workspace, paths: Sequence[str], last_seq: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The sum of hashes and the number of records of each event."""
    sums, counts = np.zeros(last_seq + 1, np.int64), np.zeros(last_seq + 1, np.int64)
    for path in paths:
        seqs, of_file, records = workspace.load(path)
        # An event is once in a file.
        sums[seqs] += of_file
        counts[seqs] += records
    return sums, counts


def row_hashes(seed: int, columns: Sequence[pa.Array]) -> Hashes:
    """The hash of each row."""
    hashes = _mixed(np.full(len(columns[0]), seed, np.uint64))
    for column in columns:
        # Not symmetric: which column has a value counts.
        hashes = _mixed(hashes * _FACTOR + _hashes(column))
    return hashes


def _hashes(column: pa.Array) -> Hashes:
    """A number per value; equal values have equal ones."""
    type_ = column.type
    if pa.types.is_boolean(type_):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(type_):
        column = column.cast(pa.int32() if type_.bit_width == 32 else pa.int64())
    elif not pa.types.is_integer(type_) and not pa.types.is_floating(type_):
        return _of_objects(column)
    bits = _IN_BITS[column.type.bit_width]
    filled = column.fill_null(pa.scalar(0, pa.int64()).cast(column.type)) if column.null_count else column
    numbers = filled.to_numpy(zero_copy_only=False).view(bits).astype(np.uint64)
    return _with_nulls(_mixed(numbers), column)


def _of_objects(column: pa.Array) -> Hashes:
    """Of texts and the like each value once; of lists, rows and maps each by itself."""
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return np.array([_of_text(repr(value)) for value in column.to_pylist()], np.uint64)
    coded = pc.dictionary_encode(column)
    hashes = np.array([_of_text(repr(value)) for value in coded.dictionary.to_pylist()] or [0], np.uint64)
    return _with_nulls(hashes[coded.indices.fill_null(0).to_numpy()], column)


def _of_text(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _with_nulls(hashes: Hashes, column: pa.Array) -> Hashes:
    return np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, hashes) if column.null_count else hashes


def _mixed(numbers: Hashes) -> Hashes:
    """The finaliser of SplitMix64: every bit of the input changes half of the bits."""
    numbers = (numbers + _NULL) * np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
