"""The process from which reading processes are forked: it imports once what they need, which takes most of a second.

Its standard input is a socket over which the asker sends one socket for each request. A process that it forked is
killed once its asker closes that socket, or this process ends; if it ends by itself, this process tells the asker how.
Its arguments are modules with functions that will be asked for.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import os
import pickle
import resource
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any, Final

# Set before numpy and pyarrow are imported: no thread may be running when this process forks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import confluent_kafka  # noqa: F401
import pyarrow.parquet  # noqa: F401
import python_calamine  # noqa: F401

import engine.reading.kafka.client
import engine.reading.recorded
import engine.reading.tables.sqlite_file  # noqa: F401
from engine.errors import StudioError
from engine.reading.apart.frames import receive, receive_bytes, send
from engine.reading.apart.limits import limit_memory
from engine.reading.apart.talking import Talking
from engine.reading.files.storage import FETCHED_BYTES, StoredFile, fetched_file
from engine.reading.tables import duckdb_file

_DIE_WITH_PARENT: Final = 1


def main() -> None:
    """Fork a process for each socket that arrives, until the asker is gone."""
    control = socket.socket(fileno=0)
    woken, waking = socket.socketpair()
    for end in (woken, waking):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking.fileno())
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    running: dict[int, socket.socket] = {}
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)
        for pid, asker in list(running.items()):
            if asker.fileno() in ready:
                # Only a hang-up is polled for.
                os.kill(pid, signal.SIGKILL)
        for pid, status in _ended():
            asker = running.pop(pid)
            poll.unregister(asker)
            with contextlib.suppress(OSError):
                asker.setblocking(False)
                send(asker, ("ended", os.waitstatus_to_exitcode(status)))
            asker.close()
        if control.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                break
            asker = socket.socket(fileno=descriptors[0])
            pid = os.fork()
            if not pid:
                for other in (control, woken, waking, *running.values()):
                    other.close()
                _read_for(asker)
            running[pid] = asker
            poll.register(asker, 0)
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _ended() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, status


def _read_for(asker: socket.socket) -> None:
    """In a forked process: answer one request, and end."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if sys.platform == "linux":
            # The starter kills it as well, but may be killed itself.
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        environment, folder = receive(asker)
        ask, arguments = _Request(asker).load()
        os.environ.clear()
        os.environ.update(environment, TMPDIR=folder, SQLITE_TMPDIR=folder)
        tempfile.tempdir = None
        limit_memory()
        _answer(asker, ask, arguments)
    except (OSError, EOFError):
        # The asker is gone.
        os._exit(1)
    os._exit(0)


def _answer(asker: socket.socket, ask: Any, arguments: Any) -> None:
    talkers: list[Talking] = []
    with _errors_sent(asker):
        answer = ask(*arguments)
        if isinstance(answer, Talking):
            talkers.append(answer)
            send(asker, ("answer", None))
        else:
            for value in answer if isinstance(answer, Iterator) else (answer,):
                send(asker, ("answer", value))
            send(asker, ("end",))
    for talker in talkers:
        # Until the asker is gone.
        while True:
            method, given = receive(asker)
            with _errors_sent(asker):
                send(asker, ("answer", getattr(talker, method)(*given)))


@contextlib.contextmanager
def _errors_sent(asker: socket.socket) -> Iterator[None]:
    try:
        yield
    except StudioError as error:
        send(asker, ("memory",) if _lacked_memory(error) else ("studio", type(error).__name__, vars(error)))
    except MemoryError:
        send(asker, ("memory",))
    except OSError as error:
        send(asker, ("memory",) if _lacked_memory(error) else ("system", str(error)))
    except BaseException as error:  # noqa: BLE001 - a library's panic is a BaseException
        send(asker, ("other", f"{type(error).__name__}: {error}"))


def _lacked_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__
    return False


class _Request(pickle.Unpickler):
    """The request; a storage of the asker becomes one that asks for each piece."""

    def __init__(self, asker: socket.socket) -> None:
        super().__init__(io.BytesIO(receive_bytes(asker)))
        self._asker = asker

    def persistent_load(self, pid: tuple[int, str]) -> Any:
        return _StorageThere(self._asker, *pid)


class _StorageThere:
    """A storage that only the asker can read."""

    def __init__(self, asker: socket.socket, number: int, title: str) -> None:
        self._asker = asker
        self._number = number
        self.title = title

    def open(self, file: StoredFile) -> IO[bytes]:
        """The file's bytes, asked for as they are read."""

        def read(start: int, size: int) -> bytes:
            send(self._asker, ("read", self._number, file, start, min(size, FETCHED_BYTES)))
            answer: bytes | str = receive(self._asker)
            if isinstance(answer, str):
                raise OSError(answer)
            return answer

        return fetched_file(file.size, read)


if __name__ == "__main__":
    for module in sys.argv[1:]:
        importlib.import_module(module)
    duckdb_file.load()
    main()
