"""The operators of a run as a table, one row each."""

from __future__ import annotations

from typing import Final

from ui.builder.editing import operator_title
from ui.components.grid import Cell, Row, Table, grid
from ui.components.held.held_table import held_in_words
from ui.runs.operator_lines import OperatorLine
from ui.shell import words

_TONES: Final = {
    "waiting": ("○", "quiet"),
    "running": ("◐", "active"),
    "done": ("●", "good"),
    "failed": ("✕", "bad"),
    "stopped": ("◌", "warn"),
}


def operator_table(lines: tuple[OperatorLine, ...], *, key: str) -> None:
    """Draw the lines; a failed operator has its sentence right below it."""
    has_dropped = any(line.dropped for line in lines)
    has_used = any(line.used for line in lines)
    has_rejected = any(line.rejected for line in lines)
    columns = ["", "operator", "kind", "records in", "records out"]
    has_held = any(line.held is not None for line in lines)
    has_time = any(line.seconds is not None for line in lines)
    columns += ["state", "its size"] * has_held
    columns += ["dropped"] * has_dropped + ["late but used"] * has_used
    columns += ["rejected"] * has_rejected + ["time"] * has_time
    rows: list[Row] = []
    for line in lines:
        sign, tone = _TONES[line.state]
        cells = [
            Cell(f"{sign} {line.state}", tone=tone),
            Cell(line.node, is_strong=True),
            Cell(operator_title(line.operator), tone="quiet"),
            _number(line.records_in),
            _number(line.records_out),
        ]
        if has_held:
            cells += [Cell(held_in_words(line.held.entries), tone="quiet") if line.held else Cell()]
            cells += [Cell(words.size(line.held.size) if line.held else "", is_number=True)]
        cells += [_number(line.dropped or None, "bad")] * has_dropped
        cells += [_number(line.used or None)] * has_used
        cells += [_number(line.rejected or None, "warn")] * has_rejected
        cells += [Cell(words.elapsed(line.seconds) if line.seconds is not None else "", is_number=True)] * has_time
        rows.append(Row(cells, tone="bad" if line.state == "failed" else ""))
        if line.error:
            rows.append(Row(note=line.error, tone="bad"))
    numbers = frozenset({"records in", "records out", "its size", "dropped", "late but used", "rejected", "time"})
    grid(Table(columns, rows, numbers), key=key, label="Operators of the run")


def _number(value: int | None, tone: str = "") -> Cell:
    return Cell("" if value is None else f"{value:,}", is_number=True, tone=tone if value else "")
