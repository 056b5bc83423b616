"""Leftovers of killed processes: folders of runs beside the store, temporary files, workspaces of engines.

A run on an engine that shares no files with this machine has a workspace there.

Before a run uses a workspace, its name is noted beside the store; the note is deleted once the workspace is empty. The
next start empties the workspaces that a killed app left. If an engine is not available then, the start after that
tries again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from engine.scratch import scratch, sweep
from ui.engines.known import engine_of, master_of, without_tokens

_SUFFIX: Final = ".workspace"
_GONE: Final = "gone-"
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Leftover:
    """A workspace in use: the engine's name, the run's name in its workspace, and the file of the note."""

    engine: str
    name: str
    note: Path

    def forget(self) -> None:
        """Delete the note, because the workspace is empty."""
        self.note.unlink(missing_ok=True)


def work_folder(store: Path) -> Path:
    """The folder beside the store for the files that runs need while they execute."""
    return store.with_name(f"{store.stem}.work")


def note_workspace(work: Path, engine: str, name: str) -> Leftover:
    """Note that a run is about to use a workspace. work: the run's folder beside the store."""
    leftover = Leftover(engine, name, work.with_name(work.name + _SUFFIX))
    leftover.note.parent.mkdir(parents=True, exist_ok=True)
    leftover.note.write_text(json.dumps({"engine": engine, "workspace": name}), encoding="utf-8")
    return leftover


def leftovers(folder: Path) -> list[Leftover]:
    """The workspaces noted in the folder beside the store."""
    noted = []
    for note in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            written = json.loads(note.read_text(encoding="utf-8"))
            noted.append(Leftover(str(written["engine"]), str(written["workspace"]), note))
        except (OSError, ValueError, KeyError, TypeError):
            _LOG.warning("%s names no workspace", note)
    return noted


def remove_folders(work: Path) -> threading.Thread:
    """Remove the folders of runs beside the store and unused temporary files, in the background.

    All runs of these folders must have ended.
    """
    for folder in work.glob("run_*"):
        if folder.is_dir():
            # A live run that is resumed has a folder of the same name.
            with contextlib.suppress(OSError):
                folder.rename(folder.with_name(f"{_GONE}{folder.name}-{uuid4().hex}"))

    def remove() -> None:
        for folder in work.glob(f"{_GONE}*"):
            shutil.rmtree(folder, ignore_errors=True)
        sweep()

    thread = threading.Thread(target=remove, name="changelog-studio-sweep", daemon=True)
    thread.start()
    return thread


def empty(leftover: Leftover) -> bool:
    """Empty a workspace and delete its note. False, with a line in the log, if the engine cannot do that now."""
    from engine.spark.run_files import files_of
    from engine.spark.session import get_spark

    try:
        master = master_of(leftover.engine)
        engine = engine_of(master)
        # The engine may have lost its workspace since; then there is nothing to empty.
        if engine.workspace:
            with scratch("emptying") as here:
                files_of(engine, get_spark(master), here / "run", leftover.name).remove()
        leftover.forget()
    except Exception as error:  # noqa: BLE001 - it may be anything of Spark's; the next start tries again
        _LOG.warning(
            "the workspace %s on %s could not be emptied: %s",
            leftover.name,
            leftover.engine,
            without_tokens(str(error)),
        )
        return False
    return True


def empty_in_background(
    to_empty: list[Leftover], after_s: float = 0, then: Callable[[], Sequence[str]] | None = None
) -> threading.Thread | None:
    """Empty these workspaces one after the other, after a delay; None if there is nothing to do.

    then: further work, which returns sentences for the log.
    """
    if not to_empty and then is None:
        return None

    def work() -> None:
        time.sleep(after_s)
        for leftover in to_empty:
            empty(leftover)
        for sentence in then() if then is not None else ():
            _LOG.warning("%s", without_tokens(sentence))

    thread = threading.Thread(target=work, name="changelog-studio-leftovers", daemon=True)
    thread.start()
    return thread
