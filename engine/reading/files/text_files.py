"""Reads text files on the workers: the lines that begin in a range of bytes, in blocks of whole lines.

A byte order mark is not text. A line ends with LF, CRLF or CR; in a block all lines end with LF. Lines are numbered
from the start of a part; the lines before it are counted only if a line number is reported.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final, NamedTuple, Protocol

from engine.contract.scan import LINE_BYTES, RAW_CHARS, Rejected
from engine.reading.files.buckets import BucketError
from engine.reading.files.input_files import InputFile
from engine.reading.files.storage import is_packed, open_file, unpacked

NOT_UTF8: Final = "the line is not UTF-8; save the file as UTF-8"
TOO_LONG: Final = f"the line is longer than {LINE_BYTES >> 20} MB"
_PART: Final = 16 << 20
_BLOCK: Final = 4 << 20
_MARK: Final = b"\xef\xbb\xbf"


class TextPart(NamedTuple):
    """The lines of a file that begin in a range of its bytes; end None: to the end. written_ns: of an object."""

    path: str
    name: str
    start: int
    end: int | None
    written_ns: int = 0


class Block(NamedTuple):
    """Whole lines. first: the number of the first one in its part, from 1; size: the number of lines."""

    text: bytes
    first: int
    size: int


def parts_of(files: Sequence[InputFile], *, whole: bool = False, size: int = _PART) -> tuple[TextPart, ...]:
    """The parts of some files. whole: each file is one part, as compressed files always are."""
    parts = []
    for file in files:
        cuts = [0] if whole or is_packed(file.path) else list(range(0, file.size, size)) or [0]
        ends = [*cuts[1:], None]
        parts += [
            TextPart(file.path, file.name, low, high, file.written_ns) for low, high in zip(cuts, ends, strict=True)
        ]
    return tuple(parts)


def ranges_of(path: str, name: str, start: int, end: int, *, whole: bool = False) -> list[TextPart]:
    """A range of a file that starts and ends at line boundaries, in parts."""
    cuts = [start, *range(start + _PART, end, _PART), end] if not whole else [start, end]
    return [TextPart(path, name, low, high) for low, high in zip(cuts, cuts[1:], strict=False) if low < high]


def blocks_of(part: TextPart, quote: bytes = b"", size: int = _BLOCK) -> Iterator[Block]:
    """The part in blocks of whole lines; with a quote, in blocks that leave no quote open.

    A line longer than LINE_BYTES is cut, but remains too long.
    """
    line = 1
    with _opened(part) as stream:
        for number, (raw, left_out) in enumerate(_readable(part, stream, quote, size)):
            text = raw.removeprefix(_MARK) if number == 0 and part.start == 0 else raw
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            lines = text.count(b"\n") + (not text.endswith(b"\n"))
            yield Block(text, line, lines)
            line += lines + left_out


def _readable(part: TextPart, stream: IO[bytes], quote: bytes, size: int) -> Iterator[tuple[bytes, int]]:
    lines = 0
    try:
        end = None if part.end is None else _line_from(stream, part.end)
        start = _line_from(stream, part.start)
        stream.seek(start)
        left = None if end is None else end - start
        for raw, left_out in _cut(stream, left, quote, size):
            yield raw, left_out
            lines += raw.count(b"\n") + left_out
    except BucketError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        message = f"{part.name} is damaged after line {_count_lines(part) + lines}: {error}. Save or copy it again."
        raise OSError(message) from error


@contextmanager
def _opened(part: TextPart) -> Iterator[IO[bytes]]:
    """The bytes of a part's file, decompressed."""
    with open_file(part.path, part.written_ns) as stored, unpacked(stored, part.path) as stream:
        yield stream


def _line_from(stream: IO[bytes], at: int) -> int:
    """The start of the first line at or after this offset."""
    if at:
        stream.seek(at - 1)
        while (read := stream.readline(_BLOCK)) and not read.endswith(b"\n"):
            pass
        return stream.tell()
    return 0


def _cut(stream: IO[bytes], left: int | None, quote: bytes, size: int) -> Iterator[tuple[bytes, int]]:
    """Blocks that end at a line end, each with the number of line ends omitted after it."""
    reads = _reads(stream, left, size)
    rest = b""
    for read in reads:
        block = rest + read
        end = _end_of_lines(block, quote)
        if end or len(block) <= LINE_BYTES:
            rest = block[end:]
            if end:
                yield block[:end], 0
            continue
        head = block[: LINE_BYTES + 1] + b"\n"
        passed, rest = _line_end(block, reads, quote)
        yield head, passed - head.count(b"\n")
    if rest:
        yield rest, 0


def _reads(stream: IO[bytes], left: int | None, size: int) -> Iterator[bytes]:
    while read := stream.read(size if left is None else min(size, left)):
        left = None if left is None else left - len(read)
        yield read


def _end_of_lines(block: bytes, quote: bytes) -> int:
    """The end of the last line that leaves no quote open; 0 if there is none."""
    end = block.rfind(b"\n") + 1
    while quote and end and block.count(quote, 0, end) % 2:
        end = block.rfind(b"\n", 0, end - 1) + 1
    if not end and not quote and len(block) > LINE_BYTES:
        # Lines may end with CR alone. The last byte may be half of a CRLF.
        end = block.rfind(b"\r", 0, len(block) - 1) + 1
    return end


def _line_end(block: bytes, reads: Iterator[bytes], quote: bytes) -> tuple[int, bytes]:
    """The number of line ends up to the end of the line, or record, that starts a block; and the rest after it."""
    passed, is_open = 0, False
    while block:
        at = 0
        while end := block.find(b"\n", at) + 1:
            is_open ^= bool(quote) and block.count(quote, at, end) % 2 == 1
            passed, at = passed + 1, end
            if not is_open:
                return passed, block[end:]
        is_open ^= bool(quote) and block.count(quote, at) % 2 == 1
        block = next(reads, b"")
    return passed + 1, b""


class Places(Protocol):
    """The positions of lines, as users find them."""

    def before(self) -> int:
        """The lines of the file before the part."""

    def rejected(self, line: int, raw: bytes, reason: str) -> Rejected:
        """A line of the part that cannot be read."""


class LineNumbers:
    """The line numbers of a part in its file."""

    def __init__(self, part: TextPart) -> None:
        self._part = part
        self._before: int | None = None

    def before(self) -> int:
        """The number of lines in the file before the part, counted on demand."""
        if self._before is None:
            self._before = _count_lines(self._part)
        return self._before

    def rejected(self, line: int, raw: bytes, reason: str) -> Rejected:
        """A line of the part that cannot be read."""
        text = raw.decode("utf-8", errors="replace")[:RAW_CHARS]
        return Rejected(self._part.name, self.before() + line, text, reason)


def _count_lines(part: TextPart) -> int:
    if not part.start:
        return 0
    lines, ended = 0, False
    with _opened(part) as stream:
        left = _line_from(stream, part.start)
        stream.seek(0)
        while left:
            read = stream.read(min(_BLOCK, left))
            left -= len(read)
            lines += read.count(b"\n")
            # A lone carriage return ends a line as well; the other half of a CRLF may be in the next block.
            lines += read.count(b"\r") - read.count(b"\r\n") - (ended and read.startswith(b"\n"))
            ended = read.endswith(b"\r")
    return lines
