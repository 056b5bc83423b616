"""What live runs have written to places outside of the store, read as somebody else would."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from engine.reading.files.storage import file_system
from tests.engine.sources.postgres_server import Server


class ParquetFolders:
    """Folders below a place, by default in the folder of the run. Read by their manifests alone."""

    def __init__(self, place: str = "") -> None:
        self._place = place

    def sinks(self, folder: Path) -> Mapping[str, dict[str, Any]]:
        """A folder each; the changelog in partitions."""
        given = {"write_to": "parquet", "writes": True}
        return {
            "best": {**given, "folder": f"{self._in(folder)}/best", "partition_by": ["k"]},
            "rows": {**given, "folder": f"{self._in(folder)}/rows", "mode": "upsert", "keys": ["k"]},
        }

    def written(self, folder: Path) -> tuple[list[tuple[Any, ...]], set[tuple[Any, ...]]]:
        """The changelog, an epoch after another; the rows of the newest manifest's files."""
        read, manifests = _opened(f"{self._in(folder)}/best")
        records = []
        for epoch in manifests:
            rows = [
                (row["seq"], row["step"], row["kind"], file["partition"]["k"], *_rest(row))
                for file in epoch["files"]
                for row in read(file["path"]).to_pylist()
            ]
            assert len(rows) == epoch["records"]
            records += sorted(rows)
        afters = [epoch["after"] for epoch in manifests]
        assert afters == [None, *(epoch["epoch"] for epoch in manifests[:-1])]
        read, manifests = _opened(f"{self._in(folder)}/rows")
        table: dict[str, tuple[Any, ...] | None] = {}
        for file in manifests[-1]["files"]:
            for row in read(file["path"]).to_pylist():
                table[row["k"]] = None if row["kind"] == "-D" else (row["k"], row["n"])
        return [record[2:] for record in records], {row for row in table.values() if row is not None}

    def _in(self, folder: Path) -> str:
        return self._place or str(folder / "written")


class PostgresTables:
    """A table by key of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def sinks(self, folder: Path) -> Mapping[str, dict[str, Any]]:
        """The table, which is created."""
        where = {"host": "127.0.0.1", "port": self._server.port, "database": "postgres", "user": "studio"}
        given = {"write_to": "postgres", "writes": True, "table_name": "written"}
        return {"rows": {**given, **where, "mode": "upsert", "keys": ["k"]}}

    def written(self, folder: Path) -> tuple[None, set[tuple[Any, ...]]]:
        """The rows."""
        return None, set(self._server.run("SELECT k, n FROM written"))


def _rest(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(value for name, value in row.items() if name not in ("seq", "step", "kind"))


def _opened(place: str) -> tuple[Callable[[str], pa.Table], list[dict[str, Any]]]:
    """What reads a file of a folder, and its manifests in order. One run has written there."""
    from pyarrow.fs import FileSelector

    system, inside = file_system(place)
    found = system.get_file_info(FileSelector(f"{inside}/_epochs", recursive=True))
    paths = sorted(each.path for each in found if each.path.endswith(".json"))
    assert len({path.rpartition("/")[0] for path in paths}) == 1
    manifests = [json.loads(system.open_input_file(path).read()) for path in paths]
    return lambda path: pq.read_table(system.open_input_file(f"{inside}/{path}")), manifests


def table_by_recipe(folder: Path) -> list[tuple[Any, ...]]:
    """The rows of a table by key, as DuckDB reads them with the query beside it."""
    with duckdb.connect() as connection:
        for statement in connection.extract_statements((folder / "_table.sql").read_text()):
            connection.execute(statement)
        return connection.fetchall()
