"""Where an epoch leaves what lies between its stages: a folder that all workers can write, and who reads and writes it.

No code outside of this module opens a file of a run. On the embedded engine it is a local folder, which DuckDB reads
where it lies. A file gets its name once: a task that Spark repeats writes another one, and only files that a task
has reported count.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.contract.frames import KIND, STEP

_ROW_GROUP: Final = 262_144
# Few kinds and few paths below an event: these shrink to nothing. Numbers and keys do not, and looking costs time.
_REPEATED: Final = [KIND, STEP]


@dataclass(frozen=True)
class Workspace:
    """A run's folder."""

    root: str

    def place(self, *parts: str) -> str:
        """The path of a folder or file in it."""
        return str(Path(self.root, *parts))

    def write(self, path: str, table: pa.Table) -> Path:
        """Write one small file."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return Path(path)

    def save(self, path: str, numbers: Any) -> str:
        """Write an array that many workers read."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        np.save(path, numbers)
        return path

    def load(self, path: str) -> Any:
        """An array that was saved: mapped into memory, so that workers on one machine share it."""
        return np.load(path, mmap_mode="r")

    def read(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of a Parquet file, batch by batch."""
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_ROW_GROUP, columns=list(columns))

    def size(self, path: str) -> int:
        """How many bytes a file has."""
        return Path(path).stat().st_size

    def mapped(self, path: str) -> Sequence[pa.RecordBatch]:
        """The batches of a part file that is mapped into memory: of these what nobody looks at is not read."""
        with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
            return [reader.get_batch(at) for at in range(reader.num_record_batches)]

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.root, ignore_errors=True)


class PartFile:
    """A file that a task writes, batch by batch. It is made with its first rows; without any there is none.

    is_mapped: not Parquet, but what `Workspace.mapped` reads: as large as it is in memory, and nothing to be decoded.
    """

    def __init__(self, path: str, schema: pa.Schema, *, is_mapped: bool = False) -> None:
        self.path = path
        self.rows = 0
        self._schema = schema
        self._is_mapped = is_mapped
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
        if self._waiting_rows >= _ROW_GROUP:
            self._flush()

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Add the rows of several batches."""
        for batch in batches:
            self.write(batch)

    def close(self) -> bool:
        """Complete the file. True where there is one."""
        if self._waiting:
            self._flush()
        if self._file is not None:
            self._file.close()
        return self.rows > 0

    def _flush(self) -> None:
        if self._file is None:
            self._file = self._opened()
        table = pa.Table.from_batches(self._waiting, self._schema)
        self._file.write_table(table.combine_chunks() if self._is_mapped else table, _ROW_GROUP)
        self._waiting, self._waiting_rows = [], 0

    def _opened(self) -> pq.ParquetWriter | pa.ipc.RecordBatchFileWriter:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        if self._is_mapped:
            return pa.ipc.new_file(self.path, self._schema)
        repeated = [name for name in _REPEATED if name in self._schema.names]
        return pq.ParquetWriter(self.path, self._schema, use_dictionary=repeated, compression="lz4")
