"""The SQL that reads an edge's records, whether the edge is a table or a view. Edges have the alias c."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from engine.contract.frames import KIND, SEQ, STEP
from engine.contract.recorder import ALL
from engine.model.changelog import RowKind
from storage.database.connection import Database
from storage.database.sql import blob, identifier, literal
from storage.errors import RecordsNotKept
from storage.model import Edge, EdgeColumn, Record, StoredView, Values

_KIND: Final = " ".join(f"WHEN '{kind.symbol}' THEN {kind.value}" for kind in RowKind)
ENGINE_POSITION: Final = f"c.seq AS {SEQ}, c.step AS {STEP}, (CASE c.kind {_KIND} END)::TINYINT AS {KIND}"
"""Position and kind of a record in the form that the engine reads."""
_TIMES: Final = {
    "epoch_ms": "{column}",
    "epoch_s": "{column} * 1000",
    "timestamp": "epoch_ms({column})",
}


def records_of(edge: Edge) -> str:
    """The relation with an edge's records: rowid (the place in the changelog), seq, step, kind, the columns.

    Filters on rowid and seq are pushed down to the table, or to the files, also for a view.
    """
    if edge.view is None:
        return _stored_as(edge, edge.table)
    return f"({view_query(edge, edge.view, 'rowid, seq')})"


def require_records(edges: Iterable[Edge]) -> None:
    """Raise RecordsNotKept if the run keeps only a share of the records of any of these edges."""
    missing = [edge for edge in edges if edge.share != ALL]
    if missing:
        raise RecordsNotKept(missing[0].run_id, [edge.name for edge in missing])


def stored_in(edge: Edge) -> str:
    """The table with an edge's records: its own, or the one behind its view."""
    return edge.table if edge.view is None else edge.view.table


def by_stored(edge: Edge, names: Iterable[str]) -> str:
    """An edge's records by some of its columns, as a text: the same one for all edges that are views of one table."""
    columns = edge.view.columns if edge.view else [column.stored_as for column in edge.columns]
    stored = dict(zip(edge.names, columns, strict=True))
    return f"{stored_in(edge)} by {sorted(stored[name] for name in names)}"


def view_query(edge: Edge, view: StoredView, first: str) -> str:
    """The query of an edge that is a view. first: the columns before step."""
    step = f"step || {blob(view.suffix)} AS step" if view.suffix else "step"
    pairs = zip(view.columns, edge.columns, strict=True)
    columns = "".join(f", {identifier(name)} AS {identifier(column.stored_as)}" for name, column in pairs)
    return f"SELECT {first}, {step}, kind{columns} FROM {_stored_as(edge, view.table)}"


def _stored_as(edge: Edge, table: str) -> str:
    return edge.tables.staying(table) if edge.stays else edge.tables.named(table)


def time_of(edge: Edge) -> str | None:
    """The event time of an edge's rows in ms, as SQL over an alias c; None if it has no event time."""
    column: EdgeColumn | None = next((column for column in edge.columns if column.time), None)
    return _TIMES[column.time or ""].format(column=f"c.{identifier(column.stored_as)}") if column else None


def in_zone(edge: Edge, instant_ms: str) -> str:
    """An instant in ms as the local time of the zone that the edge's event time has: windows are in local time."""
    zone = next((column.zone for column in edge.columns if column.time), None)
    return f"epoch_ms(timezone({literal(zone)}, make_timestamptz({instant_ms} * 1000)))" if zone else instant_ms


def lifetimes_of(edge: Edge) -> str:
    """The table with the lifetimes of an updating edge's rows."""
    return edge.tables.lifetimes(edge.lifetimes_owner)


def select_columns(columns: Sequence[EdgeColumn], alias: str) -> str:
    """The edge's columns as a select list that starts with a comma, or nothing."""
    return "".join(f", {alias}.{identifier(column.stored_as)}" for column in columns)


def stored_value(column: EdgeColumn) -> str:
    """A column in the engine's form: Spark separates instants from times without zones; the store has both in UTC.

    AT TIME ZONE would consult the time zone for each value.
    """
    place = f"c.{identifier(column.stored_as)}"
    return f"make_timestamptz(epoch_us({place}))" if column.type == "timestamp" else place


def record_columns(edge: Edge) -> str:
    """The select list that `to_record` reads."""
    return f"c.rowid, c.seq, c.step, c.kind::VARCHAR{select_columns(edge.columns, 'c')}"


def to_record(row: tuple[Any, ...]) -> Record:
    """A row of rowid, seq, step, kind and values as a record."""
    return Record(row[0], row[1], row[2], RowKind.of(row[3]), row[4:])


def records_at(database: Database, edge: Edge, rows: Collection[int]) -> dict[int, Record]:
    """The records at these indexes in an edge's changelog, by index. Missing records are left out."""
    if not rows:
        return {}
    stored = database.rows(
        f"SELECT {record_columns(edge)} FROM {records_of(edge)} c WHERE c.rowid IN (SELECT unnest($rows))",
        {"rows": list(rows)},
    )
    return {record.row: record for record in map(to_record, stored)}


def values_at(
    database: Database, edge: Edge, positions: Collection[tuple[int, bytes]]
) -> dict[tuple[int, bytes], Values]:
    """The values for people of the records at these positions on an edge, with some others of the same events."""
    seqs = sorted({seq for seq, _ in positions})
    stored = database.rows(
        f"SELECT c.seq, c.step{select_columns(edge.columns, 'c')} FROM {records_of(edge)} c "
        "WHERE c.seq BETWEEN $low AND $high AND c.seq IN (SELECT unnest($seqs)) "
        "AND c.step IN (SELECT unnest($steps))",
        {"low": seqs[0], "high": seqs[-1], "seqs": seqs, "steps": list({step for _, step in positions})},
    )
    return {(int(row[0]), bytes(row[1])): edge.shown(row[2:]) for row in stored}


def values_of_events(database: Database, edge: Edge, seqs: Collection[int]) -> dict[int, Values]:
    """The values for people of these events on a source's edge, by event."""
    # The bounds skip row groups; the list alone would be searched in all of them.
    stored = database.rows(
        f"SELECT c.seq{select_columns(edge.columns, 'c')} FROM {records_of(edge)} c "
        "WHERE c.seq BETWEEN $low AND $high AND c.seq IN (SELECT unnest($seqs))",
        {"low": min(seqs), "high": max(seqs), "seqs": list(seqs)},
    )
    return {int(row[0]): edge.shown(row[1:]) for row in stored}
