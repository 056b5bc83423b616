"""The store of this process, and its folder, which also has the uploaded files.

Relative file names in pipelines refer to this folder, in the builder and in runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from storage import Store, default_path


def store() -> Store:
    """The store of this process; one object for all sessions. Raises StoreError with a sentence."""
    return _open(default_path())


def folder() -> Path:
    """The folder that relative file names in pipelines refer to."""
    return default_path().parent


def forget() -> None:
    """Forget the store: the next call of `store` opens it again."""
    _open.cache_clear()


@cache
def _open(path: Path) -> Store:
    # A failure is not cached: once the other process has ended, the next rerun can open the file.
    return Store.open(path)
