"""A query in a process of its own: it can be ended at any time, and it uses no time or memory of the studio's process.

The process (`storage.queries.reader`) reads the store's file beside this one. One process is always started in advance,
so that no query waits for Python to start.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import pickle
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from storage.errors import QueryFailed, QueryStopped

AT_ONCE: Final = 4
RESULT_LIMIT_MIB: Final = 64
_LOOK_EVERY_S: Final = 0.05
_READER: Final = Path(__file__).with_name("reader.py")
_PIECE: Final = 1 << 20
# The Python classes of DuckDB's values; no other classes are unpickled from the process's output.
_VALUES: Final = frozenset(
    {
        ("decimal", "Decimal"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("uuid", "UUID"),
        ("uuid", "SafeUUID"),
        ("builtins", "bytearray"),
    }
)
OnWait = Callable[[float], None]


@dataclass(frozen=True)
class Request:
    """The task of the process. before: statements that open the store. csv: the file to write; if empty, rows are sent.

    staying: files in workspaces that it may read, with their sizes. formula: the pattern of cells of the CSV file that
    get an apostrophe. number: the pattern of cells that are exempt. largest_file: in bytes.
    """

    path: str
    before: tuple[str, ...]
    sql: str
    time_limit_s: float
    memory_limit_mib: int
    staying: Mapping[str, int]
    csv: str = ""
    formula: str = ""
    number: str = ""
    largest_file: int = 1 << 30


class Processes:
    """Starts the processes of a store. At most AT_ONCE of them run queries at a time."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._waiting: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def answer(self, request: Request, on_wait: OnWait | None) -> tuple[Any, ...]:
        """The process's answer. on_wait is called with the seconds so far, and may raise to end the query.

        Raises QueryStopped at a limit; QueryFailed if the process ended by itself, or if other queries take too long.
        """
        started = time.monotonic()
        with self._place(request.time_limit_s, on_wait):
            while True:
                left = request.time_limit_s - (time.monotonic() - started)
                reply = self._asked(request, max(left, _LOOK_EVERY_S), started, on_wait)
                # A checkpoint changed the file while it was read: the answer may match no state of the file.
                if reply != ("changed",):
                    return reply
                if time.monotonic() - started > request.time_limit_s:
                    reason = "the store was being written all the time"
                    raise QueryStopped(reason)

    def close(self) -> None:
        """End the process that was started in advance."""
        with self._lock:
            self._is_closed = True
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            _end(waiting)

    @contextmanager
    def _place(self, patience_s: float, on_wait: OnWait | None) -> Iterator[None]:
        started = time.monotonic()
        while not self._free.acquire(timeout=_LOOK_EVERY_S):
            waited = time.monotonic() - started
            if on_wait is not None:
                on_wait(waited)
            if waited > patience_s:
                message = f"{AT_ONCE} other queries are being answered. Ask again in a moment."
                raise QueryFailed(message)
        try:
            yield
        finally:
            self._free.release()

    def _asked(self, request: Request, left_s: float, started: float, on_wait: OnWait | None) -> tuple[Any, ...]:
        process = self._one()
        try:
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
                process.stdin.flush()
            except OSError as error:
                raise QueryFailed(_ended(process)) from error
            written = _read(process, request, left_s, started, on_wait)
        finally:
            _end(process)
        if not written:
            raise QueryFailed(_ended(process))
        try:
            reply: tuple[Any, ...] = _Values(io.BytesIO(written)).load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise QueryFailed(_ended(process)) from error
        return reply

    def _one(self) -> subprocess.Popen[bytes]:
        """The process that was started in advance, or a new one. Starts the next one in advance."""
        with self._lock:
            process, self._waiting = self._waiting, None
            if process is None or process.poll() is not None:
                process = _start()
            if not self._is_closed:
                self._waiting = _start()
        return process


class _Values(pickle.Unpickler):
    """Loads values of DuckDB, and no other objects."""

    def find_class(self, module: str, name: str) -> Any:
        """The class, if it is one of DuckDB's values. Raises UnpicklingError for any other."""
        if (module, name) in _VALUES:
            return super().find_class(module, name)
        message = f"{module}.{name} is no value"
        raise pickle.UnpicklingError(message)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", str(_READER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Ctrl-C must reach the studio only, which ends its processes itself.
        start_new_session=True,
    )


def _read(
    process: subprocess.Popen[bytes], request: Request, left_s: float, started: float, on_wait: OnWait | None
) -> bytes:
    """The whole output of the process. Raises QueryStopped at a limit, and any exception of on_wait."""
    assert process.stdout is not None
    pieces: list[bytes] = []
    size = 0
    deadline = time.monotonic() + left_s
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(_LOOK_EVERY_S):
                piece = os.read(process.stdout.fileno(), _PIECE)
                if not piece:
                    return b"".join(pieces)
                pieces.append(piece)
                size += len(piece)
            if size > RESULT_LIMIT_MIB << 20:
                reason = f"its result is larger than {RESULT_LIMIT_MIB} MiB"
                raise QueryStopped(reason)
            if time.monotonic() > deadline:
                reason = f"it took longer than {request.time_limit_s:g} s"
                raise QueryStopped(reason)
            if _memory(process.pid) > request.memory_limit_mib << 20:
                reason = f"it needed more than {request.memory_limit_mib:,} MiB of memory"
                raise QueryStopped(reason)
            if on_wait is not None:
                on_wait(time.monotonic() - started)


def _memory(pid: int) -> int:
    """The private memory of a process in bytes; 0 if the system does not report it: then only DuckDB's limit holds."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * mmap.PAGESIZE


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                # The process has not read all of its input.
                continue
    process.wait()


def _ended(process: subprocess.Popen[bytes]) -> str:
    return f"the process of the query ended by itself (status {process.poll()}). Ask for less at a time."
