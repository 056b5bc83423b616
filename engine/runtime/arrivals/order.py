"""The order of arrival: the position of each event of a source among those of all sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import NUMBER, TOP
from engine.contract.scan import Numbered
from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.timeline import MAX_WATERMARK
from engine.planner import NodePlan, Plan
from engine.runtime.arrivals.units import Unit
from engine.runtime.arrivals.watermark_rule import NO_TIME
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Units = Mapping[str, Sequence[Unit]]


def follow_each_other(plan: Plan) -> bool:
    """Whether the events of each source are always consecutive in the numbering."""
    mode = plan.pipeline.arrival.mode
    if mode in ("in_turn", "by_event_time"):
        return len(plan.sources) - len(plan.tables) <= 1
    return mode == "one_after_the_other" or (mode == "recorded" and len(plan.sources) == 1)


def offsets_of(counts: Mapping[str, int]) -> dict[str, int]:
    """The rank of each source's first event, if the sources follow each other."""
    offsets, done = {}, 0
    for name, count in counts.items():
        offsets[name] = done
        done += count
    return offsets


class Ranks(Protocol):
    """The ranks of one source's events among those of all sources, from 0."""

    def of(self, first: int, size: int) -> Longs:
        """The ranks of consecutive events. first: the index of the first of them in the source."""


@dataclass(frozen=True)
class Following:
    """All events of a source follow those of the sources before."""

    offset: int

    def of(self, first: int, size: int) -> Longs:
        """Consecutive ranks."""
        return np.arange(self.offset + first, self.offset + first + size)


@dataclass(frozen=True)
class Turns:
    """Sources take turns, one event each. others: by other source, its event count, and whether it precedes this one.

    before: the number of events before all of them.
    """

    others: tuple[tuple[int, bool], ...]
    before: int = 0

    def of(self, first: int, size: int) -> Longs:
        """Its own events before, plus those of the others until then."""
        own: Longs = np.arange(first, first + size)
        ranks = own + self.before
        for count, is_before in self.others:
            ranks = ranks + np.minimum(count, own + int(is_before))
        return ranks


@dataclass(frozen=True)
class Listed:
    """The order listed in the document."""

    places: Longs

    def of(self, first: int, size: int) -> Longs:
        """A range of the listed ranks."""
        return self.places[first : first + size]


@dataclass(frozen=True)
class Saved:
    """Ranks from a saved array that all workers read. before: the number of events before all of them."""

    workspace: Workspace
    path: str
    before: int = 0

    def of(self, first: int, size: int) -> Longs:
        """A range of the saved ranks."""
        ranks: Longs = np.asarray(self.workspace.load(self.path)[first : first + size])
        return ranks + self.before


@dataclass(frozen=True)
class Order:
    """The order of events: by source the ranks of its events, and the last rank before its end, -1 for none.

    first: by source with events, the lowest rank. idle: for recordings, when a source is idle, as the number of events
    before, including ends. now: the clock of their run, if it went by epochs, with the same numbers.
    """

    ranks: Mapping[str, Ranks]
    last: Mapping[str, int]
    first: Mapping[str, int]
    idle: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    now: tuple[tuple[int, int], ...] = ()


