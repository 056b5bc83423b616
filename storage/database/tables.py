"""The tables of a run: their columns, and the SQL that creates them.

An edge's table has `seq, step, kind` and the edge's own columns. An instant (Spark's timestamp) is stored as a plain
TIMESTAMP in UTC, so that it reads the same in every client's time zone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.contract.recorder import EdgeInfo
from engine.model.changelog import ChangelogMode
from engine.model.schema import Schema
from engine.model.type_texts import spark_type
from engine.model.types import (
    AVAILABLE,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    Array,
    Decimal,
    Map,
    Row,
    Time,
    Timestamp,
    Type,
)
from storage.database.edge_records import view_query
from storage.database.run_tables import EVENTS, RunTables
from storage.database.sql import identifier, literal
from storage.model import Edge, EdgeColumn

KIND: Final = "ENUM('+I', '-U', '+U', '-D')"
STATE: Final = "ENUM('in time', 'out of order', 'late but used', 'dropped')"
BLOCK: Final = 256
LATE_COLUMNS: Final = {
    "needed_delay_ms": "The smallest watermark delay of the source with which the record had not been late here.",
    "dropped": "True: the record had no effect at this operator. False: it was late but used.",
    "used": "What the record changed here although it was late. NULL if it was dropped, or missed this window only.",
    "entry": "The place among the rows of this record and operator: entry = 1 picks one row for each record.",
    "entries": "The number of rows of this record and operator.",
}
"""The columns of a run's table of late records that need a description."""

# `rowid` is DuckDB's own: the index of a row in its table, which pages count in.
_TAKEN: Final = ("seq", "step", "kind", "rowid")
_PLAIN: Final[dict[Type, str]] = {
    STRING: "VARCHAR",
    BOOLEAN: "BOOLEAN",
    TINYINT: "TINYINT",
    SMALLINT: "SMALLINT",
    INT: "INTEGER",
    BIGINT: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
    DATE: "DATE",
    BINARY: "BLOB",
}


def duckdb_type(type_: Type) -> str:
    """The DuckDB type of a type. Raises ValueError for one that cannot be stored."""
    match type_:
        case Decimal():
            return f"DECIMAL({type_.precision},{type_.scale})"
        case Timestamp():
            return "TIMESTAMP"
        case Time():
            return "TIME"
        case Array():
            return f"{duckdb_type(type_.element)}[]"
        case Map():
            return f"MAP({duckdb_type(type_.key)}, {duckdb_type(type_.value)})"
        case Row():
            return f"STRUCT({', '.join(f'{identifier(name)} {duckdb_type(part)}' for name, part in type_.fields)})"
    if type_ in _PLAIN:
        return _PLAIN[type_]
    message = f"the type {type_.flink} cannot be stored. Available: {', '.join(AVAILABLE)}"
    raise ValueError(message)


def stored_columns(schema: Schema, zone: str | None = None) -> tuple[EdgeColumn, ...]:
    """The columns of an edge's table. A name that is taken gets trailing underscores until it is free.

    zone: in which the pipeline has its instants, if that is not UTC.
    """
    taken = {*_TAKEN, *(name.lower() for name in schema.names)}
    columns: list[EdgeColumn] = []
    for column in schema:
        stored = column.name
        if stored.lower() in _TAKEN:
            stored = free_name(stored + "_", taken)
            taken.add(stored.lower())
        time = column.time.value if column.time else None
        has_instants = column.is_instant if column.time else column.type.has_instants
        of_column = zone if has_instants else None
        columns.append(EdgeColumn(column.name, stored, str(column.type), duckdb_type(column.type), time, of_column))
    return tuple(columns)


def table_names(edges: Iterable[EdgeInfo]) -> dict[tuple[str, str], str]:
    """The table of each edge: the node's id, or `node__port` for a second output."""
    names: dict[tuple[str, str], str] = {}
    # First outputs first: they keep their plain names if a second output has the same name.
    ordered = sorted(edges, key=lambda edge: edge.port != "out")
    for edge in ordered:
        name = edge.node if edge.port == "out" else f"{edge.node}__{edge.port}"
        names[edge.node, edge.port] = free_name(name, {other.lower() for other in names.values()})
    return names


