"""The base of the file sources: the path, declared types, the key, the kind of a row.

A changelog in a plain file has a column with the kind of each row; without one, the source is insert-only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import PrivateAttr

from engine.contract.declared_table import DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.parameters import ColumnOrNone, Parameters, parameter
from engine.contract.source import Endless, PrimaryKey, Source
from engine.contract.stream import Stream
from engine.errors import PipelineError, SourceError, SourceMissing, unknown_name
from engine.model.changelog import UpdateKind
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.growing import GrowingFiles
from engine.reading.files.input_files import InputFile, find_files, local_file, opened, raw_lines
from engine.reading.files.storage import is_packed, is_uri, local_path
from engine.reading.files.web import NotFetched, fetched, host_of, is_web
from engine.reading.flink_formats import OF_NO_MATTER
from engine.reading.flink_table import create_table, from_changelog
from engine.reading.typed.columns import check_names, column_of, derive_source
from engine.reading.typed.profile import ColumnProfile, TimeProposal

SampleRows = Annotated[
    int,
    parameter("Rows for type inference", "The number of rows that are read to infer the types.", ge=1, le=100_000),
]


# What a guess at the number of rows looks at: the largest of the first files, and of a text its beginning.
_LOOKED_AT: Final = 100
_BEGINNING: Final = 1 << 18
# Compressed rows take about this part of their bytes.
_PACKED: Final = 5
_OF_NO_MATTER: Final = rf"(source|sink|scan|auto-compaction|compaction|partition)\..*|{OF_NO_MATTER}"


FileFact = Literal["file.path", "file.name"]
FILE_FACTS: Final[tuple[FileFact, ...]] = ("file.path", "file.name")
"""The metadata of Flink's filesystem connector that can be columns."""


