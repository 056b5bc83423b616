"""A recording: the output of a source of another run, record by record.

Input: the file that `storage` writes for a run (`engine.reading.recorded`), named after it, or its text in a test.
Output: exactly the recorded records with their kinds, in their order; rejected rows are rejected again. With
the order of arrival "recorded", recordings of one run arrive as in that run. If another event time is chosen, a record
with NULL in it is rejected.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from engine.contract.declared_table import DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.parameters import parameter
from engine.contract.scan import Numbered, Scan
from engine.contract.source import PrimaryKey, Source
from engine.errors import SourceError, SourceMissing
from engine.model.changelog import UpdateKind
from engine.model.schema import Column, Schema
from engine.model.type_texts import type_from
from engine.reading.apart import LOOK_S, Foreign, answer_of, answers_of
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.input_files import InputFile, find_files, local_file
from engine.reading.files.named_folders import may_be_read
from engine.reading.files.parquet_scan import ADVICE, rows_in
from engine.reading.files.storage import local_path
from engine.reading.flink_table import create_table
from engine.reading.recorded import REJECTED, About, RecordingReader, about, is_recorded, parts_in, write_head
from engine.reading.recorded_text import TEXT, write_first
from engine.reading.typed.columns import derive_source
from engine.reading.typed.typed_rows import RowTypes

_FOLDER: Final = re.compile(r"run_(\d+)_to_\d+")


class Recording(Source):
    """A recorded source."""

    operator: ClassVar[str] = "recording"
    title: ClassVar[str] = "Recording"
    summary: ClassVar[str] = "The records that a source of another run had, in their order."

    connector = "filesystem"
    table_format = "parquet"

    path: str = parameter(
        "Recording", 'The file of the recording. "Try a change on these records" on a run\'s page makes it.', default=""
    )
    updates_by_key: bool = parameter(
        "Updates come without -U",
        "If records have kinds: a +I or +U replaces the row of its primary key (an upsert source).",
        default=False,
        last=True,
    )
    primary_key: PrimaryKey = parameter(last=True)

    @classmethod
    def takes(cls, table: DeclaredTable, folder: Path) -> bool:
        """Files that are recordings."""
        return is_recorded(table, folder)

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """Its file."""
        options = DeclaredOptions(table)
        options.take("format")
        return options.read({"path": local_path(options.take("path"))})

    @property
    def recorded_run(self) -> str | None:
        """The folder of the recording: all recordings of one run, up to one event, share it."""
        return str(Path(self.path).parent)

    @property
    def update_kind(self) -> UpdateKind:
        """Only +U if updates are by key, else -U and +U."""
        return UpdateKind.ONLY_UPDATE_AFTER if self.updates_by_key else UpdateKind.BEFORE_AND_AFTER

    def derive(self, node: str, folder: Path) -> Derived:
        """The recorded columns."""
        facts = self._about(node, folder)
        columns = [Column(name, type_from(type_)) for name, type_ in facts.columns]
        return derive_source(self, node, columns, self.primary_key, facts.is_changelog)

    def scan(self, node: str, folder: Path) -> Scan:
        """Row groups in workers."""
        facts = self._about(node, folder)
        records = self._file(node, folder)
        schema = self.derive(node, folder).schema
        reader = RecordingReader(RowTypes(tuple(schema)), f"run {facts.run}, {facts.node}")
        parts = parts_in(records, self._rejected(records), node)
        numbered = Numbered(facts.end, facts.idle, facts.clock)
        is_foreign = not records.path.endswith(TEXT)
        return Scan(parts, reader, has_marks=facts.has_marks, numbered=numbered, is_foreign=is_foreign)

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """Its files."""
        records = self._file(node, folder)
        rejected = self._rejected(records)
        return (Path(records.path), *([] if rejected is None else [Path(rejected.path)]))

    def rows_about(self, node: str, folder: Path) -> int | None:
        """As its footer says; a text has few."""
        file = self._file(node, folder)
        return 0 if file.path.endswith(TEXT) else answer_of(Foreign(file.name, node, ADVICE), rows_in, file)

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Recording:
        """The source over a copy of the first records."""
        file = self._file(node, folder)
        if file.path.endswith(TEXT):
            text = into / f"{node}{TEXT}"
            write_first(rows, Path(file.path), text)
            return self.model_copy(update={"path": str(text)})
        target = into / f"{node}.parquet"
        list(answers_of(Foreign(file.name, node, ADVICE), write_head, rows, file, target, seconds=LOOK_S))
        return self.model_copy(update={"path": str(target)})

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector: Flink reads the columns, but not the kinds and the order."""
        options = {"connector": "filesystem", "path": self.path, "format": "parquet"}
        return create_table(node, schema, self, options, self.primary_key)

    def _file(self, node: str, folder: Path) -> InputFile:
        try:
            (file,) = find_files(self.path, folder, node, (".parquet", TEXT), partial(may_be_read, is_recording=True))
        except SourceMissing as error:
            run = _FOLDER.search(self.path)
            what = f"the recording of run {run[1]} is not there" if run else "there is no such recording"
            message = f"{what} ({self.path}): it goes when its run is deleted. Record another run, on its page."
            raise SourceMissing(message, node, "path") from error
        except ValueError as error:
            message = f"path: {self.path} is several files; a recording is one."
            raise SourceError(message, node, "path") from error
        return file

    def _rejected(self, records: InputFile) -> InputFile | None:
        place = Path(records.path)
        place = place.with_name(place.name.removesuffix(".parquet") + REJECTED)
        return local_file(place, place.name) if place.is_file() else None

    def _about(self, node: str, folder: Path) -> About:
        file = self._file(node, folder)
        try:
            return about(Path(file.path))
        except (ValueError, OSError) as error:
            message = f"{file.name} is no recording; choose one, or read it with the source for its format."
            raise SourceError(message, node, "path") from error


SOURCE = Recording
