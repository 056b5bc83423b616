"""The retractions of a whole run: per edge, by key, by second of event time, and those without effect.

Keys, pairs and seconds are counted in the changelogs, once per run. Each takes 300 ms on ten million records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from engine.model.changelog import RowKind
from storage.changelogs.model import Amplification, Cancelled, HeavyKey, RetractedKey, RetractedSecond, SlowKey, Wire
from storage.database.cache import RunCache
from storage.database.connection import Database, Row
from storage.database.edge_records import by_stored, records_at, records_of, stored_in
from storage.database.run_tables import KEY_TIMES
from storage.database.sql import identifier
from storage.library.of_all_runs import OfAllRuns
from storage.library.runs import Runs
from storage.library.stored_run import StoredRun
from storage.model import Edge, EdgeColumn

_TAKEN_BACK: Final = "kind IN ('-U', '-D')"
_SECOND_MS: Final = 1000
# This many keys and pairs are cached. A larger limit is another question.
_KEPT: Final = 50
# The events that are joined with their records at a time: the hash table stays in the cache, in half of the CPU time.
_PORTION: Final = 500_000
# A key of fewer records, or of a smaller part of them, delays nobody.
_HEAVY_RECORDS: Final = 1000
_HEAVY_SHARE: Final = 0.25


class Flows(OfAllRuns):
    """The flows of all runs. Every method raises UnknownRun, those of one edge UnknownEdge."""

    def __init__(self, database: Database, runs: Runs, cache: RunCache) -> None:
        super().__init__(database, runs)
        self._cache = cache

    def wires(self, run_id: int) -> tuple[Wire, ...]:
        """The record counts of every connection between nodes, sources first."""
        return _wires(self._runs.stored(run_id))

    def amplification(self, run_id: int) -> tuple[Amplification, ...]:
        """The amplification of every node that has an input, in topological order."""
        run = self._runs.stored(run_id)
        wires = _wires(run)
        nodes: list[Amplification] = []
        for edge in run.edges:
            inputs = [wire.counts for wire in wires if wire.target == edge.node]
            if edge.port == "out" and inputs:
                nodes.append(
                    Amplification(
                        node=edge.node,
                        operator=edge.operator,
                        records_in=sum(sum(counts.values()) for counts in inputs),
                        records_out=edge.total,
                        taken_back_in=sum(map(_taken_back, inputs)),
                        taken_back_out=_taken_back(edge.counts),
                    )
                )
        return tuple(nodes)

    def keys(self, run_id: int, node: str, port: str = "out", *, limit: int = 10) -> tuple[RetractedKey, ...]:
        """The keys with the most retractions on an edge. Without an upsert key a whole row is its own key."""
        edge = self._runs.edge(run_id, node, port)
        return self._keys_of(edge, limit) if _taken_back(edge.counts) else ()

    def slowest(self, run_id: int, node: str, *, limit: int = 10) -> tuple[SlowKey, ...]:
        """The keys that took the operator longest. Empty without keys, and for runs of older versions."""
        run = self._runs.stored(run_id)
        if not run.is_begun or not self._database.has_table(run.tables.schema, KEY_TIMES):
            return ()
        rows = self._database.rows(
            f"SELECT key, sum(ns)::BIGINT, sum(records)::BIGINT FROM {run.tables.key_times} "
            f"WHERE node = $node GROUP BY key ORDER BY sum(ns) DESC, key LIMIT {int(limit)}",
            {"node": node},
        )
        return tuple(SlowKey(tuple(json.loads(key)), records, ns / 1e6) for key, ns, records in rows)

    def heavy_keys(self, run_id: int) -> tuple[HeavyKey, ...]:
        """The nodes of which one key has so many of the records that its task lasts longer than the others.

        Of the keys that were among the slowest of an epoch. Nodes without a key have none.
        """
        run = self._runs.stored(run_id)
        if not run.is_begun or not self._database.has_table(run.tables.schema, KEY_TIMES):
            return ()
        by_key = f"SELECT node, key, sum(records)::BIGINT AS records FROM {run.tables.key_times} GROUP BY node, key"
        heaviest = {
            str(node): (key, int(records))
            for node, key, records in self._database.rows(
                f"SELECT node, arg_max(key, records), max(records) FROM ({by_key}) WHERE key <> '[]' GROUP BY node "
                f"HAVING max(records) >= {_HEAVY_RECORDS}"
            )
        }
        return tuple(
            HeavyKey(tuple(json.loads(key)), records, counter.node, counter.records_in)
            for counter in self._runs.counters(run_id)
            for key, records in [heaviest.get(counter.node, ("", 0))]
            if counter.records_in and records >= _HEAVY_SHARE * counter.records_in
        )

    def _keys_of(self, edge: Edge, limit: int) -> tuple[RetractedKey, ...]:
        names = edge.upsert_key or edge.names
        columns = [column for column in edge.columns if column.name in names]
        keys = ", ".join(f"c.{identifier(column.stored_as)}" for column in columns)
        most = max(limit, _KEPT)
        by_retractions = _by_retractions(edge, columns, most)
        counts = self._cache.get(
            edge.run_id,
            f"{most} keys of {by_stored(edge, names)}, by retractions",
            edge.progress,
            lambda: self._database.rows(by_retractions),
        )[:limit]
        # The cache has the first row of each key. The key is read from there, with its types.
        rows = self._database.rows(
            f"SELECT c.rowid{', ' + keys if keys else ''} FROM {records_of(edge)} c "
            "WHERE c.rowid IN (SELECT unnest($rows))",
            {"rows": [row for row, _, _ in counts]},
        )
        values = {row[0]: row[1:] for row in rows}
        return tuple(RetractedKey(values[row], records, taken_back) for row, records, taken_back in counts)

    def seconds(self, run_id: int, node: str, port: str = "out", *, limit: int = 10) -> tuple[RetractedSecond, ...]:
        """The seconds of event time whose events caused the most retractions; empty without event time."""
        edge = self._runs.edge(run_id, node, port)
        if not _taken_back(edge.counts):
            return ()
        most = max(limit, _KEPT)
        counts = self._cache.get(
            run_id,
            f"{most} seconds of {stored_in(edge)}, by retractions",
            edge.progress,
            lambda: self._seconds_of(edge, most),
        )[:limit]
        return tuple(RetractedSecond(*row) for row in counts)

    def _seconds_of(self, edge: Edge, most: int) -> list[Row]:
        """The seconds with the most retractions, with their updates and deletes.

        A join of all events would need memory in proportion to the run, so a portion of events is joined at a time.
        """
        import pyarrow as pa

        events = edge.tables.events
        low, high = self._database.row(f"SELECT min(seq), max(seq) FROM {events}") or (None, None)
        if low is None:
            return []
        portions = [
            self._database.arrow(
                f"SELECT floor(e.event_time_ms / {_SECOND_MS})::BIGINT * {_SECOND_MS} AS start_ms, "
                "count(*) FILTER (c.kind = '-U') AS updates_before, count(*) FILTER (c.kind = '-D') AS deletes "
                f"FROM {records_of(edge)} c JOIN {events} e ON e.seq = c.seq "
                f"WHERE c.{_TAKEN_BACK} AND e.event_time_ms IS NOT NULL "
                "AND c.seq BETWEEN $low AND $high AND e.seq BETWEEN $low AND $high GROUP BY start_ms",
                {"low": first, "high": first + _PORTION - 1},
            )
            for first in range(low, high + 1, _PORTION)
        ]
        return self._database.rows(
            "SELECT start_ms, sum(updates_before)::BIGINT, sum(deletes)::BIGINT FROM portions "
            f"GROUP BY start_ms ORDER BY sum(updates_before + deletes) DESC, start_ms LIMIT {most}",
            tables={"portions": pa.concat_tables(portions)},
        )

    def cancelled(self, run_id: int, node: str, port: str = "out", *, limit: int = 10) -> Cancelled:
        """The neighbours in an edge's changelog that cancel each other."""
        edge = self._runs.edge(run_id, node, port)
        if not _taken_back(edge.counts):
            return Cancelled(edge, 0, 0, ())
        most = max(limit, _KEPT)
        updates, inserts, rows = self._cache.get(
            run_id,
            f"{most} pairs for nothing of {by_stored(edge, edge.names)}",
            edge.progress,
            lambda: self._count_pairs(edge, most),
        )
        records = records_at(self._database, edge, [near for row in rows[:limit] for near in (row, row + 1)])
        return Cancelled(edge, updates, inserts, tuple((records[row], records[row + 1]) for row in rows[:limit]))

    def _count_pairs(self, edge: Edge, most: int) -> tuple[int, int, list[int]]:
        """The number of pairs of updates and of inserts, and the rows of the first pairs."""
        row = self._database.row(
            f"SELECT count(*) FILTER (kind = '-U'), count(*) FILTER (kind = '+I'), min(row, {most}) "
            f"FROM ({_cancelling(edge)})"
        )
        updates, inserts, rows = row or (0, 0, None)
        return int(updates), int(inserts), list(rows or ())


