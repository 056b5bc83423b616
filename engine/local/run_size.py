"""What a bounded run will take, about, before it starts: events, records, disk and memory.

The first rows of the sources are run in this process. How many records each output has of them, and how many bytes
these take, is then multiplied. Rows of an output that updates come first as +I and later as -U +U: in the first rows
nearly every key is new, so each +I counts twice.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.contract.frames import KIND, SEQ, STEP
from engine.contract.operator import OUT
from engine.contract.source import Source
from engine.contract.step import Keyed
from engine.errors import SourceError
from engine.local import LocalRun, Spark
from engine.local.sources import read
from engine.model.changelog import RowKind
from engine.planner import NodePlan, Plan
from engine.runtime.arrivals.ingest import EPOCH
from engine.runtime.edges.shares import shares_of
from engine.runtime.edges.views import views_of
from engine.runtime.steps import step_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_ROWS: Final = 2_000
LARGE: Final = 200_000
"""With fewer events than this, what a run takes is not worth a word."""
# Of a record in the store, besides its columns: its event and its kind.
_PLACE_BYTES: Final = 2.0
# The heads of DuckDB's blocks, and what is computed of each record for the pages.
_BLOCKS: Final = 1.35
_OF_TEXT: Final = 0.6
_OF_STEP: Final = 0.5
_FLOAT_BYTES: Final = 6.0
_OF_RUN: Final = 10.0
# Measured: the bytes of a record in the files of a run, of those in the store: 0.5 to 0.8.
_OF_FILES: Final = 0.8
# Measured: app and JVM, a worker, and what workers hold of each event of an epoch.
_BASE_MEMORY: Final = 1_200 << 20
_WORKER_MEMORY: Final = 150 << 20
_EVENT_MEMORY: Final = 450
# Measured: smaller epochs are sorted in memory, of larger ones 180 MB are spilled of 130 MB in files.
_SORTED_IN_MEMORY: Final = 32 << 20
_SPILLED: Final = 1.4


@dataclass(frozen=True)
class RunSize:
    """About so many events and kept records; kept_bytes of them in the store; files_bytes beside it at most at once.

    spilled_bytes: what the store writes beside itself while it sorts an epoch that does not fit into its memory.
    unknown: the sources whose number of rows is not known before they are read; they are not counted.
    """

    events: int
    records: int
    kept_bytes: int
    files_bytes: int
    unknown: tuple[str, ...] = ()
    spilled_bytes: int = 0

    @property
    def is_told(self) -> bool:
        """Whether it is worth a word: it is large, or may be."""
        return self.events >= LARGE or bool(self.unknown)

    @property
    def disk_bytes(self) -> int:
        """The most that it takes at once of a disk that has both."""
        return self.kept_bytes + self.files_bytes + self.spilled_bytes

    def memory_bytes(self, cores: int) -> int:
        """The most that all processes take together on this machine."""
        return _BASE_MEMORY + cores * _WORKER_MEMORY + min(self.events, EPOCH) * _EVENT_MEMORY

    def sentence(self, cores: int | None = None) -> str:
        """All of it. cores: of this machine; None if it runs elsewhere."""
        names = ", ".join(self.unknown)
        if self.events < LARGE:
            return f"What a run takes is not known before it: as much as {names} has rows."
        memory = f", and {_size(self.memory_bytes(cores))} of memory" if cores else ""
        stay = f", of which {_size(self.kept_bytes)} stay" if self.kept_bytes else ""
        keep = f" and {_about(self.records)} records to keep" if self.kept_bytes else ""
        without = f" The rows of {names} come on top: their number is not known." if names else ""
        return (
            f"A run takes about {_size(self.disk_bytes)} of disk while it goes on{stay}{memory}: about "
            f"{_about(self.events)} events{keep}.{without}"
        )

    def shortage(self, store: Path | None, files: Path | None) -> str:
        """The sentence that says that a disk will not hold it; empty if each will.

        store: its place, if the records are kept. files: the place of the run's files, if they are on this machine.
        """
        needed: dict[int, tuple[Path, int]] = {}
        for place, size in ((store, self.kept_bytes + self.spilled_bytes), (files, self.files_bytes)):
            if place is not None:
                disk = os.stat(place).st_dev
                first, before = needed.get(disk, (place, 0))
                needed[disk] = first, before + size
        for place, size in needed.values():
            if (free := shutil.disk_usage(place).free) < size:
                return (
                    f"This run will probably not fit: it takes about {_size(size)} of disk, and {_size(free)} are free "
                    f"in {place}. Make room, keep less (options of the pipeline), or read fewer rows. Otherwise it "
                    "ends, with what it has kept by then, before the disk is full."
                )
        return ""


def run_size(plan: Plan, spark: Spark, folder: Path, *, frees: bool = True) -> RunSize:
    """About what a bounded run of a plan will take. spark: only used for what needs it.

    frees: whether the files of an epoch are deleted once it is stored. Raises StudioError.
    """
    rows = {node.id: _rows(node, folder) for node in plan.sources}
    unknown = tuple(name for name, count in rows.items() if count is None)
    events = sum(count or 0 for count in rows.values())
    if events < LARGE:
        # Most pipelines make little of them, and the first rows take some tenths of a second.
        return RunSize(events, 0, 0, 0, unknown)
    first = read(plan, spark, folder, _ROWS)
    more = {
        name: 1.0 if sample.is_whole else (rows[name] or 0) / max(1, len(sample.table))
        for name, sample in first.items()
    }
    local = LocalRun(plan, first, spark)
    views = views_of(plan)
    shares = shares_of(plan, views)
    records: dict[str, float] = {}
    kept_bytes = all_kept = read_bytes = written = 0.0
    for node in plan.nodes:
        table = local.records(node.id)
        more[node.id] = _growth(plan, node, more, records)
        records[node.id] = _in_the_end(node, table) * more[node.id]
        for port, of_port in ((OUT, table), *((port, local.records(node.id, port)) for port in node.second)):
            share = shares[node.id, port]
            if (node.id, port) in views or not len(of_port):
                continue
            total = records[node.id] if port == OUT else len(of_port) * more[node.id]
            size = total * record_bytes(of_port)
            if isinstance(node.operator, Source):
                read_bytes += _OF_FILES * size
            else:
                written += _OF_FILES * size
            if share.one_in:
                all_kept += total / share.one_in
                kept_bytes += size / share.one_in
    of_epoch = written / max(1, -(-events // EPOCH))
    spilled = _SPILLED * of_epoch if kept_bytes and of_epoch > _SORTED_IN_MEMORY else 0
    files_bytes = read_bytes + (of_epoch if frees else written)
    return RunSize(events, round(all_kept), round(kept_bytes), round(files_bytes), unknown, round(spilled))


def record_bytes(table: pa.Table) -> float:
    """The bytes that a record of an output takes in the store, about, from some of its records."""
    values = (_value_bytes(table.column(name)) for name in table.column_names if name not in (SEQ, STEP, KIND))
    return _BLOCKS * (_PLACE_BYTES + _OF_STEP * _mean_length(table.column(STEP)) + sum(values))


def _rows(node: NodePlan, folder: Path) -> int | None:
    assert isinstance(node.operator, Source)
    try:
        return node.operator.rows_about(node.id, folder)
    except SourceError:
        # A view may compute for longer than anybody waits, a server may not answer now.
        return None


def _growth(plan: Plan, node: NodePlan, more: Mapping[str, float], records: Mapping[str, float]) -> float:
    """How many times as many records as of the first rows a node has, from its inputs."""
    if node.id in more:
        return more[node.id]
    grown = [more[input_.node] for input_ in node.inputs]
    if len(grown) == 1 or isinstance(step_of(plan, node), Keyed):
        # A join of a small table and a large one has records as often as the large one.
        return max(grown)
    sizes = [records[input_.node] for input_ in node.inputs]
    return sum(sizes) / max(1.0, sum(size / times for size, times in zip(sizes, grown, strict=True)))


def _in_the_end(node: NodePlan, table: pa.Table) -> float:
    """How many records there would be of the first rows, if their keys were there already."""
    import pyarrow.compute as pc

    inserts = pc.sum(pc.equal(table.column(KIND), int(RowKind.INSERT))).as_py() or 0
    updates = len(table) > inserts or not node.mode.is_insert_only
    return len(table) + inserts if updates and RowKind.UPDATE_BEFORE in node.mode else len(table)


def _value_bytes(column: pa.ChunkedArray) -> float:
    """Of a value of a column, packed as DuckDB packs it: frequent texts as a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = column.type
    if pa.types.is_boolean(type_):
        return 1 / 8
    if pa.types.is_integer(type_) or pa.types.is_temporal(type_):
        narrow = pa.types.is_date32(type_) or pa.types.is_time32(type_)
        return _number_bytes((column.cast(pa.int32()) if narrow else column).cast(pa.int64()).drop_null().to_numpy())
    if pa.types.is_floating(type_):
        return _FLOAT_BYTES
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        different = pc.count_distinct(column).as_py()
        return _bits(different) / 8 if different * 2 < len(column) else _OF_TEXT * _mean_length(column)
    return float(column.nbytes / max(1, len(column)))


def _number_bytes(numbers: NDArray[np.int64]) -> float:
    """Of each: by their range, by that of the steps between neighbours, or as one for neighbours that are equal."""
    if len(numbers) < 2:
        return 1 / 8
    # As integers of Python: a range may be larger than 64 bits.
    low, high = int(numbers.min()), int(numbers.max())
    steps = numbers[1:] - numbers[:-1]
    runs = 1 + int((steps != 0).sum())
    return min(_bits(high - low) / 8, _bits(int(steps.max()) - int(steps.min())) / 8, _OF_RUN * runs / len(numbers))


def _bits(number: int) -> int:
    return max(1, int(number).bit_length())


def _mean_length(column: pa.ChunkedArray) -> float:
    import pyarrow.compute as pc

    mean: Any = pc.mean(pc.binary_length(column)).as_py()
    return float(mean or 0)


def _about(number: int) -> str:
    """Two digits of a number: 12,000,000."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"


def _size(number: int) -> str:
    """Bytes, in two digits: 1.7 GB."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if number >= unit:
            return f"{_rounded(number / unit)} {name}"
    return f"{max(1, round(number / 1000))} kB"


def _rounded(number: float) -> str:
    return f"{number:.1f}" if number < 10 else _about(round(number))
