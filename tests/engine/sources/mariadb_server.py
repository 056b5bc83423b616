"""A separate MariaDB server for tests: the programs of Debian's packages, with data in a temporary folder."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest

from tests.debian import install
from tests.serving import free_port

_PACKAGES: Final = ("mariadb-server-core", "mariadb-client-core")
_PROGRAMS: Final = ("mariadbd", "mariadb-install-db", "my_print_defaults")
_STARTS_S: Final = 60


@dataclass
class Server:
    """A server that listens on a port of this machine."""

    port: int
    process: subprocess.Popen[bytes]

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the superuser, and return the rows of the last one."""
        connection = pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True)
        with closing(connection), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def stop(self) -> None:
        """Stop the server, even with open connections."""
        self.process.kill()
        self.process.wait()


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A server without data. Skips the test if MariaDB is not available."""
    install(*_PACKAGES, unless=_is_there)
    if not _is_there():
        pytest.skip(f"there is no MariaDB here, and Debian's packages {_PACKAGES} cannot be installed")
    user = getpass.getuser()
    made = subprocess.run(
        ["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--skip-test-db", f"--user={user}"]
        + ["--auth-root-authentication-method=normal"],
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    port = free_port()
    options = [f"--datadir={folder}/data", f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/s"]
    options += [
        f"--user={user}",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=16M",
        "--innodb-log-file-size=4M",
    ]
    log = folder / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(["mariadbd", "--no-defaults", *options], stdout=written, stderr=written)
    running = Server(port, process)
    try:
        _wait_until_it_answers(running, log)
        yield running
    finally:
        running.stop()


def _wait_until_it_answers(made: Server, log: Path) -> None:
    end = time.monotonic() + _STARTS_S
    while True:
        try:
            made.run("SELECT 1")
        except pymysql.OperationalError:
            assert made.process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        else:
            return


def _is_there() -> bool:
    return all(shutil.which(program) for program in _PROGRAMS)
