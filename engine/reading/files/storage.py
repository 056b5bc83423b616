"""Where the files of sources are stored, and how they are opened.

    here       a path on this machine; a URI that PyArrow's file systems open from here
    elsewhere  files that only an engine can see: its own paths, and URIs for which it has credentials

A path is resolved on this machine first. Otherwise the storage of the engine that runs the pipeline is asked, if it
has one: `looking_at` sets it for a block, `look_at_by_default` for all other code.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple, Protocol, cast, runtime_checkable
from urllib.parse import quote

import pyarrow as pa

from engine.reading.files.buckets import BucketAway, BucketError, is_bucket, open_bucket, told, without_secret
from engine.reading.files.patterns import path_matches

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BUFFER: Final = 1 << 20
FETCHED_BYTES: Final = 1 << 20
"""Of a file elsewhere, what is fetched at once."""
_UNPACK: Final[dict[str, Callable[..., Any]]] = {".gz": gzip.open, ".bz2": bz2.open}
PACKED: Final = tuple(_UNPACK)
"""The endings of compressed files."""


class StoredFile(NamedTuple):
    """A file of a storage: its path or URI there, its bytes, and its modification time."""

    path: str
    size: int
    modified_ns: int


@runtime_checkable
class Storage(Protocol):
    """Finds and opens files elsewhere. Raises OSError with a reason that users understand."""

    @property
    def title(self) -> str:
        """The place of the storage, as the end of "there is no such file on ..."."""

    def find(self, path: str, endings: Collection[str]) -> Sequence[StoredFile]:
        """The files of a path, as `list_files` returns them."""

    def open(self, file: StoredFile) -> IO[bytes]:
        """The file as a seekable stream."""


_LOOKED_AT: ContextVar[Storage | None] = ContextVar("the storage of the engine that is meant", default=None)
_default: Callable[[], Storage | None] = lambda: None  # noqa: E731 - a place to put one, not a function


@contextmanager
def looking_at(storage: Storage | None) -> Iterator[None]:
    """Look for files that are not on this machine in this storage. None: nowhere else."""
    token = _LOOKED_AT.set(storage)
    try:
        yield
    finally:
        _LOOKED_AT.reset(token)


def look_at_by_default(storage: Callable[[], Storage | None]) -> None:
    """Set the storage to use where no other is set: the app's choice."""
    global _default
    _default = storage


def elsewhere() -> Storage | None:
    """The storage in effect."""
    return _LOOKED_AT.get() or _default()


def is_uri(path: str) -> bool:
    """Whether a path is a URI of a remote file system."""
    return _URI.match(path) is not None


def fetched_file(size: int, read: Callable[[int, int], bytes]) -> IO[bytes]:
    """A file that is fetched as it is read. read: the bytes from a place on, at most so many."""
    return io.BufferedReader(cast(io.RawIOBase, Fetched(size, read)), FETCHED_BYTES)


class Fetched(io.RawIOBase):
    """A file of which just what is asked for is read. read: the bytes from a place on, at most so many."""

    def __init__(self, size: int, read: Callable[[int, int], bytes]) -> None:
        self._size = size
        self._read = read
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readall(self) -> bytes:
        # By default Python asks for 8 KB at a time.
        return b"".join(iter(lambda: self.read(FETCHED_BYTES), b""))

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size:
            return 0
        read = self._read(self._at, len(buffer))
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)


def open_file(path: str, modified_ns: int = 0) -> IO[bytes]:
    """A file or URI as a seekable stream. modified_ns: when an object was found to be written, 0 for any.

    Raises OSError; BucketError for an object that is written or deleted until the stream is closed.
    """
    if is_uri(path):
        return io.BufferedReader(cast(io.RawIOBase, _Object(path, modified_ns)), _BUFFER)
    return Path(path).open("rb")


