"""The numbers of events: one order of arrival over all sources, including the ends of sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.contract.frames import NUMBER
from engine.contract.source import Source
from engine.local.values import plain_values
from engine.model.pipeline import Arrival
from engine.planner import NodePlan

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Events:
    """Events of a source in order: KIND (null: a watermark event), WATERMARK (null for all other events), the columns.

    A recording also has NUMBER. is_whole: whether these are all events of the source.
    """

    table: pa.Table
    is_whole: bool = True

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True)
class Numbers:
    """The numbers of events. seqs: by source, of each of its events. ends: by source, of its end."""

    seqs: Mapping[str, Sequence[int]]
    ends: Mapping[str, int]


def numbered(
    arrival: Arrival, sources: Sequence[NodePlan], tables: Collection[str], events: Mapping[str, Events]
) -> Numbers:
    """Number the events from 1. sources: of the plan. tables: the names of lookup tables among them."""
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
        case "by_column":
            values = {node.id: _arrival_values(node, events[node.id]) for node in sources if node.id not in tables}
            first = [event for event in all_of_them if event[0] in tables]
            others = [event for event in all_of_them if event[0] not in tables]
            return [*first, *sorted(others, key=lambda event: values[event[0]][event[1]])]
        case "recorded":
            numbers = {node.id: events[node.id].table.column(NUMBER).to_pylist() for node in sources}
            return sorted(all_of_them, key=lambda event: numbers[event[0]][event[1]])
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


def _arrival_values(node: NodePlan, events: Events) -> list[tuple[bool, bool, Any]]:
    """By event, the sort key for merging sources: NULL is first and NaN last, as in Spark; the sort is stable."""
    import pyarrow as pa

    source = node.operator
    assert isinstance(source, Source)
    column = events.table.column(source.arrival_in(node.schema, node.id).name)
    if pa.types.is_temporal(column.type):
        # Dates and times of both kinds compare as instants.
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    values = plain_values(column)
    return [(value is not None, value != value, None if value != value else value) for value in values]