def ranked(
    plan: Plan,
    spark: SparkSession | None,
    workspace: Workspace,
    units: Units,
    recorded: Mapping[str, Numbered],
    tops_ms: Mapping[str, int | None],
) -> Order:
    """The order of the events. recorded: metadata of the sources that are recordings. tops_ms: by source, its largest
    event time before them. Raises PipelineError.

    Lookup tables come first, unless the order lists every event.
    """
    counts = {name: sum(unit.events for unit in own) for name, own in units.items()}
    tables = {name: Following(offset) for name, offset in offsets_of(counts).items() if name in plan.tables}
    before = sum(counts[name] for name in tables)
    names = [name for name in counts if name not in tables]
    arrival = plan.pipeline.arrival
    ranks: dict[str, Ranks] = {}
    match arrival.mode:
        case "one_after_the_other":
            ranks = {name: Following(offset) for name, offset in offsets_of(counts).items()}
        case "in_turn":
            for at, name in enumerate(names):
                others = tuple((counts[other], place < at) for place, other in enumerate(names) if place != at)
                ranks[name] = Turns(others, before)
            ranks |= tables
        case "listed":
            for name in counts:
                places = np.array([at for at, listed in enumerate(arrival.order) if listed == name], np.int64)
                if len(places) != counts[name]:
                    message = (
                        f"arrival.order lists it {len(places)} times, but it has {counts[name]} events, rejected rows "
                        "not counted. List every event, or choose another order of arrival."
                    )
                    raise PipelineError(message, name, "arrival.order")
                ranks[name] = Listed(places)
        case "by_event_time" | "by_column":
            streams = [node for node in plan.sources if node.id not in tables]
            keys: dict[str, _SortKey] = (
                {node.id: _LargestTime(tops_ms[node.id]) for node in streams}
                if arrival.mode == "by_event_time"
                else {node.id: _Column(_arrival_column(node)) for node in streams}
            )
            order = _merged(spark, workspace, {name: units[name] for name in names}, keys, {}, before)
            of_tables = _in_order(tables, counts)
            return Order(
                {**tables, **order.ranks}, {**of_tables.last, **order.last}, {**of_tables.first, **order.first}
            )
        case "recorded":
            return _merged(spark, workspace, units, dict.fromkeys(units, _Column(NUMBER)), recorded)
    return _in_order(ranks, counts)


def _in_order(ranks: Mapping[str, Ranks], counts: Mapping[str, int]) -> Order:
    """The order of sources whose events arrive in the order of their files."""
    last = {name: int(own.of(counts[name] - 1, 1)[0]) if counts[name] else -1 for name, own in ranks.items()}
    return Order(ranks, last, {name: int(own.of(0, 1)[0]) for name, own in ranks.items() if counts[name]})


class _SortKey(Protocol):
    """By what the events of a source are merged with those of others."""

    def of(self, workspace: Workspace, units: Sequence[Unit]) -> Iterator[pa.Array]:
        """The values of all its events."""


@dataclass(frozen=True)
class _Column:
    """The values of a column."""

    name: str

    def of(self, workspace: Workspace, units: Sequence[Unit]) -> Iterator[pa.Array]:
        """As they were read."""
        for unit in units:
            for batch in workspace.read(unit.path, [self.name]):
                yield batch.column(0)


@dataclass(frozen=True)
class _LargestTime:
    """The largest event time of the source so far, which never falls: the source stays in its own order.

    before_ms: that of earlier events.
    """

    before_ms: int | None

    def of(self, workspace: Workspace, units: Sequence[Unit]) -> Iterator[pa.Array]:
        """In epoch ms; NO_TIME before the first event time."""
        top = NO_TIME if self.before_ms is None else self.before_ms
        for times in _Column(TOP).of(workspace, units):
            running = np.maximum(top, np.maximum.accumulate(times.fill_null(NO_TIME).to_numpy()))
            top = int(running[-1])
            yield pa.array(running)


