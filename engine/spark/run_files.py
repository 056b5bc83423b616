"""The app's access to the files of a run: directly, or through the engine.

    LocalFiles      the workers see the files of this machine: DuckDB reads the run's folder in place
    FetchedFiles    they do not: the workspace is the engine's, inputs are uploaded and results downloaded

All data crosses the session as pieces of files: neither the app nor the server holds more than some of them at once.
Downloaded files are in a folder of this machine, under the same names.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa

from engine.contract.recorder import EpochOutput
from engine.contract.sending import sent
from engine.reading.files.storage import open_file
from engine.scratch import scratch
from engine.spark.workspace import Workspace, writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.spark.engines import Engine

_Sized = TypeVar("_Sized")
_PIECE: Final = 1 << 20
# The bytes that are sent or requested at once: the server buffers them until they are read.
_GROUP: Final = 64 << 20
_TASK: Final = 8 << 20
_LOOKS: Final = 20
_LOOK_S: Final = 0.3
_PIECES: Final = pa.schema([("file", pa.int32()), ("at", pa.int64()), ("bytes", pa.binary())])
_PIECES_DDL: Final = "file INT, at BIGINT, bytes BINARY"


class RunFiles(Protocol):
    """The files of one run. workspace: the tasks' view of them."""

    @property
    def workspace(self) -> Workspace:
        """The place where tasks read and write."""

    @property
    def are_here(self) -> bool:
        """Whether files of the workspace are files of this machine."""

    def write(self, path: str, table: pa.Table) -> None:
        """Write one small file into the workspace."""

    def size(self, paths: Sequence[str]) -> int:
        """The total size of some files of the workspace in bytes."""

    def names(self, folder: str) -> Sequence[str]:
        """The names of the files in a folder of the workspace."""

    def bring(self, paths: Iterable[str]) -> Mapping[str, Path]:
        """Fetch files of the workspace; returns their paths on this machine."""

    def there(self, path: str) -> str:
        """The path in the workspace of a file that was fetched."""

    def send(self, files: Iterable[Path]) -> Mapping[str, str]:
        """Make files of this machine available to the workers; returns their paths there."""

    def forget(self) -> None:
        """Delete the fetched files, which are no longer needed."""

    def sync(self, paths: Iterable[str]) -> None:
        """Wait until some files of the workspace are on disk, safe from a power failure."""

    def sweep(self, kept: Iterable[str], epoch: int | None = None) -> None:
        """Delete all files of a live run's attempts but these; of a bounded run, those of stored epochs."""

    def remove(self) -> None:
        """Empty the workspace."""


