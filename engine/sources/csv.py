"""CSV files: a file, a folder or a glob, in name order.

Input: UTF-8 with or without a byte order mark, LF or CRLF, plain or .gz/.bz2; quotes as in RFC 4180 (a
quote inside a quoted field is doubled; one in the middle of an unquoted field is plain text). Blank lines
are skipped. A field that equals `null_text` is null, and an empty one if `empty_is_null`; else it is what Flink
makes of it: an empty text, FALSE, or a rejected line.
Output: insert-only, or with the kinds of `kind_column`, in the order of the lines. An unreadable line is rejected
with file, line and reason: a wrong number of fields, an open quote, invalid UTF-8, a value that does not fit its
type, an unknown kind.
Types are inferred from the first `sample_rows` lines (`engine.reading.typed.inference`).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from engine.contract.derived import Derived
from engine.contract.parameters import parameter
from engine.contract.scan import Scan
from engine.errors import PipelineError, SourceMissing
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, DATE, DOUBLE, STRING
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.csv_sample import ENDINGS, Dialect, sample_csv
from engine.reading.files.csv_scan import CsvReader
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import RowFile, SampleRows, TextFiles, one_character
from engine.reading.files.storage import ending_of, is_packed
from engine.reading.files.text_files import parts_of
from engine.reading.flink_formats import csv_options, csv_parameters
from engine.reading.typed.inference import kind_of_text
from engine.reading.typed.log_times import is_log, time_in
from engine.reading.typed.profile import ColumnProfile, TimeProposal, profile_of
from engine.reading.typed.typed_rows import RowTypes

_SEPARATORS: Final = ",;\t|"


class Csv(TextFiles, RowFile):
    """CSV files."""

    operator: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    summary: ClassVar[str] = "Comma-separated files, line by line."
    endings: ClassVar[tuple[str, ...]] = ENDINGS
    opens = endings
    table_format = "csv"

    header: bool = parameter(
        "First line has names", "The first line of each file holds the names of the columns.", default=True
    )
    names: tuple[str, ...] = parameter(
        "Names", "The names of the columns, if the files have no header or to replace it.", default=()
    )
    separator: str = parameter("Separator", r"One character; \t is a tab.", default=",")
    quote: str = parameter("Quote", "The character around a field that holds a separator.", default='"')
    null_text: str = parameter("NULL text", "The text that means NULL.", default="")
    empty_is_null: bool = parameter(
        "Empty is NULL",
        "An empty field is NULL. Otherwise it is as in Flink: an empty text, FALSE, or a rejected line.",
        default=True,
    )
    multi_line: bool = parameter(
        "Line breaks in quotes", "Quoted fields may contain line breaks. Reading is slower.", default=False
    )
    sample_rows: SampleRows = 1000

    @property
    def sampled(self) -> int:
        """The number of rows for type inference."""
        return self.sample_rows

    @property
    def open_quote(self) -> bytes:
        """The quote if fields may contain line breaks, else empty."""
        return self.quote.encode() if self.multi_line else b""

    @classmethod
    def begins_with(cls, first_line: str) -> bool:
        """Unless it is a line of a log."""
        return not is_log(first_line)

    @classmethod
    def parameters_for(cls, path: str, first_line: str = "") -> Mapping[str, Any]:
        """The path, the separator (a tab for .tsv, else the most frequent one), and whether the first line has names.

        A time is no name of a column, and neither are numbers alone.
        """
        separator = "\t" if ending_of(path) == ".tsv" else max(_SEPARATORS, key=first_line.count)
        fields = next(csv.reader([first_line], delimiter=separator), [])
        kinds = {kind_of_text(text.strip()) for text in fields if text.strip()}
        has_names = time_in(first_line) is None and DATE not in kinds and not (kinds and kinds <= {BIGINT, DOUBLE})
        own = {} if separator == _SEPARATORS[0] else {"separator": separator.replace("\t", "\\t")}
        return {"path": path, **own} | ({} if has_names else {"header": False})

    @classmethod
    def format_parameters(cls, options: DeclaredOptions) -> dict[str, Any]:
        """Without a header, as Flink's format is."""
        names = [column.name for column in options.table.columns]
        own = {"header": False, "names": names, **csv_parameters(options.left)}
        return own | super().format_parameters(options)

    def derive(self, node: str, folder: Path) -> Derived:
        """Names from the header, types from the sample."""
        return self.described(node, self._columns(node, self.files(node, folder)))

    def scan(self, node: str, folder: Path) -> Scan:
        """Byte ranges of the files, which workers read."""
        files = self.files(node, folder)
        columns = self._columns(node, files)
        timed = {column.name: column for column in self.derive(node, folder).schema}
        reader = CsvReader(
            RowTypes(tuple(timed.get(column.name, column) for column in columns), self.kind_column),
            one_character(self.separator, node, "separator"),
            one_character(self.quote, node, "quote"),
            self.null_text,
            self.header,
            self.multi_line,
            self.empty_is_null,
        )
        parts = parts_of(files, whole=self.multi_line)
        return Scan(parts, reader, is_foreign=any(is_packed(file.path) for file in files))

    def profile(self, node: str, folder: Path) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
        """The profiles of the columns and the proposed event times, from the first rows."""
        files = self.files(node, folder)
        return profile_of(files, self._dialect(node), node)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink neither skips a header nor keeps the order of several files."""
        options = {
            **csv_options(self),
            "csv.ignore-parse-errors": "true",
            **self.watching,
        }
        return self.table_sql(node, schema, options)

    def _columns(self, node: str, files: tuple[InputFile, ...]) -> tuple[Column, ...]:
        if one_character(self.separator, node, "separator") == one_character(self.quote, node, "quote"):
            message = f"separator and quote are both {self.quote!r}; choose two different characters."
            raise PipelineError(message, node, "quote")
        try:
            columns = sample_csv(files, self._dialect(node), node) if files else self._declared(node)
        except SourceMissing:
            # Empty files are as good as none if their rows are yet to come.
            if not (self.fixed_columns and self.is_watched):
                raise
            columns = self._declared(node)
        return self.overridden(columns, node)

    def _declared(self, node: str) -> tuple[Column, ...]:
        """The columns of files that have not arrived yet."""
        names = self.names or tuple(self.types)
        if self.kind_column is not None and self.kind_column not in names:
            message = f"there is no file {self.path} yet that says where the column {self.kind_column!r} stands."
            raise SourceMissing(message, node, "path")
        return tuple(Column(name, STRING) for name in names)

    def _dialect(self, node: str) -> Dialect:
        return Dialect(
            self.header,
            self.names,
            one_character(self.separator, node, "separator"),
            one_character(self.quote, node, "quote"),
            self.null_text,
            self.multi_line,
            self.sample_rows,
        )


SOURCE = Csv
