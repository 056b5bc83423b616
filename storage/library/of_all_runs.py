"""The base of the classes that answer a question for any run."""

from __future__ import annotations

from storage.database.connection import Database
from storage.library.runs import Runs


class OfAllRuns:
    """Has the file, and the runs that say which tables in it belong to whom."""

    def __init__(self, database: Database, runs: Runs) -> None:
        self._database = database
        self._runs = runs
