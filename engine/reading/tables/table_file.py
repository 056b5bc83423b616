"""The base of the sources over one table of a file: the choice of the table, its columns, the rows stored by the app.

TableFile.open_table  ->  OpenTable(called, columns, rows)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pydantic import PrivateAttr

from engine.contract.derived import Derived
from engine.contract.parameters import parameter
from engine.contract.scan import Scan
from engine.errors import PipelineError, SourceError, unknown_name
from engine.model.schema import Column
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import RowFile
from engine.reading.servers.kept_messages import ForNow
from engine.reading.tables.kept_rows import KeptRowsReader, TextRow, keep_rows
from engine.reading.typed.columns import check_names
from engine.reading.typed.profile import ROWS, ColumnProfile, TimeProposal, profile_columns
from engine.reading.typed.typed_rows import RowTypes

_KEPT: Final = "rows.parquet"


@dataclass(frozen=True)
class OpenTable:
    """A table of the file. called: its name for users, with its file. rows: on each call the first so many, or all.

    count: asks how many rows it has. notes: by column, why its name differs from the file's.
    """

    called: str
    columns: tuple[Column, ...]
    rows: Callable[[int | None], Iterator[TextRow]]
    count: Callable[[], int]
    notes: tuple[tuple[str, str], ...] = ()


class TableFile(RowFile):
    """A source over a table of a file."""

    table: str = parameter(
        "Table", "The name of the table. It can be left empty if the file has only one.", default="", offered=True
    )

    _kept: ForNow | None = PrivateAttr(None)
    _most: int | None = PrivateAttr(None)

    @abstractmethod
    def tables(self, file: InputFile, node: str) -> tuple[str, ...]:
        """The names of the file's tables, in the order in which they are shown. Raises SourceError."""

    @abstractmethod
    def open_table(self, file: InputFile, table: str, node: str) -> OpenTable:
        """A table of the file. Raises SourceError."""

    def offered(self, field: str, node: str, folder: Path) -> tuple[str, ...]:
        """The tables of the file."""
        if field != "table" or not self.files(node, folder):
            return ()
        return self.tables(self.file(node, folder), node)

    def file(self, node: str, folder: Path) -> InputFile:
        """The file. Raises SourceError for several."""
        files = self.files(node, folder)
        if len(files) > 1:
            message = f"path: {self.path} is {len(files)} files; a table is read from one. Name it."
            raise SourceError(message, node, "path")
        return files[0]

    def chosen(self, file: InputFile, node: str) -> str:
        """The table's name. Raises PipelineError that lists the existing ones."""
        names = self.tables(file, node)
        if self.table in names:
            return self.table
        if not names:
            message = f"path: {file.name} has no table. Choose another file."
            raise SourceError(message, node, "path")
        if self.table:
            message = f"table: {unknown_name('table', self.table, names)}. Choose one of them."
            raise PipelineError(message, node, "table")
        return self.where_none_is_named(names, node)

    def where_none_is_named(self, known: Sequence[str], node: str) -> str:
        """The only table. Raises PipelineError."""
        if len(known) > 1:
            message = f"table: there are {len(known)}: {', '.join(known[:20])}. Choose one of them."
            raise PipelineError(message, node, "table")
        return known[0]

    def derive(self, node: str, folder: Path) -> Derived:
        """The table's columns."""
        if not self.files(node, folder):
            # The file has not been fetched yet; its columns are declared.
            return self.described(node, self.declared_columns(node))
        return self.described(node, self._columns(self._opened(node, folder), node))

    def scan(self, node: str, folder: Path) -> Scan:
        """The current rows, stored for the workers. Raises SourceError."""
        table = self._opened(node, folder)
        columns = self._columns(table, node)
        timed = {column.name: column for column in self.described(node, columns).schema}
        types = RowTypes(tuple(timed.get(column.name, column) for column in columns), self.kind_column)
        self._kept = ForNow()
        parts = keep_rows(table.rows(self._most), len(columns), self._kept.path / _KEPT, table.called)
        return Scan(parts, KeptRowsReader(types))

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The file with the stored rows."""
        return () if self._kept is None else (self._kept.path / _KEPT,)

    def rows_about(self, node: str, folder: Path) -> int | None:
        """As many as the file counts."""
        return self._opened(node, folder).count() if self.files(node, folder) else 0

    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """The same source, limited to the first rows."""
        some = self.model_copy()
        some._most = rows
        return some

    def profile(self, node: str, folder: Path) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
        """Findings about the columns in the first rows."""
        table = self._opened(node, folder)
        rows = [row.values for row in table.rows(ROWS) if row.broken is None]
        texts = list(zip(*rows, strict=True)) if rows else [() for _ in table.columns]
        return profile_columns(table.columns, texts, dict(table.notes))

    def _opened(self, node: str, folder: Path) -> OpenTable:
        file = self.file(node, folder)
        return self.open_table(file, self.chosen(file, node), node)

    def _columns(self, table: OpenTable, node: str) -> tuple[Column, ...]:
        check_names([column.name for column in table.columns], node, "table")
        return self.overridden(table.columns, node)


def where_it_is(file: InputFile, node: str) -> str:
    """The path of a database, which is opened in place. Raises SourceError if it is not on this machine."""
    if not file.is_here:
        message = f"path: {file.name} is not on this machine, where a database has to be to be opened. Copy it here."
        raise SourceError(message, node, "path")
    return file.path