class _Object(Fetched):
    """A file at a URI. Its ranges are fetched one by one: all must be of the same object."""

    def __init__(self, uri: str, modified_ns: int) -> None:
        self._uri = uri
        self._system, self._inside = file_system(uri)
        self._stream, self._version = self._opened()
        super().__init__(self._version[0], self._fetch)
        if modified_ns and is_bucket(uri):
            with told(uri):
                [info] = self._system.get_file_info([self._inside])
            # Of S3, a listing tells milliseconds, and an object only seconds.
            if (info.mtime_ns or 0) // 10**9 != modified_ns // 10**9:
                raise self._changed()

    def _fetch(self, at: int, size: int) -> bytes:
        if self._stream.closed:
            # Google's client closes a file of which its first stream was not read for two minutes.
            self._stream, version = self._opened()
            if version != self._version:
                raise self._changed()
        with told(self._uri):
            return cast(bytes, self._stream.read_at(size, at))

    def close(self) -> None:
        if self.closed or not hasattr(self, "_version"):
            return
        super().close()
        self._stream.close()
        # Another error says more.
        if sys.exc_info()[0] is None and is_bucket(self._uri):
            again, version = self._opened()
            again.close()
            if version != self._version:
                raise self._changed()

    def _opened(self) -> tuple[Any, tuple[int, Any]]:
        with told(self._uri):
            stream = self._system.open_input_file(self._inside)
            facts = stream.metadata()
            return stream, (stream.size(), facts.get("ETag") or facts.get("generation"))

    def _changed(self) -> BucketError:
        message = f"{without_secret(self._uri)}: it was written while it was read. Run again once nobody writes it."
        return BucketError(message)


def local_path(path: str) -> str:
    """A path without the scheme that a file of this machine may have."""
    return re.sub(r"^file:(//)?", "", path)


def is_packed(path: str) -> bool:
    """Whether a file's ending means that it is compressed."""
    return PurePosixPath(path).suffix in _UNPACK


def unpacked(stream: IO[bytes], path: str) -> IO[bytes]:
    """A file's content, decompressed if its ending means that it is compressed."""
    unpack = _UNPACK.get(PurePosixPath(path).suffix)
    return stream if unpack is None else cast(IO[bytes], unpack(stream, "rb"))


def list_files(path: str, endings: Collection[str]) -> list[StoredFile]:
    """The files of a path or URI, by name: one file, the files of a folder with one of the endings, or those of a glob.

    Files whose names start with _ or a dot are hidden, as for Spark. Raises OSError.
    """
    from pyarrow.fs import FileSelector, FileType

    parts = path.split("/")
    fixed = next((at for at, part in enumerate(parts) if glob.has_magic(part)), None) if not _is_one(path) else None
    root = "/".join(parts[:fixed])
    system, base = file_system(root)
    with told(root):
        [root_info] = system.get_file_info([base])
        listed = FileSelector(base, recursive=fixed is not None and (len(parts) > fixed + 1 or "**" in parts[fixed:]))
        inside = system.get_file_info(listed) if root_info.type == FileType.Directory else []
    if root_info.type == FileType.File and fixed is None:
        infos = [root_info]
    elif root_info.type == FileType.Directory:
        pattern = [] if fixed is None else parts[fixed:]
        infos = [
            info
            for info in inside
            if info.type == FileType.File and not info.base_name.startswith(("_", "."))
            if not pattern or path_matches(info.path[len(base) :].strip("/").split("/"), pattern)
            if pattern or ending_of(info.path) in endings
        ]
    else:
        infos = []
    return sorted(StoredFile(_place(path, base, info.path), int(info.size), int(info.mtime_ns or 0)) for info in infos)


def ending_of(path: str) -> str:
    """The ending of a file's name, without a compression ending, in lower case."""
    name = PurePosixPath(path)
    return PurePosixPath(name.stem).suffix.lower() if name.suffix in _UNPACK else name.suffix.lower()


def file_system(path: str) -> tuple[Any, str]:
    """PyArrow's file system of a path or URI, and the path in it. Raises OSError for an unsupported one."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    if not is_uri(path):
        return LocalFileSystem(), path
    if is_bucket(path):
        return open_bucket(path)
    try:
        return cast(tuple[Any, str], FileSystem.from_uri(path))
    except (pa.ArrowException, ValueError) as error:
        raise OSError(str(error)) from error


def _is_one(path: str) -> bool:
    """Whether the path has no pattern, or is an existing file whose name looks like one."""
    if not glob.has_magic(path):
        return True
    from pyarrow.fs import FileType

    try:
        system, inside = file_system(path)
        with told(path):
            return bool(system.get_file_info([inside])[0].type != FileType.NotFound)
    except BucketAway:
        raise
    except OSError:
        return False


def _place(path: str, base: str, inside: str) -> str:
    """The path or URI of a file that was found: in the form of the request, with its scheme and host."""
    if not is_uri(path):
        return inside
    scheme, _, rest = path.partition("://")
    # A bucket's name is part of the path; a host's name is not.
    below = inside if inside.startswith("/") else inside[inside.find("/") :]
    return f"{scheme}://{rest.partition('/')[0]}{quote(below)}"
