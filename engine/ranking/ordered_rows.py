"""All rows of a partition in the order of their sort keys, ties in order of arrival.

Rows are kept in buckets of bounded size, so adding, removing and looking up by rank move and visit only a small
part of all rows. A row to remove is found by a hash of its content, not by search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from engine.model.row import Row, identity
from engine.ranking.sort_keys import SortKey

Entry = tuple[SortKey, int]

BUCKET: Final = 512


class OrderedRows:
    """Rows by sort key and arrival. Ranks count from 1."""

    def __init__(self) -> None:
        self._entries: list[list[Entry]] = []
        self._rows: list[list[Row]] = []
        self._lasts: list[Entry] = []
        self._arrivals: dict[Any, deque[Entry]] = {}
        self._next = 0
        self._size = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[SortKey, Row]]) -> OrderedRows:
        """Build from rows that are already sorted, each with its key."""
        made = cls()
        for key, row in pairs:
            if not made._entries or len(made._entries[-1]) == BUCKET:
                made._entries.append([])
                made._rows.append([])
                made._lasts.append((key, made._size))
            entry = made._lasts[-1] = (key, made._size)
            made._entries[-1].append(entry)
            made._rows[-1].append(row)
            made._arrivals.setdefault(identity(row), deque()).append(entry)
            made._size += 1
        made._next = made._size
        return made

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self._rows)

    def add(self, key: SortKey, row: Row) -> int:
        """Insert a row after those of the same key. Returns its rank."""
        entry = (key, self._next)
        self._next += 1
        self._size += 1
        self._arrivals.setdefault(identity(row), deque()).append(entry)
        if not self._entries:
            self._entries.append([entry])
            self._rows.append([row])
            self._lasts.append(entry)
            return 1
        at, before = self._bucket(entry)
        entries, rows = self._entries[at], self._rows[at]
        place = bisect_left(entries, entry)
        entries.insert(place, entry)
        rows.insert(place, row)
        self._lasts[at] = entries[-1]
        if len(entries) > 2 * BUCKET:
            self._lasts.insert(at, entries[BUCKET - 1])
            self._entries[at : at + 1] = [entries[:BUCKET], entries[BUCKET:]]
            self._rows[at : at + 1] = [rows[:BUCKET], rows[BUCKET:]]
        return before + place + 1

    def remove(self, row: Row) -> tuple[int, Row] | None:
        """Remove the first row with this content. Returns its rank and the row, or None if there is none."""
        arrivals = self._arrivals.get(identity(row))
        if arrivals is None:
            return None
        entry = arrivals.popleft()
        if not arrivals:
            del self._arrivals[identity(row)]
        at, before = self._bucket(entry)
        place = bisect_left(self._entries[at], entry)
        del self._entries[at][place]
        stored = self._rows[at].pop(place)
        if self._entries[at]:
            self._lasts[at] = self._entries[at][-1]
        else:
            del self._entries[at], self._rows[at], self._lasts[at]
        self._size -= 1
        return before + place + 1, stored

    def ranks(self, first: int, last: int) -> list[Row]:
        """The rows of these ranks, as many as exist."""
        ranked: list[Row] = []
        before = 0
        for rows in self._rows:
            if before >= last:
                break
            if before + len(rows) >= first:
                ranked += rows[max(first - 1 - before, 0) : last - before]
            before += len(rows)
        return ranked

    def rank(self, number: int) -> Row | None:
        """The row of this rank, or None."""
        rows = self.ranks(number, number)
        return rows[0] if rows else None

    def _bucket(self, entry: Entry) -> tuple[int, int]:
        """The bucket of an entry, and the number of rows before that bucket."""
        at = min(bisect_left(self._lasts, entry), len(self._lasts) - 1)
        return at, sum(map(len, self._entries[:at]))
