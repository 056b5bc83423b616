"""The search of an edge for the records that pass a filter: slice by slice, so that the first of them show at once.

It begins at an event and goes away from it in both directions: the matches around the event can be paged through while
the others are still counted. What it has found stays, slice by slice: a search from another event looks at the other
slices only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
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


class _Slice(NamedTuple):
    """What is in a range of rows, up to the row `end`: the matches, the first of their rows, and the `Ends`."""

    end: int
    matches: int = 0
    rows: tuple[int, ...] = ()
    ends: Ends = {}


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
    """What is known of the records of an edge that pass a filter. records: of the edge, which may get more.

    starts: by event and number of records, the first row of the event's slice, and the matches there before it.
    """

    records: int = 0
    slices: dict[int, _Slice] = field(default_factory=dict)
    starts: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of matches in the slices that are known."""
        return sum(part.matches for part in tuple(self.slices.values()))

    @property
    def looked(self) -> int:
        """The number of records that were looked at."""
        return sum(part.end - first for first, part in tuple(self.slices.items()))

    @property
    def are_known(self) -> bool:
        """Whether all were."""
        return self.looked >= self.records

    @property
    def rows(self) -> tuple[int, ...] | None:
        """The rows of all matches, in order, if they are few and all known."""
        if not self.are_known or self.total > MOST_ROWS:
            return None
        return tuple(row for first in sorted(self.slices) for row in self.slices[first].rows)

    @property
    def ends(self) -> Ends:
        """Those of all slices that are known."""
        return reduce(_wider_each, [part.ends for part in tuple(self.slices.values())], {})

    def found(self, seq: int) -> Found:
        """What is known, as of an event."""
        start = self.starts.get((seq, self.records))
        if start is None:
            return Found(total=self.total)
        first, before = start
        low = high = first
        while low - _SLICE in self.slices:
            low -= _SLICE
            before += self.slices[low].matches
        within = 0
        while high in self.slices:
            within += self.slices[high].matches
            high += _SLICE
        return Found(min(self.looked / self.records, 1.0), self.total, before, within - start[1])

    def places(self, offset: int, number: int, seq: int | None) -> Iterator[Place]:
        """Where so many matches are, from an offset on, as far as nothing between is unknown.

        The offset is that from the first match of all, or from the first one at an event or after it.
        """
        start = (0, 0) if seq is None else self.starts.get((seq, self.records))
        if start is None:
            return
        first, before = start
        index = before + offset
        while index < 0 and first - _SLICE in self.slices:
            first -= _SLICE
            index += self.slices[first].matches
        index = max(index, 0)
        while number > 0 and first in self.slices:
            there = min(number, max(self.slices[first].matches - index, 0))
            if there:
                yield Place(first, index, there)
            index, number, first = max(index - self.slices[first].matches, 0), number - there, first + _SLICE


def search(
    database: Database,
    edge: Edge,
    wanted: Filter,
    seq: int,
    matches: Matches,
    is_awaited: Callable[[], bool] = lambda: True,
) -> None:
    """Note in `matches` what is found, as it is found: the records nearest to an event first. Raises UnknownColumn.

    It ends before the next slice if nobody awaits it any more.
    """
    conditions(edge, wanted)
    start, records = first_row(database, edge, seq), edge.total
    low = 0 if wanted.from_seq is None else first_row(database, edge, wanted.from_seq)
    high = records if wanted.to_seq is None else first_row(database, edge, wanted.to_seq + 1)
    begin = min(start, max(records - 1, 0)) // _SLICE * _SLICE
    for first in sorted(range(0, records, _SLICE), key=lambda first: abs(first - begin)):
        if not is_awaited():
            return
        known, end = matches.slices.get(first, _Slice(first)), min(first + _SLICE, records)
        if known.end < end:
            is_within = low < end and high > known.end
            more = _looked_at(database, edge, wanted, known.end, end, matches.total) if is_within else _Slice(end)
            matches.slices[first] = _joined(known, more)
        if first == begin and (seq, records) not in matches.starts:
            matches.starts[seq, records] = first, _before(database, edge, wanted, matches.slices[first], first, start)


def first_row(database: Database, edge: Edge, seq: int) -> int:
    """The row of the first record from an event on; the number of records if there is none."""
    row = database.integer(f"SELECT c.rowid FROM {records_of(edge)} c WHERE c.seq >= ? LIMIT 1", [seq])
    return edge.total if row is None else row


def rows_at(database: Database, edge: Edge, wanted: Filter, matches: Matches, place: Place) -> Sequence[int]:
    """The rows of the matches at a place."""
    part, end = matches.slices[place.first], place.skip + place.limit
    if end <= len(part.rows):
        return part.rows[place.skip : end]
    where, values = conditions(edge, wanted, ends=part.ends)
    # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
    sql = f"SELECT c.rowid {_there(edge, place.first, part.end)} AND ({where}) LIMIT {place.limit} OFFSET {place.skip}"
    return [int(row) for (row,) in database.rows(sql, values)]


def _there(edge: Edge, first: int, end: int) -> str:
    """The FROM and the WHERE of the rows from one on, before another one."""
    return f"FROM {records_of(edge)} c WHERE c.rowid >= {first} AND c.rowid < {end}"


def _looked_at(database: Database, edge: Edge, wanted: Filter, first: int, end: int, known: int) -> _Slice:
    """What is in a range of rows. known: how many matches are known without them."""
    there, asked = _there(edge, first, end), ends_of(edge, wanted)
    most_rows = max(MOST_ROWS + 1 if known <= MOST_ROWS else 0, _SHOWN)
    found = database.rows(f"SELECT {', '.join(asked.values())} {there}")[0] if asked else ()
    ends = {name: None if None in pair else (pair[0], pair[1]) for name, pair in zip(asked, found, strict=True)}
    where, values = conditions(edge, wanted, ends=ends)
    sql = f"SELECT count(*), min(c.rowid, {most_rows}) {there} AND ({where})"
    [(total, rows)] = database.rows(sql, values)
    return _Slice(end, int(total), tuple(rows or ()), ends)


def _joined(part: _Slice, more: _Slice) -> _Slice:
    """A slice with what follows it. Its rows have no gap."""
    rows = part.rows + more.rows if len(part.rows) == part.matches else part.rows
    return _Slice(more.end, part.matches + more.matches, rows, _wider_each(part.ends, more.ends))


def _before(database: Database, edge: Edge, wanted: Filter, part: _Slice, first: int, start: int) -> int:
    """The matches of the slice from `first` on that are before the row `start`."""
    if part.matches <= len(part.rows):
        return sum(row < start for row in part.rows)
    if start >= part.end:
        return part.matches
    where, values = conditions(edge, wanted, ends=part.ends)
    return database.count(f"{_there(edge, first, start)} AND ({where})", values)


def _wider_each(ends: Ends, others: Ends) -> Ends:
    """By column, the ends of the numbers of both; None if there are none."""
    wider = {**ends, **others}
    for name in ends.keys() & others.keys():
        known = [pair for pair in (ends[name], others[name]) if pair is not None]
        wider[name] = (min(low for low, _ in known), max(high for _, high in known)) if known else None
    return wider
