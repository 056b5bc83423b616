"""The disk that a run's files are on: the run ends, with a sentence, before it is full.

Others write there too: the store, which has what the run has committed, and other programs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final

from engine.contract.cancel import Cancel
from engine.spark.run_files import RunFiles

# What stays free: some seconds of writing, but little of a small disk.
_LEFT_BYTES: Final = 256 << 20
_LEFT_OF_ALL: Final = 50
_LOOK_S: Final = 0.5


def no_room(files: RunFiles, what: str = "") -> str:
    """The sentence with which a run without room for its files ends. what: more about it."""
    root = files.workspace.root
    advice = "or choose another workspace"
    if files.are_here:
        is_temporary = Path(root).is_relative_to(tempfile.gettempdir())
        advice = "or set TMPDIR to another folder" if is_temporary else "or have the store on another disk"
    return f"there is no room left where the run keeps its files, in {root}{what}. Make room there, {advice}."


@contextmanager
def ends_before_full(files: RunFiles, cancel: Cancel) -> Iterator[None]:
    """Within it, a run whose disk is nearly full ends. Files of a remote engine are not watched."""
    if not files.are_here:
        yield
        return
    done = Event()

    def watch() -> None:
        while not (done.wait(_LOOK_S) or cancel.is_set()):
            # Once its folder is removed, the run has ended.
            with suppress(OSError):
                disk = shutil.disk_usage(Path(files.workspace.root))
                if disk.free < min(_LEFT_BYTES, disk.total // _LEFT_OF_ALL):
                    cancel.is_failure = True
                    cancel.why = no_room(files, f": it was ended with {disk.free / 1e6:,.0f} MB free")
                    cancel.set()

    Thread(target=watch, name="disk", daemon=True).start()
    try:
        yield
    finally:
        done.set()
