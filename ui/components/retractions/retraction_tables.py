"""Retractions in numbers, as grids: by operator, key and second of event time, and pairs that cancel each other."""

from __future__ import annotations

from collections.abc import Sequence

from engine.model.zones import Zone
from storage.changelogs.model import Amplification, Cancelled, RetractedKey, RetractedSecond
from storage.model import Edge, NodeCounters
from ui.builder.editing import operator_title
from ui.components.changelog.record_list import cell_of, number_columns_of
from ui.components.grid import Cell, Row, Table
from ui.shell import words


def amplification_table(amplifications: Sequence[Amplification]) -> Table:
    """One line per operator: how many records it emits per record, and its retractions in and out."""
    columns = (
        "operator",
        "kind",
        "records in",
        "records out",
        "out per record",
        "retractions in",
        "retractions out",
        "",
    )
    rows = [
        Row(
            (
                Cell(amplification.node, is_strong=True),
                Cell(operator_title(amplification.operator), tone="quiet"),
                Cell(f"{amplification.records_in:,}", is_number=True),
                Cell(f"{amplification.records_out:,}", is_number=True),
                Cell(_ratio(amplification.records_out, amplification.records_in), is_number=True, is_strong=True),
                Cell(f"{amplification.taken_back_in:,}", is_number=True),
                Cell(f"{amplification.taken_back_out:,}", is_number=True),
                Cell(_role(amplification), tone="quiet"),
            )
        )
        for amplification in amplifications
    ]
    return Table(columns, rows, frozenset(columns[2:7]))


def keys_table(edge: Edge, keys: Sequence[RetractedKey]) -> Table:
    """The keys with the most retractions, the worst first."""
    names = edge.upsert_key or edge.names
    keyed = [at for at, name in enumerate(edge.names) if name in names]
    rows = [
        Row(
            (
                *(cell_of(edge, at, value) for at, value in zip(keyed, retracted_key.key, strict=True)),
                Cell(f"{retracted_key.taken_back:,}", is_number=True, is_strong=True),
                Cell(f"{retracted_key.records:,}", is_number=True),
            )
        )
        for retracted_key in keys
    ]
    shown = [edge.names[at] for at in keyed]
    return Table([*shown, "retractions", "of records"], rows, number_columns_of(edge) | {"retractions", "of records"})


def seconds_table(seconds: Sequence[RetractedSecond], zone: Zone | None = None) -> Table:
    """The seconds of event time whose events caused the most retractions on the edge."""
    days = {words.instant(tally.start_ms, zone)[:10] for tally in seconds}
    day = days.pop() if len(days) == 1 else ""
    rows = [
        Row(
            (
                Cell(
                    words.clock(tally.start_ms, day, zone).removesuffix(".000"), note=words.moment(tally.start_ms, zone)
                ),
                Cell(f"{tally.taken_back:,}", is_number=True, is_strong=True),
                Cell(f"{tally.updates_before:,}", is_number=True),
                Cell(f"{tally.deletes:,}", is_number=True),
            )
        )
        for tally in seconds
    ]
    columns = (words.event_time(zone, day, "second"), "retractions", "by -U", "by -D")
    return Table(columns, rows, frozenset(columns[1:]))


def cancelled_table(cancelled: Cancelled) -> Table:
    """The first pairs of consecutive records that cancel each other."""
    rows = [
        Row(
            (
                Cell(f"{first.seq:,}", is_number=True),
                Cell(kinds=(first.kind, second.kind)),
                *(cell_of(cancelled.edge, at, value) for at, value in enumerate(first.values)),
            ),
            pick=str(first.seq),
        )
        for first, second in cancelled.examples
    ]
    numbers = number_columns_of(cancelled.edge) | {"event"}
    return Table(("event", "kinds", *cancelled.edge.names), rows, numbers, frozenset({"event", "kinds"}))


def saved_table(before: Sequence[NodeCounters], after: Sequence[NodeCounters]) -> Table:
    """One line per operator: its records in both runs, and how many the second run saved."""
    others = {counter.node: counter for counter in after}
    columns = ("operator", "records out", "in mini-batch", "saved", "retractions", "retractions in mini-batch")
    rows = []
    for counter in before:
        other = others.get(counter.node)
        if other is None or counter.role == "source":
            continue
        rows.append(
            Row(
                (
                    Cell(counter.node, is_strong=True),
                    Cell(f"{counter.records_out:,}", is_number=True),
                    Cell(f"{other.records_out:,}", is_number=True),
                    _saved(counter.records_out, other.records_out),
                    Cell(f"{_taken_back(counter):,}", is_number=True),
                    Cell(f"{_taken_back(other):,}", is_number=True),
                )
            )
        )
    return Table(columns, rows, frozenset(columns[1:]))


def _ratio(out: int, records_in: int) -> str:
    return f"{out / records_in:.2f}" if records_in else ""


def _role(each: Amplification) -> str:
    if each.taken_back_out and not each.taken_back_in:
        return "retractions begin here"
    if each.taken_back_in and not each.taken_back_out:
        return "retractions end here"
    if each.taken_back_out > each.taken_back_in:
        return "emits more retractions than it receives"
    return ""


def _saved(before: int, after: int) -> Cell:
    if after >= before:
        return Cell("nothing" if after == before else f"{after - before:,} more", is_number=True, tone="quiet")
    return Cell(f"{before - after:,} ({(before - after) / before:.0%})", is_number=True, tone="good")


def _taken_back(counter: NodeCounters) -> int:
    return sum(count for kind, count in counter.counts.items() if not kind.is_accumulate)
