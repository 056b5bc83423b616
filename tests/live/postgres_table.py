"""A table of PostgreSQL that changes while a run is killed, and what the changes of it have to be."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

from tests.engine.sources.postgres_server import Server
from tests.live.killing import COLUMNS, Whole

_GOES: Final = 0
Row = tuple[str, int, int]
Change = tuple[str, str, int, int]
"""A kind, and the row."""


class Table(Whole):
    """Rows by key: a line adds its row, or replaces that of its key, or deletes it. Several are a transaction."""

    is_changelog = True

    def __init__(self, server: Server, chance: random.Random) -> None:
        super().__init__()
        self._server, self._chance = server, chance
        self._rows: dict[str, Row] = {}
        # By transaction: what the table had before it, and its changes.
        self._before: list[set[Change]] = []
        self._changes: list[list[Change]] = []
        server.run(
            "DROP TABLE IF EXISTS words",
            "CREATE TABLE words (k text PRIMARY KEY, v bigint, ts bigint)",
            "ALTER TABLE words REPLICA IDENTITY FULL",
        )

    def source(self, folder: Path) -> tuple[str, dict[str, Any]]:
        """Postgres CDC."""
        where = {"host": "127.0.0.1", "port": self._server.port, "database": "postgres", "user": "studio"}
        columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
        return "postgres_cdc", {**where, "table_name": "words", "slot": "kills", "columns": columns}

    def put(self, folder: Path, rows: list[str]) -> None:
        """Some transactions."""
        with self._server.connect() as connection:
            while rows:
                size = self._chance.randrange(1, 5)
                now, rows = rows[:size], rows[size:]
                self._before.append(self._now)
                self._changes.append([])
                with connection.transaction():
                    for row in now:
                        connection.execute(self._statement(**json.loads(row)).encode())

    def _statement(self, k: str, v: int, ts: int) -> str:
        """What a line does. Its changes are noted."""
        old, changes = self._rows.pop(k, None), self._changes[-1]
        if v == _GOES:
            changes += [("-D", *old)] if old is not None else []
            return f"DELETE FROM words WHERE k = '{k}'"
        self._rows[k] = (k, v, ts)
        if old is None:
            changes.append(("+I", k, v, ts))
            return f"INSERT INTO words VALUES ('{k}', {v}, {ts})"
        changes += [("-U", *old), ("+U", k, v, ts)]
        return f"UPDATE words SET v = {v}, ts = {ts} WHERE k = '{k}'"

    @property
    def _now(self) -> set[Change]:
        return {("+I", *row) for row in self._rows.values()}

    def says(self, records: list[Change]) -> bool:
        """Whether this is the table as it was before one of the transactions, then every change since, once."""
        return any(
            set(records[: len(rows)]) == rows
            and records[len(rows) :] == [change for changes in self._changes[at:] for change in changes]
            for at, rows in enumerate([*self._before, self._now])
        )
