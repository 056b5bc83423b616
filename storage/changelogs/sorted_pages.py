"""A page of records sorted by a column, far from the first one: by the part of the values in which it is.

For it DuckDB would sort all records: 5 to 10 CPU seconds of 30 million. The values of a sample cut the column into
parts, of which the records are counted once: 0.5 to 3 CPU seconds. Then a page reads and sorts a part only, in 0.01 to
0.9. The records of one value that is frequent are in the stored order, and not sorted at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from storage.changelogs.filters import sorted_by
from storage.database.cache import MemoryCache
from storage.database.connection import Database, Row
from storage.database.edge_records import records_of
from storage.database.sql import literal
from storage.model import Edge
from storage.wanted import SortOrder

NEAR: Final = 20_000
"""Up to this offset DuckDB keeps the first records only, while it reads all."""
# The text of each value is read back as the same value.
_PLAIN: Final = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "VARCHAR",
    "DATE",
    "TIMESTAMP",
    "BOOLEAN",
)
# Of floating-point numbers; for DuckDB's histograms it is not the largest one, as it is for comparisons.
_NOT_ORDERED: Final = "nan"
_SAMPLE: Final = 10_000
_PARTS: Final = 128
# The beginning of a text is also a text between others.
_BEGINNING: Final = 40
_KNOWN: Final = 32


class _Part(NamedTuple):
    """The records that fulfil a condition. is_one: they have one value."""

    where: str
    records: int
    is_one: bool


class SortedPages:
    """Finds pages of sorted records. The parts of the last orders and filters are remembered."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: MemoryCache[list[_Part]] = MemoryCache(_KNOWN)

    def rows(
        self, edge: Edge, order: SortOrder, matching: tuple[str, dict[str, object]], offset: int, limit: int
    ) -> list[int] | None:
        """The rows of a page of the records that match, in order; None if the column's values do not go as texts.

        matching: their WHERE expression (alias c), and the values of that. Raises UnknownColumn.
        """
        (place, type_), way = sorted_by(edge, order), "DESC" if order.descending else "ASC"
        if type_ not in _PLAIN and not (type_.startswith("DECIMAL") and type_.endswith(")")):
            return None
        records = f"FROM {records_of(edge)} c WHERE"

        def ask(what: str, within: str, paged: str = "") -> list[Row]:
            # What is asked of most records is last.
            return self._database.rows(f"SELECT {what} {records} {within} AND ({matching[0]}) {paged}", matching[1])

        key = (records, edge.progress, place, repr(matching))
        parts = self._known.get(key, lambda: list(_parts(ask, edge, place, type_)))
        rows: list[int] = []
        # NULL is the last one.
        for part in [*parts[-2::-1], parts[-1]] if order.descending else parts:
            if offset < part.records and len(rows) < limit:
                # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
                sort = "" if part.is_one else f"ORDER BY {place} {way}, c.rowid"
                rows += [
                    row for (row,) in ask("c.rowid", part.where, f"{sort} LIMIT {limit - len(rows)} OFFSET {offset}")
                ]
            offset = max(0, offset - part.records)
        return rows


def _parts(ask: Callable[..., list[Row]], edge: Edge, place: str, type_: str) -> Iterator[_Part]:
    """The parts from the smallest values to the largest, and NULL."""
    text = f"left({place}, {_BEGINNING})" if type_ == "VARCHAR" else f"{place}::VARCHAR"
    sampled = f"c.rowid % {max(1, edge.total // _SAMPLE) | 1} = 0 AND {place} IS NOT NULL"
    sample = [value for (value,) in ask(text, sampled, f"ORDER BY {place}")]
    picked = dict.fromkeys(value for value in sample[:: len(sample) // _PARTS + 1] if value != _NOT_ORDERED)
    bounds = [f"{literal(value)}::{type_}" for value in picked]
    listed = f"({place}, [{', '.join(bounds)}]) FILTER ({place} <= {bounds[-1]})" if bounds else ""
    counted = [f"map_values({name}{listed})" for name in ("histogram", "histogram_exact") if bounds]
    [(known, total, *counts)] = ask(", ".join([f"count({place}), count(*)", *counted]), "true")
    above = "true"
    for bound, up_to, same in zip(bounds, *counts, strict=False):
        yield _Part(f"{place} < {bound} AND {above}", up_to - same, is_one=False)
        yield _Part(f"{place} = {bound}", same, is_one=True)
        above, known = f"{place} > {bound}", known - up_to
    yield _Part(f"{place} IS NOT NULL AND {above}", known, is_one=False)
    yield _Part(f"{place} IS NULL", total - known, is_one=True)
