"""Calls of functions that read foreign files, each in a process of its own with limits of memory and of time.

    answer_of(ask, ...)      the one answer of a function; cached by its arguments
    answers_of(ask, ...)     the answers of a generator, one by one
    stream_of(...)           the bytes of a generator, as a stream
    Apart(make, ...)         an object there, whose methods are called: engine.reading.apart.talking
    known_apart(module)      the functions of a module outside this folder will be asked

Workbooks, databases, Parquet, Avro and compressed files are read by libraries that an untrusted file can crash, or make
take all memory or hours. Such a process is killed if it gives no answer in time, if nobody reads on, and when this
process ends; its end is a SourceError. It is forked from a starter with all imports (`engine.reading.apart.starter`),
which takes some 10 ms. The Python workers of Spark are such processes themselves, and read files directly.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypeVar, cast

from engine import errors
from engine.errors import SourceError, StudioError
from engine.reading.apart.frames import framed, receive, send
from engine.reading.apart.limits import memory_bytes
from engine.reading.files.storage import Storage
from engine.scratch import scratch

LOOK_S: Final = 20.0
"""The timeout for a look at a file, such as its columns: a user waits for it."""
ROWS_S: Final = 300.0
"""The timeout between batches of rows. Sorting a large table takes a while; a view may compute without end."""
_T = TypeVar("_T")
_ROOT: Final = Path(__file__).resolve().parents[3]
_KEPT: Final = 256
# A file that exceeded a limit is not tried again at once: a page may ask for its columns with every click.
_FAILED_S: Final = 60.0


@dataclass(frozen=True)
class Foreign:
    """A file as users are told of it. advice: what to do if reading it takes too much, as a sentence."""

    name: str
    node: str
    advice: str


def known_apart(module: str) -> None:
    """Have the starter import this module, so that no request waits for that."""
    _MODULES.append(module)


def answer_of(about: Foreign, ask: Callable[..., _T], *arguments: Any, seconds: float | None = None) -> _T:
    """The answer of a function for these arguments. Raises what it raises, and SourceError for an exceeded limit.

    All arguments, and the function by its name, must be picklable. A file that has changed is another argument.
    """
    request = _Asking.of(ask, arguments)
    with _LOCK:
        if request.key in _ANSWERS:
            _ANSWERS.move_to_end(request.key)
            return cast(_T, _ANSWERS[request.key])
    [answer] = _answers(about, request, LOOK_S if seconds is None else seconds)
    with _LOCK:
        _ANSWERS[request.key] = answer
        while len(_ANSWERS) > _KEPT:
            _ANSWERS.popitem(last=False)
    return cast(_T, answer)


def answers_of(
    about: Foreign,
    ask: Callable[..., Iterator[_T]],
    *arguments: Any,
    seconds: float | None = None,
    in_all: bool = False,
) -> Iterator[_T]:
    """The answers of a generator. seconds: the time for each, or for all of them. Raises like `answer_of`."""
    return _answers(about, _Asking.of(ask, arguments), ROWS_S if seconds is None else seconds, in_all=in_all)


def stream_of(
    about: Foreign, ask: Callable[..., Iterator[bytes]], *arguments: Any, seconds: float | None = None
) -> IO[bytes]:
    """The bytes of a generator as a stream that cannot seek. seconds: the time for all of them."""
    answers = answers_of(about, ask, *arguments, seconds=LOOK_S if seconds is None else seconds, in_all=True)
    return io.BufferedReader(cast(io.RawIOBase, _Bytes(answers)))


class _Bytes(io.RawIOBase):
    """The bytes of an iterator, which is closed with it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(next(self._pieces, b""))
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        self._pieces.close()  # type: ignore[attr-defined]
        super().close()


@dataclass(frozen=True)
class _Asking:
    """A request. key: equal for equal requests. storages: those of its files that only this process can read."""

    message: bytes
    key: bytes
    storages: tuple[Storage, ...]

    @classmethod
    def of(cls, ask: Callable[..., Any], arguments: tuple[Any, ...]) -> _Asking:
        storages: list[Storage] = []

        class Pickler(pickle.Pickler):
            def persistent_id(self, value: Any) -> tuple[int, str] | None:
                if type(value).__module__ == "builtins" or not isinstance(value, Storage):
                    return None
                storages.append(value)
                return len(storages) - 1, value.title

        written = io.BytesIO()
        Pickler(written, pickle.HIGHEST_PROTOCOL).dump((ask, arguments))
        message = written.getvalue()
        # Not the request itself, which may have secrets and is not needed any more.
        return cls(message, hashlib.sha256(message).digest(), tuple(storages))


class _StarterEnded(Exception):
    """The starter ended, with all processes that it forked: it says itself which of them ended by themselves."""


def _answers(about: Foreign, request: _Asking, seconds: float, *, in_all: bool = False) -> Iterator[Any]:
    _check_not_failed(request.key)
    has_begun = False
    with suppress(_StarterEnded):
        for answer in _answers_of_one(about, request, seconds, in_all):
            has_begun = True
            yield answer
        return
    # It was ending when it was asked, and no file's fault is known: another one is started.
    if not has_begun:
        with suppress(_StarterEnded):
            yield from _answers_of_one(about, request, seconds, in_all)
            return
    _raise(about, request.key, ("ended", None))


