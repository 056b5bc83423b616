"""Parquet files in a folder or a bucket, with a manifest for each epoch.

    <partition>/epoch-000000012.RUN.SINK.parquet      the records of an epoch, a file for each partition
    <partition>/table-000000064.RUN.SINK.parquet      a table by key: the rows after an epoch, in place of older files
    _epochs/RUN.SINK/000000012.json                   the manifest, written last: the epoch is there from now on

A changelog has the columns seq, step and kind before its own; appended rows have their own only. Each manifest of both
names the files of its epoch. A table by key has, for each epoch, the last change of each key, with seq and kind (+U or
-D). The newest manifest names all files of the table, in order: of each key, the last row counts, unless it is a -D.
`_table.sql` reads the table with DuckDB. When there are many changes they are merged into a file of rows; what it
replaces stays until the next merge, for those who read it.

Names follow from the run, the sink and the epoch, and content from its records: an epoch that is written again after a
failure replaces itself. Partitions are folders as in Hive (`day=2026-11-28`); files lack the columns that these name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.contract.frames import KIND, SEQ, STEP
from engine.contract.target import SinkMode, Writing
from engine.errors import TargetError
from engine.model.changelog import SYMBOLS, RowKind
from engine.model.free_names import free_name
from engine.model.types import literal
from engine.reading.tables.databases import identifier
from engine.writing.folders import Folder
from engine.writing.last_per_key import is_deleting, last_per_key
from engine.writing.partitions import as_file, divided, folders_of

_EPOCHS: Final = "_epochs"
_RECIPE: Final = "_table.sql"
_DIGITS: Final = 9
# Files and rows of changes from which on they are merged; rows also count from as many as the table has.
_MANY_FILES: Final = 64
_MANY_ROWS: Final = 100_000


@dataclass(frozen=True)
class _File:
    """A file of an epoch or a table. partition: the values of the columns that its folder names. is_base: of rows."""

    path: str
    rows: int
    partition: Mapping[str, str | None]
    is_base: bool = False


class ParquetWriter:
    """Writes one sink into a folder. partition_by: columns."""

    def __init__(self, writing: Writing, folder: str, partition_by: Sequence[str]) -> None:
        self._writing = writing
        self._folder = Folder(folder, writing.node)
        self._partition_by = tuple(partition_by)
        self._types = {column.name: column.type.arrow for column in writing.schema}
        own = writing.schema.names
        self._seq, self._step, self._kind = (free_name(name, own) for name in ("seq", "step", "kind"))
        self._manifests = f"{_EPOCHS}/{quote(writing.name, safe='')}"
        self._last: int | None = None
        self._files: tuple[_File, ...] = ()
        self._replaced: tuple[str, ...] = ()
        self._merged_at = 0

    @property
    def place(self) -> str:
        """The folder."""
        return self._folder.shown

    def last(self) -> int | None:
        """From the manifests. Raises TargetError for a folder with a changelog or a table of another run."""
        own = self._manifests.removeprefix(f"{_EPOCHS}/")
        manifests = self._folder.names(_EPOCHS)
        names = [name.removeprefix(f"{own}/") for name in manifests if name.startswith(f"{own}/")]
        others = [name for name in manifests if not name.startswith(f"{own}/")]
        if others and self._writing.mode is not SinkMode.APPEND:
            raise TargetError(self._taken_by(others[0]), self._writing.node, "folder")
        if not names:
            return None
        self._last = int(names[-1].removesuffix(".json"))
        newest = json.loads(self._folder.get(f"{self._manifests}/{names[-1]}"))
        self._files = tuple(_File(**file) for file in newest["files"])
        self._replaced = tuple(newest.get("replaced", ()))
        self._merged_at = newest.get("merged_at", 0)
        return self._last

    def write(self, epoch: int, records: pa.Table) -> None:
        """The files of the epoch, then its manifest."""
        written = self._written(f"epoch-{epoch:0{_DIGITS}}", self._content(records))
        manifest: dict[str, Any] = {
            "run": self._writing.run,
            "sink": self._writing.node,
            "epoch": epoch,
            "after": self._last,
            "mode": self._writing.mode.value,
            "columns": {column.name: column.type.flink for column in self._writing.schema},
            "records": len(records),
            "first_seq": pc.min(records.column(SEQ)).as_py(),
            "last_seq": pc.max(records.column(SEQ)).as_py(),
        }
        gone: tuple[str, ...] = ()
        files, replaced = written, self._replaced
        if self._writing.mode is SinkMode.UPSERT:
            files = (*self._files, *written)
            if self._is_long(files):
                gone = (*replaced, *self._manifests_before(self._merged_at))
                replaced, self._merged_at = tuple(file.path for file in files), epoch
                files = self._written(f"table-{epoch:0{_DIGITS}}", self._merged(files), is_base=True)
            manifest |= {"key": self._writing.key, "replaced": replaced, "merged_at": self._merged_at}
            if self._last is None:
                self._folder.put(_RECIPE, self._recipe().encode())
        manifest["files"] = [asdict(file) for file in files]
        self._folder.put(f"{self._manifests}/{epoch:0{_DIGITS}}.json", json.dumps(manifest, indent=1).encode())
        self._last, self._files, self._replaced = epoch, files, replaced
        self._folder.remove(gone)

    def close(self) -> None:
        """Nothing is open."""

    def _taken_by(self, manifest: str) -> str:
        run, _, sink = unquote(manifest.partition("/")[0]).partition(".")
        of = f"the sink {sink} of this run" if run == self._writing.run else "another run"
        return f"{self.place} has the records of {of} already. Choose an empty folder for each run."

    def _manifests_before(self, epoch: int) -> list[str]:
        names = self._folder.names(self._manifests)
        return [f"{self._manifests}/{name}" for name in names if name < f"{epoch:0{_DIGITS}}.json"]

    def _content(self, records: pa.Table) -> pa.Table:
        """The records as files have them, before they are divided into partitions."""
        names = self._writing.schema.names
        if self._writing.mode is SinkMode.APPEND:
            return records.select(names)
        if self._writing.mode is SinkMode.UPSERT:
            records = last_per_key(records, self._writing.key)
            deletes = is_deleting(records)
            kinds = pc.if_else(
                deletes, pa.scalar(RowKind.DELETE, pa.int8()), pa.scalar(RowKind.UPDATE_AFTER, pa.int8())
            )
            records = records.set_column(records.column_names.index(KIND), KIND, kinds)
        kind = pc.take(pa.array(SYMBOLS), records.column(KIND))
        steps = [records.column(STEP)] if self._writing.mode is SinkMode.CHANGELOG else []
        columns = [records.column(SEQ), *steps, kind, *(records.column(name) for name in names)]
        return pa.table(columns, names=[self._seq, *([self._step] if steps else []), self._kind, *names])

    def _written(self, name: str, content: pa.Table, *, is_base: bool = False) -> tuple[_File, ...]:
        """Write a table, a file for each partition."""
        written = []
        for partition, rows in divided(content, self._partition_by, self._writing.node):
            path = f"{folders_of(partition)}{name}.{quote(self._writing.name, safe='')}.parquet"
            self._folder.put(path, as_file(rows))
            written.append(_File(path, len(rows), partition, is_base))
        return tuple(written)

    def _is_long(self, files: Sequence[_File]) -> bool:
        """Whether the changes since the last merge should be merged."""
        changes = [file for file in files if not file.is_base]
        rows = sum(file.rows for file in changes)
        base = sum(file.rows for file in files if file.is_base)
        return len(changes) >= _MANY_FILES or rows >= max(_MANY_ROWS, base)

    def _merged(self, files: Sequence[_File]) -> pa.Table:
        """The rows of the table, as a file has them."""
        wanted = [self._seq, self._kind, *self._writing.schema.names]
        parts = []
        for file in files:
            rows = pq.read_table(pa.BufferReader(self._folder.get(file.path)))
            for name, text in file.partition.items():
                value = pa.scalar(text, pa.string()).cast(self._types[name])
                rows = rows.append_column(name, pa.repeat(value, len(rows)))
            parts.append(rows.select(wanted))
        whole = last_per_key(pa.concat_tables(parts), self._writing.key)
        return whole.filter(pc.not_equal(whole.column(self._kind), SYMBOLS[RowKind.DELETE]))

    def _recipe(self) -> str:
        """A query for DuckDB that reads the table from its newest manifest."""
        place = literal(f"{self._folder.shown}/")
        manifests = literal(f"{self._folder.shown}/{self._manifests}/*.json")
        key = ", ".join(map(identifier, self._writing.key)) or "true"
        seq, kind = identifier(self._seq), identifier(self._kind)
        return f"""\
-- The table as of its last epoch, in DuckDB. In other tools: the newest manifest names the files.
SET VARIABLE files = (
    SELECT list({place} || file.path) FROM (
        SELECT unnest(files) AS file FROM (FROM read_json({manifests}) ORDER BY epoch DESC LIMIT 1)));
SELECT {", ".join(map(identifier, self._writing.schema.names))}
FROM read_parquet(getvariable('files'){self._hive()})
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {seq} DESC) = 1 AND {kind} <> '-D';
"""

    def _hive(self) -> str:
        """What DuckDB has to know of the partitions."""
        kinds = {column.name: column.type.flink for column in self._writing.schema}
        types = ", ".join(f"{literal(name)}: {kinds[name].replace('STRING', 'VARCHAR')}" for name in self._partition_by)
        return f", hive_partitioning = true, hive_types = {{{types}}}" if types else ", hive_partitioning = false"
