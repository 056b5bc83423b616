"""Calls of object stores' clients that end in time, even if the store never answers.

The clients' own limits are not enough: those of Google Cloud Storage and Azure wait for minutes for a server that
accepts a connection and is then silent, and all repeat what fails. So a call runs in a thread of its own, for which
its caller waits only so long. A thread that is given up ends with its client's own limits, and keeps no process alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

import pyarrow as pa


class TimedOut(OSError):
    """A call took too long."""


_Answer = TypeVar("_Answer")

FACTS_S: Final = 12.0
"""For what is small: whether the store is there shows within this time."""
# What a slow connection sends or gets of a file.
_BYTES_PER_S: Final = 100_000
# A file of unknown size that is read as a whole: small ones are.
_WHOLE_S: Final = 60.0
# Many requests, one after the other, none of which takes longer than the client allows.
_MANY_S: Final = 600.0


class InTime:
    """A file system of PyArrow whose calls raise TimedOut when they last too long."""

    def __init__(self, system: Any) -> None:
        self._system = system
        self.type_name: str = system.type_name

    def get_file_info(self, asked: Any) -> Any:
        """Of one file, of several, or of all that a selector finds."""
        from pyarrow.fs import FileSelector

        if isinstance(asked, FileSelector):
            # Whether the store answers at all shows sooner; what it answers does not matter here.
            self._require_answer(asked.base_dir)
        is_small = isinstance(asked, str) or (isinstance(asked, list) and len(asked) == 1)
        return within(FACTS_S if is_small else _MANY_S, partial(self._system.get_file_info, asked))

    def _require_answer(self, place: str) -> None:
        try:
            within(FACTS_S, partial(self._system.get_file_info, place))
        except TimedOut:
            raise
        except (OSError, pa.ArrowException):
            return

    def open_input_file(self, place: str) -> InTimeStream:
        """A file to read at any position."""
        return InTimeStream(within(FACTS_S, partial(self._system.open_input_file, place)))

    def open_input_stream(self, place: str) -> InTimeStream:
        """A file to read from its beginning."""
        return InTimeStream(within(FACTS_S, partial(self._system.open_input_stream, place)))

    def open_output_stream(self, place: str) -> InTimeStream:
        """A new file."""
        return InTimeStream(within(FACTS_S, partial(self._system.open_output_stream, place)))

    def delete_file(self, place: str) -> None:
        """Delete one file."""
        within(FACTS_S, partial(self._system.delete_file, place))

    def delete_dir(self, place: str) -> None:
        """Delete a folder."""
        within(_MANY_S, partial(self._system.delete_dir, place))

    def delete_dir_contents(self, place: str, *, missing_dir_ok: bool) -> None:
        """Delete all files of a folder."""
        within(_MANY_S, partial(self._system.delete_dir_contents, place, missing_dir_ok=missing_dir_ok))


class InTimeStream:
    """A file of such a system. The more is read or written, the longer it may take."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._unsent = 0

    def __enter__(self) -> InTimeStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether it is closed. Some clients close a file by themselves."""
        return bool(self._stream.closed)

    def read(self) -> bytes:
        """The whole file."""
        return bytes(within(_WHOLE_S, self._stream.read))

    def read_at(self, size: int, at: int) -> bytes:
        """At most so many bytes from a position on."""
        return bytes(within(_limit_s(size), partial(self._stream.read_at, size, at)))

    def size(self) -> int:
        """The bytes of the file."""
        return int(within(FACTS_S, self._stream.size))

    def metadata(self) -> Mapping[Any, Any]:
        """What the store tells of the file."""
        return within(FACTS_S, self._stream.metadata)

    def write(self, content: Any) -> None:
        """Append. The client sends much of it later, at the latest when the file is closed."""
        self._unsent += memoryview(content).nbytes
        within(_limit_s(self._unsent), partial(self._stream.write, content))

    def tell(self) -> int:
        """The bytes that were written."""
        return int(self._stream.tell())

    def close(self) -> None:
        """Complete the file."""
        within(_limit_s(self._unsent), self._stream.close)


def _limit_s(size: int) -> float:
    return FACTS_S + size / _BYTES_PER_S


def within(limit_s: float, call: Callable[[], _Answer]) -> _Answer:
    """The answer of a call. Raises its error, and TimedOut if it takes longer than this."""
    answers: SimpleQueue[tuple[_Answer | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits
            answers.put((None, error))

    threading.Thread(target=work, name="object store", daemon=True).start()
    try:
        answer, error = answers.get(timeout=limit_s)
    except Empty:
        message = f"timed out after {limit_s:g} s"
        raise TimedOut(message) from None
    if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
        # PyArrow of a file whose connection its client gave up.
        message = f"connection closed: {error}"
        raise OSError(message) from error
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]
