"""Caches for answers that do not change: in memory, or in the file together with their run.

A key names everything that an answer depends on. The number of records is part of it, so an answer about a live run
expires with the next epoch.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

from storage.database.connection import Database
from storage.errors import StoreWriteFailed

T = TypeVar("T")
# From this number of records on, an answer takes long enough to be worth a row in the file.
LARGE: Final = 200_000
_RUN_ANSWERS: Final = 256


class MemoryCache(Generic[T]):
    """The most recently used answers, at most `size` of them. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The answer with this key, computed if it is missing."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        # Without the lock, since it may take long. Two threads may compute the same answer.
        answer = compute()
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)
        return answer

    def clear(self) -> None:
        """Forget all answers."""
        with self._lock:
            self._answers.clear()


class RunCache:
    """Answers about runs, as plain JSON. Those about large runs are stored in the file and survive a restart."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._memory: MemoryCache[Any] = MemoryCache(_RUN_ANSWERS)

    def get(self, run_id: int, question: str, version: tuple[int, ...], compute: Callable[[], Any]) -> Any:
        """The answer to a question about a run, with lists instead of tuples; computed if it is missing.

        version: the state of the run that the answer is for. Its first number is the number of records.
        """
        key = (run_id, question, version)
        return self._memory.get(key, lambda: self._stored(run_id, question, version, compute))

    def clear_memory(self) -> None:
        """Clear the cache in memory. The answers in the file stay."""
        self._memory.clear()

    def _stored(self, run_id: int, question: str, version: tuple[int, ...], compute: Callable[[], Any]) -> Any:
        if version[0] < LARGE:
            return json.loads(json.dumps(compute()))
        place = {"run": run_id, "question": question, "of": ".".join(map(str, version))}
        row = self._database.row(
            "SELECT document FROM run_answers WHERE run_id = $run AND question = $question AND found_for = $of", place
        )
        document = str(row[0]) if row else json.dumps(compute())
        if row is None:
            self._store(place, document)
        return json.loads(document)

    def _store(self, place: dict[str, object], document: str) -> None:
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
            # A full disk is no reason to withhold an answer that is already computed.
            return
