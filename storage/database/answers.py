"""Answers that take more than a moment on a large run: found as the run is finished, and kept in the store with it.

An answer is plain JSON. `of` says what it was found for (the number of records first, mostly): a live run's next epoch
makes another question of it. Of small runs answers are only remembered.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from storage.database.connection import Database
from storage.database.remembered import Remembered
from storage.errors import StoreWriteFailed

LARGE: Final = 200_000
_MOST: Final = 256


class Answers:
    """The answers about all runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: Remembered[Any] = Remembered(_MOST)

    def get(self, run_id: int, question: str, of: tuple[int, ...], find: Callable[[], Any]) -> Any:
        """The answer to a question about a run, with lists for tuples; found where it is not known."""
        return self._known.get((run_id, question, of), lambda: self._stored(run_id, question, of, find))

    def forget(self) -> None:
        """Read or find everything anew."""
        self._known.forget()

    def _stored(self, run_id: int, question: str, of: tuple[int, ...], find: Callable[[], Any]) -> Any:
        if of[0] < LARGE:
            return json.loads(json.dumps(find()))
        place = {"run": run_id, "question": question, "of": ".".join(map(str, of))}
        row = self._database.row(
            "SELECT document FROM run_answers WHERE run_id = $run AND question = $question AND found_for = $of", place
        )
        document = str(row[0]) if row else json.dumps(find())
        if row is None:
            self._keep(place, document)
        return json.loads(document)

    def _keep(self, place: dict[str, object], document: str) -> None:
        try:
            with self._database.catalog_transaction() as cursor:
                cursor.execute(
                    "DELETE FROM run_answers WHERE run_id = $run AND question = $question",
                    {name: place[name] for name in ("run", "question")},
                )
                cursor.execute(
                    "INSERT INTO run_answers (run_id, question, found_for, document) "
                    "SELECT $run, $question, $of, $document",
                    {**place, "document": document},
                )
        except StoreWriteFailed:
            # A full disk is no reason to withhold an answer that is there.
            return
