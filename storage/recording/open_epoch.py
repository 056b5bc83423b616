"""An epoch that is being written: one transaction in its own thread, so that loading overlaps with Spark's work.

The epoch is invisible before its commit, and leaves nothing behind if abandoned. The catalog's rows are written last,
since other transactions write to the catalog meanwhile.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from storage.database.connection import Cursor, Database
from storage.database.memory import Room

Work = Callable[[Cursor], None]


class _AbandonedError(Exception):
    """Rolls the transaction back."""


class OpenEpoch:
    """The transaction of one epoch. Its pieces of work run one after the other, in order of `do`."""

    def __init__(self, database: Database, epoch: int, room: Room) -> None:
        self.epoch = epoch
        self._room = room
        self._database = database
        self._works: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._abandoned = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=f"epoch {epoch}", daemon=True)
        self._thread.start()

    def do(self, work: Work) -> None:
        """Run a piece of work in the transaction, in the background."""
        self._works.put(work)

    def wait(self) -> None:
        """Wait until all work so far is done, or a piece of it failed."""
        done = threading.Event()
        self.do(lambda _: done.set())
        while not done.wait(0.01) and self._thread.is_alive():
            pass

    def commit(self) -> None:
        """Wait until all work is done, and commit. If a piece of it failed, raise its error and store nothing."""
        self._works.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """Roll back, and interrupt the running statement."""
        self._abandoned = True
        self._works.put(None)
        # Once the thread has ended, its id may be that of another one.
        if self._thread.is_alive():
            self._database.interrupt(self._thread.ident)
        self._thread.join()

    def _work(self) -> None:
        try:
            with self._database.limited(self._room.mib), self._database.transaction() as cursor:
                while (work := self._works.get()) is not None:
                    self._stop_if_abandoned()
                    work(cursor)
                self._stop_if_abandoned()
        except BaseException as error:  # noqa: BLE001 - handed to whoever commits
            self._error = error

    def _stop_if_abandoned(self) -> None:
        if self._abandoned:
            raise _AbandonedError
