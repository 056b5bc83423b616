"""A separate PostgreSQL server for tests: Debian's package `postgresql`, with data in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.debian import install
from tests.serving import free_port

_PLACES = Path("/usr/lib/postgresql")
_AS_POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")


@dataclass
class Server:
    """A server that listens on a port of this machine. folder: its data."""

    port: int
    folder: Path
    programs: Path

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of the superuser, with autocommit."""
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname="postgres", user="studio", autocommit=True)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, and return the rows of the last one."""
        with self.connect() as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c wal_level=logical"
        options += " -c fsync=off -c max_wal_senders=4 -c max_replication_slots=32 -c shared_buffers=16MB"
        self._call("pg_ctl", "-D", "data", "-w", "-t", "60", "-l", "log", "-o", options, "start")

    def stop(self, *, cleanly: bool = False) -> None:
        """Stop the server, even with open connections. cleanly: as for a standby, which cannot recover on its own."""
        self._call("pg_ctl", "-D", "data", "-m", "fast" if cleanly else "immediate", "-w", "stop")

    def _call(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root. To become another user, Python itself would fork, and a thread of gRPC, of
        # which Spark's client has some, can end the child before it is another program.
        user = _AS_POSTGRES if os.geteuid() == 0 else ()
        command = [*user, str(self.programs / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        assert done.returncode == 0, (done.returncode, done.stderr)


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A server without data. Skips the test if PostgreSQL is not available."""
    install("postgresql", unless=lambda: _programs() is not None)
    programs = _programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL here, and Debian's package postgresql cannot be installed")
    if os.geteuid() == 0:
        # The user of the server needs access to the folder.
        shutil.chown(folder, "postgres")
    made = Server(free_port(), folder, programs)
    made._call("initdb", "-D", "data", "-U", "studio", "-A", "trust", "-N", "-E", "UTF8", "--no-locale")
    made.start()
    try:
        yield made
    finally:
        made.stop()


def _programs() -> Path | None:
    """The folder with the programs of the newest installed version."""
    return next((place for place in sorted(_PLACES.glob("*/bin"), reverse=True) if (place / "initdb").exists()), None)