class FileSource(Source):
    """A source over a file, a folder or a glob."""

    endings: ClassVar[tuple[str, ...]]
    """The endings of the files that are read if the path is a folder."""
    files_go: ClassVar[bool] = False
    """Whether deleted files never come back, so that their positions can be forgotten."""
    connector = "filesystem"
    table_options: ClassVar[str | None] = (
        "path source.monitor-interval source.path.regex-pattern source.report-statistics auto-compaction "
        "compaction.file-size compaction.parallelism partition.* sink.*"
    )

    path: str = parameter(
        "File",
        "A file, a folder (all its files) or a glob such as data/*.csv, several in name order; or an https "
        "address, which is fetched when the pipeline runs.",
        default="",
        file=True,
    )
    types: dict[str, str] = parameter(
        "Types",
        "Override the inferred type of a column, with BIGINT or DECIMAL(10,2) for instance.",
        default_factory=dict,
        column=True,
    )
    primary_key: PrimaryKey = parameter(last=True)
    fixed_columns: bool = parameter(
        "Columns are those of Types",
        "The columns are exactly those listed under Types, whatever the files hold. There may be no file yet.",
        default=False,
        last=True,
    )

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """The files of the filesystem connector."""
        options = DeclaredOptions(table)
        path, _ = options.take("path"), options.take("format")
        if not path:
            message = "'path' is missing: 'path' = 'rows.csv', relative to the script."
            raise table.rejected(message)
        parameters = {"path": local_path(path), **cls.format_parameters(options)}
        if "monitor_interval_ms" in parameters or is_web(path) or "fixed_columns" in parameters:
            # The declared columns are trusted: the files may not exist yet.
            parameters |= {"types": {column.name: column.type.flink for column in table.columns}, "fixed_columns": True}
        of_files = [column for column in table.metadata if column.key in FILE_FACTS and column.type.is_held_as(STRING)]
        return options.read(parameters, _OF_NO_MATTER, tuple(of_files) if "metadata" in cls.model_fields else ())

    @classmethod
    def format_parameters(cls, options: DeclaredOptions) -> dict[str, Any]:
        """The parameters of its format, whose options are taken. Raises StudioError."""
        return {}

    @property
    def server(self) -> str:
        """The host of a file on the web."""
        return host_of(self.path) if is_web(self.path) else ""

    @property
    def sampled(self) -> int:
        """The number of lines of a file in the sample for types."""
        return 0

    def profile(self, node: str, folder: Path) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
        """Findings about columns and times at the beginning of the files, beyond the types. Raises SourceError."""
        return (), ()

    def files(self, node: str, folder: Path) -> tuple[InputFile, ...]:
        """The files of the path, by name. Raises SourceError.

        Can be empty if the columns are declared, and the files are watched or would have to be fetched.
        """
        try:
            if is_web(self.path):
                return (local_file(fetched(self.path, node), self.path),)
            return find_files(self.path, folder, node, self.endings)
        except SourceMissing as error:
            if not self.fixed_columns or not (self.is_watched or isinstance(error, NotFetched)):
                raise
            return ()

    @property
    def is_watched(self) -> bool:
        """Whether a live run looks for new files."""
        return False

    def declared_columns(self, node: str) -> tuple[Column, ...]:
        """The columns that Types lists. Raises SourceError for an unknown type."""
        return self.overridden([Column(name, STRING) for name in self.types], node)

    def fixed(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Those of the found columns that the files have by declaration."""
        return tuple(column for column in columns if column.name in self.types or not self.fixed_columns)

    def stream(self, node: str, folder: Path, run: str) -> Stream[Source]:
        """The files as they are now."""
        if self.server:
            message = "path: a live run cannot follow a web file. Download it, and give its path."
            raise PipelineError(message, node, "path")
        return super().stream(node, folder, run)

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The files that remote workers cannot see."""
        return tuple(Path(file.path) for file in self.files(node, folder) if file.is_here)

    def rows_about(self, node: str, folder: Path) -> int | None:
        """As many as the bytes of the files have room for, if all rows are like the first ones."""
        files = self.files(node, folder)
        sampled = max(files[:_LOOKED_AT], key=lambda file: file.size, default=None)
        if sampled is None or not sampled.size:
            return 0
        row = self.row_bytes(node, sampled)
        return None if row is None else round(sum(file.size for file in files) / row)

    def row_bytes(self, node: str, file: InputFile) -> float | None:
        """How many bytes of the file a row takes, about; None if that is unknown. Raises SourceError."""
        return None

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """The same source over copies of the first rows of each file, at least as many as types are inferred from."""
        place = into / node
        place.mkdir()
        for number, file in enumerate(self.files(node, folder)):
            copy = place / f"{number:06d}{self.endings[0]}"
            self.write_head(max(rows, self.sampled), node, file, copy)
            self.copied(str(copy), file.name)
        return self.model_copy(update={"path": str(place)})

    def copied(self, copy: str, name: str) -> None:
        """Its head has a copy of this file."""

    def write_head(self, rows: int, node: str, file: InputFile, target: Path) -> None:
        """Copy the first rows of a file, uncompressed. Raises SourceError."""
        with opened(file, node) as stream, target.open("wb") as head:
            head.writelines(islice(raw_lines(stream), rows + 1))

    def overridden(self, columns: Sequence[Column], node: str) -> tuple[Column, ...]:
        """The columns with the declared types. Raises SourceError for a column that the file lacks."""
        names = [column.name for column in columns]
        if missing := [name for name in self.types if name not in names]:
            message = f"types: {unknown_name('column', missing[0], names)}. Correct the name, or choose another file."
            raise SourceError(message, node, "types")
        declared = {name: column_of(name, text, node, "types") for name, text in self.types.items()}
        return tuple(replace(declared.get(read.name, read), nullable=read.nullable, time=read.time) for read in columns)


class FileColumn(Parameters):
    """A column with the file of a record."""

    name: str = parameter("Name", min_length=1)
    of: FileFact = parameter("What it is", default="file.name")


@dataclass(frozen=True)
class FileFacts:
    """What is known of a file, by its name for users. folder: of relative names. copies: the names of copied files."""

    of: FileFact
    folder: str
    copies: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, file: str) -> str:
        """Its path, as Flink has it: without a scheme if it is on this machine; or the last part of the path."""
        path = self._path(self.copies.get(self._path(file), file))
        return PurePosixPath(path).name if self.of == "file.name" else path

    def _path(self, file: str) -> str:
        return file if is_uri(file) else str(PurePosixPath(self.folder) / file)


class ManyFiles(FileSource):
    """A source over any number of files, whose records can tell which one they are from."""

    other_metadata = f". Of files there are {' and '.join(FILE_FACTS)}, as STRING"

    metadata: tuple[FileColumn, ...] = parameter(
        "Columns for the file",
        "Columns that say which file a record is from: its path, or its name. Late records can be grouped by them.",
        default=(),
        last=True,
    )

    _copies: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def metadata_keys(self) -> Mapping[str, str]:
        """Those of the filesystem connector."""
        return {column.name: column.of for column in self.metadata}

    def file_columns(self, folder: Path) -> Mapping[str, Callable[[str], str]]:
        """The metadata."""
        base = str(folder.absolute())
        return {column.name: FileFacts(column.of, base, self._copies) for column in self.metadata}

    def copied(self, copy: str, name: str) -> None:
        """Records of the copy are from the file."""
        self._copies[copy] = name


WATCHING_MS: Final = 1000
_WATCH: Final = "source.monitor-interval"


