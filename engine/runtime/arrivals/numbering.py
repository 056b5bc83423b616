"""The numbers of a run's events: dense from 1 over all sources, in order of arrival, ends included.

Where the events of a source follow each other without another source's in between, its files need no numbers: each
starts with one. Where sources interleave, by turns, by a column or as listed, and where rows are watermarks, their
events are ranked and written once more, a task per unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import (
    EVENTS,
    KIND,
    NUMBER,
    SEQ,
    STEP,
    TIME,
    TOP,
    UNIT,
    WATERMARK,
    arrow_fields,
    changelog_schema,
)
from engine.contract.scan import Numbered
from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.pipeline import Arrival
from engine.model.schema import Schema
from engine.planner import NodePlan, Plan
from engine.runtime.arrivals.units import Unit, UnitFiles
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import PartFile, Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVENTS: Final = pa.schema(arrow_fields(*EVENTS))
Units = Mapping[str, Sequence[Unit]]


@dataclass(frozen=True)
class Numbers:
    """How events that are taken together are numbered.

    after_seq, last_seq: the last event before them, and the last of them, ends included. ends: the seq of each end that
    is among them. last_ranks: where ends come between the others, the rank of the event before each.
    """

    after_seq: int
    last_seq: int
    ends: Mapping[str, int]
    last_ranks: tuple[int, ...]

    def seq_of(self, rank: int) -> int:
        """The number of the event with a rank."""
        return self.after_seq + rank + 1 + sum(last < rank for last in self.last_ranks)

    def seqs_of(self, ranks: Longs) -> Longs:
        """The numbers of events with these ranks."""
        ended: Longs = np.searchsorted(np.array(self.last_ranks, np.int64), ranks, side="left")
        return self.after_seq + ranks + 1 + ended


def follow_each_other(plan: Plan) -> bool:
    """Whether the events of each source are numbered without a gap, whatever the sources hold."""
    mode = plan.pipeline.arrival.mode
    return mode == "one_after_the_other" or (mode in ("in_turn", "recorded") and len(plan.sources) == 1)


def numbers_of(
    arrival: Arrival, counts: Mapping[str, int], last_ranks: Mapping[str, int], after_seq: int, ending: Sequence[str]
) -> Numbers:
    """The numbers of so many events of each source, of which some end with them.

    The end of a source comes right after its last event, or after the last event of all; that of a recording, where it
    came then.
    """
    total = sum(counts.values())
    last_seq = after_seq + total + len(ending)
    if arrival.ends == "together" and arrival.mode != "recorded":
        return Numbers(after_seq, last_seq, {name: after_seq + total + at + 1 for at, name in enumerate(ending)}, ())
    in_order = sorted(ending, key=lambda name: (last_ranks[name], ending.index(name)))
    # Before the end of a source come its last event's rank + 1 events and the ends of those that ended earlier.
    ends = {name: after_seq + last_ranks[name] + 1 + at + 1 for at, name in enumerate(in_order)}
    return Numbers(after_seq, last_seq, ends, tuple(last_ranks[name] for name in in_order))


def offsets_of(counts: Mapping[str, int]) -> dict[str, int]:
    """The rank of each source's first event, where one comes after the other."""
    offsets, done = {}, 0
    for name, count in counts.items():
        offsets[name] = done
        done += count
    return offsets


class Ranks(Protocol):
    """Where the events of one source stand among those of all, from 0."""

    def of(self, first: int, size: int) -> Longs:
        """The ranks of consecutive events. first: the place of the first of them in the source."""


@dataclass(frozen=True)
class Following:
    """All of them after those of the sources before."""

    offset: int

    def of(self, first: int, size: int) -> Longs:
        """One after the other."""
        return np.arange(self.offset + first, self.offset + first + size)


@dataclass(frozen=True)
class Turns:
    """One of each source in turn. others: of each other one how many it has, and whether it comes first in a turn."""

    others: tuple[tuple[int, bool], ...]

    def of(self, first: int, size: int) -> Longs:
        """Behind its own, and what the others have had until then."""
        own: Longs = np.arange(first, first + size)
        ranks = own
        for count, is_before in self.others:
            ranks = ranks + np.minimum(count, own + int(is_before))
        return ranks


@dataclass(frozen=True)
class Listed:
    """As the document lists them."""

    places: Longs

    def of(self, first: int, size: int) -> Longs:
        """A stretch of it."""
        return self.places[first : first + size]


@dataclass(frozen=True)
class Saved:
    """As an array says that all workers read."""

    workspace: Workspace
    path: str

    def of(self, first: int, size: int) -> Longs:
        """A stretch of it."""
        ranks: Longs = np.asarray(self.workspace.load(self.path)[first : first + size])
        return ranks


