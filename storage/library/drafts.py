"""Drafts: unsaved work that survives a reload of the browser, under keys of the caller's choice."""

from __future__ import annotations

from storage.database.connection import NOW, Database
from storage.model import Draft

_COLUMNS = "key, document, pipeline_id, version, saved_at, identity"


class Drafts:
    """Unsaved documents, one per key. A draft remembers the saved version that it started from."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self,
        key: str,
        document: str,
        *,
        pipeline_id: int | None = None,
        version: int | None = None,
        identity: str = "",
    ) -> None:
        """Store the document under the key, instead of the previous one. identity: by default, one of the draft."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute(
                f"INSERT OR REPLACE INTO drafts ({_COLUMNS}) VALUES (?, ?, ?, ?, {NOW}, ?)",
                [key, document, pipeline_id, version, identity or f"draft-{key}"],
            )

    def load(self, key: str) -> Draft | None:
        """The draft with this key, or None."""
        row = self._database.row(f"SELECT {_COLUMNS} FROM drafts WHERE key = ?", [key])
        return Draft(*row) if row else None

    def list(self) -> tuple[Draft, ...]:
        """All drafts, newest first."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM drafts ORDER BY saved_at DESC, key")
        return tuple(Draft(*row) for row in rows)

    def delete(self, key: str) -> None:
        """Delete a draft. A missing draft is no error."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM drafts WHERE key = ?", [key])
