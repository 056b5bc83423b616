"""How workers read CSV: byte ranges of files, in blocks of lines, straight into typed Arrow columns.

A block without anything odd is parsed by Arrow in one go. One with a broken line, a value that does not fit, or a
notation that Arrow has not (` 5`, `+5`, `5" pipe`) is taken apart line by line, with the same result and a reason for
every line that is rejected. So one bad line costs a block, not the file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from engine.changelog import SYMBOLS
from engine.frames import KIND
from engine.reading.casts import cast_texts
from engine.reading.kinds import WORDS
from engine.reading.scan import RAW_CHARS, ReadPart, Rejected, milliseconds
from engine.reading.values import MAX_EVENT_TIME_MS, MIN_EVENT_TIME_MS, OUT_OF_RANGE, with_article
from engine.schema import Column, arrow_type

_PART: Final = 16 << 20
_BLOCK: Final = 4 << 20
_VALUE_CHARS: Final = 100
_WORD_CHARS: Final = 40
_MARK: Final = b"\xef\xbb\xbf"
_OPEN: Final = "a quoted field is not closed in its line, or goes on after its closing quote"
_NOT_UTF8: Final = "the line is not UTF-8; save the file as UTF-8"
_TRUE: Final = ["t", "true", "y", "yes", "1", "T", "True", "TRUE", "Y", "Yes", "YES"]
_FALSE: Final = ["f", "false", "n", "no", "0", "F", "False", "FALSE", "N", "No", "NO"]
# What Arrow reads as the same number, date or truth as Spark where it reads it at all.
_DIRECT: Final = ("tinyint", "smallint", "int", "bigint", "boolean", "string")
_KINDS: Final = {word: kind for kind, words in WORDS.items() for word in words}


class CsvPart(NamedTuple):
    """A range of a file's bytes that starts and ends with a line; end None: to the end."""

    path: str
    name: str
    start: int
    end: int | None


@dataclass(frozen=True)
class CsvReader:
    """Reads a part. columns: all of the file's, in order, with their types; kind_column: the one that is the kind."""

    columns: tuple[Column, ...]
    kind_column: str | None
    separator: str
    quote: str
    null_text: str
    header: bool
    multi_line: bool

    def __call__(self, part: CsvPart) -> Iterator[ReadPart]:
        """Its records and rejected lines."""
        reading = _Reading(self, part)
        with opened(part.path) as stream:
            if part.start:
                stream.seek(part.start)
            left = None if part.end is None else part.end - part.start
            at_start = part.start == 0
            for block in _blocks(stream, left, self.quote.encode() if self.multi_line else b""):
                yield from reading.block(block.removeprefix(_MARK) if at_start else block, at_start)
                at_start = False

    @property
    def payload(self) -> tuple[Column, ...]:
        """The columns of a record."""
        return tuple(column for column in self.columns if column.name != self.kind_column)


def parts_of(files: Sequence[tuple[str, str]], *, whole: bool) -> tuple[CsvPart, ...]:
    """The parts of some (path, name), each cut at line ends. whole: a file is one part, as compressed ones are."""
    parts = []
    for path, name in files:
        size = Path(path).stat().st_size
        if whole or Path(path).suffix in (".gz", ".bz2") or size <= _PART:
            parts.append(CsvPart(path, name, 0, None))
            continue
        cuts = [0]
        with Path(path).open("rb") as stream:
            for at in range(_PART, size, _PART):
                if at <= cuts[-1]:
                    continue
                stream.seek(at)
                if not stream.readline().endswith(b"\n"):
                    break
                cuts.append(stream.tell())
        ends = [*cuts[1:], size]
        parts += [CsvPart(path, name, low, high) for low, high in zip(cuts, ends, strict=True) if low < high]
    return tuple(parts)


def opened(path: str) -> IO[bytes]:
    """A file's bytes, decompressed."""
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    return cast(IO[bytes], openers.get(Path(path).suffix, open)(path, "rb"))


def _blocks(stream: IO[bytes], left: int | None, quote: bytes) -> Iterator[bytes]:
    """The bytes in blocks of whole lines; with a quote, of whole records."""
    rest = b""
    while left is None or left > 0:
        read = stream.read(_BLOCK if left is None else min(_BLOCK, left))
        if not read:
            break
        left = None if left is None else left - len(read)
        block = rest + read
        end = block.rfind(b"\n") + 1
        while quote and end and block.count(quote, 0, end) % 2:
            end = block.rfind(b"\n", 0, end - 1) + 1
        rest = block[end:]
        if end:
            yield block[:end]
    if rest:
        yield rest


