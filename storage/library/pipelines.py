"""Saved pipelines with all of their versions."""

from __future__ import annotations

from storage.database.connection import NOW, Database, Row
from storage.errors import UnknownPipeline
from storage.model import PipelineSummary, SavedPipeline

_SUMMARY = """
SELECT pipeline_id, name, max(version), max(saved_at), coalesce(arg_min(made_by, version), ''), identity,
    created_at, deleted_at
FROM pipelines JOIN pipeline_versions USING (pipeline_id)
WHERE {condition}
GROUP BY pipeline_id, name, identity, created_at, deleted_at
ORDER BY max(saved_at) DESC, pipeline_id DESC
"""


class Pipelines:
    """Saved pipelines. Every save of a changed document is a version; nothing is overwritten."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self,
        document: str,
        *,
        name: str,
        pipeline_id: int | None = None,
        note: str = "",
        made_by: str = "",
        identity: str = "",
    ) -> SavedPipeline:
        """Save a document as a new pipeline, or as the next version of one. made_by: the user, if there is a login.

        identity: of a new pipeline; by default, one of its own.
        An unchanged document makes no new version, but the name is updated. Raises UnknownPipeline.
        """
        with self._database.catalog_transaction() as cursor:
            version = 1
            if pipeline_id is None:
                created = cursor.execute(
                    "INSERT INTO pipelines (name, identity) VALUES (?, ?) RETURNING pipeline_id", [name, identity]
                ).fetchone()
                assert created is not None
                pipeline_id = int(created[0])
                if not identity:
                    sql = "UPDATE pipelines SET identity = 'pipeline-' || pipeline_id WHERE pipeline_id = ?"
                    cursor.execute(sql, [pipeline_id])
            else:
                newest = cursor.execute(
                    "SELECT version, document FROM pipeline_versions WHERE pipeline_id = ? "
                    "ORDER BY version DESC LIMIT 1",
                    [pipeline_id],
                ).fetchone()
                if newest is None:
                    raise UnknownPipeline(pipeline_id)
                cursor.execute("UPDATE pipelines SET name = ? WHERE pipeline_id = ?", [name, pipeline_id])
                version = int(newest[0]) + (newest[1] != document)
            cursor.execute(
                "INSERT INTO pipeline_versions (pipeline_id, version, document, note, made_by) "
                "SELECT $id, $version, $document, $note, $made_by WHERE NOT EXISTS "
                "(FROM pipeline_versions WHERE pipeline_id = $id AND version = $version)",
                {"id": pipeline_id, "version": version, "document": document, "note": note, "made_by": made_by},
            )
        return self.load(pipeline_id, version)

    def load(self, pipeline_id: int, version: int | None = None) -> SavedPipeline:
        """A version of a pipeline, by default the newest. Raises UnknownPipeline."""
        versions = self.versions(pipeline_id)
        if version is None:
            return versions[0]
        for saved in versions:
            if saved.version == version:
                return saved
        raise UnknownPipeline(pipeline_id, version, [saved.version for saved in versions])

    def versions(self, pipeline_id: int) -> tuple[SavedPipeline, ...]:
        """All versions of a pipeline, newest first. Raises UnknownPipeline."""
        rows = self._database.rows(
            "SELECT pipeline_id, name, version, saved_at, coalesce(made_by, ''), identity, document, note "
            "FROM pipelines JOIN pipeline_versions USING (pipeline_id) "
            "WHERE pipeline_id = ? ORDER BY version DESC",
            [pipeline_id],
        )
        if not rows:
            raise UnknownPipeline(pipeline_id)
        return tuple(SavedPipeline(*row) for row in rows)

    def list(self, *, text: str = "") -> tuple[PipelineSummary, ...]:
        """The pipelines whose name contains the text, the last saved first."""
        condition = "deleted_at IS NULL AND contains(lower(name), lower(?))"
        rows = self._database.rows(_SUMMARY.format(condition=condition), [text])
        return tuple(_summary(row) for row in rows)

    def deleted(self) -> tuple[PipelineSummary, ...]:
        """The deleted pipelines that `restore` can bring back."""
        rows = self._database.rows(_SUMMARY.format(condition="deleted_at IS NOT NULL"))
        return tuple(_summary(row) for row in rows)

    def rename(self, pipeline_id: int, name: str) -> None:
        """Rename a pipeline. Raises UnknownPipeline."""
        self._update(pipeline_id, "name = $value", name)

    def duplicate(self, pipeline_id: int, name: str | None = None, *, made_by: str = "") -> SavedPipeline:
        """A new pipeline with the newest version's document. Raises UnknownPipeline."""
        original = self.load(pipeline_id)
        return self.save(original.document, name=name or f"{original.name} (copy)", made_by=made_by)

    def delete(self, pipeline_id: int) -> None:
        """Remove a pipeline from the list; `restore` undoes it. Its runs stay. Raises UnknownPipeline."""
        self._update(pipeline_id, f"deleted_at = {NOW}")

    def restore(self, pipeline_id: int) -> None:
        """Bring a deleted pipeline back. Raises UnknownPipeline."""
        self._update(pipeline_id, "deleted_at = NULL")

    def _update(self, pipeline_id: int, assignment: str, value: object = None) -> None:
        parameters = {"id": pipeline_id} | ({"value": value} if "$value" in assignment else {})
        with self._database.catalog_transaction() as cursor:
            row = cursor.execute(
                f"UPDATE pipelines SET {assignment} WHERE pipeline_id = $id RETURNING 1", parameters
            ).fetchone()
            if row is None:
                raise UnknownPipeline(pipeline_id)


def _summary(row: Row) -> PipelineSummary:
    return PipelineSummary(*row)
