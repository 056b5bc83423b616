"""Which records are late: the values that are frequent among a source's late records and rare among all of them.

For each column, the distribution of the late records is compared with that of all records. A column tells as much as
these two differ (their relative entropy, in bits), beyond what it would be on average if as many records were late by
chance ((values - 1) / (2 n ln 2), the correction of Miller and Madow): few late records differ in every column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import log, log2
from typing import Final

from pydantic import TypeAdapter

from storage.database.cache import RunCache
from storage.database.connection import Database
from storage.database.edge_records import records_of
from storage.database.run_tables import RunTables
from storage.database.sql import literal
from storage.event_time.late_group import columns_of
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import Edge

# A column with more values names single records, not a group of them.
_VALUES: Final = 500
_COMBINED: Final = 3
_SHOWN: Final = 8
# Below this share of the late records, a value explains nothing; of columns that tell less, no pairs are made.
_LEAST: Final = 0.02
_TELLS: Final = 0.02
# So few late records are named by one column at a time: whatever two columns say, chance could have said as well.
_PAIRED: Final = 6


@dataclass(frozen=True)
class TellingValue:
    """One value per column, with the source's records that have them. late: those of them that were late."""

    values: tuple[str | None, ...]
    late: int
    records: int


@dataclass(frozen=True)
class TellingColumns:
    """One or two columns of a source with their most frequent values among its late records.

    bits: how much they tell; see above.
    """

    columns: tuple[str, ...]
    bits: float
    values: tuple[TellingValue, ...]


@dataclass(frozen=True)
class LateGroups:
    """The late records of a source by their values, the most telling columns first.

    late, records: of the source, in all. sources: the same of every source, if the run has several.
    """

    late: int
    records: int
    groups: tuple[TellingColumns, ...]
    sources: tuple[TellingValue, ...] = ()


_GROUPS = TypeAdapter(LateGroups)


class TellingValues(OfAllRuns):
    """The groups of all runs' late records. Raises UnknownRun, UnknownEdge."""

    def __init__(self, database: Database, runs: Runs, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._cache = cache

    def groups(self, run_id: int, source: str, *, dropped: bool = False) -> LateGroups:
        """The late records of a source, or only those that an operator dropped. Computed once per run."""
        run = self._runs.stored(run_id)
        edge = run.edge(source)
        stored = self._cache.get(
            run_id,
            f"late groups of {source}{', dropped' if dropped else ''}",
            run.progress,
            lambda: _GROUPS.dump_python(
                replace(self._find(edge, dropped=dropped), sources=self._sources(run, dropped=dropped)), mode="json"
            ),
        )
        return _GROUPS.validate_python(stored)

    def worst_source(self, run_id: int, *, dropped: bool = False) -> str:
        """The source with the most late records, or with the most of those that an operator dropped."""
        run = self._runs.stored(run_id)
        counts = self._cache.get(
            run_id,
            f"late records by source{', dropped' if dropped else ''}",
            run.progress,
            lambda: [[value.values[0], value.late] for value in self._sources(run, dropped=dropped)],
        )
        # Of several with as many, the first.
        return max(counts, key=_count_of)[0] if counts else run.sources[0].node

    def _find(self, edge: Edge, *, dropped: bool) -> LateGroups:
        late = _late_of(RunTables(edge.run_id), edge.node, dropped=dropped)
        total = self._database.count(f"FROM ({late})", {})
        if not total:
            return LateGroups(0, edge.total, ())
        compared = columns_of(edge)
        singles = [self._compare(edge, late, total, {name: compared[name]}) for name in compared]
        ranked = sorted((single for single in singles if single is not None), key=_by_bits)
        telling = [single.columns[0] for single in ranked if single.bits >= _TELLS and total >= _PAIRED][:_COMBINED]
        pairs = [
            self._compare(edge, late, total, {name: compared[name] for name in pair})
            for pair in combinations(telling, 2)
        ]
        # Two columns together always tell at least what one of them does; they are worth it if they tell more.
        alone = {single.columns[0]: single.bits for single in ranked}
        better = [
            pair
            for pair in pairs
            if pair is not None and pair.bits > max(alone[name] for name in pair.columns) + _TELLS
        ]
        return LateGroups(total, edge.total, tuple(sorted([*ranked, *better], key=_by_bits)))

    def _sources(self, run: StoredRun, *, dropped: bool) -> tuple[TellingValue, ...]:
        if len(run.sources) == 1:
            return ()
        late_counts = (
            (edge, self._database.count(f"FROM ({_late_of(run.tables, edge.node, dropped=dropped)})", {}))
            for edge in run.sources
        )
        return tuple(TellingValue((edge.node,), late, edge.total) for edge, late in late_counts)

    def _compare(self, edge: Edge, late: str, total: int, columns: dict[str, str]) -> TellingColumns | None:
        """None if the columns have too many values to form groups."""
        names = [f"v{at}" for at in range(len(columns))]
        picked = ", ".join(f"{sql} AS {name}" for name, sql in zip(names, columns.values(), strict=True))
        if len(columns) == 1:
            distinct = self._database.integer(
                f"SELECT approx_count_distinct(v0) FROM (SELECT {picked} FROM {records_of(edge)} c)", {}
            )
            if not distinct or distinct > _VALUES:
                return None
        rows = self._database.rows(
            f"""
            SELECT * FROM (
                SELECT {", ".join(f"{name}::VARCHAR" for name in names)}, count(is_late) AS late, count(*) AS records,
                    count(*) OVER () AS groups
                FROM (
                    SELECT {picked}, l.seq AS is_late
                    FROM {records_of(edge)} c LEFT JOIN ({late}) l ON l.seq = c.seq)
                GROUP BY {", ".join(names)})
            WHERE late > 0 ORDER BY late DESC, {", ".join(map(str, range(1, len(names) + 1)))}
            """,
            {},
        )
        if not rows:
            return None
        values = [TellingValue(tuple(row[:-3]), int(row[-3]), int(row[-2])) for row in rows]
        entropy = sum(part.late / total * log2((part.late / total) / (part.records / edge.total)) for part in values)
        by_chance = (int(rows[0][-1]) - 1) / (2 * total * log(2))
        bits = entropy - by_chance
        shown = [part for part in values if part.late >= _LEAST * total][:_SHOWN]
        return TellingColumns(tuple(columns), bits, tuple(shown)) if shown else None


def _late_of(tables: RunTables, source: str, *, dropped: bool) -> str:
    only = " AND dropped" if dropped else ""
    return f"SELECT DISTINCT seq FROM {tables.late} WHERE source = {literal(source)}{only}"


def _by_bits(each: TellingColumns) -> tuple[float, int]:
    return -round(each.bits, 6), len(each.columns)


def _count_of(source: tuple[str, int]) -> int:
    return source[1]
