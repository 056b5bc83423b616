"""Computes slow answers about ended runs in the background, so that no page waits for them."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Final

from storage.database.connection import Database
from storage.errors import StoreError

_LOG: Final = logging.getLogger(__name__)


class Preparation:
    """Prepares one run after the other, in one thread. If a step fails, the page that needs its answer computes it."""

    def __init__(self, database: Database, steps: Callable[[int], Iterator[None]]) -> None:
        self._database = database
        self._steps = steps
        self._asked: queue.Queue[int | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def ask(self, run_id: int) -> None:
        """Queue a run. Returns at once."""
        with self._lock:
            self._asked.put(run_id)
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._work, name="preparation", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until the queue is empty."""
        self._asked.join()

    def stop(self) -> None:
        """Stop, and interrupt the running query."""
        self._stopped = True
        self._asked.put(None)
        if self._thread is not None:
            self._database.interrupt(self._thread.ident)
            self._thread.join()

    def _work(self) -> None:
        while (run_id := self._asked.get()) is not None:
            try:
                for _ in self._steps(run_id):
                    if self._stopped:
                        break
            except StoreError:
                # A step may run out of memory, or the run may be deleted meanwhile.
                _LOG.debug("run %s: not prepared", run_id, exc_info=True)
            except Exception:  # noqa: BLE001 - a defect in one answer must not end the preparation of others
                _LOG.exception("run %s: not prepared", run_id)
            finally:
                self._asked.task_done()