def ranked(
    plan: Plan, spark: SparkSession, workspace: Workspace, units: Units, recorded: Mapping[str, Numbered]
) -> tuple[Mapping[str, Ranks], dict[str, int]]:
    """The ranks of each source's events, and each last rank before its end; -1 where there is none.

    recorded: what is known of sources that are recordings. Raises PipelineError.
    """
    counts = {name: sum(unit.events for unit in own) for name, own in units.items()}
    names = list(counts)
    arrival = plan.pipeline.arrival
    ranks: dict[str, Ranks] = {}
    match arrival.mode:
        case "one_after_the_other":
            ranks = {name: Following(offset) for name, offset in offsets_of(counts).items()}
        case "in_turn":
            for at, name in enumerate(names):
                others = tuple((counts[one], place < at) for place, one in enumerate(names) if place != at)
                ranks[name] = Turns(others)
        case "listed":
            for name in names:
                places = np.array([at for at, listed in enumerate(arrival.order) if listed == name], np.int64)
                if len(places) != counts[name]:
                    message = (
                        f"arrival.order lists it {len(places)} times, but it has {counts[name]} events, rejected rows "
                        "not counted. List every event, or choose another order of arrival."
                    )
                    raise PipelineError(message, name, "arrival.order")
                ranks[name] = Listed(places)
        case "by_column":
            columns = {node.id: _arrival_column(node) for node in plan.sources}
            return _merged(spark, workspace, units, columns, {})
        case "recorded":
            last_of_all = sum(counts.values()) - 1
            ends = {name: known.end for name, known in recorded.items() if known.end is not None}
            merged, last = _merged(spark, workspace, units, dict.fromkeys(units, NUMBER), ends)
            return merged, {name: last[name] if name in ends else last_of_all for name in units}
    return ranks, {name: int(ranks[name].of(count - 1, 1)[0]) if count else -1 for name, count in counts.items()}


def _merged(
    spark: SparkSession, workspace: Workspace, units: Units, columns: Mapping[str, str], ends: Mapping[str, int]
) -> tuple[Mapping[str, Ranks], dict[str, int]]:
    """Merged by a column of each source: one task reads them all, sorts them, and saves where each event stands.

    ends: before which value of the column a source ended; where nothing is said, after its last event.
    """

    def task() -> Iterator[Report]:
        by_source = {
            name: [part for unit in own for part in _values(workspace, unit, columns[name])]
            for name, own in units.items()
        }
        order = _order([pa.chunked_array(parts) for parts in by_source.values() if parts])
        rank: Longs = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        first = 0
        for name, parts in by_source.items():
            own = rank[first : first + sum(map(len, parts))]
            first += len(own)
            path = workspace.save(workspace.place("ranks", name, f"{task_name()}.npy"), own)
            # The end of a source follows the last of its events to arrive, wherever in its file that stands.
            last = int(own.max()) if len(own) else -1
            if name in ends:
                others = (part for parts in by_source.values() for part in parts)
                last = sum(pc.sum(pc.less(part, ends[name])).as_py() or 0 for part in others) - 1
            yield {"source": name, "path": path, "last": last}

    reports = {report["source"]: report for report in run_each(spark, [task])}
    ranks = {name: Saved(workspace, reports[name]["path"]) for name in units}
    return ranks, {name: reports[name]["last"] for name in units}


def _arrival_column(node: NodePlan) -> str:
    source = node.operator
    assert isinstance(source, Source)
    assert source.arrival_column is not None, "the plan was checked"
    return node.schema.column(source.arrival_column, node.id, "arrival_column").name


def _values(workspace: Workspace, unit: Unit, column: str) -> Iterator[pa.Array]:
    for batch in workspace.read(unit.path, [column]):
        yield batch.column(0)


def _order(columns: Sequence[pa.ChunkedArray]) -> Longs:
    """The places of all values of these columns in ascending order: NULL first, NaN last, of equals the earlier one."""
    if not columns:
        return np.empty(0, np.int64)
    types = [column.type for column in columns]
    if any(map(pa.types.is_string, types)):
        return _sorted(columns)
    if any(map(pa.types.is_decimal, types)):
        scale = max(type_.scale for type_ in types if pa.types.is_decimal(type_))
        return _sorted([column.cast(pa.decimal256(76, scale)) for column in columns])
    is_float = any(map(pa.types.is_floating, types))
    parts = [_floats(column) if is_float else _integers(column) for column in columns]
    valid = np.concatenate([column.is_valid().to_numpy() for column in columns])
    order: Longs = np.lexsort((np.concatenate(parts), valid))
    return order


