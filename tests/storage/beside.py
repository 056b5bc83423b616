"""A store's file as another client sees it: for what no part of the store reads or writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from storage import Store
from storage.database.connection import Database


@contextmanager
def beside(store: Store) -> Iterator[Database]:
    """The file of an open store, opened a second time in this process."""
    database = Database(store.path)
    try:
        yield database
    finally:
        database.close()
