"""Exports of changelogs and tables into folders and buckets, in the background, independent of any session."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from engine.contract.cancel import Cancel
from engine.contract.target import Unreachable
from engine.errors import RunCancelled, StudioError
from engine.reading.files.buckets import without_secret
from engine.scratch import scratch
from engine.writing import partitions
from storage import Store, default_path
from storage.errors import StoreError
from ui.shell import words, workspace

_LOG: Final = logging.getLogger(__name__)
_EVERY_S: Final = 0.1
_UNEXPECTED: Final = "an unexpected error occurred; the details are in the app's log."


@dataclass
class FolderExport:
    """An export that goes on, or has ended: with a sentence, or an error.

    what: a word for its rows, of: where these are from, in Markdown. rows, total: those that are written, and all; a
    total of 0 while they are collected.
    """

    run_id: int
    what: str
    of: str
    place: Path | str
    partition_by: tuple[str, ...]
    collect: Callable[[Path], int]
    cancel: Cancel = field(default_factory=Cancel)
    rows: int = 0
    total: int = 0
    collected: float = 0.0
    sentence: str = ""
    error: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended."""
        return not self.sentence and not self.error

    @property
    def part(self) -> float:
        """The part that is done, from 0 to 1: collecting and writing are a half each."""
        return 0.5 * self.collected if not self.total else 0.5 + 0.5 * self.rows / self.total

    @property
    def shown(self) -> str:
        """The place, without a secret that its URI may have."""
        return without_secret(str(self.place))


@dataclass
class FolderExports:
    """The exports of a store: each is shown until it is put away."""

    store: Store
    known: list[FolderExport] = field(default_factory=list)

    def start(self, export: FolderExport) -> None:
        """Begin to write."""
        self.known.append(export)
        threading.Thread(target=self._write, args=(export,), name="changelog-studio-export", daemon=True).start()

    def of(self, run_id: int) -> list[FolderExport]:
        """Those of a run."""
        return [export for export in self.known if export.run_id == run_id]

    def put_away(self, export: FolderExport) -> None:
        """Show it no more."""
        if export in self.known:
            self.known.remove(export)

    def _write(self, export: FolderExport) -> None:
        try:
            export.sentence = self._written(export)
        except RunCancelled:
            export.error = f"the export to {export.shown} was cancelled. Nothing of it is left."
        except (StudioError, StoreError, Unreachable) as error:
            export.error = str(error)
        except Exception:  # noqa: BLE001 - a thread has nobody above it
            _LOG.exception("an export failed")
            export.error = _UNEXPECTED

    def _written(self, export: FolderExport) -> str:
        def note(rows: int, total: int) -> None:
            export.rows, export.total = rows, total
            if export.cancel.is_set():
                raise export.cancel.error()

        with scratch("export") as folder:
            file = folder / "whole.parquet"
            collecting = self.store.follow(lambda: export.collect(file))
            while not collecting.wait(_EVERY_S):
                export.collected = collecting.progress or export.collected
                if export.cancel.is_set():
                    collecting.end()
                    raise export.cancel.error()
            rows = collecting.answer()
            files = partitions.export(file, export.place, export.partition_by, note)
        wrote = f"{words.count(rows, export.what)} of {export.of} in {words.count(files, 'file')}"
        return f"{wrote} below {words.code(export.shown)}."


def folder_exports() -> FolderExports:
    """The exports of this process."""
    return _exports(default_path())


@cache
def _exports(path: Path) -> FolderExports:
    return FolderExports(workspace.store())