def create_run(run: RunTables) -> list[str]:
    """The statements that create a run's schema with the tables that every run has."""
    comments = {
        run.events: f"Run {run.run_id}: one row per source event in arrival order, with its source's "
        "watermark and largest event time after it.",
        run.overview: f"{EVENTS} in blocks of {BLOCK} events: earliest and latest event time per source and "
        "state, and the source's last watermark. Draws the timeline of a large run.",
        run.late: "Records that came too late for an operator: a row for each of its windows that was over, or one "
        "row without windows.",
        run.fires: "Windows that fired; seq is the event whose watermark fired them.",
        run.rejected: "Rows of the sources that could not be read, with file, line and reason.",
        run.key_times: "The keys of each operator that took longest, per epoch and task: the key's values as a "
        "JSON array, nanoseconds, records. The only table of a run that can differ between equal runs.",
        run.held: "What the state of each operator holds after event seq: a row is the difference from the point "
        "before. kind: of the entries, 'keys' for the keys. expired: entries that went since. bytes: of as many "
        "entries as measured.",
        run.held_later: "Entries of _held that go once the largest event time has reached time_ms.",
        run.held_keys: "The keys of each operator with the most entries, after the epochs that ended with event seq.",
        run.expired: "Records that met expired state: how many entries, when the oldest was written, and when it went.",
        run.idle: "Of a live run: from event seq on, whether a source is idle and does not hold the watermark.",
        run.clock: "The clock of state that expires, where it is not event time: from event seq on, the time in epoch "
        "ms. Without rows it goes by event time.",
    }
    return [
        f"CREATE SCHEMA IF NOT EXISTS {identifier(run.schema)}",
        f"CREATE TABLE IF NOT EXISTS {run.events} (seq BIGINT, source VARCHAR, event_time_ms BIGINT, "
        "watermark_ms BIGINT, is_end BOOLEAN, max_event_time_ms BIGINT, "
        f"state {STATE})",
        f"CREATE TABLE IF NOT EXISTS {run.overview} (block BIGINT, source VARCHAR, state VARCHAR, "
        "low_ms BIGINT, low_seq BIGINT, high_ms BIGINT, high_seq BIGINT, records BIGINT, watermark_ms BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.late} (node VARCHAR, port VARCHAR, seq BIGINT, step BLOB, "
        "source VARCHAR, event_time_ms BIGINT, window_start_ms BIGINT, window_end_ms BIGINT, "
        "watermark_ms BIGINT, lateness_ms BIGINT, needed_delay_ms BIGINT, reason VARCHAR, dropped BOOLEAN, "
        "used VARCHAR, entry BIGINT, entries BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.fires} (node VARCHAR, seq BIGINT, window_start_ms BIGINT, "
        "window_end_ms BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.rejected} (node VARCHAR, file VARCHAR, line BIGINT, "
        "raw VARCHAR, reason VARCHAR)",
        f"CREATE TABLE IF NOT EXISTS {run.key_times} (node VARCHAR, key VARCHAR, ns BIGINT, records BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.held} (node VARCHAR, kind VARCHAR, seq BIGINT, entries BIGINT, "
        "expired BIGINT, bytes BIGINT, measured BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.held_later} (node VARCHAR, kind VARCHAR, time_ms BIGINT, entries BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.held_keys} (node VARCHAR, key VARCHAR, entries BIGINT, seq BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.expired} (node VARCHAR, port VARCHAR, seq BIGINT, step BLOB, kinds VARCHAR, "
        "entries BIGINT, written_ms BIGINT, expired_ms BIGINT, now_ms BIGINT)",
        f"CREATE TABLE IF NOT EXISTS {run.idle} (seq BIGINT, source VARCHAR, is_idle BOOLEAN)",
        f"CREATE TABLE IF NOT EXISTS {run.clock} (seq BIGINT, now_ms BIGINT)",
        *(f"COMMENT ON TABLE {table} IS {literal(text)}" for table, text in comments.items()),
        *(f"COMMENT ON COLUMN {run.late}.{column} IS {literal(text)}" for column, text in LATE_COLUMNS.items()),
    ]


def create_edge(edge: Edge) -> list[str]:
    """The statements that create an edge's table or view. Readers of the file see no difference."""
    name = edge.tables.named(edge.table)
    key = f", upsert key ({', '.join(edge.upsert_key)})" if edge.upsert_key else ""
    kinds = ChangelogMode.read(edge.mode).signs
    about = f"Changelog of {edge.node} ({edge.operator}), mode {kinds}{key}, in position order (seq, step)."
    if edge.view is not None:
        about += f" A view: its records are those of {edge.view.table}."
        what, statements = "VIEW", [f"CREATE OR REPLACE VIEW {name} AS {view_query(edge, edge.view, 'seq')}"]
    elif edge.stays:
        about += " Its records are in files of the engine's workspace."
        chosen = "".join(f", {identifier(column.stored_as)}" for column in edge.columns)
        relation = edge.tables.staying(edge.table)
        what, statements = "VIEW", [f"CREATE VIEW {name} AS SELECT seq, step, kind{chosen} FROM {relation}"]
    else:
        columns = "".join(f", {identifier(column.stored_as)} {column.duckdb_type}" for column in edge.columns)
        position = f"seq BIGINT NOT NULL, step BLOB NOT NULL, kind {KIND} NOT NULL"
        what, statements = "TABLE", [f"CREATE TABLE IF NOT EXISTS {name} ({position}{columns})"]
    statements += [
        f"COMMENT ON {what} {name} IS {literal(about)}",
        f"COMMENT ON COLUMN {name}.seq IS 'Ordinal of the source event that caused the record, from 1.'",
        f"COMMENT ON COLUMN {name}.step IS 'Path below that event; a prefix is a cause.'",
        f"COMMENT ON COLUMN {name}.kind IS 'RowKind.'",
    ]
    for column in edge.columns:
        if text := _column_comment(column):
            statements.append(f"COMMENT ON COLUMN {name}.{identifier(column.stored_as)} IS {literal(text)}")
    return statements


def free_name(name: str, taken: set[str]) -> str:
    """The name, with as many trailing underscores as make it unique. taken: names in lower case."""
    while name.lower() in taken:
        name += "_"
    return name


def _column_comment(column: EdgeColumn) -> str:
    notes = []
    if column.stored_as != column.name:
        notes.append(f"the pipeline's {column.name!r}")
    if column.time:
        notes.append(f"event time ({column.time})")
    if spark_type(column.type).has_instants:
        notes.append("an instant, in UTC")
    return "; ".join(notes)