@dataclass(frozen=True)
class LocalFiles:
    """A folder of this machine that the workers see too."""

    folder: Path

    @property
    def workspace(self) -> Workspace:
        """The folder."""
        return Workspace(str(self.folder))

    @property
    def are_here(self) -> bool:
        """Always True."""
        return True

    def write(self, path: str, table: pa.Table) -> None:
        """Write it."""
        self.workspace.write(path, table)

    def size(self, paths: Sequence[str]) -> int:
        """From the file system."""
        return sum(map(self.workspace.size, paths))

    def names(self, folder: str) -> Sequence[str]:
        """From the file system."""
        return self.workspace.names(folder)

    def bring(self, paths: Iterable[str]) -> Mapping[str, Path]:
        """The files are on this machine already."""
        return {path: Path(path) for path in paths}

    def there(self, path: str) -> str:
        """The same path."""
        return path

    def send(self, files: Iterable[Path]) -> Mapping[str, str]:
        """The workers see the same paths."""
        return {str(file): str(file) for file in files}

    def forget(self) -> None:
        """There are no copies to delete."""

    def sync(self, paths: Iterable[str]) -> None:
        """Sync the files."""
        self.workspace.sync(paths)

    def sweep(self, kept: Iterable[str], epoch: int | None = None) -> None:
        """Delete the other files."""
        self.workspace.sweep(kept, epoch)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class FetchedFiles:
    """A workspace of an engine that shares no files with this machine. folder: local, for fetched files."""

    workspace: Workspace
    spark: SparkSession
    folder: Path
    _here: dict[str, Path] = field(default_factory=dict)

    @property
    def are_here(self) -> bool:
        """Always False."""
        return False

    def write(self, path: str, table: pa.Table) -> None:
        """Write it in a task."""
        self._each([partial(self.workspace.write, path, table)])

    def size(self, paths: Sequence[str]) -> int:
        """From tasks."""
        return sum(self._sizes(paths))

    def names(self, folder: str) -> Sequence[str]:
        """From a task."""
        return str(self._each([partial(_names, self.workspace, folder)])[0]).split()

    def bring(self, paths: Iterable[str]) -> Mapping[str, Path]:
        """Fetch the files that are not here yet."""
        wanted = list(paths)
        missing = sorted({path for path in wanted if path not in self._here})
        for group in _in_groups(_ranges(missing, self._sizes(missing))):
            self._fetch(group)
        self._here.update({path: self._local(path) for path in missing})
        return {path: self._here[path] for path in wanted}

    def there(self, path: str) -> str:
        """The path with the same name."""
        return self.workspace.place(str(Path(path).relative_to(self.folder)))

    def send(self, files: Iterable[Path]) -> Mapping[str, str]:
        """Upload them."""
        places = {file: self.workspace.place("uploads", uuid4().hex, file.name) for file in sorted(set(files))}
        for group in _in_groups((file, file.stat().st_size) for file in places):
            self._upload({file: places[file] for file in group})
        return {str(file): place for file, place in places.items()}

    def forget(self) -> None:
        """Empty the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._here.clear()

    def sync(self, paths: Iterable[str]) -> None:
        """Sync the files in a task."""
        if names := list(paths):
            self._each([partial(self.workspace.sync, names)])

    def sweep(self, kept: Iterable[str], epoch: int | None = None) -> None:
        """Delete the other files in a task; of an epoch also those that were fetched."""
        if epoch is not None:
            self.forget()
        self._each([partial(self.workspace.sweep, frozenset(kept), epoch)])

    def remove(self) -> None:
        """Empty the workspace in a task, and remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._each([partial(_empty, self.workspace)])

    def _local(self, path: str) -> Path:
        return self.folder / path.removeprefix(self.workspace.root).lstrip("/")

    def _sizes(self, paths: Sequence[str]) -> list[int]:
        size = self.workspace.size
        return [int(byte_count) for byte_count in self._each([partial(size, path) for path in paths])]

    def _each(self, works: Sequence[Any]) -> list[Any]:
        """Call these in tasks, and return their results in order."""
        if not works:
            return []

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for at in batch.column(0).to_pylist():
                    answer = works[at]()
                    yield pa.RecordBatch.from_pydict({"at": [at], "answer": ["" if answer is None else str(answer)]})

        tasks = self.spark.range(0, len(works), 1, min(len(works), _TASKS))
        rows = tasks.mapInArrow(sent(task), "at BIGINT, answer STRING").collect()
        return [answer for _, answer in sorted(rows)]

    def _fetch(self, pieces: Sequence[tuple[str, int, int]]) -> None:
        """Fetch ranges (path, start, length) of files, in order."""

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    path, start, length = pieces[number]
                    with open_file(path) as file:
                        file.seek(start)
                        for at in range(start, start + length, _PIECE):
                            read = file.read(min(_PIECE, start + length - at))
                            yield pa.RecordBatch.from_arrays([[number], [at], [read]], schema=_PIECES)

        frame = self.spark.range(0, len(pieces), 1, min(len(pieces), _TASKS)).mapInArrow(sent(task), _PIECES_DDL)
        for number, at, read in frame.toLocalIterator():
            local = self._local(pieces[number][0])
            if at == 0:
                local.parent.mkdir(parents=True, exist_ok=True)
                local.write_bytes(b"")
            with local.open("r+b") as file:
                file.seek(at)
                file.write(read)

    def _upload(self, places: Mapping[Path, str]) -> None:
        """Send files as artifacts of separate sessions, which end afterwards, and let a task move them.

        Small files share one session: each session has its own Python workers, which import everything again.
        """
        session = self.spark.newSession()
        try:
            with scratch("upload") as folder:
                # The artifact's name must not contain certain characters.
                links = [folder / f"uploaded-{at}" for at in range(len(places))]
                for file, link in zip(places, links, strict=True):
                    os.symlink(file.absolute(), link)
                session.addArtifacts(*map(str, links), file=True)
            names = {link.name: place for link, place in zip(links, places.values(), strict=True)}
            replace(self, spark=session)._each([partial(_move_in, names)])
        finally:
            session.stop()


