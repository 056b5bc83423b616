"""The late ledger as a table: what became of a record and why, its window, the delay with which it had been in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.model.zones import Zone
from storage.event_time.model import LateRecord, RejectedRow
from storage.wanted import SortOrder
from ui.components.grid import Cell, Row, Table
from ui.shell import words

_LATE_SORTS: Final = {
    "source": "source",
    "outcome": "outcome",
    "why": "reason",
    "late by": "late_by",
    "window": "window",
    "in time with a delay of": "needed",
    "event": "event",
}


def late_table(
    records: Sequence[LateRecord],
    event: int | None,
    order: SortOrder | None = None,
    zone: Zone | None = None,
    *,
    has_sources: bool = False,
) -> Table:
    """One line per late record and operator, what became of it first. order: the sort order. zone: of the times.

    has_sources: whether they may be of several sources; the source is first then.
    """
    day = _only_day(records, zone)
    columns: tuple[str, ...] = (
        "outcome",
        "late by",
        "window",
        "record",
        "in time with a delay of",
        "event",
        "operator",
        words.event_time(zone, day),
        "watermark at arrival",
        "why",
    )
    rows = [
        Row(
            (
                Cell(outcome_of(late), tone="bad" if late.dropped else "", is_prose=True),
                Cell(words.duration(late.lateness_ms) if late.lateness_ms is not None else ""),
                Cell(window_of(late, day, zone)),
                Cell(words.record(late.columns, late.values)),
                Cell("" if late.needed_delay_ms is None else words.duration(late.needed_delay_ms)),
                Cell(f"{late.seq:,}", is_number=True),
                Cell(late.node, is_strong=True),
                _instant(late.event_time_ms, day, zone),
                _instant(late.watermark_ms, day, zone),
                Cell(late.reason, is_prose=True),
            ),
            pick=str(late.seq),
            is_current=late.seq == event,
        )
        for late in records
    ]
    if all(late.window_end_ms is None for late in records):
        at = columns.index("window")
        columns = columns[:at] + columns[at + 1 :]
        rows = [replace(row, cells=[*row.cells[:at], *row.cells[at + 1 :]]) for row in rows]
    if has_sources:
        columns = ("source", *columns)
        rows = [
            replace(row, cells=(Cell(late.source, is_strong=True), *row.cells))
            for row, late in zip(rows, records, strict=True)
        ]
    return Table(columns, rows, frozenset({"event"}), sorts=_LATE_SORTS, sorted_by=order)


def rejected_table(rows: Sequence[RejectedRow], order: SortOrder | None = None) -> Table:
    """One line per row that could not be read, the reason first. order: the sort order."""
    return Table(
        ("why", "line", "the original row", "file", "source"),
        [
            Row(
                (
                    Cell(row.reason, tone="bad", is_prose=True),
                    Cell("" if row.line is None else f"{row.line:,}", is_number=True),
                    Cell(row.raw, is_code=True),
                    Cell(row.file.rpartition("/")[2], note=row.file),
                    Cell(row.node, is_strong=True),
                )
            )
            for row in rows
        ],
        frozenset({"line"}),
        sorts={"why": "reason", "line": "line", "source": "source"},
        sorted_by=order,
    )


def _only_day(records: Sequence[LateRecord], zone: Zone | None) -> str:
    """The common date of all shown times, which the cells then omit; empty if there are several dates."""
    moments = [ms for late in records for ms in (late.event_time_ms, late.window_start_ms, late.watermark_ms)]
    days = {words.instant(ms, zone)[:10] for ms in moments if ms is not None and ms < words.END_MS}
    return days.pop() if len(days) == 1 else ""


def _instant(ms: int | None, day: str, zone: Zone | None) -> Cell:
    return Cell(words.clock(ms, day, zone), note=words.moment(ms, zone))


def outcome_of(late: LateRecord) -> str:
    """What became of a late record: dropped, or late but used, with what it changed."""
    return "dropped" if late.dropped else f"late but used: {late.used or 'counted in its other windows'}"


def window_of(late: LateRecord, day: str = "", zone: Zone | None = None) -> str:
    """The first window that was over, and how many more were."""
    more = f" and {late.windows - 1:,} more" if late.windows > 1 else ""
    return words.window(late.window_start_ms, late.window_end_ms, day, zone) + more
