"""Where a person's work lives: the store, and the folder beside it that uploaded files are kept in.

File names in pipelines that are not absolute are relative to this folder, in the builder and in runs alike.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from storage import Store, default_path


def store() -> Store:
    """The store of this process; one object for all sessions. Raises StoreError with a sentence."""
    return _open(default_path())


def folder() -> Path:
    """What relative file names in pipelines are relative to."""
    return default_path().parent


def forget() -> None:
    """Forget the store: the next question opens it anew."""
    _open.cache_clear()


@cache
def _open(path: Path) -> Store:
    # A failure is not remembered: once the other process is gone, the next rerun finds the file free.
    return Store.open(path)
