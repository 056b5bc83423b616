"""The changelogs of edges: pages, counts, cascades and exports.

Rows are stored in position order, so that rowid is a record's index: a page without a filter is a range of rowids,
and a page with a filter stops reading as soon as it is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.model.changelog import RowKind
from storage.changelogs.as_of import Order, TablesAsOf
from storage.changelogs.exported_values import Format
from storage.changelogs.exports import write_changelog, write_table
from storage.changelogs.filters import conditions, order_of
from storage.changelogs.search import Found, Matches, first_row, rows_at, search
from storage.changelogs.sorted_pages import NEAR, SortedPages
from storage.changelogs.update_pairs import pair_updates
from storage.database.cache import MemoryCache
from storage.database.connection import Database
from storage.database.edge_records import record_columns, records_at, records_of, to_record
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.model import CascadeRecord, ChangePage, Edge, Page, Record, TableAsOf
from storage.recording.lifetimes import Lifetimes
from storage.wanted import ALL, Filter, SortOrder

_KNOWN_SEARCHES: Final = 64
# An event is looked for among so many events, then among as many more times the ones before.
_NEAR: Final = 100_000
_FARTHER: Final = 8


class Changelogs(OfAllRuns):
    """The changelogs of all runs. An edge is a run, a node and a port.

    Every method raises UnknownRun and UnknownEdge, and UnknownColumn for an unknown column in a filter.
    """

    def __init__(self, database: Database, runs: Runs, lifetimes: Lifetimes) -> None:
        super().__init__(database, runs)
        self._as_of = TablesAsOf(database, lifetimes)
        self._sorted = SortedPages(database)
        self._matches: MemoryCache[Matches] = MemoryCache(_KNOWN_SEARCHES)

    def page(
        self,
        run_id: int,
        node: str,
        port: str = "out",
        *,
        filter: Filter = ALL,
        offset: int = 0,
        from_event: int | None = None,
        limit: int = 100,
        order: SortOrder | None = None,
    ) -> Page:
        """A page of raw records in position order, or by a column. Raises UnknownColumn, also for the order's.

        from_event: an event from which a search goes on. The offset is that from the first match there or after it, and
        may be negative; the page is of what has been found between.
        """
        edge = self._runs.edge(run_id, node, port)
        return self._page(edge, filter, offset, from_event, limit, order)

    def changes(
        self,
        run_id: int,
        node: str,
        port: str = "out",
        *,
        filter: Filter = ALL,
        offset: int = 0,
        from_event: int | None = None,
        limit: int = 100,
    ) -> ChangePage:
        """The same page with each -U and its +U paired into one change, so it may hold fewer entries.

        A change is shown when either record passes the filter, on the page of the first that does.
        """
        edge = self._runs.edge(run_id, node, port)
        page = self._page(edge, filter, offset, from_event, limit)
        updates = (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER)
        near = {
            row + near
            for row in (record.row for record in page.records if record.kind in updates)
            for near in (-2, -1, 0, 1, 2)
        }
        around, passes = self._around(edge, filter, near)
        changes = pair_updates(edge, page.records, around, passes)
        return ChangePage(page, changes)

    def count(self, run_id: int, node: str, port: str = "out", *, filter: Filter = ALL) -> int:
        """The number of records that pass the filter. Free without a filter; cached with one."""
        return self._count(self._runs.edge(run_id, node, port), filter)

    def counts(self, run_id: int, node: str, seq: int, port: str = "out", *, filter: Filter = ALL) -> tuple[int, int]:
        """How many records pass the filter before event `seq`, and in all."""
        edge = self._runs.edge(run_id, node, port)
        if filter.is_empty:
            return first_row(self._database, edge, seq), edge.total
        self.search(run_id, node, seq, port, filter=filter)
        found = self._matches_of(edge, filter).found(seq)
        return found.before, found.total

    def search(
        self,
        run_id: int,
        node: str,
        seq: int,
        port: str = "out",
        *,
        filter: Filter = ALL,
        is_awaited: Callable[[], bool] = lambda: True,
    ) -> None:
        """Find and count the records that pass the filter, from event `seq` on in both directions.

        `found` tells what is found so far. Afterwards, `counts` are known for any event, and where the pages are. What
        is found stays if the search is ended, as it is before its next part if it is not awaited any more.
        """
        edge = self._runs.edge(run_id, node, port)
        search(self._database, edge, filter, seq, self._matches_of(edge, filter), is_awaited)

    def found(self, run_id: int, node: str, seq: int, port: str = "out", *, filter: Filter = ALL) -> Found:
        """What a search has found so far, as of event `seq`; at once."""
        return self._matches_of(self._runs.edge(run_id, node, port), filter).found(seq)

    def table_as_of(
        self,
        run_id: int,
        node: str,
        seq: int,
        port: str = "out",
        *,
        filter: Filter = ALL,
        offset: int = 0,
        limit: int = 100,
        order: Order | SortOrder | None = None,
    ) -> TableAsOf:
        """The table that the changelog describes after event `seq`, with what that event changed.

        By upsert key if the edge has one, else as a multiset of whole rows. The filter's text and terms apply
        to the table's rows. order: by a column, by upsert key, by the position of the record that added the row, or
        the newest first. The default is by key, or by position without a key and for tables too large to sort quickly.
        """
        edge, wanted = self._runs.edge(run_id, node, port), filter.of_rows
        matches = self._matches_of(edge, wanted)
        if not edge.is_insert_only or wanted.is_empty or not matches.are_known or order not in ("position", "newest"):
            return self._as_of.table(edge, seq, self._matching(edge, wanted), offset, limit, order)
        # Its rows are the records up to the event, which the search has found.
        total, _ = self.counts(run_id, node, seq + 1, port, filter=wanted)
        number = max(0, min(limit, total - offset))
        rows = self._rows_of(edge, wanted, total - offset - number if order == "newest" else offset, number)
        return replace(self._as_of.table(edge, seq, _at(rows), 0, limit, order), total=total, offset=offset)

    def cascade(self, run_id: int, seq: int, *, limit: int = 1000) -> tuple[CascadeRecord, ...]:
        """All records that one event caused, on all edges, in order of emission; `limit` per edge."""
        records: list[CascadeRecord] = []
        for edge in self._runs.edges(run_id):
            if edge.total:
                sql = f"SELECT {record_columns(edge)} FROM {records_of(edge)} c WHERE c.seq = $seq LIMIT $limit"
                rows = self._database.rows(sql, {"seq": seq, "limit": limit})
                records += [CascadeRecord(edge, to_record(row)) for row in rows]
        # Edges are in topological order and the sort is stable: equal steps keep this order.
        return tuple(sorted(records, key=lambda entry: entry.record.step))

    def next_seq(self, run_id: int, node: str, seq: int, port: str = "out", *, filter: Filter = ALL) -> int | None:
        """The first event after `seq` with a record on the edge that passes the filter, or None."""
        edge = self._runs.edge(run_id, node, port)
        return self._near(edge, filter, seq, 1, self._runs.get(run_id).last_seq)

    def previous_seq(self, run_id: int, node: str, seq: int, port: str = "out", *, filter: Filter = ALL) -> int | None:
        """The last event before `seq` with a record on the edge that passes the filter, or None."""
        edge = self._runs.edge(run_id, node, port)
        return self._near(edge, filter, seq, -1, 0)

    def export(
        self,
        run_id: int,
        node: str,
        path: Path,
        port: str = "out",
        *,
        filter: Filter = ALL,
        format: Format = "csv",
        for_spreadsheets: bool = True,
    ) -> int:
        """Write the records that pass the filter to a file, and return their number. Raises ExportFailed.

        for_spreadsheets: texts of a CSV that look like formulas get an apostrophe. `storage.changelogs.exports` has
        the formats.
        """
        edge = self._runs.edge(run_id, node, port)
        return write_changelog(self._database, edge, filter, path, format, safe=for_spreadsheets)

    def export_table(
        self,
        run_id: int,
        node: str,
        seq: int,
        path: Path,
        port: str = "out",
        *,
        filter: Filter = ALL,
        format: Format = "csv",
        for_spreadsheets: bool = True,
    ) -> int:
        """Write the rows of the table after event `seq` that pass the filter's text and terms to a file, ordered by
        its upsert key, and return their number. Raises ExportFailed.
        """
        edge = self._runs.edge(run_id, node, port)
        rows = self._as_of.rows_after(edge, seq)
        return write_table(self._database, edge, rows, filter.of_rows, path, format, safe=for_spreadsheets)

    def _page(
        self,
        edge: Edge,
        wanted: Filter,
        offset: int,
        from_event: int | None,
        limit: int,
        order: SortOrder | None = None,
    ) -> Page:
        matching, matches = None, self._matches_of(edge, wanted)
        total = matches.total if from_event is not None else self._count(edge, wanted)
        where, values = self._matching(edge, wanted)
        if from_event is not None or (order is None and matches.are_known):
            matching = self._rows_of(edge, wanted, offset, limit, from_event)
        elif order is not None and offset > NEAR:
            matching = self._sorted.rows(edge, order, (where, values), offset, limit)
        if matching is not None:
            at = records_at(self._database, edge, matching)
            return Page(tuple(at[row] for row in matching), total, offset, edge.names)
        skip = offset
        if wanted.is_empty and order is None:
            where, skip = f"c.rowid >= {int(offset)}", 0
        # No ORDER BY: DuckDB keeps insertion order, which is position order, and stops at the limit.
        paged, records = f"{order_of(edge, order)} LIMIT {limit} OFFSET {skip}", records_of(edge)
        if order is not None:
            # Of all records only what they are sorted by is read, and whole ones for the page.
            where, paged = f"c.rowid IN (SELECT c.rowid FROM {records} c WHERE {where} {paged})", order_of(edge, order)
        rows = self._database.rows(f"SELECT {record_columns(edge)} FROM {records} c WHERE {where} {paged}", values)
        return Page(tuple(map(to_record, rows)), total, offset, edge.names)

    def _near(self, edge: Edge, wanted: Filter, seq: int, way: int, last: int) -> int | None:
        """The next event from `seq` on with a record that passes the filter, in ever wider steps.

        way: 1 for later events, -1 for earlier ones, up to and including `last`.
        """
        where, values = self._matching(edge, wanted)
        nearest, width = "min" if way > 0 else "max", _NEAR
        sql = f"SELECT {nearest}(c.seq) FROM {records_of(edge)} c WHERE {where} AND c.seq BETWEEN $low AND $high"
        while (last - seq) * way > 0:
            ahead, seq = seq + way, seq + way * width
            near = self._database.integer(sql, {**values, "low": min(ahead, seq), "high": max(ahead, seq)})
            if near is not None:
                return near
            width *= _FARTHER
        return None

    def _matching(self, edge: Edge, wanted: Filter) -> tuple[str, dict[str, object]]:
        """The WHERE expression of a filter and its values: by what a search has found, if there are few matches."""
        matches = self._matches_of(edge, wanted)
        if matches.rows is not None:
            return _at(matches.rows)
        return conditions(edge, wanted, ends=matches.ends if matches.are_known else None)

    def _rows_of(
        self, edge: Edge, wanted: Filter, offset: int, number: int, from_event: int | None = None
    ) -> list[int]:
        """The rows of a page of what is found."""
        matches = self._matches_of(edge, wanted)
        places = matches.places(offset, number, from_event)
        return [row for place in places for row in rows_at(self._database, edge, wanted, matches, place)]

    def _matches_of(self, edge: Edge, wanted: Filter) -> Matches:
        """What is found so far. Of a run that goes on, only what is new is unknown."""
        # A filter may hold values that cannot be hashed: its text is the key.
        key = (edge.run_id, edge.node, edge.port, edge.kept_from, repr(wanted))
        matches = self._matches.get(key, Matches)
        matches.records = max(matches.records, edge.total)
        return matches

    def _around(self, edge: Edge, wanted: Filter, rows: set[int]) -> tuple[dict[int, Record], frozenset[int]]:
        """These rows as records, and the rows that pass the filter."""
        if not rows:
            return {}, frozenset()
        where, values = conditions(edge, wanted)
        fetched = self._database.rows(
            f"SELECT {record_columns(edge)}, coalesce({where}, false) FROM {records_of(edge)} c "
            "WHERE c.rowid IN (SELECT unnest($rows))",
            {**values, "rows": sorted(row for row in rows if row >= 0)},
        )
        around = {record.row: record for record in (to_record(row[:-1]) for row in fetched)}
        return around, frozenset(int(row[0]) for row in fetched if row[-1])

    def _count(self, edge: Edge, wanted: Filter) -> int:
        if wanted == Filter(kinds=wanted.kinds):
            return sum(n for kind, n in edge.counts.items() if kind in (wanted.kinds or set(RowKind)))
        matches = self._matches_of(edge, wanted)
        search(self._database, edge, wanted, 0, matches)
        return matches.total


def _at(rows: Iterable[int]) -> tuple[str, dict[str, object]]:
    """The WHERE expression of these rows, and its values."""
    return "c.rowid IN (SELECT unnest($rows))", {"rows": list(rows)}
