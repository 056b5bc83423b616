"""The process that answers one query over a store that another process owns. `storage.queries.process` starts it.

It reads a JSON object from standard input and writes a pickled tuple to standard output. It imports next to
nothing of the studio, so that it starts quickly. It ends with the process that started it, and at its time limit.

DuckDB lets only one process own a file. This process reads the file through a file system of our own, which takes no
lock: at any moment, the files of the owner form a complete database, as after a crash. Only a checkpoint of the owner
may overwrite freed blocks. The headers show whether one happened during the query; if so, the answer is discarded.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO, Final

import duckdb
from fsspec import AbstractFileSystem

# The two headers of a DuckDB file, after its first 4 KiB; the newer one is valid.
_HEADERS: Final = slice(4096, 3 * 4096)
_STORE: Final = "store://data"
# Address space beside the queries' limit: Python, libraries and the stacks of threads, most of it never used.
_OWN_ADDRESSES: Final = 6 << 30
_OWN_SECONDS: Final = 5
_OWN_MANNERS: Final = 5


class _Held(AbstractFileSystem):  # type: ignore[misc]
    """A file system with the owner's file and the logs beside it, read-only, and nothing else."""

    protocol = "store"

    def __init__(self, path: str) -> None:
        super().__init__(skip_instance_cache=True)
        self._held = path

    def _real(self, path: str) -> str:
        name = path if path.startswith("store://") else f"store://{path}"
        if not name.startswith(_STORE) or "/" in name.removeprefix("store://"):
            raise FileNotFoundError(path)
        return self._held + name.removeprefix(_STORE)

    def open(self, path: str, mode: str = "rb", **_: Any) -> BinaryIO:
        """Open a file for reading."""
        if mode != "rb":
            raise PermissionError(path)
        return open(self._real(path), "rb", buffering=0)

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is such a file."""
        try:
            return os.path.exists(self._real(path))
        except FileNotFoundError:
            return False

    def isfile(self, path: str) -> bool:
        """Whether there is such a file."""
        return self.exists(path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """The size of a file."""
        return {"name": path, "type": "file", "size": os.path.getsize(self._real(path))}


def headers_of(path: str) -> bytes:
    """The headers of the file. Every checkpoint changes them."""
    with open(path, "rb") as file:
        return file.read(_HEADERS.stop)[_HEADERS]


def _bounded(time_limit_s: float, memory_limit_mib: int, largest_file: int) -> None:
    """Set limits that hold even without supervision by the other process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, time_limit_s + _OWN_SECONDS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (bound := _OWN_ADDRESSES + (memory_limit_mib << 20), bound))
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    with contextlib.suppress(OSError):
        os.nice(_OWN_MANNERS)


def _connected(request: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": f"{request['memory_limit_mib']}MiB",
            "temp_directory": "",
            "python_enable_replacements": False,
        },
    )
    connection.register_filesystem(_Held(request["path"]))
    if request["staying"]:
        connection.execute("SET allowed_paths = $paths", {"paths": list(request["staying"])})
    if any("://" in path for path in request["staying"]):
        # Only for records in a bucket, whose clients take a while to load.
        sys.path.insert(0, str(Path(__file__).parents[2]))
        from engine.reading.files.known_files import KnownFiles

        connection.register_filesystem(KnownFiles(request["staying"]))
    for statement in request["before"]:
        connection.execute(statement)
    return connection


def _rows(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> tuple[Any, ...]:
    result = connection.execute(request["sql"])
    described = [(str(column[0]), str(column[1])) for column in result.description or []]
    return ("rows", described, result.fetchall())


def _file(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> tuple[Any, ...]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv

    def harmless(cells: Any) -> Any:
        if not request["formula"]:
            return cells
        looks = pc.match_substring_regex(cells, request["formula"])
        is_number = pc.match_substring_regex(cells, request["number"])
        marked = pc.binary_join_element_wise("'", cells, "")
        return pc.if_else(pc.and_(looks, pc.invert(is_number)), marked, cells)

    reader = connection.sql(request["sql"]).to_arrow_reader(50_000)
    names = harmless(pa.array(reader.schema.names, pa.string())).to_pylist()
    schema = pa.schema([(name, pa.string()) for name in names])
    with pa_csv.CSVWriter(request["csv"], schema) as writer:
        for batch in reader:
            columns = [harmless(column.cast(pa.string())) for column in batch.columns]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return ("rows", [], [])


def answer(request: dict[str, Any]) -> tuple[Any, ...]:
    """("rows", columns, rows), ("changed",) if there was a checkpoint meanwhile, or ("failed", kind, message)."""
    before = headers_of(request["path"])
    try:
        connection = _connected(request)
        reply = (_file if request["csv"] else _rows)(connection, request)
    except (duckdb.Error, OSError, MemoryError, ValueError, OverflowError) as error:
        reply = ("failed", type(error).__name__, str(error))
    return reply if headers_of(request["path"]) == before else ("changed",)


def main() -> None:
    """Answer the request on standard input."""
    line = sys.stdin.buffer.readline()
    if not line:
        # The studio ended without a request.
        return

    def end_with_the_other() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=end_with_the_other, daemon=True).start()
    request = json.loads(line)
    _bounded(request["time_limit_s"], request["memory_limit_mib"], request["largest_file"])
    pickle.dump(answer(request), sys.stdout.buffer, protocol=5)
    sys.stdout.buffer.flush()
    # Skip the wait for DuckDB's threads; there is nothing to clean up.
    os._exit(0)


if __name__ == "__main__":
    main()
