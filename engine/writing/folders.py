"""Folders that live runs write into: of this machine, of a file system with a URI, of a bucket.

A file appears as a whole: in a bucket when its object is complete, elsewhere when it is renamed. What it is called and
has in it follows from the epoch, so that a second attempt writes the same file again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from engine.contract.target import Unreachable
from engine.errors import TargetError
from engine.reading.files.buckets import BucketAway, is_bucket, told, without_secret
from engine.reading.files.storage import file_system, is_uri
from engine.writing.allowed import require_folder

_PART: Final = ".part"
_NO_RIGHT: Final = "the user of the studio may not write there. Allow it, or choose another folder"
_IS_FILE: Final = "a part of this path is a file. Choose another folder"


class Folder:
    """A folder. Raises TargetError with the node and what to do, and Unreachable."""

    def __init__(self, path: str, node: str) -> None:
        self.path = path
        self.shown = without_secret(path)
        self._node = node
        with self._said():
            self._system, self._inside = file_system(self.path)

    def put(self, name: str, content: bytes | pa.Buffer) -> None:
        """Write a file, or replace it."""
        place = self._place(name)
        with self._said():
            if is_bucket(self.path):
                with self._system.open_output_stream(place) as stream:
                    stream.write(content)
                return
            self._system.create_dir(place.rpartition("/")[0], recursive=True)
            with self._system.open_output_stream(place + _PART) as stream:
                stream.write(content)
            self._sync(place + _PART)
            self._system.move(place + _PART, place)
            self._sync(place.rpartition("/")[0])

    def get(self, name: str) -> bytes:
        """The content of a file."""
        with self._said(), self._system.open_input_stream(self._place(name)) as stream:
            return bytes(stream.read())

    def names(self, folder: str) -> list[str]:
        """The files below one of its folders, relative to it; none if there is no such folder."""
        from pyarrow.fs import FileSelector, FileType

        place = self._place(folder).rstrip("/")
        with self._said():
            # Not every store has folders that a listing could tell.
            infos = self._system.get_file_info(FileSelector(place, recursive=True, allow_not_found=True))
        files = (info.path for info in infos if info.type == FileType.File and not info.path.endswith(_PART))
        return sorted(path[path.index(place) + len(place) + 1 :] for path in files)

    def remove(self, names: Sequence[str]) -> None:
        """Delete files, some of which may be gone already."""
        from pyarrow.fs import FileType

        with self._said():
            for info in self._system.get_file_info([self._place(name) for name in names]):
                if info.type == FileType.File:
                    self._system.delete_file(info.path)

    def _place(self, name: str) -> str:
        return f"{self._inside.rstrip('/')}/{name}"

    def _sync(self, place: str) -> None:
        """A file or folder of this machine survives a power failure from now on."""
        if self._system.type_name != "local":
            return
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Errors as sentences."""
        try:
            with told(self.path):
                yield
        except BucketAway as error:
            raise Unreachable(str(error)) from error
        except (OSError, pa.ArrowException) as error:
            raise TargetError(self._sentence(error), self._node, "folder") from error

    def _sentence(self, error: Exception) -> str:
        if is_bucket(self.path):
            return str(error)
        match error.errno if isinstance(error, OSError) else None:
            case errno.ENOSPC | errno.EDQUOT:
                reason = "there is no room left. Make room there, and resume the run"
            case errno.EACCES | errno.EPERM | errno.EROFS:
                reason = _NO_RIGHT
            case errno.ENOTDIR | errno.EEXIST:
                reason = _IS_FILE
            case _:
                reason = str(_without_system(error)).strip().rstrip(".")[:300]
        return _not_into(self.shown, reason)


def place_of(folder: str, base: Path) -> Path | str:
    """The folder that a text names: a URI (a text), or a path, which is relative to `base`."""
    folder = folder.strip()
    return folder.rstrip("/") if is_uri(folder) else (base / folder).absolute()


def require_place(place: Path | str, node: str) -> None:
    """Raise StudioError for a place that is not allowed; on this machine also for one that cannot be written to."""
    require_folder(place, node)
    if isinstance(place, Path):
        _require_writable(place, node)


def _require_writable(folder: Path, node: str) -> None:
    """Raise TargetError for a folder of this machine that cannot be made, or may not be written to. Makes none."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        reason = _IS_FILE if not there.is_dir() else "" if os.access(there, os.W_OK | os.X_OK) else _NO_RIGHT
    except PermissionError:
        reason = _NO_RIGHT
    except (OSError, ValueError) as error:
        reason = str(_without_system(error)).strip().rstrip(".")
    if reason:
        message = f"folder: {_not_into(str(folder), reason)}"
        raise TargetError(message, node, "folder")


def _not_into(place: str, reason: str) -> str:
    return f"cannot write into {place}: {reason}."


def _without_system(error: Any) -> Any:
    return getattr(error, "strerror", None) or error