class _Reading:
    """The reading of one part, block after block. line: the number of lines so far, in this part."""

    def __init__(self, how: CsvReader, part: CsvPart) -> None:
        self.how = how
        self.part = part
        self.line = 0
        self._lines_before: int | None = None
        quote, separator = re.escape(how.quote), re.escape(how.separator)
        inside = f"[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+"
        self._quoted_field = re.compile(f"(?s){quote}({inside}){quote}[ \\t]*(?={separator}|\\Z)")
        in_line = f"[^{quote}\n]*+(?:{quote}{quote}[^{quote}\n]*+)*+"
        well_formed = f"(?:(?<=[\n{separator}])|\\A){quote}{in_line}{quote}(?=[\n{separator}]|\\Z)"
        self._quoted = re.compile(well_formed.encode())

    def block(self, block: bytes, at_start: bool) -> Iterator[ReadPart]:
        """The records and the rejected lines of a block."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first = self.line + 1
        self.line += block.count(b"\n") + (not block.endswith(b"\n"))
        if at_start and self.how.header:
            _, _, block = block.partition(b"\n")
            first += 1
        if not block:
            return
        records = None if self.how.multi_line else self._at_once(block, self.line - first + 1)
        if records is not None:
            yield ReadPart(records, self.part.name, np.arange(first, first + records.num_rows))
            return
        yield self._one_by_one(block, first)

    def _at_once(self, block: bytes, lines: int) -> pa.RecordBatch | None:
        """The records of a block in which every line is one; None where somebody has to look closer."""
        how = self.how
        quote = how.quote.encode()
        if b"0x" in block or b"0X" in block or not how.separator.isascii() or not how.quote.isascii():
            return None
        if quote in block and quote in self._quoted.sub(b"", block):
            return None
        types = {column.name: _direct(column) for column in how.columns}
        if len(how.columns) == 1 and (b" " in block or b"\n\n" in block or block.startswith(b"\n")):
            # A blank line is no record, and in a single column it would look like one.
            return None
        try:
            found = csv.read_csv(
                io.BytesIO(block),
                csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=list(types)),
                csv.ParseOptions(
                    delimiter=how.separator, quote_char=how.quote, newlines_in_values=False, ignore_empty_lines=False
                ),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=list({"", how.null_text}),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=how.null_text == "",
                    true_values=_TRUE,
                    false_values=_FALSE,
                ),
            )
        except pa.ArrowInvalid:
            return None
        if found.num_rows != lines or quote in block and how.null_text:
            return None
        batch = found.combine_chunks().to_batches()[0]
        columns: dict[str, pa.Array] = {}
        for column in how.columns:
            texts = batch.column(column.name)
            values = texts if column.type in _DIRECT else cast_texts(texts, column.type)
            if column.name == how.kind_column:
                values = _kinds_of(texts)
                if values.null_count:
                    return None
                columns = {KIND: values, **columns}
                continue
            if values.null_count != texts.null_count or not _in_time(values, column):
                return None
            columns[column.name] = values
        return self._batch(columns)

    def _batch(self, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        fields = [pa.field(KIND, pa.int8())] if self.how.kind_column is not None else []
        fields += [pa.field(column.name, arrow_type(column.type)) for column in self.how.payload]
        arrays = [columns[item.name].cast(item.type) for item in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _one_by_one(self, block: bytes, first: int) -> ReadPart:
        """The records of a block, line by line, and why the others are none."""
        how = self.how
        lines: list[int] = []
        raws: list[bytes] = []
        rows: list[list[str | None]] = []
        rejected: list[Rejected] = []
        for line, raw in self._lines(block, first):
            if not raw.strip(b" "):
                continue
            row = self._fields(raw)
            if isinstance(row, str):
                rejected.append(self._rejected(line, raw, row))
                continue
            lines.append(line)
            raws.append(raw)
            rows.append(row)
        texts = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)] if rows else []
        texts = texts or [pa.nulls(0, pa.string()) for _ in how.columns]
        reasons: dict[int, str] = {}
        columns: dict[str, pa.Array] = {}
        # The kind is judged first, then the columns in their order; the first reason counts.
        ordered = sorted(zip(how.columns, texts, strict=True), key=lambda pair: pair[0].name != how.kind_column)
        for column, held in ordered:
            if column.name == how.kind_column:
                columns[KIND] = values = _kinds_of(held)
                for at in _places(pc.is_null(values)):
                    reasons.setdefault(at, _unknown_kind(column.name, held[at].as_py()))
                continue
            columns[column.name] = values = cast_texts(held, column.type)
            for at in _places(_misfits(values, held, column)):
                reasons.setdefault(at, _misfit(column, held[at].as_py(), values[at].is_valid))
        rejected += [self._rejected(lines[at], raws[at], reason) for at, reason in reasons.items()]
        is_record = np.ones(len(rows), dtype=bool)
        is_record[list(reasons)] = False
        batch = self._batch(columns).filter(pa.array(is_record))
        return ReadPart(batch, self.part.name, np.array(lines, np.int64)[is_record], sorted(rejected))

    def _lines(self, block: bytes, first: int) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers; with line breaks in quotes, the records with that of their first line."""
        found = block.removesuffix(b"\n").split(b"\n")
        if not self.how.multi_line:
            yield from enumerate(found, first)
            return
        quote = self.how.quote.encode()
        waiting: list[bytes] = []
        is_open, start = False, first
        for line, raw in enumerate(found, first):
            start = start if waiting else line
            waiting.append(raw)
            is_open ^= raw.count(quote) % 2 == 1
            if not is_open:
                yield start, b"\n".join(waiting)
                waiting = []
        if waiting:
            yield start, b"\n".join(waiting)

    def _fields(self, raw: bytes) -> list[str | None] | str:
        """The fields of a line, null where nothing stands or the NULL text; or why it has none."""
        how = self.how
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            return _NOT_UTF8
        nothing = ("", how.null_text)
        if how.quote not in line:
            plain = line.split(how.separator)
            if len(plain) != len(how.columns):
                return f"{len(plain)} fields for {len(how.columns)} columns"
            return [None if text in nothing else text for text in plain]
        found: list[str | None] = []
        at = 0
        while True:
            quoted = self._quoted_field.match(line, at)
            if quoted:
                text = quoted[1].replace(how.quote * 2, how.quote)
                found.append(None if text == how.null_text else text)
                at = quoted.end()
            elif line.startswith(how.quote, at):
                return _OPEN
            else:
                end = line.find(how.separator, at)
                end = len(line) if end < 0 else end
                text = line[at:end]
                found.append(None if text in nothing else text)
                at = end
            if at >= len(line):
                break
            at += 1
        if len(found) != len(how.columns):
            return f"{len(found)} fields for {len(how.columns)} columns"
        return found

    def _rejected(self, line: int, raw: bytes, reason: str) -> Rejected:
        if self._lines_before is None:
            self._lines_before = _count_lines(self.part)
        return Rejected(
            self.part.name, self._lines_before + line, raw.decode("utf-8", errors="replace")[:RAW_CHARS], reason
        )