def _merged(
    spark: SparkSession | None,
    workspace: Workspace,
    units: Units,
    keys: Mapping[str, _SortKey],
    recorded: Mapping[str, Numbered],
    before: int = 0,
) -> Order:
    """Merge by a key of each source: one task reads all values, sorts them, and saves the rank of each event.

    recorded: metadata of recordings, which are merged by their numbers. They end at their recorded end, or after all
    events. before: the number of events before all of them.
    """

    ends = [numbered.end for numbered in recorded.values() if numbered.end is not None]
    steps = next((numbered.clock for numbered in recorded.values() if numbered.clock), ())

    def below(parts: Sequence[pa.Array], number: int | None) -> int:
        """The number of events with smaller numbers."""
        if number is None:
            return sum(map(len, parts))
        return sum(pc.sum(pc.less(part, number)).as_py() or 0 for part in parts)

    def place(parts: Sequence[pa.Array], number: int) -> int:
        """The number of events with smaller numbers, including ends."""
        if number == MAX_WATERMARK:
            return number
        return below(parts, number) + sum(end < number for end in ends)

    def task() -> Iterator[Report]:
        by_source = {name: list(keys[name].of(workspace, own)) for name, own in units.items()}
        order = _order([pa.chunked_array(parts) for parts in by_source.values() if parts])
        if steps:
            numbers = np.sort(np.concatenate([part.to_numpy() for parts in by_source.values() for part in parts]))
            firsts = np.array([first for first, _ in steps])
            places = np.searchsorted(numbers, firsts) + np.searchsorted(np.sort(ends), firsts)
            yield {"now": list(zip(places.tolist(), (time_ms for _, time_ms in steps), strict=True))}
        rank: Longs = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        first = 0
        for name, parts in by_source.items():
            own = rank[first : first + sum(map(len, parts))]
            first += len(own)
            path = workspace.save(workspace.place("ranks", name, f"{task_name()}.npy"), own)
            # The end of a source follows the last of its events to arrive, wherever this event is in its file.
            last = int(own.max()) + before if len(own) else -1
            idle: list[list[int]] = []
            if name in recorded:
                of_all = [part for parts in by_source.values() for part in parts]
                last = below(of_all, recorded[name].end) - 1
                idle = [[place(of_all, number) for number in stretch] for stretch in recorded[name].idle]
            lowest = int(own.min()) + before if len(own) else None
            yield {"source": name, "path": path, "last": last, "first": lowest, "idle": idle}

    task_reports = list(run_each(spark, [task]))
    now = [(first, time_ms) for report in task_reports for first, time_ms in report.get("now", ())]
    reports = {report["source"]: report for report in task_reports if "source" in report}
    return Order(
        {name: Saved(workspace, reports[name]["path"], before) for name in units},
        {name: reports[name]["last"] for name in units},
        {name: reports[name]["first"] for name in units if reports[name]["first"] is not None},
        {name: tuple((first, until) for first, until in reports[name]["idle"]) for name in units},
        tuple(now),
    )


def _arrival_column(node: NodePlan) -> str:
    source = node.operator
    assert isinstance(source, Source)
    assert source.arrival_column is not None, "the plan was checked"
    return node.schema.column(source.arrival_column, node.id, "arrival_column").name


def _order(columns: Sequence[pa.ChunkedArray]) -> Longs:
    """The indexes of all values of these columns in ascending order: NULL first, NaN last, ties in original order."""
    if not columns:
        return np.empty(0, np.int64)
    types = [column.type for column in columns]
    if any(map(pa.types.is_string, types)):
        return _sorted(columns)
    if any(map(pa.types.is_decimal, types)):
        scale = max(type_.scale for type_ in types if pa.types.is_decimal(type_))
        return _sorted([column.cast(pa.decimal256(76, scale)) for column in columns])
    valid = np.concatenate([column.is_valid().to_numpy() for column in columns])
    keys = [_key(column) for column in columns]
    # Those of the last key count first.
    order: Longs = np.lexsort((*(np.concatenate(part) for part in zip(*keys, strict=True)), valid))
    return order


def _sorted(columns: Sequence[pa.ChunkedArray]) -> Longs:
    whole = pa.chunked_array([chunk for column in columns for chunk in column.chunks])
    # Arrow sorts NULL last.
    order: Longs = np.roll(pc.sort_indices(whole).to_numpy().astype(np.int64), whole.null_count)
    return order


def _key(column: pa.ChunkedArray) -> tuple[NDArray[np.float64], Longs, NDArray[np.int8]]:
    """By value, what compares as it does: its fraction, its whole number, and -1 or 1 if that is beyond a BIGINT.

    A DOUBLE does not hold all numbers of a BIGINT, but both can be compared in these parts. Times are microseconds.
    """
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column)), _integers(column), np.zeros(len(column), np.int8)
    floats = _floats(column)
    fits = (floats >= -(2.0**63)) & (floats < 2.0**63)
    whole = np.trunc(np.where(fits, floats, 0.0))
    # NaN is last among the values beyond a BIGINT, as NumPy sorts it.
    beyond = np.where(fits, 0, np.where(floats < 0, -1, 1)).astype(np.int8)
    return floats - whole, whole.astype(np.int64), beyond


def _integers(column: pa.ChunkedArray) -> Longs:
    """Values that compare as integers; times as microseconds."""
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    integers: Longs = column.cast(pa.int64()).fill_null(0).to_numpy()
    return integers


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Values that compare as floats; NumPy sorts NaN last."""
    floats: NDArray[np.float64] = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    return floats
