"""Late records and rejected rows as CSV, written on demand."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import streamlit as st

from storage.model import Paged
from storage.spreadsheets import harmless
from ui.components.grid.spreadsheets import for_spreadsheets
from ui.shell import words, workspace

_PAGE: Final = 10_000
T = TypeVar("T")


def late_download(run_id: int, total: int) -> None:
    """A button with all late records of a run, a line for each operator; the record's values are last, as one text."""
    places = ("event", "operator", "source", "outcome", "used", "event_time", "late_by_ms")
    columns = (*places, "window_start", "window_end", "windows", "watermark", "needed_delay_ms", "reason", "record")

    def rows() -> Iterable[Sequence[object]]:
        for late in _all(lambda at: workspace.store().late.page(run_id, offset=at, limit=_PAGE), total):
            yield (
                late.seq,
                late.node,
                late.source,
                "dropped" if late.dropped else "late but used",
                late.used,
                words.instant(late.event_time_ms),
                late.lateness_ms,
                words.instant(late.window_start_ms),
                words.instant(late.window_end_ms),
                late.windows if late.window_end_ms is not None else "",
                words.instant(late.watermark_ms),
                late.needed_delay_ms,
                late.reason,
                words.record(late.columns, late.values),
            )

    _button("Late records as CSV", f"run{run_id}-late.csv", columns, rows)


def rejected_download(run_id: int, total: int) -> None:
    """A button with all rejected rows of a run."""

    def rows() -> Iterable[Sequence[object]]:
        for row in _all(lambda at: workspace.store().late.rejected(run_id, offset=at, limit=_PAGE), total):
            yield row.node, row.file, row.line, row.reason, row.raw

    columns = ("source", "file", "line", "reason", "row")
    _button("Rejected rows as CSV", f"run{run_id}-rejected.csv", columns, rows)


def _all(page: Callable[[int], Paged[T]], total: int) -> Iterable[T]:
    for at in range(0, total, _PAGE):
        yield from page(at).records


def _button(label: str, name: str, columns: Sequence[str], rows: Callable[[], Iterable[Sequence[object]]]) -> None:
    safe = for_spreadsheets(name)

    def written() -> bytes:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(map(harmless, row) if safe else row for row in rows())
        return text.getvalue().encode()

    st.download_button(label, written, name, "text/csv", icon=":material/download:", on_click="ignore", key=name)
