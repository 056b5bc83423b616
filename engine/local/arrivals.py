"""The numbers of events: one order of arrival over all sources, including the ends of sources."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.contract.columnar_kernel import Longs
from engine.contract.frames import NUMBER
from engine.contract.scan import Numbered
from engine.contract.source import Source
from engine.local.values import plain_values, without_spark
from engine.model.pipeline import Arrival
from engine.model.timeline import MAX_WATERMARK, Idle
from engine.planner import NodePlan
from engine.runtime.arrivals.watermark_rule import NO_TIME

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Events:
    """Events of a source in order: KIND (null: a watermark event), WATERMARK (null for all other events), the columns.

    A recording also has NUMBER. is_whole: whether these are all events of the source. recorded: of a recording, when
    the source ended and was idle.
    """

    table: pa.Table
    is_whole: bool = True
    recorded: Numbered | None = None

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True)
class Numbers:
    """The numbers of events. seqs: by source, of each of its events. ends: by source, of its end. idle: by source.

    now: the clock of recordings whose run went by epochs: from an event on, the time in ms.
    """

    seqs: Mapping[str, Sequence[int]]
    ends: Mapping[str, int]
    idle: Idle = field(default_factory=dict)
    now: tuple[tuple[int, int], ...] = ()

    @property
    def firsts(self) -> dict[str, int]:
        """By source with events, the number of the first of them to arrive."""
        return {name: min(own) for name, own in self.seqs.items() if own}


def numbered(
    arrival: Arrival, sources: Sequence[NodePlan], tables: Collection[str], events: Mapping[str, Events]
) -> Numbers:
    """Number the events from 1. sources: of the plan. tables: the names of lookup tables among them."""
    if arrival.mode == "recorded":
        return _as_recorded([node.id for node in sources], events)
    left = {node.id: len(events[node.id]) for node in sources}
    seqs = {name: [0] * count for name, count in left.items()}
    ends: dict[str, int] = {}
    at_once = arrival.ends == "at_its_last_record"
    seq = 0
    for name in [name for name, count in left.items() if at_once and not count]:
        seq += 1
        ends[name] = seq
    for name, index in _order(arrival, sources, tables, events):
        seq += 1
        seqs[name][index] = seq
        left[name] -= 1
        if at_once and not left[name]:
            seq += 1
            ends[name] = seq
    for name in left:
        if name not in ends:
            seq += 1
            ends[name] = seq
    return Numbers(seqs, ends)


def _as_recorded(names: Sequence[str], events: Mapping[str, Events]) -> Numbers:
    """The events of recordings by their NUMBER; a source ends, and is idle, where it was recorded."""
    numbered = {name: events[name].recorded or Numbered() for name in names}
    given = {name: events[name].table.column(NUMBER).to_pylist() for name in names}
    order = sorted(((number, name, at) for name in names for at, number in enumerate(given[name])), key=_number)
    all_of_them = [number for number, _, _ in order]
    recorded_ends = [recording.end for recording in numbered.values() if recording.end is not None]

    def before(number: int | None) -> int:
        """The number of events with smaller numbers."""
        return len(order) if number is None else bisect_left(all_of_them, number)

    def place(number: int) -> int:
        """The event before which a source became idle, or active."""
        if number == MAX_WATERMARK:
            return number
        return before(number) + sum(end < number for end in recorded_ends) + 1

    # The end of a source follows the events before it, and the ends before it.
    befores = {name: before(numbered[name].end) for name in names}
    ends = {name: befores[name] + at + 1 for at, name in enumerate(sorted(names, key=befores.__getitem__))}
    counts = sorted(befores.values())
    seqs = {name: [0] * len(own) for name, own in given.items()}
    for rank, (_, name, at) in enumerate(order):
        seqs[name][at] = rank + 1 + bisect_right(counts, rank)
    idle = {name: tuple((place(first), place(until)) for first, until in numbered[name].idle) for name in names}
    steps = next((recording.clock for recording in numbered.values() if recording.clock), ())
    return Numbers(seqs, ends, idle, tuple((place(first), time_ms) for first, time_ms in steps))


def _number(event: tuple[int, str, int]) -> int:
    return event[0]


def _order(
    arrival: Arrival, sources: Sequence[NodePlan], tables: Collection[str], events: Mapping[str, Events]
) -> list[tuple[str, int]]:
    """The source and the index in it of every event, in order of arrival."""
    all_of_them = [(node.id, index) for node in sources for index in range(len(events[node.id]))]
    match arrival.mode:
        case "one_after_the_other":
            return all_of_them
        case "in_turn":
            return sorted(all_of_them, key=lambda event: -1 if event[0] in tables else event[1])
        case "by_event_time" | "by_column":
            values_of = _largest_times if arrival.mode == "by_event_time" else _arrival_values
            values = {node.id: values_of(node, events[node.id]) for node in sources if node.id not in tables}
            first = [event for event in all_of_them if event[0] in tables]
            others = [event for event in all_of_them if event[0] not in tables]
            return [*first, *sorted(others, key=lambda event: values[event[0]][event[1]])]
        case "recorded":
            message = "recordings are numbered by `_as_recorded`"
            raise AssertionError(message)
        case "listed":
            places: dict[str, int] = {}
            listed = []
            for name in arrival.order:
                index = places.get(name, 0)
                places[name] = index + 1
                if index < len(events[name]):
                    listed.append((name, index))
            # Rows beyond the list come last: they are an error in a run, but not for first records.
            return [*listed, *(event for event in all_of_them if event[1] >= places.get(event[0], 0))]


def event_times(node: NodePlan, events: Events) -> Longs:
    """The event times of a source that has them, in epoch ms; NO_TIME for none."""
    time = node.schema.event_time
    assert time is not None, "the plan was checked"
    times = plain_values(without_spark(time.milliseconds, node.schema, events.table))
    return np.array([NO_TIME if time_ms is None else time_ms for time_ms in times], np.int64)


def _largest_times(node: NodePlan, events: Events) -> list[int]:
    """By event, the largest event time of the source so far."""
    largest: list[int] = np.maximum.accumulate(event_times(node, events)).tolist()
    return largest


def _arrival_values(node: NodePlan, events: Events) -> list[tuple[bool, bool, Any]]:
    """By event, the sort key of its arrival column: NULL is first and NaN last, as in Spark; the sort is stable."""
    import pyarrow as pa

    source = node.operator
    assert isinstance(source, Source)
    column = events.table.column(source.arrival_in(node.schema, node.id).name)
    if pa.types.is_temporal(column.type):
        # Dates and times of both kinds compare as instants.
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    values = plain_values(column)
    return [(value is not None, value != value, None if value != value else value) for value in values]
