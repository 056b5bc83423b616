"""The search of an edge for the records that pass a filter: slice by slice, so that the first of them show at once.

It begins at an event and, after the last record, goes on at the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from storage.changelogs.filters import conditions, ends_of
from storage.database.connection import Database
from storage.database.edge_records import records_of
from storage.model import Edge
from storage.wanted import Filter

MOST_ROWS: Final = 10_000
"""With at most so many matches, their rows are remembered, so that no page of them is searched again."""
_ROW_GROUP: Final = 122_880
_SLICE: Final = 10 * _ROW_GROUP
# The first one is small: it has the first matches, if they are frequent.
_FIRST_SLICE: Final = 2 * _ROW_GROUP


@dataclass
class Search:
    """What is found so far. seq: the event at which it begins. part: of the records that were looked at, from 0 to 1.

    before: the matches before the event. total: of all. rows: of the matches, in the order in which they were found;
    some of them if there are more than MOST_ROWS. ends: of the columns that were looked at, as `Ends`.
    """

    seq: int = 0
    part: float = 0.0
    before: int = 0
    total: int = 0
    rows: list[int] = field(default_factory=list)
    ends: dict[str, tuple[int, int] | None] = field(default_factory=dict)


def search(database: Database, edge: Edge, wanted: Filter, found: Search) -> None:
    """Note in `found` what is found, as it is found. Raises UnknownColumn."""
    relation = records_of(edge)
    asked = ends_of(edge, wanted)
    conditions(edge, wanted)
    [(low, high, start)] = database.rows(
        f"SELECT min(c.rowid), max(c.rowid), min(c.rowid) FILTER (c.seq >= $seq) FROM {relation} c", {"seq": found.seq}
    )
    if low is None:
        return
    looked = 0
    for first, end in _slices(low, high + 1, high + 1 if start is None else start):
        there = f"FROM {relation} c WHERE c.rowid >= {first} AND c.rowid < {end}"
        ends = database.rows(f"SELECT {', '.join(asked.values())} {there}")[0] if asked else ()
        bounds = {name: None if None in pair else (pair[0], pair[1]) for name, pair in zip(asked, ends, strict=True)}
        found.ends = {name: _wider(found.ends.get(name), pair) for name, pair in bounds.items()}
        where, values = conditions(edge, wanted, ends=bounds)
        rows = f"min(c.rowid, {MOST_ROWS + 1})" if found.total <= MOST_ROWS else "NULL"
        [(before, total, matches)] = database.rows(
            f"SELECT count(*) FILTER (c.seq < $before), count(*), {rows} {there} AND ({where})",
            {**values, "before": found.seq},
        )
        looked += end - first
        found.rows += matches or ()
        found.before += before
        found.total += total
        found.part = looked / (high + 1 - low)


def _wider(ends: tuple[int, int] | None, others: tuple[int, int] | None) -> tuple[int, int] | None:
    """The ends of the numbers of both; None if there are none."""
    if ends is None or others is None:
        return ends or others
    return min(ends[0], others[0]), max(ends[1], others[1])


def _slices(low: int, end: int, start: int) -> Iterator[tuple[int, int]]:
    """The ranges of rows from `start` to the end, then those before it. low, end: of all rows."""
    size = _FIRST_SLICE
    for first, last in ((start, end), (low, start)):
        at = first
        while at < last:
            yield at, min(at + size, last)
            at, size = at + size, _SLICE
