"""Saved views: a page with its URL parameters, such as an SQL query, under a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from storage.database.connection import Database


@dataclass(frozen=True)
class SavedView:
    """A saved view. page: its page; query: the parameters of the URL, by name. saved_at is UTC.

    made_by: the user who saved it, if there is a login.
    """

    view_id: int
    name: str
    note: str
    page: str
    query: Mapping[str, str]
    saved_at: datetime
    made_by: str


class SavedViews:
    """The saved views of all users."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, name: str, *, page: str, query: Mapping[str, str], note: str = "", made_by: str = "") -> int:
        """Save a view, and return its number. A view with the same page and name is replaced."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM saved_views WHERE page = ? AND name = ?", [page, name])
            saved = cursor.execute(
                "INSERT INTO saved_views (name, note, page, query, made_by) VALUES (?, ?, ?, ?, ?) RETURNING view_id",
                [name, note, page, json.dumps(dict(query), ensure_ascii=False), made_by],
            ).fetchone()
        assert saved is not None
        return int(saved[0])

    def list(self) -> tuple[SavedView, ...]:
        """All saved views, ordered by name."""
        rows = self._database.rows(
            "SELECT view_id, name, note, page, query, saved_at, made_by FROM saved_views ORDER BY lower(name), view_id"
        )
        return tuple(
            SavedView(view_id, name, note, page, json.loads(query), saved_at, made_by)
            for view_id, name, note, page, query, saved_at, made_by in rows
        )

    def delete(self, view_id: int) -> None:
        """Delete a view. A missing view is no error."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM saved_views WHERE view_id = ?", [view_id])
