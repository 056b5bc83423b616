"""Changelogs that stay in an engine's workspace: their folders, and the removal of files there that do not count.

A folder is noted before a run writes into it. What an epoch wrote that was not committed, and what deleted runs leave,
is removed by `sweep`: after the run, when it is deleted, and when the studio starts.
"""

from __future__ import annotations

from engine.spark.workspace import Workspace
from storage.database.connection import Database
from storage.library.runs import Runs


class StayingChangelogs:
    """The changelogs of all runs that stay in a workspace."""

    def __init__(self, database: Database, runs: Runs) -> None:
        self._database = database
        self._runs = runs
        database.serve(dict(database.rows("SELECT path, bytes FROM run_staying_files")))

    def note(self, run_id: int, folder: str) -> None:
        """Note that a run is about to write into a folder of its own."""
        with self._database.catalog_transaction() as cursor:
            cursor.execute("INSERT INTO staying_folders VALUES (?, ?)", [run_id, folder])

    @property
    def has_folders(self) -> bool:
        """Whether any run, also a deleted one, has files in a workspace."""
        return self._database.count("FROM staying_folders") > 0

    def folders(self, run_id: int) -> tuple[str, ...]:
        """The folders with files of a run."""
        sql = "SELECT folder FROM staying_folders WHERE run_id = ?"
        return tuple(str(folder) for (folder,) in self._database.rows(sql, [run_id]))

    def sweep(self, run_id: int | None = None) -> tuple[str, ...]:
        """Remove the files that no run counts, of one run or of all that have ended.

        Returns a sentence for each folder where that failed; a later call tries again.
        """
        sentences = []
        for (of_run,) in self._database.rows("SELECT DISTINCT run_id FROM staying_folders ORDER BY run_id"):
            if of_run == run_id or (run_id is None and not self._goes_on(of_run)):
                sentences += [sentence for folder in self.folders(of_run) if (sentence := self._swept(of_run, folder))]
        return tuple(sentences)

    def _goes_on(self, run_id: int) -> bool:
        exists = self._database.count("FROM runs WHERE run_id = ?", [run_id])
        return bool(exists) and self._runs.get(run_id).goes_on

    def _swept(self, run_id: int, folder: str) -> str:
        """Remove what does not count from a folder, and forget it once it is empty. A sentence if that fails."""
        counted = [str(path) for (path,) in self._database.rows(_COUNTED, [run_id])]
        counted = [path for path in counted if path.startswith(f"{folder}/")]
        place = Workspace(folder)
        try:
            if counted:
                place.remove_all_but(counted)
                return ""
            place.remove()
            if place.exists():
                return f"{folder}: its files could not be deleted. Delete the folder there."
        except OSError as error:
            return f"Files in {folder} could not be deleted. {error}"
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM staying_folders WHERE run_id = ? AND folder = ?", [run_id, folder])
        return ""


_COUNTED = "SELECT path FROM run_staying_files WHERE run_id = ?"
