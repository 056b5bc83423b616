"""A sheet of an Excel or LibreOffice workbook, row by row.

Input: .xlsx, .xlsm, .xlsb, .xls or .ods. The first non-empty row has the names, unless `header` is False. Cells are
read by `engine.reading.tables.workbook`; for a formula its stored value is read.
Output: insert-only, or with the kinds of `kind_column`, in the order of the rows. A row is rejected, with sheet and
row, if a value does not fit its type. Types are inferred from the first `sample_rows` rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

from engine.contract.parameters import parameter
from engine.errors import SourceError
from engine.model.schema import Column, Schema
from engine.reading.apart import Foreign, answer_of, known_apart
from engine.reading.declared_options import DeclaredOptions
from engine.reading.files.csv_sample import renamed_columns
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import SampleRows
from engine.reading.tables.kept_rows import TextRow, rows_apart
from engine.reading.tables.table_file import OpenTable, TableFile
from engine.reading.tables.workbook import ADVICE, count_of_sheet, header_in, rows_of_sheet, sheets_of
from engine.reading.typed.columns import usable_names
from engine.reading.typed.inference import infer_text


class Excel(TableFile):
    """A sheet of a workbook."""

    operator: ClassVar[str] = "excel"
    title: ClassVar[str] = "Excel"
    summary: ClassVar[str] = "A sheet of a workbook, row by row."
    endings: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    opens = endings
    table_format = "excel"

    table: str = parameter("Sheet", "The name of the sheet. Empty: the first one.", default="", offered=True)
    header: bool = parameter(
        "First row has names", "The first row that is not empty holds the names of the columns.", default=True
    )
    sample_rows: SampleRows = 1000

    def tables(self, file: InputFile, node: str) -> tuple[str, ...]:
        """The sheets."""
        return answer_of(Foreign(file.name, node, ADVICE), sheets_of, file, node)

    def where_none_is_named(self, known: Sequence[str], node: str) -> str:
        """The first sheet."""
        return known[0]

    def open_table(self, file: InputFile, table: str, node: str) -> OpenTable:
        """A sheet, with types from its first rows."""
        about = Foreign(file.name, node, ADVICE)
        columns, notes = answer_of(about, _columns, file, table, self.header, self.sample_rows, node)
        width = len(columns)

        def rows(most: int | None) -> Iterator[TextRow]:
            end = None if most is None else most + self.header
            return islice(rows_apart(about, rows_of_sheet, file, table, node), int(self.header), end)

        def count() -> int:
            return answer_of(about, count_of_sheet, file, table, node) - self.header

        if not width:
            message = f"table: the sheet {table!r} of {file.name} is empty. Choose another one."
            raise SourceError(message, node, "table")
        return OpenTable(f"{file.name}, sheet {table}", columns, rows, count, notes)

    @classmethod
    def format_parameters(cls, options: DeclaredOptions) -> dict[str, Any]:
        """The sheet, and whether it has names."""
        return {"table": options.take("excel.sheet"), "header": options.take("excel.header", "true") == "true"}

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector with the format `excel`, which Flink itself lacks."""
        options = {"excel.sheet": self.table, "excel.header": str(self.header).lower()}
        table = self.table_sql(node, schema, options)
        return f"-- Flink reads no workbooks: save the sheet as CSV for it.\n{table}"


def _columns(
    file: InputFile, sheet: str, header: bool, sample: int, node: str
) -> tuple[tuple[Column, ...], tuple[tuple[str, str], ...]]:
    """The columns of a sheet, and notes about renamed ones."""
    first = list(islice(rows_of_sheet(file, sheet, node), sample + header))
    if not first:
        return (), ()
    names = header_in(first[0].values) if header else [""] * len(first[0].values)
    held = [row.values for row in first[int(header) :]]
    texts = list(zip(*held, strict=True)) if held else [()] * len(names)
    columns = tuple(Column(name, infer_text(values)) for name, values in zip(usable_names(names), texts, strict=True))
    return columns, tuple(renamed_columns(names).items()) if header else ()


SOURCE = Excel

known_apart(__name__)
