"""The search of an edge for the records that pass a filter: slice by slice, so that the first of them show at once.

It begins at an event and goes away from it in both directions: the matches around the event can be paged through while
the others are still counted. What it has found stays, slice by slice: a search from another event looks at the other
slices only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

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


@dataclass(frozen=True)
class Found:
    """What is known of the records that pass a filter. part: of all records, those that were looked at, from 0 to 1.

    total: the matches there. before, after: of them those before an event and those from it on, without a gap between
    that is unknown.
    """

    part: float = 0.0
    total: int = 0
    before: int = 0
    after: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all records were looked at."""
        return self.part == 1.0


class Place(NamedTuple):
    """Some matches of the slice that begins at the row `first`: so many, after as many others there."""

    first: int
    skip: int
    limit: int


@dataclass
class Matches:
    """What is known of the records of an edge that pass a filter. size: the rows of a slice. records: of the edge.

    starts: by event, the first row of its slice, and the matches there before it.
    """

    records: int
    size: int = field(default_factory=lambda: _SLICE)
    slices: dict[int, _Slice] = field(default_factory=dict)
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)

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

    def found(self, seq: int) -> Found:
        """What is known, as of an event."""
        if seq not in self.starts:
            return Found(total=self.total)
        first, before = self.starts[seq]
        low = high = first
        while low - self.size in self.slices:
            low -= self.size
            before += self.slices[low].matches
        within = 0
        while high in self.slices:
            within += self.slices[high].matches
            high += self.size
        looked = sum(min(self.size, self.records - first) for first in tuple(self.slices))
        return Found(looked / self.records, self.total, before, within - self.starts[seq][1])

    def places(self, offset: int, number: int, seq: int | None) -> Iterator[Place]:
        """Where so many matches are, from an offset on, as far as nothing between is unknown.

        The offset is that from the first match of all, or from the first one at an event or after it.
        """
        if seq is not None and seq not in self.starts:
            return
        first, before = (0, 0) if seq is None else self.starts[seq]
        index = before + offset
        while index < 0 and first - self.size in self.slices:
            first -= self.size
            index += self.slices[first].matches
        index = max(index, 0)
        while number > 0 and first in self.slices:
            there = min(number, max(self.slices[first].matches - index, 0))
            if there:
                yield Place(first, index, there)
            index, number, first = max(index - self.slices[first].matches, 0), number - there, first + self.size


def search(
    database: Database, edge: Edge, wanted: Filter, seq: int, matches: Matches, is_awaited: Callable[[], bool]
) -> None:
    """Note in `matches` what is found, as it is found: the records nearest to an event first. Raises UnknownColumn.

    It ends before the next slice if nobody awaits it any more.
    """
    conditions(edge, wanted)
    at_event = database.integer(f"SELECT c.rowid FROM {records_of(edge)} c WHERE c.seq >= ? LIMIT 1", [seq])
    start, size = matches.records if at_event is None else at_event, matches.size
    begin = min(start, max(matches.records - 1, 0)) // size * size
    for first in sorted(range(0, matches.records, size), key=lambda first: abs(first - begin)):
        if not is_awaited():
            return
        if first not in matches.slices:
            most_rows = max(MOST_ROWS + 1 if matches.total <= MOST_ROWS else 0, _SHOWN)
            matches.slices[first] = _looked_at(database, edge, wanted, first, matches, most_rows)
        if first == begin and seq not in matches.starts:
            matches.starts[seq] = first, _before(database, edge, wanted, matches, first, start)


def rows_at(database: Database, edge: Edge, wanted: Filter, matches: Matches, place: Place) -> Sequence[int]:
    """The rows of the matches at a place."""
    part, end = matches.slices[place.first], place.skip + place.limit
    if end <= len(part.rows):
        return part.rows[place.skip : end]
    where, values = conditions(edge, wanted, ends=part.ends)
    # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
    sql = f"SELECT c.rowid {_there(edge, place.first, matches)} AND ({where}) LIMIT {place.limit} OFFSET {place.skip}"
    return [int(row) for (row,) in database.rows(sql, values)]


def _there(edge: Edge, first: int, matches: Matches, end: int | None = None) -> str:
    """The FROM and the WHERE of the rows of a slice, or of those before the row `end`."""
    end = min(first + matches.size, matches.records) if end is None else end
    return f"FROM {records_of(edge)} c WHERE c.rowid >= {first} AND c.rowid < {end}"


def _looked_at(database: Database, edge: Edge, wanted: Filter, first: int, matches: Matches, most_rows: int) -> _Slice:
    there, asked = _there(edge, first, matches), ends_of(edge, wanted)
    found = database.rows(f"SELECT {', '.join(asked.values())} {there}")[0] if asked else ()
    ends = {name: None if None in pair else (pair[0], pair[1]) for name, pair in zip(asked, found, strict=True)}
    where, values = conditions(edge, wanted, ends=ends)
    sql = f"SELECT count(*), min(c.rowid, {most_rows}) {there} AND ({where})"
    [(total, rows)] = database.rows(sql, values)
    return _Slice(int(total), tuple(rows or ()), ends)


def _before(database: Database, edge: Edge, wanted: Filter, matches: Matches, first: int, start: int) -> int:
    """The matches of a slice before the row `start`."""
    part = matches.slices[first]
    if part.matches <= len(part.rows):
        return sum(row < start for row in part.rows)
    if start >= first + matches.size:
        return part.matches
    where, values = conditions(edge, wanted, ends=part.ends)
    return database.count(f"{_there(edge, first, matches, start)} AND ({where})", values)


def _wider(ends: tuple[int, int] | None, others: tuple[int, int] | None) -> tuple[int, int] | None:
    """The ends of the numbers of both; None if there are none."""
    if ends is None or others is None:
        return ends or others
    return min(ends[0], others[0]), max(ends[1], others[1])