# The number of tasks started at once: each may have several files.
_TASKS: Final = 16


def _empty(workspace: Workspace) -> None:
    """Remove it until it stays empty: a cancelled task may still be writing."""
    for _ in range(_LOOKS):
        workspace.remove()
        time.sleep(_LOOK_S)
        if not workspace.exists():
            return


def _names(workspace: Workspace, folder: str) -> str:
    return " ".join(workspace.names(folder))


def _move_in(places: Mapping[str, str]) -> None:
    """Copy the artifacts of this session, by their names, into the workspace."""
    from pyspark import SparkFiles

    for name, place in places.items():
        with open(SparkFiles.get(name), "rb") as uploaded, writing(place) as file:
            shutil.copyfileobj(uploaded, file, _PIECE)


def _ranges(paths: Sequence[str], sizes: Sequence[int]) -> Iterator[tuple[tuple[str, int, int], int]]:
    """The files as ranges (path, start, length), each no larger than a task's share, with the length."""
    for path, size in zip(paths, sizes, strict=True):
        for start in range(0, max(size, 1), _TASK):
            length = min(_TASK, size - start)
            yield (path, start, length), length


def _in_groups(sized: Iterable[tuple[_Sized, int]]) -> Iterator[list[_Sized]]:
    """Items with these sizes in groups, each no larger than the transfer limit, or of one larger item."""
    group: list[_Sized] = []
    held = 0
    for member, size in sized:
        if group and held + size > _GROUP:
            yield group
            group, held = [], 0
        group.append(member)
        held += size
    if group:
        yield group


def files_of(engine: Engine, spark: SparkSession, folder: Path, name: str) -> RunFiles:
    """The files of a run on an engine. folder: an empty local one; name: of the run, for a workspace."""
    if not engine.workspace:
        return LocalFiles(folder)
    return FetchedFiles(Workspace(f"{engine.workspace.rstrip('/')}/{name}"), spark, folder)


def live_files(engine: Engine, spark: SparkSession, state: Path, run: str) -> RunFiles:
    """The files of an attempt of a live run. state: the run's folder on this machine; run: its name."""
    attempt = f"attempt-{uuid4().hex}"
    if engine.workspace:
        # Files that a killed attempt had fetched; the folder has no others.
        shutil.rmtree(state, ignore_errors=True)
    return files_of(engine, spark, state / attempt, f"{live_folder(run)}/{attempt}")


def live_folder(run: str) -> str:
    """The name of a live run's folder in an engine's workspace, kept while the run can continue. run: its name."""
    return f"changelog-studio-live-{run}"


@contextmanager
def temporary_files(engine: Engine, spark: SparkSession) -> Iterator[RunFiles]:
    """The files of a run, removed afterwards."""
    with scratch("run") as folder:
        files = files_of(engine, spark, folder / "run", f"changelog-studio-{uuid4().hex}")
        try:
            yield files
        finally:
            if not files.are_here:
                files.remove()


def brought(files: RunFiles, output: EpochOutput) -> EpochOutput:
    """An epoch's output with its files on this machine, without those of edges that stay in the workspace."""
    here = files.bring(dict.fromkeys(_paths(output)))
    return _placed(output, lambda path: str(here[path]))


def there(files: RunFiles, output: EpochOutput) -> EpochOutput:
    """The reverse: fetched files, by their paths for the workers."""
    return _placed(output, files.there)


def _paths(output: EpochOutput) -> Iterator[str]:
    for edge in (own for place, own in output.edges.items() if place not in output.staying):
        yield from (file.path for file in edge)
    yield from (clock.path for clock in output.clocks)
    for own in (
        output.watermarks,
        output.late,
        output.fires,
        output.rejected,
        output.expired,
        *output.key_times.values(),
    ):
        yield from own


def _placed(output: EpochOutput, place: Callable[[str], str]) -> EpochOutput:
    def placed(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(place, paths))

    return replace(
        output,
        edges={
            edge: own if edge in output.staying else tuple(replace(file, path=place(file.path)) for file in own)
            for edge, own in output.edges.items()
        },
        clocks=tuple(replace(clock, path=place(clock.path)) for clock in output.clocks),
        watermarks=placed(output.watermarks),
        late=placed(output.late),
        fires=placed(output.fires),
        rejected=placed(output.rejected),
        key_times={node: placed(own) for node, own in output.key_times.items()},
        expired=placed(output.expired),
    )