def _direct(column: Column) -> pa.DataType:
    """What Arrow's own reader makes of a column; a text where it would not mean the same."""
    return arrow_type(column.type) if column.type in _DIRECT else pa.string()


def _kinds_of(texts: pa.Array) -> pa.Array:
    if pa.types.is_null(texts.type) or not pa.types.is_string(texts.type):
        texts = texts.cast(pa.string())
    words = pc.utf8_lower(pc.utf8_trim(texts, " "))
    places = pc.index_in(words, pa.array(list(_KINDS)))
    return pa.array(list(_KINDS.values()), pa.int8()).take(places)


def _in_time(values: pa.Array, column: Column) -> bool:
    """Whether a column's values are all event times, where they have to be."""
    return column.time is None or not pc.any(_misfits(values, values, column)).as_py()


def _misfits(values: pa.Array, texts: pa.Array, column: Column) -> pa.Array:
    """Where a row is rejected for a column."""
    unfit = pc.and_(pc.is_valid(texts), pc.is_null(values))
    if column.time is None:
        return unfit
    try:
        ms = milliseconds(values, column)
    except pa.ArrowInvalid:
        factor = 1000
        scaled = [None if value is None else value * factor for value in values.to_pylist()]
        ms = pa.array([None if at is None or abs(at) >= 1 << 63 else at for at in scaled], pa.int64())
    inside = pc.and_(pc.greater_equal(ms, MIN_EVENT_TIME_MS), pc.less_equal(ms, MAX_EVENT_TIME_MS))
    return pc.invert(pc.fill_null(inside, False))


def _places(mask: pa.Array) -> list[int]:
    found: list[int] = np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()
    return found


def _misfit(column: Column, text: str | None, fits: bool) -> str:
    if text is None:
        return f"column {column.name!r}: the event time is null"
    what = OUT_OF_RANGE if fits else f"is not {with_article(column.type)}"
    return f'column {column.name!r}: "{text[:_VALUE_CHARS]}" {what}'


def _unknown_kind(name: str, text: str | None) -> str:
    advice = f"use {', '.join(SYMBOLS)}, or insert, update, delete"
    if text is None:
        return f"column {name!r}: the row kind is missing; {advice}"
    return f'column {name!r}: "{text[:_WORD_CHARS]}" is no row kind; {advice}'


def _count_lines(part: CsvPart) -> int:
    """The lines of the file before a part."""
    lines, left, ended = 0, part.start, False
    if not left:
        return 0
    with opened(part.path) as stream:
        while left:
            read = stream.read(min(_BLOCK, left))
            left -= len(read)
            lines += read.count(b"\n")
            # A lone carriage return ends a line as well; half of a pair may stand in the next block.
            lines += read.count(b"\r") - read.count(b"\r\n") - (ended and read.startswith(b"\n"))
            ended = read.endswith(b"\r")
    return lines
