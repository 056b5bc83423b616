"""Checks of the conditions of live runs, once a second while a run of this process executes."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from typing import Final
from weakref import WeakSet

from storage import Store
from storage.errors import StoreError
from ui.runs.job import Job

_EVERY_S: Final = 1.0
_LOG: Final = logging.getLogger(__name__)
_ENDING: Final = threading.Event()
_THREADS: Final[WeakSet[threading.Thread]] = WeakSet()


def watch(job: Job, store: Store) -> None:
    """Check the conditions of a live run in the background until it has ended."""
    thread = threading.Thread(target=_watch, args=(job, store), name="changelog-studio-conditions", daemon=True)
    _THREADS.add(thread)
    thread.start()


def _watch(job: Job, store: Store) -> None:
    store.conditions.rest(job.run_id)
    while job.ended is None and not _ENDING.wait(_EVERY_S):
        live = job.progress.live
        if live is None or live.state == "paused":
            store.conditions.rest(job.run_id)
            continue
        idle = [name for name, source in live.sources.items() if source.is_idle]
        try:
            store.conditions.look(job.run_id, int(time.time() * 1000), idle)
        except StoreError as error:
            _LOG.warning("run %s: its conditions could not be looked at: %s", job.run_id, error)
        except Exception:  # noqa: BLE001 - a thread has nobody above it
            _LOG.exception("run %s: its conditions could not be looked at", job.run_id)
            return


def _end() -> None:
    """Wait for the threads: Python would abort if it ended while one of them is in DuckDB."""
    _ENDING.set()
    for thread in tuple(_THREADS):
        thread.join()


atexit.register(_end)
