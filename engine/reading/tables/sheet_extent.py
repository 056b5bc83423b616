"""The extent of a sheet's cells, measured before it is read: all cells between them need memory, empty or not.

A single value in the last row and column of a sheet would take 512 GB, and crash the process.

    .xlsx   <row r="7"><c r="B7">        rows and cells with their places, or after the previous ones
    .ods    <table-row number-rows-repeated="3"><table-cell value-type="string">       relative: repetitions only
    .xlsb   records with a type, a length and a body: rows have their number, cells their column
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import IO, Final, cast

CELL_BYTES: Final = 32
"""The memory of a cell, without its text; .ods needs both twice."""
_COPY_BYTES: Final = 2 << 10
"""What each repetition of a row counts, as rows take time too: of one row at most a quarter of a million are read."""
_READ: Final = 1 << 20
# A row or a cell, its attributes, of which a value may hold a >, and whether there is nothing in it.
_TAG: Final = re.compile(rb"""<(?:[^\s<>/:"'=]+:)?(row|c)((?:\s+[^\s<>/"'=]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>""")
_ODS_TAG: Final = re.compile(
    rb"""<(?:[^\s<>/:"'=]+:)?(table|table-row|table-cell|covered-table-cell)"""
    rb"""((?:\s+[^\s<>/"'=]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*/?>"""
)
_REPEATED: Final = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']\+?0*(\d{1,18})\d*["']""")
_HAS_VALUE: Final = re.compile(rb"""\s(?:[^\s:]+:)?(?:value-type|formula)\s*=""")
_TEXT: Final = re.compile(rb"""[\s:]string-value\s*=\s*("[^"]*"|'[^']*')""")
_ANY_TAG: Final = re.compile(rb"<[^>]*>")
# Records of an .xlsb: BrtBeginSheet, BrtRowHdr; BrtCellBlank has nothing in it, the others up to BrtFmlaError have.
_SHEET, _ROW, _BLANK, _LAST_CELL = 129, 0, 1, 11
_PLACE: Final = re.compile(rb"""\sr\s*=\s*["']\$?([A-Za-z]*)\$?(\d+)["']""")


def largest_sheet(archive: zipfile.ZipFile) -> int:
    """The bytes that the cells of the largest sheet take, from the first non-empty cell to the last.

    Other files of the archive define which files are sheets; a file without rows and cells counts as empty.
    """
    return max((_bytes_of(archive, name) for name in archive.namelist()), default=0)


def _bytes_of(archive: zipfile.ZipFile, name: str) -> int:
    if name == "content.xml":
        with archive.open(name) as stream:
            return _ods_bytes(stream)
    # Single bytes, for which the archive itself is slow.
    with io.BufferedReader(cast(io.RawIOBase, archive.open(name))) as stream:
        if _number_in(stream, 2) == _SHEET:
            return _xlsb_bytes(stream)
    extent = _Extent()
    with archive.open(name) as stream:
        for block in _blocks(stream):
            extent.add(_TAG.findall(block))
    return extent.size


def _ods_bytes(stream: IO[bytes]) -> int:
    """The bytes of the largest table: its cells from the first column on, and the rows and texts that are repeated.

    Other texts are in the file, whose size is limited.
    """
    largest, extent = 0, _Extent()
    row = last_row = column = counted = 0
    texts, copies = 0, 0
    for block in _blocks(stream):
        end = 0
        for tag in _ODS_TAG.finditer(block):
            texts += copies * _text_size(block[end : tag.start()]) if copies > 1 else 0
            kind, attributes = tag.groups()
            end, copies = tag.end(), 0
            repeated = _REPEATED.search(attributes)
            times = max(1, int(repeated[1])) if repeated else 1
            match kind:
                case b"table":
                    largest, extent, last_row, texts = max(largest, extent.size + texts), _Extent(), 0, 0
                    counted = 0
                case b"table-row":
                    row, last_row, column = last_row + 1, last_row + times, 0
                case _:
                    if _HAS_VALUE.search(attributes):
                        extent.see(row, 1)
                        extent.see(last_row, column + times)
                        copies = times * (last_row - row + 1)
                        # Once for the row, whichever of its cells has the first value.
                        texts += _COPY_BYTES * (last_row - row) if counted < row else 0
                        counted = row
                        if copies > 1 and (text := _TEXT.search(attributes)) is not None:
                            texts += copies * len(text[1])
                    column += times
        texts += copies * _text_size(block[end:]) if copies > 1 else 0
    return 2 * max(largest, extent.size + texts)


def _text_size(xml: bytes) -> int:
    """The bytes outside of tags."""
    return len(_ANY_TAG.sub(b"", xml))


def _xlsb_bytes(stream: IO[bytes]) -> int:
    """The bytes of a sheet, from after the type of its first record."""
    extent, row, kind = _Extent(), 0, _SHEET
    while True:
        size = _number_in(stream, 4)
        content = stream.read(size)
        if len(content) < size:
            return extent.size
        if kind == _ROW and size >= 4:
            row = int.from_bytes(content[:4], "little")
        elif _BLANK < kind <= _LAST_CELL and size >= 4:
            extent.see(row, int.from_bytes(content[:4], "little"))
        kind = _number_in(stream, 2)
        if kind < 0:
            return extent.size


def _number_in(stream: IO[bytes], most: int) -> int:
    """A variable-length number of at most so many bytes, seven bits each, lowest first; -1 at the end."""
    number = 0
    for at in range(most):
        byte = stream.read(1)
        if not byte:
            return -1
        number |= (byte[0] & 0x7F) << (7 * at)
        if byte[0] < 0x80:
            break
    return number


class _Extent:
    """The rows and columns seen: the first and the last of each."""

    def __init__(self) -> None:
        self._rows: set[int] = set()
        self._columns: set[int] = set()
        # The place of a cell without a place of its own: after the previous one.
        self._row = self._column = 0

    @property
    def size(self) -> int:
        """The bytes of all cells in the extent."""
        if not self._rows or not self._columns:
            return 0
        rows, columns = max(self._rows) - min(self._rows) + 1, max(self._columns) - min(self._columns) + 1
        return rows * columns * CELL_BYTES

    def see(self, row: int, column: int) -> None:
        """Add a non-empty cell."""
        self._rows, self._columns = _ends({*self._rows, row}), _ends({*self._columns, column})

    def add(self, tags: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Add more rows and cells."""
        rows, columns = set(self._rows), set(self._columns)
        for kind, attributes, is_empty in tags:
            place = _PLACE.search(attributes)
            if kind == b"row":
                self._row, self._column = int(place[2]) if place else self._row + 1, 0
                continue
            self._column = _number(place[1]) if place else self._column + 1
            if not is_empty:
                rows.add(int(place[2]) if place else self._row)
                columns.add(self._column)
        self._rows, self._columns = _ends(rows), _ends(columns)


def _ends(numbers: set[int]) -> set[int]:
    return {min(numbers), max(numbers)} if numbers else numbers


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """The text in blocks that end where a tag begins."""
    rest = b""
    while read := stream.read(_READ):
        block = rest + read
        end = block.rfind(b"<")
        if end <= 0:
            # No tag is this long; the text of a cell may be.
            rest = block if len(block) <= 2 * _READ else b""
            continue
        yield block[:end]
        rest = block[end:]
    yield rest


@lru_cache(maxsize=1 << 15)
def _number(letters: bytes) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number
