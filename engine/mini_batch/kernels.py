"""Kernels that buffer the records of a bundle, fold them, and pass the result to a kernel without bundles.

Source: Flink's MapBundleFunctions of deduplication and normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.contract.kernel import Entries, Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import SYMBOLS
from engine.model.row import Row

Records = Sequence[tuple[int, Row]]
Fold = Callable[[Records], Records]


class BundledKernel(Kernel):
    """Any kernel without timers, bundle by bundle. State: that of the kernel; a bundle adds no state."""

    def __init__(self, kernel: Callable[[], Kernel], fold: Fold) -> None:
        self.kernel = kernel()
        self.fold = fold
        self.held: list[tuple[int, Row]] = []

    def start(self, key: Key, state: Any | None) -> None:
        """Begin a key."""
        self.kernel.start(key, state)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Buffer the record."""
        self.held.append((kind, row))

    def on_bundle(self, out: Output) -> None:
        """Pass the folded records of the bundle to the kernel."""
        for kind, row in self.fold(self.held):
            self.kernel.on_record(kind, row, out)
        self.held.clear()

    @property
    def expires_ms(self) -> int:
        """When the state of the kernel expires."""
        return self.kernel.expires_ms

    def entries(self) -> Entries:
        """The entries of the kernel."""
        return self.kernel.entries()

    def finish(self) -> Any | None:
        """The state of the kernel."""
        return self.kernel.finish()

    def describe(self, names: Names) -> Description:
        """The state of the kernel, and the buffered records."""
        return (*self.kernel.describe(names), *held_back(((0, kind, row) for kind, row in self.held), names))


def held_back(records: Iterable[tuple[int, int, Row]], names: Names) -> Description:
    """The records of a bundle that has not ended: (port, kind, row)."""
    rows = [(SYMBOLS[kind], words_of(names, port, row)) for port, kind, row in records]
    return (state_table("Held back until the bundle ends", ("kind", "record"), rows),) if rows else ()


def words_of(names: Names, port: int, row: Row) -> str:
    """A record as one line."""
    return ", ".join(f"{name}={value}" for name, value in zip(names.columns(port), names.show(row, port), strict=False))


def every(records: Records) -> Records:
    """All records in order: a versioned table needs every change."""
    return records


def first(records: Records) -> Records:
    """The first record."""
    return records[:1]


def last(records: Records) -> Records:
    """The last record, whatever the kinds of the others."""
    return records[-1:]


class ByTime:
    """The record to keep by time (in ms at time_at): the last one of the latest, or the first one of the earliest."""

    def __init__(self, time_at: int, *, keep_last: bool) -> None:
        self.time_at = time_at
        self.keep_last = keep_last

    def __call__(self, records: Records) -> Records:
        """The single record to keep."""
        at = self.time_at
        if self.keep_last:
            return [max(reversed(records), key=lambda record: record[1][at])]
        return [min(records, key=lambda record: record[1][at])]
