"""A query in a process of its own: it can be ended at any moment, and takes nobody's time or memory but its own.

The process (`storage.queries.reader`) reads the store's file beside this one. One waits for the next query, so that
nobody waits for Python to start.
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
from collections.abc import Callable, Iterator
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
# What values of DuckDB are in Python; nothing else is made of what the process sends.
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
    """What the process is to do. before: statements that open the store. csv: the file to write, else rows come.

    formula, number: patterns of the cells of that file that get an apostrophe, and of those that do not for all that.
    """

    path: str
    before: tuple[str, ...]
    sql: str
    time_limit_s: float
    memory_limit_mib: int
    csv: str = ""
    formula: str = ""
    number: str = ""
    largest_file: int = 1 << 30


class Processes:
    """Starts the processes of a store, at most AT_ONCE at a time."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._waiting: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def answer(self, request: Request, on_wait: OnWait | None) -> tuple[Any, ...]:
        """What the process found; on_wait is called with the seconds so far, and may raise to end the query.

        Raises QueryStopped at a limit, QueryFailed where the process ended by itself.
        """
        started = time.monotonic()
        with self._place(request.time_limit_s, on_wait):
            while True:
                left = request.time_limit_s - (time.monotonic() - started)
                found = self._asked(request, max(left, _LOOK_EVERY_S), started, on_wait)
                # The file was written anew while it was read: what was read may be of neither state.
                if found != ("changed",):
                    return found
                if time.monotonic() - started > request.time_limit_s:
                    reason = "the store was being written all the time"
                    raise QueryStopped(reason)

    def close(self) -> None:
        """End the one that waits."""
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
            found: tuple[Any, ...] = _Values(io.BytesIO(written)).load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise QueryFailed(_ended(process)) from error
        return found

    def _one(self) -> subprocess.Popen[bytes]:
        """The process that waits, or a new one; and another one waits."""
        with self._lock:
            process, self._waiting = self._waiting, None
            if process is None or process.poll() is not None:
                process = _start()
            if not self._is_closed:
                self._waiting = _start()
        return process


class _Values(pickle.Unpickler):
    """Values of DuckDB, and no other objects."""

    def find_class(self, module: str, name: str) -> Any:
        """One of their classes."""
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
        # Ctrl-C is for the studio, which ends what it has started.
        start_new_session=True,
    )


def _read(
    process: subprocess.Popen[bytes], request: Request, left_s: float, started: float, on_wait: OnWait | None
) -> bytes:
    """All that the process writes. Raises QueryStopped at a limit, and whatever on_wait raises."""
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
    """What a process has of its own, in bytes; 0 where the system does not tell, and DuckDB's own limit holds alone."""
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
                # What was written to it has never been read.
                continue
    process.wait()


def _ended(process: subprocess.Popen[bytes]) -> str:
    return f"the process of the query ended by itself (status {process.poll()}). Ask for less at a time."
