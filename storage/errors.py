"""The errors of the store, each with a sentence for the user.

    StoreError                      one clear sentence for the user
    ├── StoreUnavailable            the file cannot be opened
    │   ├── StoreLocked             another process has it
    │   ├── StoreTooNew             a newer studio wrote it
    │   ├── StoreUnreadable         not a store, no permission
    │   ├── StoreDamaged            parts of the file are missing or were changed by something else
    │   └── StoreForeign            a database of something else
    ├── StoreWriteFailed            a full disk or another error while writing: the change was rolled back
    ├── TextRefused                 a text with half of a character, written or looked for
    ├── StoreReadFailed             a query of the studio itself was interrupted, or needs too much memory or disk
    ├── StayingRecordsAway          records that stay in an engine's workspace cannot be read
    ├── UnknownPipeline             no pipeline (or version) with that number
    ├── UnknownRun                  no run with that number
    ├── RunIsRunning                a run that is running or paused cannot be deleted
    ├── UnknownEdge                 the run has no such node or port
    ├── UnknownColumn               the edge has no such column
    ├── EpochRefused                an epoch that cannot follow the stored ones
    ├── ExportFailed                the file to download could not be written
    ├── NothingToRecord             a run whose sources have emitted nothing
    ├── NoRoomForEpoch              the disk has no room for another epoch of a run
    ├── RecordsNotKept              the run keeps only a part of the records that something needs
    ├── RecordingFailed             the files of a recording could not be written
    └── QueryError                  a person's own SQL
        ├── QueryRefused            it is no query, or reads something outside the store
        ├── QueryFailed             DuckDB could not answer it
        └── QueryStopped            it reached a limit

A class keeps its facts as attributes and writes its own sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.contract.recorder import RecorderError
from engine.errors import available, shortened, shown, unknown_name
from engine.model.options import KEEP_EDGES, KEEP_KEYS


def printable(path: Path) -> str:
    """A path for use in a sentence: shortened, with non-printable characters escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shortened(str(path)))


class StoreError(RecorderError):
    """The root: `str(error)` is a sentence for the user."""

    def __init__(self, sentence: str) -> None:
        super().__init__(shown(sentence))


class StoreUnavailable(StoreError):
    """The file cannot be opened."""


class StoreLocked(StoreUnavailable):
    """Another process has the file; `pid` is 0 if DuckDB does not report it."""

    def __init__(self, path: Path, pid: int = 0) -> None:
        self.path = path
        self.pid = pid
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"the store {path} is in use by {who}. Stop that process first, or use another file: set "
            "CHANGELOG_STUDIO_STORE or --store."
        )


class StoreTooNew(StoreUnavailable):
    """A newer studio wrote the file. It is left as it is."""

    def __init__(self, path: Path, version: int, known: int) -> None:
        self.path = path
        self.version = version
        self.known = known
        super().__init__(
            f"the store {path} has version {version}, and this studio reads up to {known}. "
            "Update the studio, or use another file: set CHANGELOG_STUDIO_STORE or --store."
        )


class StoreUnreadable(StoreUnavailable):
    """The file is not a store, or may not be read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"the store {printable(path)} cannot be opened: {reason} "
            "Move it away or use another file: set CHANGELOG_STUDIO_STORE or --store."
        )


class StoreDamaged(StoreUnavailable):
    """Parts of the file are missing, or differ from the data that was written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"the store {path} is damaged: {reason} Restore a copy of it, or use another file: set "
            "CHANGELOG_STUDIO_STORE or --store."
        )


class StoreForeign(StoreUnavailable):
    """A database of another program. It is left as it is."""

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        self.path = path
        self.tables = tuple(tables)
        super().__init__(
            f"{path} is not a store of the studio but a database with other tables ({', '.join(tables)}). It is left "
            "as it is. Use another file, which need not exist: set CHANGELOG_STUDIO_STORE or --store."
        )


class StoreWriteFailed(StoreError):
    """Writing failed and was rolled back; what was stored before is intact."""

    def __init__(self, path: Path, reason: str, *, full: bool = False) -> None:
        self.path = path
        self.reason = reason
        self.full = full
        what = "the disk is full" if full else "writing failed"
        todo = "Free some space and try again" if full else "Try again"
        super().__init__(
            f"{what} at the store {path}: {reason} The change was rolled back and everything stored before "
            f"is intact. {todo}."
        )


