"""The search of an edge for the records that pass a filter: slice by slice, so that the first of them show at once.

It begins at an event and, after the last record, goes on at the first one. What it has found stays, slice by slice: a
search from another event looks at the other slices only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from storage.changelogs.filters import Ends, conditions, ends_of
from storage.database.connection import Database
from storage.database.edge_records import records_of
from storage.model import Edge
from storage.wanted import Filter

MOST_ROWS: Final = 10_000
"""With at most so many matches, their rows are remembered, so that no page of them is searched again."""
# Of each slice, so many are remembered in any case, to show them.
_SHOWN: Final = 100
# In row groups.
_SLICE: Final = 5 * 122_880


@dataclass(frozen=True)
class _Slice:
    """What is in a range of rows: the matches, the first of their rows, and the `Ends`."""

    matches: int
    rows: tuple[int, ...]
    ends: Ends


@dataclass
class Matches:
    """What is known of the records of an edge that pass a filter. size: the rows of a slice. records: of the edge."""

    records: int
    size: int = field(default_factory=lambda: _SLICE)
    slices: dict[int, _Slice] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of matches in the slices that are known."""
        return sum(part.matches for part in tuple(self.slices.values()))

    @property
    def are_known(self) -> bool:
        """Whether all slices are."""
        return len(self.slices) * self.size >= self.records

    @property
    def rows(self) -> tuple[int, ...] | None:
        """The rows of all matches, in order, if they are few and all known."""
        if not self.are_known or self.total > MOST_ROWS:
            return None
        return tuple(row for first in sorted(self.slices) for row in self.slices[first].rows)

    @property
    def ends(self) -> Ends:
        """Those of all slices that are known."""
        ends: dict[str, tuple[int, int] | None] = {}
        for part in tuple(self.slices.values()):
            ends |= {name: _wider(ends.get(name), pair) for name, pair in part.ends.items()}
        return ends

    def place(self, offset: int) -> tuple[int, int]:
        """Where the match with this index is: its slice's first row, and its index among the matches from there on."""
        for first in sorted(self.slices):
            if offset < self.slices[first].matches:
                return first, offset
            offset -= self.slices[first].matches
        return self.records, 0


@dataclass
class Search:
    """What is found so far. seq: the event at which it begins. part: of the records that were looked at, from 0 to 1.

    before: the matches before the event. total: of all. rows: of the matches, in the order in which they were found;
    some of them if there are more than MOST_ROWS.
    """

    seq: int = 0
    part: float = 0.0
    before: int = 0
    total: int = 0
    rows: list[int] = field(default_factory=list)


def search(database: Database, edge: Edge, wanted: Filter, found: Search, matches: Matches) -> None:
    """Note in `found` and `matches` what is found, as it is found. Raises UnknownColumn."""
    conditions(edge, wanted)
    at_event = database.integer(f"SELECT c.rowid FROM {records_of(edge)} c WHERE c.seq >= ? LIMIT 1", [found.seq])
    start, size = matches.records if at_event is None else at_event, matches.size
    firsts, looked = range(0, matches.records, size), 0
    earlier: list[int] = []
    begin = start // size
    for first in (*firsts[begin:], *firsts[:begin]):
        end = min(first + size, matches.records)
        if (part := matches.slices.get(first)) is None:
            part = _looked_at(
                database, edge, wanted, first, end, max(MOST_ROWS + 1 if matches.total <= MOST_ROWS else 0, _SHOWN)
            )
            matches.slices[first] = part
        found.before += _before(database, edge, wanted, part, first, end, start)
        found.rows += (row for row in part.rows if row >= start or first != begin * size)
        earlier += (row for row in part.rows if row < start and first == begin * size)
        looked += end - first
        found.total += part.matches
        found.part = looked / matches.records
    found.rows += earlier


def _looked_at(database: Database, edge: Edge, wanted: Filter, first: int, end: int, most_rows: int) -> _Slice:
    there = f"FROM {records_of(edge)} c WHERE c.rowid >= {first} AND c.rowid < {end}"
    asked = ends_of(edge, wanted)
    found = database.rows(f"SELECT {', '.join(asked.values())} {there}")[0] if asked else ()
    ends = {name: None if None in pair else (pair[0], pair[1]) for name, pair in zip(asked, found, strict=True)}
    where, values = conditions(edge, wanted, ends=ends)
    sql = f"SELECT count(*), min(c.rowid, {most_rows}) {there} AND ({where})"
    [(total, rows)] = database.rows(sql, values)
    return _Slice(int(total), tuple(rows or ()), ends)


def _before(database: Database, edge: Edge, wanted: Filter, part: _Slice, first: int, end: int, start: int) -> int:
    """The matches of a slice before the row `start`."""
    if start >= end or start <= first:
        return part.matches if start >= end else 0
    if part.matches <= len(part.rows):
        return sum(row < start for row in part.rows)
    where, values = conditions(edge, wanted, ends=part.ends)
    return database.count(
        f"FROM {records_of(edge)} c WHERE c.rowid >= {first} AND c.rowid < {start} AND ({where})", values
    )


def _wider(ends: tuple[int, int] | None, others: tuple[int, int] | None) -> tuple[int, int] | None:
    """The ends of the numbers of both; None if there are none."""
    if ends is None or others is None:
        return ends or others
    return min(ends[0], others[0]), max(ends[1], others[1])
