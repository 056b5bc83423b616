r"""A dropped file as a source reads it: its text as UTF-8, and JSON objects one per line. Others stay as they are.

FF FE, FE FF         UTF-16, as spreadsheets save "Unicode text"
bytes from 80 on     Windows-1252, if none of them is UTF-8, as spreadsheets save CSV
[{...}, {...}]       one object per line, and so are objects that have several lines
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from engine.contract.scan import LINE_BYTES
from engine.reading.documents.json_sample import ENDINGS as JSON_ENDINGS
from engine.reading.files.csv_sample import ENDINGS as CSV_ENDINGS
from engine.reading.files.line_scan import ENDINGS as LINE_ENDINGS
from engine.reading.files.object_lines import NotObjects, object_lines

MOST_BYTES: Final = 256 << 20
"""The largest JSON that is brought into lines; a larger one stays as it is."""
_TEXT_ENDINGS: Final = (*CSV_ENDINGS, *JSON_ENDINGS, *LINE_ENDINGS)
_CHUNK: Final = 1 << 20
_SEQUENCE_BYTES: Final = 4
_UTF_8: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_NO_WINDOWS_1252: Final = re.compile(rb"[\x00\x81\x8d\x8f\x90\x9d]")


class Dropped(NamedTuple):
    """The bytes to keep, and a sentence about what was changed in them."""

    chunks: Iterator[bytes]
    note: str | None = None


def as_read(stream: IO[bytes], name: str) -> Dropped:
    """A file, from its start, as it is read. stream: can be sought."""
    ending = Path(name).suffix.lower()
    if ending not in _TEXT_ENDINGS:
        return Dropped(_chunks(stream))
    encoding = _encoding_of(stream)
    note = None
    if encoding == "cp1252":
        note = f"{name} was read as Western European text (cp1252). If letters are wrong, save it as UTF-8."
    if ending in JSON_ENDINGS and (lines := _lines_of(stream, encoding)) is not None:
        lined = f"{name} was brought into lines, with one JSON object in each."
        return Dropped(iter([lines]), f"{note} {lined}" if note else lined)
    if encoding == "utf-8":
        return Dropped(_chunks(stream))
    decoded = codecs.iterdecode(_chunks(stream), encoding, "replace")
    return Dropped((text.encode() for text in decoded), note)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    stream.seek(0)
    while chunk := stream.read(_CHUNK):
        yield chunk


def _encoding_of(stream: IO[bytes]) -> str:
    """UTF-8 for all that is not surely something else: its wrong lines are rejected when they are read."""
    before, has_others = b"", False
    for number, chunk in enumerate(_chunks(stream)):
        if number == 0 and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if chunk.isascii() and not before:
            continue
        text = before + chunk
        if _UTF_8.search(text) or _NO_WINDOWS_1252.search(text):
            return "utf-8"
        has_others = True
        before = text[1 - _SEQUENCE_BYTES :]
    return "cp1252" if has_others else "utf-8"


def _lines_of(stream: IO[bytes], encoding: str) -> bytes | None:
    """JSON that is not one object per line yet, as such lines; None for other files."""
    stream.seek(0)
    first = codecs.decode(stream.readline(LINE_BYTES), encoding, "replace").lstrip("\ufeff \t\r\n")
    if first and first[0] not in "[{" or stream.seek(0, os.SEEK_END) > MOST_BYTES:
        return None
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        pass
    else:
        # An array in one line is the whole file, or else a line that is rejected.
        if first[0] == "{":
            return None
    stream.seek(0)
    try:
        text = stream.read().decode(encoding).removeprefix("\ufeff")
        return "".join(f"{line}\n" for line in object_lines(text)).encode() or None
    except (UnicodeDecodeError, NotObjects):
        return None
