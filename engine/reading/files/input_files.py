"""Finds the files of a source: one file, all files of a folder, or those that match a glob, ordered by name.

Errors are SourceErrors that name the node, the file, and what to do.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from engine.contract.scan import LINE_BYTES
from engine.errors import OutOfReach, SourceError, SourceMissing
from engine.reading.files.buckets import BucketError
from engine.reading.files.named_folders import may_be_read, refused
from engine.reading.files.patterns import MOST_LOOKED, TooWide, matching
from engine.reading.files.storage import (
    Storage,
    StoredFile,
    elsewhere,
    ending_of,
    is_packed,
    is_uri,
    list_files,
    open_file,
    unpacked,
)

_HADOOP: Final = "libhdfs"
_LINE_END: Final = re.compile(r"\r\n?|\n")
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class InputFile:
    """A file that exists and may be read.

    path: on this machine or in a storage, or a URI. name: for people, relative to the folder of the source.
    storage: opens the file, None for this machine. place: where Spark's workers find it.
    """

    path: str
    name: str
    size: int
    modified_ns: int
    storage: Storage | None = None
    place: str = ""

    @property
    def is_here(self) -> bool:
        """Whether the file is on this machine, where remote workers cannot read it."""
        return self.storage is None and not is_uri(self.path)

    @property
    def written_ns(self) -> int:
        """When the object at a URI was written; 0 for other files, which workers may read from a copy."""
        return self.modified_ns if is_uri(self.path) else 0

    def open(self) -> IO[bytes]:
        """The raw bytes, as a seekable stream. Raises OSError."""
        stored = StoredFile(self.path, self.size, self.modified_ns)
        return open_file(self.path, self.written_ns) if self.storage is None else self.storage.open(stored)


def local_file(path: Path, name: str) -> InputFile:
    """A file of this machine."""
    status = path.stat()
    return InputFile(str(path), name, status.st_size, status.st_mtime_ns, None, str(path))


def local_place(path: str, folder: Path, node: str) -> Path:
    """The place of a path on this machine, relative to a folder. Raises SourceError for the home of an unknown user."""
    try:
        return Path(os.path.normpath(folder.absolute() / Path(path).expanduser()))
    except RuntimeError as error:
        message = f"path: {path[:80]!r} begins with the home of a user that does not exist; give the full path."
        raise SourceError(message, node, "path") from error


def find_files(
    path: str,
    folder: Path,
    node: str,
    endings: Collection[str],
    may_be_read: Callable[[Path | str], bool] = may_be_read,
) -> tuple[InputFile, ...]:
    """The files of a path, by name. In a folder, those with one of the endings, compressed or not.

    If the path is not on this machine, the storage of the engine is asked (`engine.reading.files.storage`).
    Raises SourceMissing: no such file, no match; SourceError: no permission, a name that Spark skips.
    """
    if not path.strip():
        message = "path: no file is chosen; give a file, a folder or a glob such as data/*.csv."
        raise SourceError(message, node, "path")
    if is_uri(path):
        if not may_be_read(path):
            raise SourceError(refused(path), node, "path")
        return _stored_files(path, node, endings, elsewhere())
    place = local_place(path, folder, node)
    try:
        place.stat()
    except (OSError, ValueError) as error:
        # Missing files are handled below; this is a name that no file can have.
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            reason = error.strerror if isinstance(error, OSError) else "it has a character that file names cannot have"
            message = f"path: {path[:80]!r} is not a file name: {reason}; check the name."
            raise SourceError(message, node, "path") from error
    if not (glob.has_magic(path) or may_be_read(place)):
        raise SourceError(refused(path), node, "path")
    if place.is_dir():
        files = _in_folder(place, path, node, endings)
    elif place.exists():
        if _is_hidden(place):
            message = f"{path}: Spark skips files whose name starts with _ or a dot; rename it."
            raise SourceError(message, node, "path")
        files = [place]
    else:
        is_pattern = glob.has_magic(path)
        try:
            matches = matching(place) if is_pattern else ()
            files = sorted(match for match in matches if os.path.isfile(match) and not _is_hidden(match))
        except TooWide:
            message = (
                f"the pattern {path} looks at more than {MOST_LOOKED:,} files and folders; name more of the path, such "
                "as the folder of the files."
            )
            raise SourceError(message, node, "path") from None
        if not files and not may_be_read(place):
            raise SourceError(refused(path), node, "path")
        if not files and (there := elsewhere()) is not None and Path(path).is_absolute():
            return _stored_files(str(place), node, endings, there)
        if not files:
            message = (
                f"no file matches {path} in {folder.absolute()}; check the pattern."
                if is_pattern
                else f"there is no file {path} in {folder.absolute()}; check the name, or give the full path."
            )
            raise SourceMissing(message, node, "path")
    for file in files:
        # A link or a pattern may lead outside the allowed folders.
        if not may_be_read(file):
            raise SourceError(refused(path), node, "path")
        if not file.is_file():
            message = f"{file.name} is not a regular file but a device, a pipe or a socket; copy its data to a file."
            raise SourceError(message, node, "path")
        if ":" in file.name:
            message = f"{file.name} has a colon in its name, which Spark cannot read; rename it."
            raise SourceError(message, node, "path")
        if not os.access(file, os.R_OK):
            message = f"{file.name} cannot be read (no permission); allow it with chmod +r, or choose another file."
            raise SourceError(message, node, "path")
    return tuple(local_file(file, _name(file, folder)) for file in files)


def _stored_files(path: str, node: str, endings: Collection[str], storage: Storage | None) -> tuple[InputFile, ...]:
    """The files of a URI, or of a path that only an engine can see."""
    try:
        files = list_files(path, endings) if storage is None else storage.find(path, endings)
    except BucketError as error:
        raise SourceError(str(error), node, "path") from error
    except OSError as error:
        if _HADOOP in str(error):
            message = f"{path} is read with Hadoop's {_HADOOP}, which this machine has not."
            raise OutOfReach(message, node, "path") from error
        message = f"{path} cannot be read: {error}. Check the address, and who may read it."
        raise SourceError(message, node, "path") from error
    if not files:
        places = "there" if is_uri(path) else "on this machine"
        places += "" if storage is None else f", seen from {storage.title}" if is_uri(path) else f" or {storage.title}"
        message = f"there is no file {path} {places}; check the name."
        raise SourceError(message, node, "path")
    return tuple(InputFile(file.path, file.path, file.size, file.modified_ns, storage, file.path) for file in files)


@contextmanager
def opened(file: InputFile, node: str) -> Iterator[IO[bytes]]:
    """The beginning of the file's bytes, decompressed as Spark would. Raises SourceError if it cannot be read."""
    # Imported here: workers receive this module, but not what starts processes.
    from engine.reading.apart import Foreign, stream_of

    try:
        about = Foreign(file.name, node, "Unpack it, and read the unpacked file.")
        with stream_of(about, _unpacked, file) if is_packed(file.path) else file.open() as stream:
            yield stream
    except BucketError as error:
        raise SourceError(str(error), node, "path") from error
    except OSError as error:
        message = f"{file.name} cannot be read: {error}. Choose another file, or write this one again."
        raise SourceError(message, node, "path") from error


