"""How far apart the cells of a sheet lie, before it is read: all between them is held in memory, empty or not.

One value in the last row and column of a sheet would take 512 GB, and end the process.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import IO, Final

CELL_BYTES: Final = 32
"""What a cell takes in memory, without its text."""
_READ: Final = 1 << 20
# A row or a cell, its attributes, of which a value may hold a >, and whether there is nothing in it.
_TAG: Final = re.compile(rb"""<(?:[^\s<>/:"'=]+:)?(row|c)((?:\s+[^\s<>/"'=]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>""")
_PLACE: Final = re.compile(rb"""\sr\s*=\s*["']\$?([A-Za-z]*)\$?(\d+)["']""")


def largest_sheet(archive: zipfile.ZipFile) -> int:
    """The bytes that the cells of the largest sheet take, from the first one with something in it to the last.

    Which files are sheets is a matter of links in others: what has no rows and cells is none.
    """
    return max((_bytes_of(archive, each) for each in archive.namelist()), default=0)


def _bytes_of(archive: zipfile.ZipFile, name: str) -> int:
    extent = _Extent()
    with archive.open(name) as stream:
        for block in _blocks(stream):
            extent.add(_TAG.findall(block))
    return extent.size


class _Extent:
    """The rows and the columns that have been seen: the first and the last of each."""

    def __init__(self) -> None:
        self._rows: set[int] = set()
        self._columns: set[int] = set()
        # Where a cell is that does not say it: behind the one before.
        self._row = self._column = 0

    @property
    def size(self) -> int:
        """The bytes that all cells between them take."""
        if not self._rows or not self._columns:
            return 0
        rows, columns = max(self._rows) - min(self._rows) + 1, max(self._columns) - min(self._columns) + 1
        return rows * columns * CELL_BYTES

    def add(self, tags: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Some more rows and cells."""
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
            # No tag is as long as that; the text of a cell may be.
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
