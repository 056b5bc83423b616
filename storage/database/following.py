"""Work on the store in a thread of its own, so that somebody can see how far it is, and end it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from storage.database.connection import Database

T = TypeVar("T")
_AGAIN_S: Final = 0.05


class Following(Generic[T]):
    """A piece of work that has begun: any number of queries."""

    def __init__(self, database: Database, work: Callable[[], T]) -> None:
        self._database = database
        self._work = work
        self._answers: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="followed", daemon=True)
        self._thread.start()

    @property
    def progress(self) -> float | None:
        """The part of the current query that is done, from 0 to 1; None while this is not known."""
        return self._database.progress(self._thread.ident)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, or this long. Whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def end(self) -> None:
        """Interrupt its queries, and wait until it has ended."""
        # It may be between two queries.
        while not self.wait(_AGAIN_S):
            self._database.interrupt(self._thread.ident)

    def answer(self) -> T:
        """What the work has returned, once it has ended. Raises its error."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._answers[0]

    def _run(self) -> None:
        with self._database.followed():
            try:
                self._answers.append(self._work())
            except BaseException as error:  # noqa: BLE001 - it is raised for who asks for the answer
                self._error = error
