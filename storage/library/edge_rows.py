"""Writes edges to the catalog's table run_edges, and reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from engine.contract.recorder import ALL, Share
from engine.model.changelog import RowKind
from storage.database.connection import Cursor, Database, Row
from storage.model import Edge, EdgeColumn, StoredView

# One statement, and so one snapshot. A union and no join, ordered in Python: DuckDB plans that in half of the time, and
# every question about a run begins with its edges.
_EDGES: Final = """
SELECT place, run_id, node, port, operator, role, mode, table_name, columns, upsert_key, watermark_delay_ms,
    inserts, updates_before, updates_after, deletes, shows, share, left_out, stays, NULL::BIGINT AS kept_from
FROM run_edges WHERE run_id = $run
UNION ALL BY NAME SELECT table_name, kept_from FROM run_edge_retention WHERE run_id = $run
UNION ALL BY NAME SELECT kept_from FROM run_retention WHERE run_id = $run
"""


def insert_edge(cursor: Cursor, place: int, edge: Edge) -> None:
    """Write an edge that has no records yet. place: its position in topological order."""
    shows = None
    if edge.view is not None:
        shows = json.dumps({**vars(edge.view), "suffix": edge.view.suffix.hex()}, ensure_ascii=False)
    row = {
        "run_id": edge.run_id,
        "place": place,
        "node": edge.node,
        "port": edge.port,
        "operator": edge.operator,
        "role": edge.role,
        "mode": edge.mode,
        "table_name": edge.table,
        "columns": json.dumps([vars(column) for column in edge.columns], ensure_ascii=False),
        "upsert_key": json.dumps(list(edge.upsert_key), ensure_ascii=False),
        "watermark_delay_ms": edge.watermark_delay_ms,
        "shows": shows,
        "stays": edge.stays,
        "share": None if edge.share == ALL else json.dumps(asdict(edge.share), ensure_ascii=False),
    }
    values = ", ".join(f"${name}" for name in row)
    cursor.execute(f"INSERT INTO run_edges ({', '.join(row)}) SELECT {values}", row)


def read_edges(database: Database, run_id: int) -> tuple[Edge, ...]:
    """The edges of a run in topological order, with their record counts."""
    stored: list[Row] = []
    # By table; None is the whole run.
    kept_from: dict[str | None, int] = {}
    for place, *row, first_kept in database.rows(_EDGES, {"run": run_id}):
        if place is not None:
            stored.append((place, *row))
        else:
            kept_from[row[6]] = first_kept or 1
    return tuple(_edge(row[1:], kept_from) for row in sorted(stored, key=lambda row: row[0]))


def _edge(row: Row, kept_from: Mapping[str | None, int]) -> Edge:
    columns = tuple(EdgeColumn(**column) for column in json.loads(row[7]))
    counts = dict(zip(RowKind, (int(count) for count in row[10:14]), strict=True))
    run_id, node, port, operator, role, mode, table = row[:7]
    key = tuple(json.loads(row[8]))
    view = _view(row[14])
    first = max(1, kept_from.get(None, 1), kept_from.get(view.table if view else table, 1))
    share, left_out, stays = _share(row[15]), int(row[16] or 0), bool(row[17])
    return Edge(
        *(run_id, node, port, operator, role, mode, table, columns, key, row[9], counts, view, first, share, left_out),
        stays=stays,
    )


def _share(text: str | None) -> Share:
    if text is None:
        return ALL
    share = json.loads(text)
    return Share(share["one_in"], tuple(share["by"]))


def _view(text: str | None) -> StoredView | None:
    if text is None:
        return None
    view = json.loads(text)
    return StoredView(view["table"], tuple(view["columns"]), bytes.fromhex(view["suffix"]), view["shares_lifetimes"])
