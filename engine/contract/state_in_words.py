"""The state of a key as tables for users: each kernel describes its own state in these terms.

Kernels know the places of values, but not their names; `Names` has the names, and marks instants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from engine.model.row import Row

SHOWN: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Label:
    """The name of a value in a kernel's row. is_instant: the value is a number of microseconds."""

    name: str
    is_instant: bool = False

    def show(self, value: Any) -> Any:
        """The value as shown to users."""
        return moment(value) if self.is_instant and value is not None else value


@dataclass(frozen=True)
class Names:
    """The names of a kernel's values. inputs: by port, of a row's values. output: of the output columns."""

    inputs: tuple[tuple[Label, ...], ...]
    output: tuple[Label, ...] = ()

    def columns(self, port: int = 0, *, skip: int = 0) -> tuple[str, ...]:
        """The names of a row's values, without the first `skip`, which the kernel does not keep."""
        return tuple(label.name for label in self.inputs[port][skip:])

    def show(self, row: Sequence[Any], port: int = 0, *, skip: int = 0) -> Row:
        """A row's values; `skip` as for the columns. A kernel may keep fewer values than it receives."""
        return tuple(label.show(value) for label, value in zip(self.inputs[port][skip:], row, strict=False))

    def argument(self, place: int | None) -> Label:
        """The label of a place in the first input's row; None: the row itself."""
        return Label("rows") if place is None else self.inputs[0][place]


@dataclass(frozen=True)
class StateTable:
    """One part of a state: a title, columns and the first rows. total: the number of all rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    total: int
    note: str = ""


Description = tuple[StateTable, ...]


def state_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> StateTable:
    """A table of the first rows, with the number of all rows."""
    waiting = iter(rows)
    shown = tuple(map(tuple, islice(waiting, SHOWN)))
    return StateTable(title, tuple(columns), shown, len(shown) + sum(1 for _ in waiting), note)


def kept_row(title: str, names: Names, row: Sequence[Any] | None, note: str = "") -> Description:
    """A state of a single row, or of none."""
    if row is None:
        return ()
    shown = names.show(row)
    return (state_table(title, names.columns()[: len(shown)], [shown], note),)


def instant(ms: int) -> Any:
    """A time in UTC; a number outside of the calendar's range is returned unchanged."""
    timestamp = moment(ms * 1000)
    return timestamp if isinstance(timestamp, datetime) else ms


def moment(micros: int) -> Any:
    """A time in UTC from microseconds; a number outside of the calendar's range is returned unchanged."""
    try:
        return (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None)
    except OverflowError:
        return micros