class TextFiles(ManyFiles):
    """A source over files of lines, which a live run can follow."""

    monitor_interval_ms: int | None = parameter(
        "Look for more every",
        "How often a live run looks for new lines and new files. Empty: the files are read once.",
        default=None,
        ge=1,
        duration=True,
        last=True,
    )

    @classmethod
    def format_parameters(cls, options: DeclaredOptions) -> dict[str, Any]:
        """Those of the format, and how often there may be more files."""
        interval_ms = options.duration_ms(_WATCH, least=1)
        return super().format_parameters(options) | ({"monitor_interval_ms": interval_ms} if interval_ms else {})

    @property
    def is_watched(self) -> bool:
        """Whether a live run looks for new files."""
        return self.monitor_interval_ms is not None

    @property
    def goes_on(self) -> bool:
        """Whether they are watched."""
        return self.is_watched and not self.server

    @property
    def endless(self) -> Endless | None:
        """Watching, where files can be."""
        return None if self.server else Endless("Watch it for more rows", {"monitor_interval_ms": WATCHING_MS})

    def row_bytes(self, node: str, file: InputFile) -> float:
        """From the lines at its beginning."""
        with opened(file, node) as stream:
            text = stream.read(_BEGINNING)
        is_whole = len(text) < _BEGINNING
        lines = max(1, text.count(b"\n"))
        if is_packed(file.path):
            return file.size / lines if is_whole else len(text) / lines / _PACKED
        return len(text) / lines

    @property
    def open_quote(self) -> bytes:
        """The quote within which line breaks do not end a line; empty if there is none."""
        return b""

    def stream(self, node: str, folder: Path, run: str) -> Stream[Source]:
        """The files as they grow, if they are watched."""
        if self.monitor_interval_ms is None or self.server:
            return super().stream(node, folder, run)
        if not all(file.is_here for file in self.files(node, folder)):
            message = "path: only files of this machine can be watched. Leave 'Look for more every' empty."
            raise PipelineError(message, node, "monitor_interval_ms")
        scan = self.scan(node, folder)
        assert scan is not None, "files of lines are read by workers"
        return GrowingFiles(self, node, folder, scan, self.monitor_interval_ms, self.open_quote)

    @property
    def watching(self) -> Mapping[str, str]:
        """Flink's option for watching."""
        return {} if self.monitor_interval_ms is None else {_WATCH: f"{self.monitor_interval_ms} ms"}


class RowFile(FileSource):
    """A source over files in which each row is a record; one column may hold the kind."""

    kind_column: ColumnOrNone = parameter(
        "Kind column",
        "The column with the row kind: +I, -U, +U, -D, or insert, update, delete. Empty: all rows are inserts.",
        last=True,
    )
    updates_by_key: bool = parameter(
        "Updates come without -U",
        "If rows have a kind: a +I or +U replaces the row of its primary key (an upsert source).",
        default=False,
        last=True,
    )

    @property
    def required(self) -> Sequence[str]:
        """The columns that are declared NOT NULL."""
        return ()

    @property
    def update_kind(self) -> UpdateKind:
        """+U alone if updates are applied by key."""
        return UpdateKind.ONLY_UPDATE_AFTER if self.updates_by_key else UpdateKind.BEFORE_AND_AFTER

    def described(self, node: str, columns: Sequence[Column]) -> Derived:
        """The source's output: all columns of the file except the kind."""
        if self.kind_column is None:
            return derive_source(self, node, columns, self.primary_key)
        kind = Schema(tuple(columns)).column(self.kind_column, node, "kind_column")
        rest = [column for column in columns if column is not kind]
        check_names([column.name for column in rest], node, "kind_column")
        return derive_source(self, node, rest, self.primary_key, changelog=True)

    def table_sql(self, node: str, schema: Schema, options: Mapping[str, str]) -> str:
        """The source in Flink SQL; with a kind column, a table of plain rows and a view that reads it as a changelog.

        options: of the connector that they name, otherwise of the filesystem connector.
        """
        if "connector" not in options:
            options = {"connector": "filesystem", "path": self.path, "format": self.table_format, **options}
        if self.kind_column is None:
            return create_table(node, schema, self, options, self.primary_key, not_null=self.required)
        keys = self.primary_key if self.updates_by_key else ()
        return from_changelog(node, schema, self, options, self.kind_column, keys)


def one_character(text: str, node: str, field: str) -> str:
    r"""A separator or quote: one character, or \t. Raises PipelineError."""
    char = "\t" if text == r"\t" else text
    if len(char) != 1 or char in "\r\n":
        message = f"{field}: {text!r} is not one character; use a comma, a semicolon, \\t and the like."
        raise PipelineError(message, node, field)
    return char
