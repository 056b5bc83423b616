"""What other TTLs made of a run's records: the results of trials, kept with the run until it has more events."""

from __future__ import annotations

from typing import Final

from storage.library.of_all_runs import OfAllRuns

_QUESTION: Final = "ttl trials"


class TtlTrialResults(OfAllRuns):
    """The results of all runs, as documents. Every method raises UnknownRun."""

    def save(self, run_id: int, document: str) -> None:
        """Store the results instead of the previous ones."""
        place = [run_id, _QUESTION, self._version(run_id)]
        with self._database.catalog_transaction() as cursor:
            cursor.execute("DELETE FROM run_answers WHERE run_id = ? AND question = ?", place[:2])
            cursor.execute(
                "INSERT INTO run_answers (run_id, question, found_for, document) SELECT ?, ?, ?, ?", [*place, document]
            )

    def load(self, run_id: int) -> str | None:
        """The results for the events that the run has now; None without a trial."""
        sql = "SELECT document FROM run_answers WHERE run_id = ? AND question = ? AND found_for = ?"
        row = self._database.row(sql, [run_id, _QUESTION, self._version(run_id)])
        return str(row[0]) if row else None

    def _version(self, run_id: int) -> str:
        return ".".join(map(str, self._runs.stored(run_id).progress))
