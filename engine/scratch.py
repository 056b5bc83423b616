"""Temporary folders, which are obsolete once the process that holds them has ended in any way.

A folder is held by a lock, which the system releases with the process. The folders of a killed process are removed by
the next process that calls `sweep`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = "changelog-studio."
# A new folder may not be held yet.
_NEW_S: Final = 60.0


@contextmanager
def scratch(what: str) -> Iterator[Path]:
    """A folder that is removed at the end. what: a word in its name, for people who inspect temporary files."""
    folder = kept_scratch(what)
    held = hold(folder)
    try:
        yield folder
    finally:
        _remove(folder)
        if held is not None:
            os.close(held)


def kept_scratch(what: str) -> Path:
    """A folder that its holder has to remove."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{what}."))


def hold(folder: Path) -> int | None:
    """Hold a folder until the descriptor is closed, here and in processes that inherit it; None if this fails."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Another process checks it right now, or its file system has no locks; then it is never seen as abandoned.
        os.close(descriptor)
        return None
    return descriptor


def make_folder(folder: Path) -> None:
    """Make a folder for a file, with its parents, but never a scratch folder: a removed one must not be recreated.

    A task of a failed run may continue for a moment. Raises FileNotFoundError if the scratch folder is gone.
    """
    if folder.name.startswith(PREFIX):
        return
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        # It was there, and is being removed; a file of this name stays an error.
        if folder.exists():
            raise
        make_folder(folder)


def _remove(folder: Path) -> None:
    """Remove a folder. It is renamed first, so that writers lose it at once."""
    gone = folder.with_name(f"{folder.name}.gone")
    with contextlib.suppress(OSError):
        folder.rename(gone)
    for left in (gone, folder):
        shutil.rmtree(left, ignore_errors=True)


def sweep(parent: Path | None = None) -> list[Path]:
    """Remove this user's folders that no process holds. Returns the removed folders."""
    removed = []
    with contextlib.suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_abandoned(entry):
                shutil.rmtree(entry.path, ignore_errors=True)
                removed.append(Path(entry.path))
    return removed


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
        if not entry.is_dir(follow_symlinks=False) or status.st_uid != os.getuid():
            return False
        if time.time() - status.st_mtime < _NEW_S:
            return False
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
