"""Files of text in which each line is a row of one column, such as logs: Flink's format `raw`; in name order.

Input: plain or .gz/.bz2. A line ends with LF, CRLF or CR; one without text is a row, too. Bytes that the charset lacks
become U+FFFD.
Output: insert-only, in the order of the lines. A number is the line's bytes, as in Flink: a line of another length is
rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from engine.contract.derived import Derived
from engine.contract.parameters import parameter
from engine.contract.scan import Scan
from engine.model.schema import Column, Schema
from engine.model.types import STRING
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.input_files import InputFile, opened, text_lines
from engine.reading.files.line_scan import ENDINGS, LineReader
from engine.reading.files.source import TextFiles
from engine.reading.files.storage import is_packed
from engine.reading.files.text_files import parts_of
from engine.reading.flink_table import create_table
from engine.reading.servers.raw_values import CHARSET, RawReader, check_charset, check_type
from engine.reading.typed.columns import derive_source
from engine.reading.typed.log_times import profile_lines
from engine.reading.typed.profile import ROWS, ColumnProfile, TimeProposal
from engine.reading.typed.typed_rows import RowTypes


class Lines(TextFiles):
    """Files of lines."""

    operator: ClassVar[str] = "text_lines"
    title: ClassVar[str] = "Lines of text"
    summary: ClassVar[str] = "Text files, such as logs: each line is a row."
    also_called: ClassVar[tuple[str, ...]] = ("log", "raw")
    endings: ClassVar[tuple[str, ...]] = ENDINGS
    opens = endings
    table_format = "raw"

    column: str = parameter("Column", "The name of the column with the line.", default="line", min_length=1)
    charset: str = parameter("Charset", "How the text is encoded.", default=CHARSET, last=True)

    @classmethod
    def format_parameters(cls, options: DeclaredOptions) -> dict[str, Any]:
        """The column, and its charset."""
        if len(options.table.columns) != 1:
            message = f"raw is for a table of one column. It has {len(options.table.columns)}: choose csv or json."
            raise options.table.rejected(message)
        options.take("raw.endianness")
        (column,) = options.table.columns
        own: dict[str, Any] = {"column": column.name}
        if charset := options.take("raw.charset"):
            own["charset"] = charset
        if column.type != STRING:
            own["types"] = {column.name: column.type.flink}
        return super().format_parameters(options) | own

    def derive(self, node: str, folder: Path) -> Derived:
        """The one column."""
        self.files(node, folder)
        return derive_source(self, node, (self._column(node),), self.primary_key)

    def scan(self, node: str, folder: Path) -> Scan:
        """Byte ranges of the files, which workers read."""
        files = self.files(node, folder)
        check_charset(self.charset, node, "charset")
        reader = LineReader(RawReader(RowTypes(self.derive(node, folder).schema.columns), self.charset))
        return Scan(parts_of(files), reader, is_foreign=any(is_packed(file.path) for file in files))

    def profile(self, node: str, folder: Path) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
        """The profile of the column, and the proposed event times in it."""
        return _profile(self.files(node, folder), self._column(node).name, node)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink does not keep the order of several files."""
        options = {"connector": "filesystem", "path": self.path, "format": self.table_format, **self.watching}
        if self.charset != CHARSET:
            options["raw.charset"] = self.charset
        return create_table(node, schema, self, options, self.primary_key)

    def _column(self, node: str) -> Column:
        (column,) = self.overridden([Column(self.column, STRING)], node)
        check_type(column, node, "types")
        return column


@lru_cache(maxsize=32)
def _profile(
    files: tuple[InputFile, ...], column: str, node: str
) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
    return profile_lines(column, list(islice(_lines_of(files, node), ROWS)))


def _lines_of(files: tuple[InputFile, ...], node: str) -> Iterator[str]:
    for file in files:
        with opened(file, node) as stream:
            yield from text_lines(stream)


SOURCE = Lines
