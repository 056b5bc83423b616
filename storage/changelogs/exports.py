"""Changelogs and tables as files.

    csv        with a header; texts that a spreadsheet would run as formulas can be made harmless
    json       JSON Lines, an object per record
    debezium   as Flink's format debezium-json: an update is a delete and an insert, {before, after, op}
    parquet    typed columns
    duckdb     a database with one table, typed
    sqlite     a database with one table; values without a type in SQLite are text

A record of a changelog has seq, step and kind before its columns; a row of a table and a change of Debezium only its
columns. CSV and JSON are compressed if the path ends in .gz. The file appears once it is complete. An instant is one
in every form (`exported_values`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb

from storage.changelogs.exported_values import Format, exported
from storage.changelogs.filters import conditions
from storage.database.connection import Database
from storage.database.edge_records import records_of
from storage.database.sentences import first_sentence
from storage.database.sql import identifier, literal
from storage.errors import ExportFailed
from storage.model import Edge
from storage.spreadsheets import harmless, harmless_sql
from storage.wanted import Filter

ENDINGS: Final[dict[Format, str]] = {
    "csv": ".csv",
    "json": ".jsonl",
    "debezium": ".debezium.jsonl",
    "parquet": ".parquet",
    "duckdb": ".duckdb",
    "sqlite": ".sqlite",
}
_FETCHED: Final = 10_000
_OPTIONS: Final = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json", "debezium": "FORMAT json"}
_PARQUET: Final = "FORMAT parquet, COMPRESSION zstd"


def write_changelog(database: Database, edge: Edge, wanted: Filter, path: Path, format_: Format, *, safe: bool) -> int:
    """Write the records that pass a filter, in order, and return their number. safe: for spreadsheets.

    Raises ExportFailed, UnknownColumn.
    """
    where, values = conditions(edge, wanted)
    if format_ == "debezium":
        select = _debezium(edge)
    else:
        step = "c.step" if format_ in ("parquet", "duckdb", "sqlite") else "hex(c.step)"
        select = f"c.seq, {step} AS step, c.kind::VARCHAR AS kind{exported_columns(edge, format_, safe=safe)}"
    query = f"SELECT {select} FROM {records_of(edge)} c WHERE {where}"
    return write_query(database, query, values, path, format_, edge.table)


def write_table(
    database: Database, edge: Edge, rows: str, wanted: Filter, path: Path, format_: Format, *, safe: bool
) -> int:
    """Write the rows of a table that pass a filter, ordered by key, and return their number.

    rows: the FROM and WHERE of the rows, as alias c. Raises ExportFailed.
    """
    select = (
        _debezium(edge, is_table=True)
        if format_ == "debezium"
        else exported_columns(edge, format_, safe=safe)[2:] or "c.seq"
    )
    keys = [f"c.{identifier(column.stored_as)}" for column in edge.columns if column.name in edge.upsert_key]
    where, values = conditions(edge, wanted)
    query = f"SELECT {select} FROM {rows} AND {where} ORDER BY {', '.join([*keys, 'c.rowid'])}"
    return write_query(database, query, values, path, format_, edge.table)


def write_query(
    database: Database, query: str, values: dict[str, object], path: Path, format_: Format, table: str
) -> int:
    """Write the rows of a query, and return their number. table: its name in a database. Raises ExportFailed."""
    part = path.with_name(path.name + ".part")
    rows = path.with_name(path.name + ".rows.part")
    options = _OPTIONS.get(format_, _PARQUET)
    if format_ in _OPTIONS and path.suffix == ".gz":
        options += ", COMPRESSION gzip"
    # A database is filled from a file, so that it is never attached to the store.
    convert = _CONVERTED.get(format_)
    try:
        # A killed export may have left it behind.
        part.unlink(missing_ok=True)
        with database.cursor() as cursor:
            target = part if convert is None else rows
            written = cursor.execute(f"COPY ({query}) TO {literal(str(target))} ({options})", values).fetchone()
        if convert is not None:
            convert(rows, part, table)
        part.replace(path)
    except (duckdb.Error, sqlite3.Error, OSError) as error:
        part.unlink(missing_ok=True)
        raise ExportFailed(path, first_sentence(str(error))) from error
    finally:
        rows.unlink(missing_ok=True)
    return int(written[0]) if written else 0


def _into_duckdb(rows: Path, target: Path, table: str) -> None:
    with closing(duckdb.connect(str(target))) as database:
        database.execute(f"CREATE TABLE {identifier(table)} AS SELECT * FROM read_parquet({literal(str(rows))})")


def _into_sqlite(rows: Path, target: Path, table: str) -> None:
    with closing(duckdb.connect()) as reader, closing(sqlite3.connect(target)) as database, database:
        source = f"read_parquet({literal(str(rows))})"
        declared = [(row[0], row[1]) for row in reader.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        columns = ", ".join(f"{identifier(name)} {_in_sqlite(type_)}" for name, type_ in declared)
        database.execute(f"CREATE TABLE {identifier(table)} ({columns})")
        select = ", ".join(
            identifier(name) if _in_sqlite(type_) != "TEXT" else f"{identifier(name)}::VARCHAR"
            for name, type_ in declared
        )
        reader.execute(f"SELECT {select} FROM {source}")
        marks = ", ".join("?" * len(declared))
        while batch := reader.fetchmany(_FETCHED):
            database.executemany(f"INSERT INTO {identifier(table)} VALUES ({marks})", batch)


_CONVERTED: Final[dict[Format, Callable[[Path, Path, str], None]]] = {
    "duckdb": _into_duckdb,
    "sqlite": _into_sqlite,
}


def _in_sqlite(type_: str) -> str:
    """The SQLite type of a DuckDB type; TEXT if SQLite has no such type."""
    if type_ in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"):
        return "INTEGER"
    sqlite_types = {"BOOLEAN": "BOOLEAN", "FLOAT": "REAL", "DOUBLE": "REAL", "BLOB": "BLOB"}
    return sqlite_types.get(type_, "TEXT")


def exported_columns(edge: Edge, format_: Format, *, safe: bool) -> str:
    """The edge's columns as a select list that starts with a comma. safe: no formulas in CSV.

    In CSV, a ROW or a MAP is JSON: DuckDB's own text of it cannot be read again.
    """
    columns = []
    for column in edge.columns:
        value = exported(column, format_)
        if format_ != "csv":
            columns.append(f", {value} AS {identifier(column.stored_as)}")
            continue
        match column.duckdb_type:
            case "VARCHAR" if safe:
                shown = harmless_sql(value)
            case "BLOB" if safe:
                shown = harmless_sql(f"{value}::VARCHAR")
            case nested if "STRUCT(" in nested or "MAP(" in nested:
                shown = f"to_json({value})::VARCHAR"
            case _:
                shown = value
        name = str(harmless(column.stored_as)) if safe else column.stored_as
        columns.append(f", {shown} AS {identifier(name)}")
    return "".join(columns)


def _debezium(edge: Edge, *, is_table: bool = False) -> str:
    """A change in the form of Flink's DebeziumJsonSerializationSchema; every row of a table is an insert."""
    fields = ", ".join(f"{identifier(column.name)} := {exported(column, 'debezium')}" for column in edge.columns)
    row = f"struct_pack({fields})"
    if is_table:
        return f"NULL AS before, {row} AS after, 'c' AS op"
    is_put = "c.kind::VARCHAR IN ('+I', '+U')"
    return (
        f"CASE WHEN NOT {is_put} THEN {row} END AS before, CASE WHEN {is_put} THEN {row} END AS after, "
        f"CASE WHEN {is_put} THEN 'c' ELSE 'd' END AS op"
    )
