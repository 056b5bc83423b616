"""The files between the stages of an epoch: a folder or URI that all workers of an engine can write.

    /tmp/run_7, /Volumes/...      a folder, as the workers see it
    s3a://..., abfss://...        whatever PyArrow's file systems open
    memory:...                    no files: tables of this process, for tasks that run in it

No code outside of this module opens a file of a run. Tasks use this module in the workers; `engine.spark.run_files`
is the app's access to the files. File names are unique: a task that Spark repeats writes a new file, and only
files that a task has reported count.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from engine.contract.frames import KIND, PLACE, SEQ, STEP
from engine.reading.files.buckets import is_bucket, told
from engine.reading.files.storage import file_system, is_uri, open_file
from engine.scratch import make_folder

# Two of DuckDB's row groups. With other sizes it leaves small ones, which it writes again at its next checkpoint.
_ROW_GROUP: Final = 2 * 122_880
# Of files that stay: a page of a changelog is read from one of these.
_PAGE_GROUP: Final = 61_440
# Kinds repeat, and so do paths below an event: dictionaries shrink them. For numbers and keys they only cost time.
_REPEATED: Final = [KIND, STEP]
# Differences of whole numbers and times are half as large as the numbers after LZ4, and faster to write and to read.
_BY_DIFFERENCE: Final = (pa.types.is_int32, pa.types.is_int64, pa.types.is_date32, pa.types.is_timestamp)

_MEMORY: Final = "memory:"
_HELD: Final[dict[str, Any]] = {}


@dataclass(frozen=True)
class Workspace:
    """A run's folder."""

    root: str

    @classmethod
    def in_memory(cls) -> Workspace:
        """A new workspace of this process. What it holds stays until it is removed."""
        return cls(f"{_MEMORY}{uuid4().hex}")

    def place(self, *parts: str) -> str:
        """The path of a folder or file in it."""
        return "/".join((self.root.rstrip("/"), *parts))

    def write(self, path: str, table: pa.Table) -> None:
        """Write one small file."""
        if path.startswith(_MEMORY):
            _HELD[path] = table
            return
        with writing(path) as file:
            pq.write_table(table, file)

    def save(self, path: str, numbers: Any) -> str:
        """Write an array that many workers read."""
        if path.startswith(_MEMORY):
            _HELD[path] = numbers
            return path
        # NumPy tells of a full disk only how many numbers it could write, if it writes to the file by itself.
        whole = io.BytesIO()
        np.save(whole, numbers)
        with writing(path) as file:
            file.write(whole.getbuffer())
        return path

    def load(self, path: str) -> Any:
        """A saved array: mapped into memory, so that workers on one machine share it."""
        if path.startswith(_MEMORY):
            return _HELD[path]
        if is_uri(path):
            with open_file(path) as file:
                return np.load(io.BytesIO(file.read()))
        return np.load(path, mmap_mode="r")

    def read(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of a Parquet file, batch by batch."""
        if path.startswith(_MEMORY):
            table = _HELD[path]
            yield from table.select([name for name in columns if name in table.column_names]).to_batches()
            return
        with open_file(path) as source, pq.ParquetFile(source) as file:
            yield from file.iter_batches(batch_size=_ROW_GROUP, columns=list(columns))

    def size(self, path: str) -> int:
        """The size of a file in bytes."""
        if path.startswith(_MEMORY):
            return int(_HELD[path].nbytes)
        if is_uri(path):
            system, inside = file_system(path)
            with told(path):
                return int(system.get_file_info(inside).size)
        return Path(path).stat().st_size

    def mapped(self, path: str) -> Sequence[pa.RecordBatch]:
        """The batches of a part file that is mapped into memory: columns that are not accessed are not read."""
        if path.startswith(_MEMORY):
            batches: Sequence[pa.RecordBatch] = _HELD[path].to_batches()
            return batches
        with open_file(path) if is_uri(path) else pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
            return [reader.get_batch(at) for at in range(reader.num_record_batches)]

    @property
    def around(self) -> Workspace:
        """The parent folder: that of a live run, which contains its attempts."""
        return Workspace(self.root.rstrip("/").rpartition("/")[0])

    def inside(self, path: str) -> str:
        """The path of a file in it, relative to it."""
        return path.removeprefix(f"{self.root.rstrip('/')}/")

    def sync(self, paths: Iterable[str]) -> None:
        """Sync files, and their folders up to the parent, to disk; object stores need no sync."""
        files = [Path(path) for path in paths if not is_uri(path)]
        around = self.around.root
        folders = {folder for file in files for folder in file.parents if folder.is_relative_to(around)}
        for path in [*files, *sorted(folders)]:
            place = os.open(path, os.O_RDONLY)
            try:
                os.fsync(place)
            finally:
                os.close(place)

    def sweep(self, kept: Iterable[str], epoch: int | None = None) -> None:
        """Delete all files of a live run's attempts but these; of a bounded run, those of the epochs up to this one."""
        (self if epoch is not None else self.around).remove_all_but(kept, epoch)

    def remove_all_but(self, kept: Iterable[str], epoch: int | None = None) -> None:
        """Delete its files except these, and then the empty folders, including itself.

        epoch: only those of the epochs up to it. State of earlier ones is needed until it is merged.
        """
        epochs = None if epoch is None else {f"epoch={number}" for number in range(epoch + 1)}
        if is_uri(self.root):
            system, inside = file_system(self.root)
            kept_paths = {f"{inside}/{self.inside(path)}" for path in kept}
            with told(self.root):
                for file in system.get_file_info(fs.FileSelector(inside, recursive=True, allow_not_found=True)):
                    if epochs is not None and epochs.isdisjoint(file.path.split("/")):
                        continue
                    if file.is_file and file.path not in kept_paths:
                        system.delete_file(file.path)
            return
        names = set(kept)
        for folder, _, own in os.walk(self.root, topdown=False):
            if epochs is not None and epochs.isdisjoint(folder.split("/")):
                continue
            for name in own:
                path = os.path.join(folder, name)
                if path not in names:
                    # A task of a dead client may still be writing there, to files of its own.
                    with contextlib.suppress(OSError):
                        os.unlink(path)
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def names(self, folder: str) -> list[str]:
        """The names of the files in one of its folders; none if there is no such folder."""
        if is_uri(folder):
            system, inside = file_system(folder)
            with told(folder):
                files = system.get_file_info(fs.FileSelector(inside, allow_not_found=True))
            return [file.base_name for file in files if file.is_file]
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []

    def exists(self) -> bool:
        """Whether any of it exists."""
        system, inside = file_system(self.root)
        with told(self.root):
            return bool(system.get_file_info([inside])[0].type.value)

    def remove(self) -> None:
        """Remove all of it."""
        if self.root.startswith(_MEMORY):
            # Other threads add to it.
            for path in [path for path in list(_HELD) if path.startswith(f"{self.root}/")]:
                del _HELD[path]
        elif is_uri(self.root):
            system, inside = file_system(self.root)
            with told(self.root):
                system.delete_dir_contents(inside, missing_dir_ok=True)
                if self.exists():
                    system.delete_dir(inside)
        else:
            shutil.rmtree(self.root, ignore_errors=True)


def writing(path: str) -> IO[bytes]:
    """A new file of a workspace, to write sequentially. Its folder is created, unless the run has ended."""
    if is_uri(path):
        system, inside = file_system(path)
        with told(path):
            if not is_bucket(path):
                system.create_dir(inside.rpartition("/")[0], recursive=True)
            return cast(IO[bytes], _Written(path, system.open_output_stream(inside)))
    make_folder(Path(path).parent)
    return Path(path).open("wb")


class _Written(io.RawIOBase):
    """A new object. It appears when it is closed."""

    def __init__(self, uri: str, stream: Any) -> None:
        self._uri = uri
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        with told(self._uri):
            self._stream.write(content)
        return memoryview(content).nbytes

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        if not self.closed:
            super().close()
            with told(self._uri):
                self._stream.close()


class PartFile:
    """A file that a task writes in batches. It is created with its first rows; without rows there is no file.

    is_mapped: in the format for `Workspace.mapped` instead of Parquet: as large as in memory, without decoding.
    stays: it is read by position, again and again.
    """

    def __init__(self, path: str, schema: pa.Schema, *, is_mapped: bool = False, stays: bool = False) -> None:
        self.path = path
        self.rows = 0
        self._schema = schema
        self._is_mapped = is_mapped
        self._stays = stays
        self._group = _PAGE_GROUP if stays else _ROW_GROUP
        self._stream: IO[bytes] | None = None
        self._file: pq.ParquetWriter | pa.ipc.RecordBatchFileWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        if not batch.num_rows:
            return
        self.rows += batch.num_rows
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        if self._waiting_rows >= self._group and not self.path.startswith(_MEMORY):
            self._flush(self._waiting_rows - self._waiting_rows % self._group)

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Add the rows of several batches."""
        for batch in batches:
            self.write(batch)

    def close(self) -> bool:
        """Complete the file. True if there is one."""
        if self._waiting and self.path.startswith(_MEMORY):
            _HELD[self.path] = pa.Table.from_batches(self._waiting, self._schema)
        elif self._waiting:
            self._flush(self._waiting_rows)
        if self._file is not None and self._stream is not None:
            self._file.close()
            self._stream.close()
        return self.rows > 0

    def _flush(self, rows: int) -> None:
        if self._file is None:
            self._file = self._opened()
        waiting = pa.Table.from_batches(self._waiting, self._schema)
        table = waiting.slice(0, rows)
        self._file.write_table(table.combine_chunks() if self._is_mapped else table, self._group)
        self._waiting = waiting.slice(rows).to_batches()
        self._waiting_rows -= rows

    def _opened(self) -> pq.ParquetWriter | pa.ipc.RecordBatchFileWriter:
        self._stream = writing(self.path)
        if self._is_mapped:
            return pa.ipc.new_file(self._stream, self._schema)
        return pq.ParquetWriter(
            self._stream,
            self._schema,
            use_dictionary=[name for name in _REPEATED if name in self._schema.names],
            column_encoding={
                field.name: "DELTA_BINARY_PACKED"
                for field in self._schema
                # Parquet names the parts of a row with dots, too.
                if "." not in field.name and any(is_(field.type) for is_ in _BY_DIFFERENCE)
            },
            compression="lz4",
            # Nothing looks for a part of other files by its values.
            write_statistics=[PLACE, SEQ] if self._stays else False,
        )
