"""Views that somebody has saved: a page with what is open on it, such as a question in SQL, under a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from storage.database.connection import Database


@dataclass(frozen=True)
class SavedView:
    """A saved view. page: where it is; query: what is open there, by the names of the URL. saved_at is UTC.

    made_by: who saved it, where people log in.
    """

    view_id: int
    name: str
    note: str
    page: str
    query: Mapping[str, str]
    saved_at: datetime
    made_by: str


class SavedViews:
    """The saved views of all people."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, name: str, *, page: str, query: Mapping[str, str], note: str = "", made_by: str = "") -> int:
        """Save a view. One of the same page and name is replaced. The number of the view."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM saved_views WHERE page = ? AND name = ?", [page, name])
            saved = cursor.execute(
                "INSERT INTO saved_views (name, note, page, query, made_by) VALUES (?, ?, ?, ?, ?) RETURNING view_id",
                [name, note, page, json.dumps(dict(query), ensure_ascii=False), made_by],
            ).fetchone()
        assert saved is not None
        return int(saved[0])

    def list(self) -> tuple[SavedView, ...]:
        """All saved views by name."""
        rows = self._database.rows(
            "SELECT view_id, name, note, page, query, saved_at, made_by FROM saved_views ORDER BY lower(name), view_id"
        )
        return tuple(
            SavedView(view_id, name, note, page, json.loads(query), saved_at, made_by)
            for view_id, name, note, page, query, saved_at, made_by in rows
        )

    def delete(self, view_id: int) -> None:
        """Forget a view; one that is gone already is no error."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM saved_views WHERE view_id = ?", [view_id])