def _unpacked(file: InputFile) -> Iterator[bytes]:
    try:
        with file.open() as stored, unpacked(stored, file.path) as stream:
            # Not more at once: what stands before a damaged place is a good sample.
            while read := stream.read1(_CHUNK):  # type: ignore[attr-defined]
                yield read
    except (EOFError, zlib.error) as error:
        raise OSError(str(error)) from error


def raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines with their ends. A line longer than LINE_BYTES is cut where it exceeds the limit."""
    while raw := stream.readline(LINE_BYTES + 1):
        if len(raw) > LINE_BYTES and not raw.endswith(b"\n"):
            while (more := stream.readline(_CHUNK)) and not more.endswith(b"\n"):
                pass
            raw += b"\n"
        yield raw


def text_lines(stream: IO[bytes]) -> Iterator[str]:
    """The lines as Spark splits them, without line ends and byte order mark; invalid UTF-8 becomes U+FFFD.

    Lines that are too long are left out here; they are rejected when they are read.
    """
    for at, raw in enumerate(raw_lines(stream)):
        if len(raw) > LINE_BYTES:
            continue
        text = raw.decode("utf-8", errors="replace")
        text = text.removeprefix("\ufeff") if at == 0 else text
        yield from _LINE_END.split(text.removesuffix("\n").removesuffix("\r"))


def _in_folder(place: Path, path: str, node: str, endings: Collection[str]) -> list[Path]:
    if not os.access(place, os.R_OK | os.X_OK):
        message = f"the folder {path} cannot be read (no permission); allow it with chmod +rx."
        raise SourceError(message, node, "path")
    files = sorted(
        file for file in place.iterdir() if file.is_file() and not _is_hidden(file) and ending_of(str(file)) in endings
    )
    if not files:
        message = (
            f"the folder {path} has no file that ends in {', '.join(sorted(endings))}; put one there, or use a glob."
        )
        raise SourceMissing(message, node, "path")
    return files


def _is_hidden(file: Path) -> bool:
    return file.name.startswith(("_", "."))


def _name(file: Path, folder: Path) -> str:
    base = folder.absolute()
    return str(file.relative_to(base)) if file.is_relative_to(base) else str(file)
