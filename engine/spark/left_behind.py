"""Jobs that a killed process left on one of the studio's servers: the next process that runs jobs there ends them.

Spark itself notices after three minutes that a client has disappeared; until then its tasks occupy the cores.

    servers/<digest>/jobs/<tag>     locked by the process whose jobs have this tag, while it runs them
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.spark.servers import Server

_JOBS: Final = "jobs"
_DRAFT: Final = "."


@contextmanager
def at_work(server: Server, tag: str) -> Iterator[None]:
    """Note that this process has jobs with this tag on the server; if it is killed, others end them."""
    note = server.folder / _JOBS / tag
    lock: int | None = None
    # The run continues without the note: others just cannot end its jobs.
    with contextlib.suppress(OSError):
        note.parent.mkdir(exist_ok=True)
        lock = _locked(note)
    try:
        yield
    finally:
        if lock is not None:
            note.unlink(missing_ok=True)
            os.close(lock)


def end_left(spark: SparkSession, server: Server) -> None:
    """End the jobs of processes that no longer exist."""
    for note in _abandoned(server.folder / _JOBS):
        # A job that ended by itself needs nothing.
        with contextlib.suppress(Exception):
            spark.interruptTag(note.name)
        note.unlink(missing_ok=True)


def _locked(note: Path) -> int:
    """Create a note that is never visible without its lock."""
    draft = note.with_name(f"{_DRAFT}{uuid4().hex}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.replace(note)
    except OSError:
        draft.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return descriptor


def _abandoned(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for note in sorted(folder.iterdir()):
            if not note.name.startswith(_DRAFT) and _is_free(note):
                yield note


def _is_free(note: Path) -> bool:
    try:
        with note.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
