"""The state of window kernels for people: an accumulator per window, slice or session, and the emitted results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.aggregates.state import AccumulatorSlot
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.row import Row


def windows(
    open_: Sequence[tuple[int, int, Sequence[Any]]], kept: Sequence[AccumulatorSlot], names: Names, what: str
) -> Description:
    """A line per (start ms, end ms, accumulator). what: window, slice or session."""
    if not open_:
        return ()
    columns = (f"{what} start", f"{what} end", *(slot.title(names) for slot in kept))
    rows = [(instant(start), instant(end), *(slot.value(acc, names) for slot in kept)) for start, end, acc in open_]
    return (state_table(f"Open {what}s", columns, rows),)


def results(sent: Mapping[Any, Row], names: Names) -> Description:
    """The emitted rows that may still be replaced, by window."""
    if not sent:
        return ()
    rows = [
        [label.show(value) for label, value in zip(names.output, row, strict=False)] for _, row in sorted(sent.items())
    ]
    columns = [label.name for label in names.output[: len(rows[0])]]
    return (state_table("Emitted results", columns, rows, "The next change retracts them."),)
