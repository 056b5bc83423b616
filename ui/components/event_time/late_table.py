"""The late ledger as a table: operator, missed window, watermark at arrival, delay that would have kept the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from storage.event_time.late import SortOrder
from storage.event_time.model import LateRecord, LateSummary, RejectedRow
from ui.components.grid import Cell, Row, Table
from ui.shell import words

_LATE_SORTS: Final = {
    "why": "reason",
    "late by": "late_by",
    "window it missed": "window",
    "would be kept by": "kept_by",
    "event": "event",
}


def late_table(records: Sequence[LateRecord], event: int | None, order: SortOrder | None = None) -> Table:
    """One line per late record and window, the reason first. order: the sort order."""
    day = _only_day(records)
    columns: tuple[str, ...] = (
        "why",
        "late by",
        "window it missed",
        "would be kept by",
        "event",
        "operator",
        f"event time ({day or 'UTC'})",
        "watermark at arrival",
        "record",
    )
    rows = [
        Row(
            (
                Cell(late.reason, is_prose=True),
                Cell(words.duration(late.lateness_ms) if late.lateness_ms is not None else "", tone="bad"),
                Cell(words.window(late.window_start_ms, late.window_end_ms, day)),
                Cell(_kept_by(late), tone="good"),
                Cell(f"{late.seq:,}", is_number=True),
                Cell(late.node, is_strong=True),
                _instant(late.event_time_ms, day),
                _instant(late.watermark_ms, day),
                Cell(words.record(late.columns, late.values)),
            ),
            pick=str(late.seq),
            is_current=late.seq == event,
        )
        for late in records
    ]
    if all(late.window_end_ms is None for late in records):
        at = columns.index("window it missed")
        columns = columns[:at] + columns[at + 1 :]
        rows = [replace(row, cells=[*row.cells[:at], *row.cells[at + 1 :]]) for row in rows]
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


def summary_sentence(summaries: Sequence[LateSummary], late_events: int, records: int) -> str:
    """The number of late records, and the smallest delay that would have kept them all. Markdown."""
    verb = "was" if late_events == 1 else "were"
    start = f"**{late_events:,} of {words.count(records, 'record')} {verb} late**"
    needed: dict[str, int] = {}
    for summary in summaries:
        if summary.needed_delay_ms is None:
            return f"{start}."
        needed[summary.source] = max(needed.get(summary.source, 0), summary.needed_delay_ms)
    kept = "it" if late_events == 1 else "all"
    if len(needed) == 1:
        delay = next(iter(needed.values()))
        return f"{start}; a watermark delay of **{words.duration(delay)}** would have kept {kept}."
    delays = " and ".join(f"**{words.duration(delay)}** at {source}" for source, delay in needed.items())
    return f"{start}; watermark delays of {delays} would have kept {kept}."


def operator_sentences(summaries: Sequence[LateSummary]) -> list[str]:
    """Per operator and source, if there are several: the number of late records and their maximum lateness."""
    if len(summaries) < 2:
        return []
    return [
        f"{summary.node}: {words.count(summary.records, 'late record')} of {summary.source}"
        + (f", by at most {words.duration(summary.max_lateness_ms)}" if summary.max_lateness_ms is not None else "")
        for summary in summaries
    ]


def _only_day(records: Sequence[LateRecord]) -> str:
    """The common date of all shown times, which the cells then omit; empty if there are several dates."""
    moments = [ms for late in records for ms in (late.event_time_ms, late.window_start_ms, late.watermark_ms)]
    days = {words.instant(ms)[:10] for ms in moments if ms is not None and ms < words.END_MS}
    return days.pop() if len(days) == 1 else ""


def _instant(ms: int | None, day: str) -> Cell:
    return Cell(words.clock(ms, day), note=f"{words.instant(ms)} UTC")


def _kept_by(late: LateRecord) -> str:
    return "" if late.needed_delay_ms is None else words.duration(late.needed_delay_ms)
