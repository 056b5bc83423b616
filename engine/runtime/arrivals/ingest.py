"""The events of the sources: the records read, numbered densely in order of arrival, with their watermarks.

    sources/<node>/       units: records in order of arrival, without numbers       (engine.runtime.arrivals.intake)
    rejected/<node>/      rows that could not be read
    numbered/<node>/      if sources interleave: the records again, with their numbers
    watermarks/<source>/  of sources that are followed event by event               (engine.runtime.arrivals.clocks)

A source's end is an event too; it has a number and no row. A bounded run ingests all events at once, and assigns the
numbers before its first epoch: any split into epochs sees the same clock. A live run ingests the events of one epoch
after the other; a few numbers per source describe the events before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from engine.contract.frames import TIME, watermarks_schema
from engine.contract.recorder import ClockFile, EdgeFile, Turn
from engine.contract.source import Source
from engine.model.changelog import INSERT
from engine.model.options import goes_by_arrival, goes_by_epochs
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.planner import NodePlan, Plan
from engine.runtime.arrivals import clocks, numbering
from engine.runtime.arrivals import order as order_of_arrival
from engine.runtime.arrivals.clocks import RecordedClock, Rises, SourceLine, Trail
from engine.runtime.arrivals.intake import Read
from engine.runtime.arrivals.numbering import Numbers
from engine.runtime.arrivals.state import ArrivalState, SourceState
from engine.runtime.arrivals.units import Unit
from engine.runtime.arrivals.watermark_rule import WatermarkRule, WatermarkState
from engine.runtime.edges.records import EdgeRecords, SourceFile
from engine.runtime.steps import watermark_steps_ms
from engine.spark.run_files import RunFiles
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The events of one epoch: its intermediate files, and the store's sort, fit a small machine.
EPOCH: Final = 4_000_000


@dataclass(frozen=True)
class Ingested:
    """Events that were ingested together, in `epochs` epochs, starting at the run's epoch `first_epoch`.

    lines: the watermark of every source. rejected: files. cut: as in `EpochOutput`. after: the state after
    them. turns: the sources that become idle or active. clock: the recorded clock, if state expires.
    """

    numbers: Numbers
    epochs: int
    first_epoch: int
    lines: Mapping[str, SourceLine]
    rejected: tuple[str, ...]
    cut: Mapping[str, Mapping[str, int]]
    after: ArrivalState
    sources: Mapping[str, Arrived]
    turns: tuple[Turn, ...] = ()
    clock: RecordedClock | None = None

    def __iter__(self) -> Iterator[EpochEvents]:
        """Epoch by epoch."""
        bounds = (self.numbers.after_seq, *_last_events(self.numbers, self.epochs))
        for at in range(self.epochs):
            yield EpochEvents(self, at, bounds[at], bounds[at + 1])


@dataclass(frozen=True)
class EpochEvents:
    """The events (after_seq, last_seq] of one epoch. at: its index among the epochs ingested together."""

    ingested: Ingested
    at: int
    after_seq: int
    last_seq: int

    @property
    def number(self) -> int:
        """The number of the epoch in the run."""
        return self.ingested.first_epoch + self.at

    @property
    def is_last(self) -> bool:
        """Whether no more events can follow: every source has ended."""
        return self.is_last_taken and all(source.has_ended for source in self.ingested.after.sources.values())

    @property
    def is_last_taken(self) -> bool:
        """Whether it is the last of the epochs ingested together."""
        return self.at == self.ingested.epochs - 1

    @property
    def lines(self) -> Mapping[str, SourceLine]:
        """The watermark of every source."""
        return self.ingested.lines

    @property
    def rejected(self) -> tuple[str, ...]:
        """The files of rejected rows, which belong to the first epoch."""
        return self.ingested.rejected if self.at == 0 else ()

    @property
    def cut(self) -> Mapping[str, Mapping[str, int]]:
        """By source and column, how many values lost digits beyond microseconds; told with the first epoch."""
        return self.ingested.cut if self.at == 0 else {}

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The sources that become idle or active in this epoch."""
        return tuple(turn for turn in self.ingested.turns if self.after_seq < turn.seq <= self.last_seq)

    @property
    def clock(self) -> RecordedClock | None:
        """The recorded clock, if state expires."""
        clock = self.ingested.clock
        return None if clock is None else replace(clock, last_seq=self.last_seq)

    @property
    def now(self) -> Timeline | None:
        """The steps of the recorded clock, for a recorder; None if it is event time."""
        clock = self.ingested.clock
        if clock is None or not (clock.now or clock.by_arrival):
            return None
        return clocks.cut(clock.load(), self.after_seq, self.last_seq)

    def records(self, node: NodePlan) -> EdgeRecords:
        """The edge of a source."""
        return self.ingested.sources[node.id].records(node, self.at, self.after_seq, self.last_seq)

    def clock_files(self) -> tuple[ClockFile, ...]:
        """The events of sources that need not be followed one by one, for a recorder."""
        sources = self.ingested.sources.values()
        return tuple(file for source in sources for file in source.clock_files(self.after_seq, self.last_seq))

    def watermark_files(self, files: RunFiles) -> tuple[str, ...]:
        """The events of the other sources, and the ends of sources."""
        paths = [path for source in self.ingested.sources.values() if (path := source.events(self.at))]
        numbers, after = self.ingested.numbers, self.ingested.after
        marks = {name: after.of(name).mark_ms for name in numbers.idle}
        rows: list[tuple[int, str, None, int | None, bool]] = [
            (seq, name, None, MAX_WATERMARK, True) for name, seq in numbers.ends.items()
        ]
        rows += [
            (seq, name, None, None if marks[name] == MIN_WATERMARK else marks[name], False)
            for name, seq in numbers.idle.items()
        ]
        rows = [row for row in rows if self.after_seq < row[0] <= self.last_seq]
        if rows:
            schema = watermarks_schema()
            columns = zip(*rows, strict=True)
            table = pa.table([pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema=schema)
            paths.append(files.workspace.place("watermarks", f"ends-{self.number}.parquet"))
            files.write(paths[-1], table)
        return tuple(paths)


@dataclass(frozen=True)
class Arrived:
    """A source whose events have numbers: in its units as read, or in rewritten files.

    before_ms: by file, the largest event time before it.
    """

    node: NodePlan
    files: tuple[SourceFile, ...] = ()
    before_ms: tuple[int | None, ...] = ()
    written: numbering.Written | None = None
    trail: Trail | None = None

    def records(self, node: NodePlan, at: int, after_seq: int, last_seq: int) -> EdgeRecords:
        """The edge of the source in an epoch."""
        if self.written is not None:
            written_files = self.written.records.get(at, ())
            return EdgeRecords(
                node.schema, tuple(EdgeFile(path) for path, _ in written_files), sum(rows for _, rows in written_files)
            )
        parts = tuple(part for file in self.files if (part := file.part(after_seq, last_seq)))
        rows = sum(part.high - part.low + 1 for part in parts)
        whole = {file.path: file.rows for file in self.files}
        return EdgeRecords(
            node.schema,
            parts,
            rows,
            kind=INSERT if node.derived.is_insert_only else None,
            step=b"",
            is_cut=rows != sum(whole[part.path] for part in parts),
        )

    def clock_files(self, after_seq: int, last_seq: int) -> Iterator[ClockFile]:
        """Its events, if the source was not followed."""
        source = self.node.operator
        assert isinstance(source, Source)
        if self.trail is not None or self.written is not None or self.node.schema.event_time is None:
            return
        for file, before_ms in zip(self.files, self.before_ms, strict=True):
            part = file.part(after_seq, last_seq)
            if part is not None:
                delay = source.watermark_delay_ms
                yield ClockFile(file.path, self.node.id, file.first_seq, before_ms, delay, part.low, part.high)

    def tops(self, units: Sequence[Unit], by_arrival: bool) -> tuple[Rises, ...]:
        """Where the times of the recorded clock rise. units: as it was read."""
        if self.written is not None:
            return tuple(map(Rises, self.written.clocks))
        pairs = ((unit.clock if by_arrival else unit.rises, file) for unit, file in zip(units, self.files, strict=True))
        return tuple(Rises(path, file.first_seq) for path, file in pairs if path is not None)

    def events(self, at: int) -> str | None:
        """The file of its events, if the source was followed."""
        return self.trail.events.get(at) if self.trail is not None else None


def ingest(
    plan: Plan,
    spark: SparkSession | None,
    read: Mapping[str, Read],
    files: RunFiles,
    *,
    epochs: int | None = None,
    before: ArrivalState | None = None,
    ending: Sequence[str] | None = None,
    idling: Sequence[str] = (),
    first_epoch: int = 0,
    now_ms: int | None = None,
) -> Ingested:
    """Number the events that were read.

    epochs: None for a number chosen by the size of the input. before: the state before them. ending: the sources
    that end with them, by default all. idling: the sources that are idle after them. now_ms: the time at which their
    epoch was decided, in a live run. Raises PipelineError for an inconsistent order of arrival.
    """
    workspace = files.workspace
    before = ArrivalState() if before is None else before
    ending = [node.id for node in plan.sources] if ending is None else ending
    units = {node.id: read[node.id].units if node.id in read else [] for node in plan.sources}
    counts = {name: sum(unit.events for unit in own) for name, own in units.items()}
    is_written = before.is_written or any(unit.records < unit.events for own in units.values() for unit in own)
    epochs = epochs or -(-sum(counts.values()) // EPOCH)
    arrived: dict[str, Arrived] = {}
    idle: dict[str, tuple[tuple[int, int], ...]] = {}
    now: tuple[tuple[int, int], ...] = ()
    recorded = {name: given.files.numbered for name, given in read.items() if given.files.numbered is not None}
    by_epochs, by_arrival = goes_by_epochs(plan.pipeline.options), goes_by_arrival(plan.pipeline.options)
    has_now = by_epochs and any(numbered.clock for numbered in recorded.values())
    if order_of_arrival.follow_each_other(plan) and not is_written and not has_now:
        offsets = order_of_arrival.offsets_of(counts)
        last = {name: offsets[name] + count - 1 if count else -1 for name, count in counts.items()}
        first_ranks: Mapping[str, int] = {name: offsets[name] for name, count in counts.items() if count}
        numbers = numbering.numbers_of(plan.pipeline.arrival, counts, last, before.last_seq, ending, idling)
        for node in plan.sources:
            first_seq = numbers.seq_of(offsets[node.id])
            arrived[node.id] = _in_place(node, units[node.id], first_seq, before.of(node.id).top_ms)
        epochs = max(1, min(epochs, numbers.last_seq - numbers.after_seq))
    else:
        tops_ms = {name: before.of(name).top_ms for name in units}
        order = order_of_arrival.ranked(plan, spark, workspace, units, recorded, tops_ms)
        numbers = numbering.numbers_of(plan.pipeline.arrival, counts, order.last, before.last_seq, ending, idling)
        first_ranks = order.first
        idle = {
            name: tuple((_seq(before, first), _seq(before, until)) for first, until in stretches)
            for name, stretches in order.idle.items()
        }
        now = tuple((_seq(before, first), time_ms) for first, time_ms in order.now) if has_now else ()
        epochs = max(1, min(epochs, numbers.last_seq - numbers.after_seq))
        unit_files = {name: (given.files, given.units) for name, given in read.items()}
        written = numbering.write_numbered(plan, spark, unit_files, order.ranks, numbers, _last_events(numbers, epochs))
        arrived = {node.id: Arrived(node, written=written[node.id]) for node in plan.sources}
    lines: dict[str, SourceLine] = {}
    after: dict[str, SourceState] = {}
    turns: list[Turn] = []
    tops: list[Rises] = []
    steps_ms = watermark_steps_ms(plan)
    for node in plan.sources:
        state = before.of(node.id)
        rises: tuple[Rises, ...] = ()
        unit_tops = [unit.top_ms for unit in units[node.id] if unit.top_ms is not None]
        top_ms = max(unit_tops if state.top_ms is None else [state.top_ms, *unit_tops], default=None)
        reached = state.reached
        if node.schema.event_time is not None and units[node.id]:
            step_ms = steps_ms.get(node.id)
            bounds = _last_events(numbers, epochs)
            watermark = _SourceWatermark(spark, workspace, bounds, step_ms, state, top_ms)
            arrived[node.id], rises, reached = watermark.of(arrived[node.id], units[node.id])
        if plan.state_expires and units[node.id]:
            tops += arrived[node.id].tops(units[node.id], by_arrival)
        # A source becomes active with its first new event, or when it ends.
        was_idle = state.is_idle and not state.has_ended
        counts_from = before.last_seq + 1 if units[node.id] else numbers.ends.get(node.id, MAX_WATERMARK)
        stretches = idle.get(node.id, ((MIN_WATERMARK, counts_from),) if was_idle else ())
        stays = was_idle and counts_from == MAX_WATERMARK
        if was_idle and not stays:
            turns.append(Turn(counts_from, node.id, is_idle=False))
        if node.id in numbers.idle:
            stretches = (*stretches, (numbers.idle[node.id], MAX_WATERMARK))
        for first, until in stretches:
            if first > before.last_seq:
                turns.append(Turn(first, node.id, is_idle=True))
            if first > before.last_seq and until <= numbers.last_seq:
                turns.append(Turn(until, node.id, is_idle=False))
        begun = state.first_seq
        if begun is None and node.id in first_ranks:
            begun = numbers.seq_of(first_ranks[node.id])
        lines[node.id] = SourceLine(rises, numbers.ends.get(node.id), state.mark_ms, stretches, begun)
        has_ended = state.has_ended or node.id in ending
        after[node.id] = SourceState(top_ms, reached, has_ended, stays or node.id in numbers.idle, begun)
    rejected = tuple(path for given in read.values() for path in given.rejected)
    cut = {name: given.cut for name, given in read.items() if given.cut}
    if by_epochs and now_ms is not None:
        now = ((before.last_seq + 1, now_ms),)
    times_ms = [before.arrived_ms, *(unit.clock_ms for own in units.values() for unit in own)]
    arrived_ms = max((time_ms for time_ms in times_ms if time_ms is not None), default=None)
    decided_ms = before.now_ms if now_ms is None else now_ms
    known_after = ArrivalState(numbers.last_seq, after, is_written, decided_ms, arrived_ms=arrived_ms)
    in_order = tuple(sorted(turns, key=lambda turn: turn.seq))
    clock = None
    if plan.state_expires:
        start_ms = before.top_ms
        if by_arrival:
            start_ms = MIN_WATERMARK if before.arrived_ms is None else before.arrived_ms
        clock = RecordedClock(workspace, tuple(tops), start_ms, numbers.last_seq, now, by_arrival)
    return Ingested(numbers, epochs, first_epoch, lines, rejected, cut, known_after, arrived, in_order, clock)


def _seq(before: ArrivalState, place: int) -> int:
    """The number of the event that so many of these events precede."""
    return place if place == MAX_WATERMARK else before.last_seq + place + 1


def _last_events(numbers: Numbers, epochs: int) -> tuple[int, ...]:
    size = numbers.last_seq - numbers.after_seq
    return tuple(numbers.after_seq + size * (at + 1) // epochs for at in range(epochs))


def _in_place(node: NodePlan, units: Sequence[Unit], first_seq: int, top_ms: int | None) -> Arrived:
    files: list[SourceFile] = []
    tops: list[int | None] = []
    for unit in units:
        files.append(SourceFile(unit.path, unit.number, first_seq, unit.events))
        tops.append(top_ms)
        first_seq += unit.events
        if unit.top_ms is not None:
            top_ms = unit.top_ms if top_ms is None else max(top_ms, unit.top_ms)
    return Arrived(node, tuple(files), tuple(tops))


@dataclass(frozen=True)
class _SourceWatermark:
    """How to determine a source's watermark. bounds: the last event of each epoch; top_ms: after the last of them."""

    spark: SparkSession | None
    workspace: Workspace
    bounds: tuple[int, ...]
    step_ms: int | None
    before: SourceState
    top_ms: int | None

    def of(self, arrived: Arrived, units: Sequence[Unit]) -> tuple[Arrived, tuple[Rises, ...], WatermarkState]:
        """The source with its watermark: computed from its units, or event by event in a task."""
        source = arrived.node.operator
        assert isinstance(source, Source)
        delay = source.watermark_delay_ms
        if arrived.written is None and source.watermark_every == 1 and self.step_ms is None:
            reached = self._reached(delay, sum(unit.events for unit in units))
            if delay is None:
                return arrived, (), reached
            rises = tuple(
                Rises(unit.rises, file.first_seq, MIN_WATERMARK if before_ms is None else before_ms, delay)
                for unit, file, before_ms in zip(units, arrived.files, arrived.before_ms, strict=True)
                if unit.rises is not None
            )
            return arrived, rises, reached
        how = WatermarkRule(arrived.node.id, source.watermark_every, delay, self.step_ms)
        task = clocks.WatermarkTask(self.workspace, how, self.bounds, self.before.reached)
        if arrived.written is not None:
            if not arrived.written.events:
                return arrived, (), self.before.reached
            trail = clocks.trail_of_events(self.spark, task, arrived.written.events)
        else:
            files = [(file.path, file.first_seq) for file in arrived.files]
            trail = clocks.trail_of_files(self.spark, task, files, [TIME])
        return replace(arrived, trail=trail), (Rises(trail.rises),), trail.reached

    def _reached(self, delay_ms: int | None, events: int) -> WatermarkState:
        """The state after the events of a source with a watermark per record."""
        before = self.before.reached
        if delay_ms is None or self.top_ms is None:
            return replace(before, index=before.index + events)
        mark_ms = self.top_ms - delay_ms
        return WatermarkState(before.index + events, mark_ms, mark_ms, mark_ms=mark_ms)
