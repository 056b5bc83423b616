"""Folders for a while, which nobody needs once the process that holds them has ended, however it ended.

A folder is held by a lock on it, which the system lets go of with the process. What a killed process has left behind is
removed by the next one that looks.
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
# A folder that was made just now may not be held yet.
_NEW_S: Final = 60.0


@contextmanager
def scratch(what: str) -> Iterator[Path]:
    """A folder that is removed in the end. what: a word in its name, for people who look into the temporary files."""
    folder = kept_scratch(what)
    held = hold(folder)
    try:
        yield folder
    finally:
        _remove(folder)
        if held is not None:
            os.close(held)


def kept_scratch(what: str) -> Path:
    """A folder that whoever holds it removes."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{what}."))


def hold(folder: Path) -> int | None:
    """Hold a folder until the descriptor is closed, here and in processes that have it too; None where that fails."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Somebody looks at it right now, or its file system knows no locks; then nobody can take it for abandoned.
        os.close(descriptor)
        return None
    return descriptor


def make_folder(folder: Path) -> None:
    """Make a folder for a file, with those above it, but for a scratch folder: what is removed does not come back.

    A task of a run that has failed may go on for a moment. Raises FileNotFoundError where the scratch folder is gone.
    """
    if folder.name.startswith(PREFIX):
        return
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)


def _remove(folder: Path) -> None:
    """Remove a folder, at once for whoever still writes into it by its name."""
    gone = folder.with_name(f"{folder.name}.gone")
    with contextlib.suppress(OSError):
        folder.rename(gone)
    for left in (gone, folder):
        shutil.rmtree(left, ignore_errors=True)


def sweep(parent: Path | None = None) -> list[Path]:
    """Remove this user's folders that no process holds. Gives those that are gone."""
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
