"""Known objects of buckets as a file system for DuckDB, which reads ranges of them, and nothing else.

They never change. Their sizes are known, so that opening one asks the store nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from fsspec import AbstractFileSystem

from engine.reading.files.buckets import SCHEMES, told
from engine.reading.files.storage import Fetched, file_system

_WRITTEN: Final = datetime(2000, 1, 1, tzinfo=UTC)
_OPEN: Final = 256


class UnknownFile(OSError):
    """An object that is none of these."""


class KnownFiles(AbstractFileSystem):  # type: ignore[misc]
    """The objects in `sizes`, by URI, and their bytes."""

    protocol = (*SCHEMES, "hdfs")

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__(skip_instance_cache=True)
        self.sizes = dict(sizes)
        self._streams: dict[str, Any] = {}
        self._lock = threading.Lock()

    def open(self, path: str, mode: str = "rb", **_: Any) -> Fetched:
        """A file to read."""
        if mode != "rb":
            raise PermissionError(path)
        return Fetched(self._size(path), partial(self.read_at, path))

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file itself: their names are no patterns."""
        self._size(path)
        return [path]

    def exists(self, path: str, **_: Any) -> bool:
        """Whether it is one of these."""
        return path in self.sizes

    def isfile(self, path: str) -> bool:
        """Whether it is one of these."""
        return path in self.sizes

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """The size of a file."""
        return {"name": path, "type": "file", "size": self._size(path)}

    def modified(self, path: str) -> datetime:
        """Always the same."""
        return _WRITTEN

    def read_at(self, path: str, at: int, size: int) -> bytes:
        """Some bytes of a file."""
        with self._lock:
            stream = self._streams.pop(path, None)
        with told(path):
            if stream is None or stream.closed:
                system, inside = file_system(path)
                stream = system.open_input_file(inside)
            read = bytes(stream.read_at(size, at))
        with self._lock:
            self._streams.setdefault(path, stream)
            while len(self._streams) > _OPEN:
                self._streams.pop(next(iter(self._streams)))
        return read

    def _size(self, path: str) -> int:
        if path not in self.sizes:
            message = f"{path} is no file of a run."
            raise UnknownFile(message)
        return self.sizes[path]
