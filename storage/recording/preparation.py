"""Finds out about runs that have ended, in the background: what would take whoever asks first more than a moment."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator

import duckdb

from storage.database.connection import Database
from storage.errors import StoreError


class Preparation:
    """One run after the other, in one thread. What fails is asked again by whoever wants to know."""

    def __init__(self, database: Database, steps: Callable[[int], Iterator[None]]) -> None:
        self._database = database
        self._steps = steps
        self._asked: queue.Queue[int | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def ask(self, run_id: int) -> None:
        """Have a run looked through. Comes back at once."""
        with self._lock:
            self._asked.put(run_id)
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._work, name="preparation", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until all that was asked for is done."""
        self._asked.join()

    def stop(self) -> None:
        """Do no more: the question that is under way is interrupted."""
        self._stopped = True
        self._asked.put(None)
        if self._thread is not None:
            self._database.interrupt(self._thread.ident)
            self._thread.join()

    def _work(self) -> None:
        while (run_id := self._asked.get()) is not None:
            # For lack of memory, say, or because the run is deleted meanwhile.
            with contextlib.suppress(duckdb.Error, StoreError):
                for _ in self._steps(run_id):
                    if self._stopped:
                        break
            self._asked.task_done()
