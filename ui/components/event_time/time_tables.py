"""The records of a range, and the figures of its sources and operators, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.model.zones import Zone
from storage.event_time.arrivals import Arrival, OperatorTimes, SourceTimes
from ui.builder.editing import operator_title
from ui.components.grid import Cell, Row, Table
from ui.shell import words

_TONES: Final = {"dropped": "bad", "late but used": "quiet", "out of order": "warn", "in time": "good"}


def arrival_table(records: Sequence[Arrival], event: int | None, zone: Zone | None = None) -> Table:
    """One line per source event: its number, its event time, its state, and the watermark after it."""
    columns = (
        "event",
        "source",
        words.event_time(zone),
        "state",
        "behind the latest",
        "watermark after",
        "record",
    )
    return Table(
        columns, [_arrival(record, event, zone) for record in records], frozenset({"event", "behind the latest"})
    )


def _arrival(record: Arrival, event: int | None, zone: Zone | None) -> Row:
    text = words.record(record.columns, record.values) or "a watermark"
    what = "end of the source" if record.is_end else text
    behind = 0
    if record.event_time_ms is not None and record.max_event_time_ms is not None:
        behind = record.max_event_time_ms - record.event_time_ms
    return Row(
        (
            Cell(f"{record.seq:,}", is_number=True),
            Cell(record.source, is_strong=True),
            Cell("" if record.event_time_ms is None else words.instant(record.event_time_ms, zone)),
            Cell(record.state or "", tone=_TONES.get(record.state or "", "quiet")),
            Cell(words.duration(behind) if behind else "", is_number=True),
            Cell(words.instant(record.watermark_ms, zone)),
            Cell(what),
        ),
        pick=str(record.seq),
        is_current=record.seq == event,
    )


def source_table(sources: Sequence[SourceTimes], zone: Zone | None = None) -> Table:
    """One line per source."""
    columns = (
        "source",
        "records",
        "out of order",
        "dropped",
        "late but used",
        "max. out-of-orderness",
        "average lead over its watermark",
        "final watermark",
    )
    rows = [
        Row(
            (
                Cell(line.source, is_strong=True),
                Cell(f"{line.records:,}", is_number=True),
                Cell(f"{line.out_of_order:,}", is_number=True, tone="warn" if line.out_of_order else ""),
                Cell(f"{line.dropped:,}", is_number=True, tone="bad" if line.dropped else ""),
                Cell(f"{line.used:,}", is_number=True),
                Cell(words.duration(line.disorder_ms), is_number=True),
                Cell(words.duration(line.ahead_ms) if line.watermark_ms is not None else "", is_number=True),
                Cell(words.instant(line.watermark_ms, zone)),
            )
        )
        for line in sources
    ]
    return Table(columns, rows, frozenset(columns[1:7]))


def operator_table(operators: Sequence[OperatorTimes]) -> Table:
    """One line per operator that uses event time. Picking one shows the chart as seen by that operator."""
    columns = (
        "operator",
        "kind",
        "its watermark is the lowest of",
        "windows fired",
        "dropped",
        "late but used",
        "late by at most",
    )
    rows = [
        Row(
            (
                Cell(line.node, is_strong=True),
                Cell(operator_title(line.operator)),
                Cell(", ".join(_held(*source) for source in line.sources.items())),
                Cell(f"{line.windows:,}", is_number=True),
                Cell(f"{line.dropped:,}", is_number=True, tone="bad" if line.dropped else ""),
                Cell(f"{line.used:,}", is_number=True),
                Cell(words.duration(line.max_lateness_ms) if line.max_lateness_ms is not None else "", is_number=True),
            ),
            pick=line.node,
        )
        for line in operators
    ]
    return Table(columns, rows, frozenset(columns[3:]))


def _held(source: str, by_ms: int) -> str:
    return f"{source}, held back by {words.duration(by_ms)}" if by_ms else source
