"""What live runs have written to places outside of the store, read as somebody else would."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, TopicPartition

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

    def committed(self, there: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
        """Record by record."""
        return there == wanted

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

    def committed(self, there: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
        """It takes no changelog."""
        raise NotImplementedError


class KafkaTopics:
    """The topics `best`, a changelog as debezium-json, and `rows`, by key, of a broker that shows aborted messages."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self.aborted = 0

    def sinks(self, folder: Path) -> Mapping[str, dict[str, Any]]:
        """A topic each."""
        given = {"write_to": "kafka", "writes": True, "servers": self._servers}
        return {"best": {**given, "topic": "best"}, "rows": {**given, "topic": "rows", "mode": "upsert", "keys": ["k"]}}

    def written(self, folder: Path) -> tuple[list[tuple[Any, ...]], set[tuple[Any, ...]]]:
        """The envelopes in order; the last row of each key that has one."""
        envelopes = [json.loads(value or b"") for _, value in messages(self._servers, "best")]
        changes = [(each["op"], *(each["before"] or each["after"]).values()) for each in envelopes]
        table = {key: None if value is None else json.loads(value) for key, value in messages(self._servers, "rows")}
        return changes, {(row["k"], row["n"]) for row in table.values() if row is not None}

    def committed(self, there: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
        """The same changes in order. What a transaction has shown that was aborted comes again, as a whole."""
        changes = [("c" if kind in ("+I", "+U") else "d", *row) for kind, *row in wanted]
        at = done = 0
        while at < len(there):
            if done < len(changes) and there[at] == changes[done]:
                at, done = at + 1, done + 1
                continue
            again = next((n for n in range(1, done + 1) if there[at : at + n] == changes[done - n : done]), 0)
            if not again:
                return False
            self.aborted += 1
            at += again
        return done == len(changes)


def messages(servers: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """The keys and values of the committed messages of a topic, partition by partition."""
    options = {"bootstrap.servers": servers, "group.id": "tests", "isolation.level": "read_committed", "log_level": 0}
    reader = Consumer({**options, "enable.partition.eof": True, "enable.auto.commit": False})
    try:
        numbers = sorted(reader.list_topics(topic, timeout=30).topics[topic].partitions)
        reader.assign([TopicPartition(topic, number, 0) for number in numbers])
        found: dict[int, list[tuple[bytes | None, bytes | None]]] = {number: [] for number in numbers}
        ended: set[int] = set()
        while len(ended) < len(numbers):
            message = reader.poll(30)
            assert message is not None
            if message.error() is None:
                found[message.partition()].append((message.key(), message.value()))
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF
                ended.add(message.partition())
    finally:
        reader.close()
    return [each for number in numbers for each in found[number]]


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