def _answers_of_one(about: Foreign, request: _Asking, seconds: float, in_all: bool) -> Iterator[Any]:
    """The answers of one process."""
    # The folder with its sorting files on disk is removed with it, even if the process is killed.
    with scratch("reading") as temporary, process_for(about) as process:
        until = time.monotonic() + seconds
        try:
            head = pickle.dumps((dict(os.environ), str(temporary)), pickle.HIGHEST_PROTOCOL)
            process.settimeout(seconds)
            process.sendall(framed(head))
            process.sendall(framed(request.message))
            while True:
                match _next(process, until):
                    case ("answer", answer):
                        yield answer
                        until = until if in_all else time.monotonic() + seconds
                    case ("read", number, file, start, size):
                        send(process, _read(request.storages[number], file, start, size))
                    case ("end",):
                        return
                    case failed:
                        _raise(about, request.key, failed)
        except TimeoutError as error:
            sentence = f"path: {about.name} gives no rows for {seconds:.0f} s. {about.advice}"
            raise _failed(request.key, SourceError(sentence, about.node, "path")) from error
        except (EOFError, ConnectionError, pickle.UnpicklingError) as error:
            raise _StarterEnded from error


def _next(process: socket.socket, until: float) -> Any:
    # Large answers arrive in pieces; the time is for the whole.
    process.settimeout(max(0.001, until - time.monotonic()))
    return receive(process)


def _read(storage: Storage, file: Any, start: int, size: int) -> bytes | str:
    """A piece of a file, or why it cannot be read."""
    try:
        with storage.open(file) as stream:
            stream.seek(start)
            return stream.read(size)
    except OSError as error:
        return str(error)


def _raise(about: Foreign, key: bytes, failed: Any) -> NoReturn:
    most = f"{memory_bytes() >> 20:,} MB of memory"
    match failed:
        case ("studio", name, facts):
            raise told(name, facts)
        case ("system", text):
            raise OSError(text)
        case ("memory",):
            sentence = f"path: {about.name} takes more than {most} to be read. {about.advice}"
            raise _failed(key, SourceError(sentence, about.node, "path"))
        case ("ended", status):
            how = "" if status is None else f" (status {status})"
            sentence = (
                f"path: the process that reads {about.name} ended by itself{how}: the file is damaged, or takes more "
                f"than {most}. {about.advice}"
            )
            raise _failed(key, SourceError(sentence, about.node, "path"))
        case (_, text):
            reason = errors.shortened(" ".join(text.split()))
            sentence = f"path: {about.name} cannot be read: {reason}. Choose another file, or write this one again."
            raise SourceError(sentence, about.node, "path")
    raise AssertionError(failed)


def told(name: str, facts: dict[str, Any]) -> StudioError:
    """The error that the process raised."""
    kind = getattr(errors, name)
    error: StudioError = kind.__new__(kind)
    StudioError.__init__(error, facts["sentence"], facts["node"], facts["field"])
    vars(error).update(facts)
    return error


def _failed(key: bytes, error: SourceError) -> SourceError:
    with _LOCK:
        _FAILED[key] = (time.monotonic(), error)
        while len(_FAILED) > _KEPT:
            _FAILED.popitem(last=False)
    return error


def _check_not_failed(key: bytes) -> None:
    with _LOCK:
        when, error = _FAILED.get(key, (float("-inf"), None))
    if error is not None and time.monotonic() - when < _FAILED_S:
        raise told(type(error).__name__, vars(error))


@contextmanager
def process_for(about: Foreign) -> Iterator[socket.socket]:
    """The socket of a new reading process, which ends with it. Raises SourceError."""
    ours, theirs = socket.socketpair()
    with ours:
        try:
            with theirs:
                _STARTER.hand(theirs)
        except OSError as error:
            message = f"path: {about.name} cannot be read: no process can be started for it: {error}. Try again."
            raise SourceError(message, about.node, "path") from error
        yield ours


class _Starter:
    """The starter of this process; started with the first request, and again if it ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def hand(self, asker: socket.socket) -> None:
        """Have a process forked for this socket. Raises OSError."""
        with self._lock:
            if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
                self._start()
            assert self._control is not None
            try:
                socket.send_fds(self._control, [b"."], [asker.fileno()])
            except ConnectionError:
                self._start()
                socket.send_fds(self._control, [b"."], [asker.fileno()])

    def end(self) -> None:
        """End it, and all processes that it forked."""
        with self._lock:
            if self._process is None or self._control is None or self._owner != os.getpid():
                return
            self._control.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self._process = self._control = None

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None and self._owner == os.getpid():
            # It has closed its end, so it is ending.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.reading.apart.starter", *_MODULES],
                cwd=_ROOT,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for the studio, which ends the processes that it started.
                start_new_session=True,
            )
        self._control, self._owner = ours, os.getpid()


_LOCK: Final = threading.Lock()
_ANSWERS: Final[OrderedDict[bytes, Any]] = OrderedDict()
_FAILED: Final[OrderedDict[bytes, tuple[float, SourceError]]] = OrderedDict()
_MODULES: Final[list[str]] = []
_STARTER: Final = _Starter()
atexit.register(_STARTER.end)
