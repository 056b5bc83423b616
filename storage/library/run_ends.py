"""The ends of runs: stored as they happen or, if the disk is full, once it is not; and those of killed processes.

    studio.duckdb.ends    beside the store while runs go on: room for some ends, which was taken while there was some

An end that cannot be stored is written over what this file has already, which a full disk allows: the next process
stores it if this one does not.
"""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from engine.errors import shortened
from storage.database.connection import NOW, Cursor, Database
from storage.errors import StoreUnavailable, StoreWriteFailed, UnknownRun
from storage.model import Run, RunStatus

_LOG: Final = logging.getLogger(__name__)
_ROOM: Final = 16 << 10
_AGAIN_S: Final = 1.0
_LOST: Final = "the studio was closed or killed during this run; the committed epochs are here."
_KEPT: Final = "the studio was closed or killed during this run; it can go on after its last epoch."
_END_WARNINGS: Final = f"""
UPDATE run_warnings SET over_at = greatest(
    raised_at, coalesce((SELECT finished_at FROM runs WHERE runs.run_id = run_warnings.run_id), {NOW}))
WHERE over_at IS NULL AND run_id IN (SELECT run_id FROM runs WHERE status NOT IN ('running', 'paused'))
"""


@dataclass(frozen=True)
class End:
    """How a run ended, and when (UTC)."""

    status: RunStatus
    error: str
    node: str
    finished_at: datetime

    @classmethod
    def from_json(cls, end: Any) -> End:
        """As it was written."""
        status, error, node, finished_at = end
        return cls(RunStatus(status), error, node, datetime.fromisoformat(finished_at))

    def to_json(self, most: int) -> list[str]:
        """error: of at most so many characters."""
        return [self.status.value, shortened(self.error, most), self.node, self.finished_at.isoformat()]


class RunEnds:
    """Stores how runs end, and knows the ends that are yet to be stored."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file = database.path.with_name(f"{database.path.name}.ends")
        self._tried = float("-inf")
        self._owed: dict[int, End] = self._read()

    def reserve(self) -> None:
        """Take room for ends. Without any, this process alone remembers them."""
        if not self._file.exists():
            self._write(os.O_CREAT | os.O_EXCL)

    def end(self, run_id: int, status: RunStatus, error: str, node: str, finished_at: datetime | None) -> None:
        """Store an end, now or later. finished_at: by default, now. Raises UnknownRun."""
        end = End(status, error, node, finished_at or datetime.now(UTC).replace(tzinfo=None))
        try:
            self._store(run_id, end)
        except (StoreWriteFailed, StoreUnavailable):
            _LOG.exception("run %s: its end can only be stored later", run_id)
            self._owed[run_id] = end
            self._tried = time.monotonic()
            self._write()

    def settle(self) -> None:
        """Store the ends that could not be stored; not right after an attempt."""
        if not self._owed or time.monotonic() - self._tried < _AGAIN_S:
            return
        self._tried = time.monotonic()
        for run_id, end in list(self._owed.items()):
            try:
                self._store(run_id, end)
            except (StoreWriteFailed, StoreUnavailable):
                return
            except UnknownRun:
                _LOG.info("run %s was deleted before its end could be stored", run_id)
            self.forget(run_id)

    def forget(self, run_id: int) -> None:
        """An end was stored, or the run goes on."""
        if self._owed.pop(run_id, None) is not None:
            self._write()

    def shown(self, run: Run) -> Run:
        """A stored run as it is once its end is stored."""
        end = self._owed.get(run.run_id)
        if end is None:
            return run
        return replace(run, status=end.status, error=end.error, error_node=end.node, finished_at=end.finished_at)

    def interrupt_abandoned(self) -> None:
        """Mark the runs whose process is gone. Called when the file is opened: no other process can have it.

        The end of such a run is its last commit, as nothing later is known of it.
        """
        self.settle()
        with self._database.catalog_transaction() as cursor:
            for condition, status, sentence in (
                ("run_id IN (SELECT run_id FROM run_live)", RunStatus.RESUMABLE, _KEPT),
                ("true", RunStatus.INTERRUPTED, _LOST),
            ):
                cursor.execute(
                    "UPDATE runs SET status = ?, error = ?, finished_at = "
                    "(SELECT max(committed_at) FROM run_epochs WHERE run_epochs.run_id = runs.run_id) "
                    f"WHERE status IN ('running', 'paused') AND {condition}",
                    [status.value, sentence],
                )
            _end_warnings(cursor)

    def close(self) -> None:
        """Remove the file, unless the next process has to read it."""
        if not self._owed:
            self._file.unlink(missing_ok=True)

    def _store(self, run_id: int, end: End) -> None:
        with self._database.catalog_transaction() as cursor:
            ended = cursor.execute(
                "UPDATE runs SET status = ?, error = ?, error_node = ?, finished_at = ? WHERE run_id = ? RETURNING 1",
                [end.status.value, end.error, end.node, end.finished_at, run_id],
            ).fetchone()
            if ended is None:
                raise UnknownRun(run_id)
            _end_warnings(cursor)

    def _write(self, how: int = 0) -> None:
        most = _ROOM // 2 // max(1, len(self._owed))
        text = json.dumps({run_id: end.to_json(most) for run_id, end in self._owed.items()})
        try:
            descriptor = os.open(self._file, os.O_WRONLY | how, 0o600)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                file.write(text.encode().ljust(_ROOM))
        except OSError:
            _LOG.warning("there is no room for the ends of runs in %s", self._file)

    def _read(self) -> dict[int, End]:
        try:
            owed = json.loads(self._file.read_bytes())
            return {int(run_id): End.from_json(end) for run_id, end in owed.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            # There is none; or a process was killed while it wrote it.
            return {}


def _end_warnings(cursor: Cursor) -> None:
    """End the warnings of runs that have ended. Few runs have any, and to see that takes a third of the time."""
    if cursor.execute("SELECT 1 FROM run_warnings WHERE over_at IS NULL LIMIT 1").fetchone():
        cursor.execute(_END_WARNINGS)