class NoRoomForEpoch(StoreError):
    """The disk has no room for another epoch of a run. needed, free: bytes. The epochs so far are stored."""

    def __init__(self, path: Path, last_seq: int, *, needed: int, free: int) -> None:
        self.path = path
        self.needed = needed
        self.free = free
        super().__init__(
            f"the run was stopped after event {last_seq:,}, up to which all is stored: another epoch needs about "
            f"{needed / 1e6:,.0f} MB beside the store {printable(path)}, and {free / 1e6:,.0f} MB are free. Make room, "
            f"delete runs, or keep less ({KEEP_EDGES.title!r}, {KEEP_KEYS.title!r} in the pipeline's options)."
        )


class TextRefused(StoreError):
    """A text that no file accepts."""

    def __init__(self) -> None:
        super().__init__(
            "a name or a text has half of a character (a lone surrogate, such as \\ud800), which no file accepts. Type "
            "it again. Nothing was changed."
        )


class StoreReadFailed(StoreError):
    """A query of the studio failed: it was interrupted, or needed more memory or disk than there is."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"reading the store {path} failed: {reason} Nothing was changed. Try again.")


class StayingRecordsAway(StoreError):
    """Records that stay in an engine's workspace cannot be read from this machine."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the changelog stays in the engine's workspace, which cannot be read now. {reason}")


class UnknownPipeline(StoreError):
    """There is no pipeline (or no such version of it)."""

    def __init__(self, pipeline_id: int, version: int | None = None, known: Sequence[int] = ()) -> None:
        self.pipeline_id = pipeline_id
        self.version = version
        if version is None:
            super().__init__(f"there is no pipeline {pipeline_id}; it may have been deleted.")
        else:
            super().__init__(
                f"pipeline {pipeline_id}: unknown version {version}. {available(str(version), map(str, known))}."
            )


class UnknownRun(StoreError):
    """There is no run with this number."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        super().__init__(f"there is no run {run_id}; it may have been deleted.")


class UnknownEdge(StoreError):
    """The run has no output with this node and port."""

    def __init__(self, run_id: int, node: str, port: str, known: Sequence[str]) -> None:
        self.run_id = run_id
        self.node = node
        self.port = port
        name = node if port == "out" else f"{node}.{port}"
        edges = available(name, known or ("none: it failed before its first epoch",))
        super().__init__(f"run {run_id}: unknown edge {name!r}. {edges}.")


class UnknownColumn(StoreError):
    """The edge has no column with this name."""

    def __init__(self, node: str, name: str, known: Sequence[str]) -> None:
        self.node = node
        self.name = name
        super().__init__(f"{node}: {unknown_name('column', name, known)}.")


class EpochRefused(StoreError):
    """An epoch cannot follow the stored ones."""

    def __init__(self, run_id: int, epoch: int, reason: str) -> None:
        self.run_id = run_id
        self.epoch = epoch
        super().__init__(f"epoch {epoch} of run {run_id} cannot be stored: {reason}")


class ExportFailed(StoreError):
    """A changelog could not be written to a file."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(f"the export to {path} failed: {reason}")


class NothingToRecord(StoreError):
    """The sources of a run have emitted nothing to record."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id} has no records yet: its first epoch is not complete.")


class RecordsNotKept(StoreError):
    """A run has kept only a part of the records that something needs. outputs: the names of these edges."""

    def __init__(self, run_id: int, outputs: Sequence[str]) -> None:
        self.run_id = run_id
        self.outputs = tuple(outputs)
        super().__init__(
            f"run {run_id} has not kept all records of {', '.join(outputs)}. Clear {KEEP_EDGES.title!r}, set "
            f"{KEEP_KEYS.title!r} to 1 in the pipeline's options, and run it again."
        )


class RecordingFailed(StoreError):
    """A recording could not be written; its files were removed."""

    def __init__(self, run_id: int, reason: str) -> None:
        self.run_id = run_id
        super().__init__(f"the recording of run {run_id} could not be written beside the store: {reason}")


class RunIsRunning(StoreError):
    """A run that is running or paused cannot be deleted."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id} is still running. Cancel or stop it first, then delete it.")


class QueryError(StoreError):
    """A person's own SQL gave no result. line: the line of the error in the text, from 1; 0 if unknown."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.reason = reason
        self.line = line
        super().__init__(reason)


class QueryRefused(QueryError):
    """The query is not allowed; nothing was run."""


class QueryFailed(QueryError):
    """DuckDB could not answer the query."""


class QueryStopped(QueryError):
    """The query reached the limit on time, on memory or on the size of its result."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the query was stopped: {reason}. Filter earlier, or join and group less.")