def _wires(run: StoredRun) -> tuple[Wire, ...]:
    wires: list[Wire] = []
    consumed: set[tuple[str, str]] = set()
    for node in dict.fromkeys(edge.node for edge in run.edges):
        for port, edge in run.input_edges(node):
            wires.append(Wire(edge.node, node, port, edge.counts))
            consumed.add((edge.node, edge.port))
    wires += [Wire(edge.node, "", edge.port, edge.counts) for key, edge in run.outputs.items() if key not in consumed]
    return tuple(wires)


def _by_retractions(edge: Edge, keys: Sequence[EdgeColumn], most: int) -> str:
    """The keys with the most retractions, as their first row, their records and their retractions.

    Retractions are counted first: of the other records only those of the keys that come into question are grouped.
    """
    columns = [identifier(column.stored_as) for column in keys]
    by = "".join(f", c.{name} AS k{at}" for at, name in enumerate(columns))
    same = "".join(f" AND c.{name} IS NOT DISTINCT FROM h.k{at}" for at, name in enumerate(columns))
    return f"""
        WITH counted AS MATERIALIZED (
            SELECT count(*) AS taken_back{by} FROM {records_of(edge)} c WHERE c.{_TAKEN_BACK} GROUP BY ALL),
        heaviest AS MATERIALIZED (
            FROM counted WHERE taken_back >= (
                SELECT min(taken_back) FROM (SELECT taken_back FROM counted ORDER BY taken_back DESC LIMIT {most})))
        SELECT min(c.rowid) AS row, count(*) AS records, any_value(h.taken_back) AS taken_back
        FROM {records_of(edge)} c JOIN heaviest h ON true{same}
        GROUP BY {", ".join(f"h.k{at}" for at in range(len(columns))) or "()"}
        ORDER BY taken_back DESC, records DESC, row LIMIT {most}
    """


def _taken_back(counts: Mapping[RowKind, int]) -> int:
    return counts.get(RowKind.UPDATE_BEFORE, 0) + counts.get(RowKind.DELETE, 0)


def _cancelling(edge: Edge) -> str:
    """The first records of the pairs, as `row` and `kind`: lead over the stored order needs no sort."""
    columns = [identifier(column.stored_as) for column in edge.columns]
    ahead = "".join(f", {name}, lead({name}) OVER () AS next{at}" for at, name in enumerate(columns))
    same = "".join(f" AND {name} IS NOT DISTINCT FROM next{at}" for at, name in enumerate(columns))
    return (
        f"SELECT row, kind FROM (SELECT rowid AS row, seq, lead(seq) OVER () AS next_seq, kind, "
        f"lead(kind) OVER () AS next_kind{ahead} FROM {records_of(edge)}) "
        "WHERE (kind = '-U' AND next_kind = '+U' AND seq = next_seq OR kind = '+I' AND next_kind = '-D')"
        f"{same}"
    )
