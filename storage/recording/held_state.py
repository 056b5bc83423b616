"""Stores what the state of operators holds after an epoch, and the records that met expired state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.contract.recorder import EpochOutput, Held
from storage.database.connection import Cursor
from storage.database.run_tables import RunTables

KEYS: Final = "keys"
"""The kind of the rows that count keys."""
_KEYS: Final = 50


def append(cursor: Cursor, run: RunTables, output: EpochOutput, expired: Sequence[str]) -> None:
    """Store an epoch's counts. expired: the files of records that met expired state."""
    kinds: dict[str, tuple[str, ...]] = {}
    points: list[tuple[object, ...]] = []
    later: list[tuple[object, ...]] = []
    keys: list[tuple[object, ...]] = []
    for held in output.held:
        names = kinds[held.node] = (*held.kinds, KEYS)
        points += _points(held, names)
        later += [(held.node, names[kind], time_ms, number) for kind, time_ms, number in held.later]
        keys += [(held.node, key, number, output.last_seq) for number, key in held.largest]
    for table, rows in ((run.held, points), (run.held_later, later), (run.held_keys, keys)):
        if rows:
            # A statement for all rows: one for each would take a millisecond.
            columns = list(map(list, zip(*rows, strict=True)))
            cursor.execute(f"INSERT INTO {table} SELECT {', '.join(['unnest(?)'] * len(columns))}", columns)
    if expired:
        # A file has the number of the kind, as the kernel knows it, and a row for each age that a record met.
        cursor.execute(
            f"INSERT INTO {run.expired} SELECT f.node, port, seq, step, "
            "string_agg(DISTINCT k.kinds[kind + 1], ', ' ORDER BY k.kinds[kind + 1]), sum(entries), min(written_ms), "
            "min(expired_ms), any_value(now_ms) FROM read_parquet($files, hive_partitioning = false) f "
            "JOIN (SELECT unnest($nodes) AS node, unnest($kinds) AS kinds) k USING (node) "
            "GROUP BY f.node, port, seq, step ORDER BY seq, step, f.node",
            {"files": list(expired), "nodes": list(kinds), "kinds": [list(names) for names in kinds.values()]},
        )


def _points(held: Held, names: Sequence[str]) -> list[tuple[object, ...]]:
    """The rows of a node: of its keys one at each point, the last with the size; of a kind where it changes."""
    last = len(held.seqs) - 1
    rows: list[tuple[object, ...]] = []
    for name, of_kind, gone in zip(names, held.entries, held.expired, strict=True):
        for at, (seq, entries, expired) in enumerate(zip(held.seqs, of_kind, gone, strict=True)):
            # Something may expire at a point at which nothing else changes.
            if entries or expired or name == KEYS:
                size = (held.size, held.of_entries) if name == KEYS and at == last else (0, 0)
                rows.append((held.node, name, seq, entries, expired, *size))
    return rows


def let_go(cursor: Cursor, run: RunTables, cut: int) -> None:
    """Fold the counts up to an event into one per kind, and keep the largest keys only."""
    points = f"SELECT node, kind, {cut}, sum(entries)::BIGINT, sum(expired)::BIGINT, 0, 0"
    _fold(cursor, run.held, f"{points} FROM {{table}} WHERE seq <= {cut} GROUP BY node, kind", f"seq <= {cut}")
    later = "SELECT node, kind, time_ms, sum(entries)::BIGINT AS left_over FROM {table} GROUP BY ALL"
    _fold(cursor, run.held_later, f"FROM ({later}) WHERE left_over <> 0")
    last = "SELECT node, key, max_by(entries, seq) AS entries, max(seq) AS seq FROM {table} GROUP BY node, key"
    largest = f"row_number() OVER (PARTITION BY node ORDER BY entries DESC, key) <= {_KEYS}"
    _fold(cursor, run.held_keys, f"FROM ({last}) QUALIFY {largest}")


def _fold(cursor: Cursor, table: str, folded: str, where: str = "true") -> None:
    """Replace the rows of a table that meet a condition. folded: the query of what stays of them, over {table}."""
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE kept AS {folded.format(table=table)}")
    cursor.execute(f"DELETE FROM {table} WHERE {where}")
    cursor.execute(f"INSERT INTO {table} FROM kept")
    cursor.execute("DROP TABLE kept")