def _sorted(columns: Sequence[pa.ChunkedArray]) -> Longs:
    whole = pa.chunked_array([chunk for column in columns for chunk in column.chunks])
    order: Longs = pc.sort_indices(whole, null_placement="at_start").to_numpy().astype(np.int64)
    return order


def _integers(column: pa.ChunkedArray) -> Longs:
    """Values that compare as integers; times as microseconds."""
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    integers: Longs = column.cast(pa.int64()).fill_null(0).to_numpy()
    return integers


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Values that compare as floats, of which NumPy puts NaN last."""
    numbers = column if pa.types.is_floating(column.type) else pa.chunked_array([pa.array(_integers(column))])
    floats: NDArray[np.float64] = numbers.cast(pa.float64()).fill_null(0.0).to_numpy()
    return floats


@dataclass(frozen=True)
class Written:
    """A source's events with numbers. records: its changelog by epoch, with the rows of each file. events: the files of
    SEQ, TIME and WATERMARK of all of them, in no order.
    """

    records: Mapping[int, tuple[tuple[str, int], ...]]
    events: tuple[str, ...]


def write_numbered(
    plan: Plan,
    spark: SparkSession,
    read: Mapping[str, tuple[UnitFiles, Sequence[Unit]]],
    ranks: Mapping[str, Ranks],
    numbers: Numbers,
    bounds: Sequence[int],
) -> dict[str, Written]:
    """Number the events of the sources and write them, a task per unit. bounds: the last event of each epoch."""
    tasks = []
    for node in plan.sources:
        if node.id not in read:
            continue
        files, units = read[node.id]
        first = 0
        for unit in units:
            numbering = _Numbering(node.id, files, node.schema, ranks[node.id], numbers, tuple(bounds))
            tasks.append(partial(_write, numbering, unit, first))
            first += unit.events
    reports = run_each(spark, tasks)
    written = {}
    for node in plan.sources:
        records: dict[int, tuple[tuple[str, int], ...]] = {}
        own = [report for report in reports if report["node"] == node.id]
        for report in own:
            for epoch, path, rows in report["records"]:
                records[epoch] = (*records.get(epoch, ()), (path, rows))
        written[node.id] = Written(records, tuple(report["events"] for report in own))
    return written


@dataclass(frozen=True)
class _Numbering:
    node: str
    files: UnitFiles
    schema: Schema
    ranks: Ranks
    numbers: Numbers
    bounds: tuple[int, ...]


def _write(how: _Numbering, unit: Unit, first: int) -> Iterator[Report]:
    """The records of a unit in order of their numbers, in a file per epoch, and its events."""
    workspace, schema = how.files.workspace, changelog_schema(how.schema)
    names = [name for name in how.files.arrow.names if name not in (TOP, UNIT)]
    table = pa.Table.from_batches(workspace.read(unit.path, names), how.files.arrow_of(names))
    size = table.num_rows
    seqs = how.numbers.seqs_of(how.ranks.of(first, size))
    columns: dict[str, Any] = {
        KIND: pa.array(np.zeros(size, np.int8)),
        WATERMARK: pa.nulls(size, pa.int64()),
        TIME: pa.nulls(size, pa.int64()),
        **{name: table.column(name) for name in names},
        SEQ: pa.array(seqs),
        STEP: pa.array([b""] * size, pa.binary()),
    }
    whole = pa.table(columns)
    # Only a merge by a column changes the order within a source; else the batches stay as they were read.
    if (np.diff(seqs) < 0).any():
        whole = whole.take(pa.array(np.argsort(seqs)))
    name = task_name()
    events = PartFile(workspace.place("numbered", how.node, f"{name}.events.parquet"), _EVENTS)
    for batch in whole.select(_EVENTS.names).cast(_EVENTS).to_batches():
        events.write(batch)
    events.close()
    kept = whole.filter(pc.is_valid(whole.column(KIND)))
    epochs = np.searchsorted(np.array(how.bounds), kept.column(SEQ).to_numpy(), side="left")
    records = []
    for epoch in np.unique(epochs).tolist():
        file = PartFile(workspace.place("numbered", how.node, f"{name}.{epoch}.parquet"), schema)
        for batch in kept.select(schema.names).cast(schema).filter(pa.array(epochs == epoch)).to_batches():
            file.write(batch)
        file.close()
        records.append((epoch, file.path, file.rows))
    yield {"node": how.node, "events": events.path, "records": records}
