"""Workbooks: their sheets, and the cells of a sheet as texts.

A number without a fraction is written as an integer, a time as `2024-05-01 10:00:00`. An empty cell is null, as is a
cell with an error such as #DIV/0!. A row without values is skipped.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from engine.errors import SourceError
from engine.reading.files.archives import SPOILT
from engine.reading.files.input_files import InputFile
from engine.reading.tables.kept_rows import TextRow
from engine.reading.tables.sheet_extent import largest_sheet

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

MOST_BYTES: Final = 1 << 30
"""The largest workbook that is opened, packed or unpacked: it is read into memory as a whole."""
ADVICE: Final = "Save the sheet as CSV, and read that."
_WHOLE: Final = 1 << 53


@contextmanager
def opened_workbook(file: InputFile, node: str) -> Iterator[CalamineWorkbook]:
    """The workbook of a file. Raises SourceError."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    try:
        with file.open() as stream:
            size = max(file.size, _unpacked(stream))
            if size > MOST_BYTES:
                message = (
                    f"path: {file.name} would take {size >> 20:,} MB of memory, and at most {MOST_BYTES >> 20:,} are "
                    "allowed. Save the sheet as CSV."
                )
                raise SourceError(message, node, "path")
            _check_extent(file, node)
            stream.seek(0)
            with CalamineWorkbook.from_filelike(stream) as workbook:
                yield workbook
    except PasswordError as error:
        message = f"path: {file.name} needs a password. Save it without one."
        raise SourceError(message, node, "path") from error
    except (CalamineError, OSError) as error:
        message = f"path: {file.name} cannot be read as a workbook: {error}. Choose another file, or save it again."
        raise SourceError(message, node, "path") from error


def _check_extent(file: InputFile, node: str) -> None:
    """Raises SourceError if the cells of a sheet are so far apart that reading it would crash the process."""
    try:
        with file.open() as stream:
            if not zipfile.is_zipfile(stream):
                return
            with zipfile.ZipFile(stream) as archive:
                size = largest_sheet(archive)
    except SPOILT as error:
        message = f"path: {file.name} cannot be read as a workbook: {error}. Choose another file, or save it again."
        raise SourceError(message, node, "path") from error
    if size > MOST_BYTES:
        message = (
            f"path: {file.name} has a sheet whose cells lie so far apart, or are repeated so often, that it would "
            f"take {size >> 20:,} MB of memory, and at most {MOST_BYTES >> 20:,} are allowed. Delete what is far from "
            "the table, or save the sheet as CSV."
        )
        raise SourceError(message, node, "path")


def _unpacked(stream: Any) -> int:
    """The unpacked size of an archive in bytes; 0 for other files, such as old workbooks."""
    if not zipfile.is_zipfile(stream):
        return 0
    try:
        with zipfile.ZipFile(stream) as archive:
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return 0


def sheets_of(file: InputFile, node: str) -> tuple[str, ...]:
    """The names of the sheets, in their order."""
    with opened_workbook(file, node) as workbook:
        return tuple(workbook.sheet_names)


def count_of_sheet(file: InputFile, sheet: str, node: str) -> int:
    """How many rows a sheet has, with empty ones."""
    with opened_workbook(file, node) as workbook:
        return int(workbook.get_sheet_by_name(sheet).height)


def rows_of_sheet(file: InputFile, sheet: str, node: str) -> Iterator[TextRow]:
    """The rows of a sheet that have a value, with their numbers. All are equally wide."""
    with opened_workbook(file, node) as workbook:
        cells = workbook.get_sheet_by_name(sheet)
        if cells.start is None:
            return
        for number, row in enumerate(cells.iter_rows(), start=1):
            values = [_text(value) for value in row[len(row) - cells.width :]]
            if any(value is not None for value in values):
                yield TextRow(number, values)


def _text(value: Any) -> str | None:
    match value:
        case "" | None:
            return None
        case bool():
            return str(value).lower()
        case float() if value.is_integer() and abs(value) < _WHOLE:
            return str(int(value))
        case datetime():
            return value.isoformat(sep=" ", timespec="microseconds" if value.microsecond else "seconds")
        case date():
            return value.isoformat()
    return str(value)


def header_in(row: Sequence[str | None]) -> list[str]:
    """The names in a header row."""
    return ["" if value is None else value for value in row]
