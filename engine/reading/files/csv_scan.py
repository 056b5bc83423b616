"""Reads CSV on the workers: byte ranges of files, in blocks of lines, directly into typed Arrow columns.

Arrow parses a regular block at once. A block with a broken line, a value that does not fit, or a notation that Arrow
does not know (` 5`, `+5`, `5" pipe`) is parsed line by line, with the same result and a reason for every rejected
line. One bad line therefore slows down a block, not the file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow import csv

from engine.contract.frames import KIND
from engine.contract.scan import LINE_BYTES, ReadPart, Rejected
from engine.model.schema import Column
from engine.model.types import BIGINT, BOOLEAN, INT, SMALLINT, STRING, TINYINT
from engine.reading.files.text_files import NOT_UTF8, TOO_LONG, Block, LineNumbers, Places, TextPart, blocks_of
from engine.reading.typed.casts import cast_texts
from engine.reading.typed.kinds import kinds_of
from engine.reading.typed.typed_rows import RowTypes, all_fit, records_of

EMPTY: Final = "column {!r} is empty, which is no {}; 'csv.null-literal' = '' makes it NULL"
_OPEN: Final = "a quoted field is not closed in its line, or continues after its closing quote"
_TRUE: Final = ["t", "true", "y", "yes", "1", "T", "True", "TRUE", "Y", "Yes", "YES"]
_FALSE: Final = ["f", "false", "n", "no", "0", "F", "False", "FALSE", "N", "No", "NO"]
# The types for which Arrow reads the same numbers, dates or booleans as Spark, if it reads them at all.
_DIRECT: Final = (TINYINT, SMALLINT, INT, BIGINT, BOOLEAN, STRING)


@dataclass(frozen=True)
class CsvReader:
    """Reads a part. rows: all of the file's columns, in order, with their types.

    empty_is_null: whether an empty field is NULL. As in Flink, it is an empty STRING and a FALSE otherwise, and fits no
    other type.
    """

    rows: RowTypes
    separator: str
    quote: str
    null_text: str
    header: bool
    multi_line: bool
    empty_is_null: bool = True

    @property
    def nulls(self) -> tuple[str, ...]:
        """The texts that mean NULL."""
        own = (self.null_text,) if self.null_text else ()
        return ("", *own) if self.empty_is_null else own

    def __call__(self, part: TextPart) -> Iterator[ReadPart]:
        """Its records and rejected lines."""
        reading = _Reading(self, part.name, LineNumbers(part), at_start=part.start == 0)
        for block in blocks_of(part, self.quote.encode() if self.multi_line else b""):
            yield from reading.block(block)

    def of(self, block: Block, name: str, numbers: Places) -> ReadPart:
        """The records and rejected lines of a block without a header. name: of its file."""
        (part,) = _Reading(self, name, numbers, at_start=False).block(block)
        return part


class _Reading:
    """Reads one part, block by block."""

    def __init__(self, how: CsvReader, name: str, numbers: Places, *, at_start: bool) -> None:
        self.how = how
        self.name = name
        self.numbers = numbers
        self.at_start = at_start
        quote, separator = re.escape(how.quote), re.escape(how.separator)
        inside = f"[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+"
        blank = "[ ]" if how.separator == "\t" else "[ \\t]"
        self._quoted_field = re.compile(f"(?s){quote}({inside}){quote}{blank}*(?={separator}|\\Z)")
        in_line = f"[^{quote}\n]*+(?:{quote}{quote}[^{quote}\n]*+)*+"
        well_formed = f"(?:(?<=[\n{separator}])|\\A){quote}{in_line}{quote}(?=[\n{separator}]|\\Z)"
        self._quoted = re.compile(well_formed.encode())

    def block(self, text_block: Block) -> Iterator[ReadPart]:
        """The records and the rejected lines of a block."""
        block, first, size = text_block
        if self.at_start and first == 1 and self.how.header:
            _, _, block = block.partition(b"\n")
            first += 1
            size -= 1
        if not block:
            return
        # A block of this size may be one line that is too long.
        part = None if self.how.multi_line or len(block) > LINE_BYTES else self._at_once(block, first, size)
        yield self._one_by_one(block, first) if part is None else part

    def _at_once(self, block: bytes, first: int, lines: int) -> ReadPart | None:
        """The records of a block in which every line is valid; None if the lines have to be read one by one."""
        how = self.how
        quote = how.quote.encode()
        # A single byte is found 30 times as fast as two, and most blocks have no such letter.
        has_hexadecimals = any(letter in block and b"0" + letter in block for letter in (b"x", b"X"))
        if has_hexadecimals or not how.separator.isascii() or not how.quote.isascii():
            return None
        if quote in block and quote in self._quoted.sub(b"", block):
            return None
        types = {column.name: _direct(column) for column in how.rows.columns}
        if b"\n\n" in block or block.startswith(b"\n") or (len(types) == 1 and b" " in block):
            # A blank line is not a record, but Arrow would read it as a row of nulls.
            return None
        try:
            table = csv.read_csv(
                io.BytesIO(block),
                csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=list(types)),
                csv.ParseOptions(
                    delimiter=how.separator, quote_char=how.quote, newlines_in_values=False, ignore_empty_lines=False
                ),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=list(how.nulls),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=how.nulls == ("",),
                    true_values=_TRUE,
                    false_values=_FALSE,
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != lines or quote in block and how.null_text:
            return None
        batch = table.combine_chunks().to_batches()[0]
        columns: dict[str, pa.Array] = {}
        for column in how.rows.columns:
            texts = batch.column(column.name)
            values = texts if column.type in _DIRECT else cast_texts(texts, column.type)
            if column.name == how.rows.kind_column:
                values = kinds_of(texts)
                if values.null_count:
                    return None
                columns = {KIND: values, **columns}
                continue
            if not all_fit(values, texts, column):
                return None
            columns[column.name] = values
        cut = how.rows.cut([batch.column(column.name) for column in how.rows.columns])
        records = how.rows.batch(columns)
        return ReadPart(records, self.name, range(first, first + lines), (), self.numbers.before, cut=cut)

    def _one_by_one(self, block: bytes, first: int) -> ReadPart:
        """The records of a block, read line by line, and the reasons why other lines are rejected."""
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
                rejected.append(self.numbers.rejected(line, raw, row))
                continue
            lines.append(line)
            raws.append(raw)
            rows.append(row)
        texts = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)] if rows else []
        texts = texts or [pa.nulls(0, pa.string()) for _ in how.rows.columns]
        columns, reasons = how.rows.judged(texts)
        rejected += [self.numbers.rejected(lines[at], raws[at], reason) for at, reason in reasons.items()]
        batch, places = records_of(how.rows.batch(columns), lines, set(reasons))
        cut = how.rows.cut(texts, reasons)
        return ReadPart(batch, self.name, places, sorted(rejected), self.numbers.before, cut=cut)

    def _lines(self, block: bytes, first: int) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers. If quotes can hold line breaks: the records, numbered by their first lines."""
        lines = block.removesuffix(b"\n").split(b"\n")
        if not self.how.multi_line:
            yield from enumerate(lines, first)
            return
        quote = self.how.quote.encode()
        waiting: list[bytes] = []
        is_open, start = False, first
        for line, raw in enumerate(lines, first):
            start = start if waiting else line
            waiting.append(raw)
            is_open ^= raw.count(quote) % 2 == 1
            if not is_open:
                yield start, b"\n".join(waiting)
                waiting = []
        if waiting:
            yield start, b"\n".join(waiting)

    def _fields(self, raw: bytes) -> list[str | None] | str:
        """The fields of a line, null for an empty field or the NULL text; or the reason why the line is invalid."""
        how = self.how
        if len(raw) > LINE_BYTES:
            return TOO_LONG
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            return NOT_UTF8
        nothing = how.nulls
        if how.quote not in line:
            plain = line.split(how.separator)
            return self._of_width([None if text in nothing else text for text in plain])
        fields: list[str | None] = []
        at = 0
        while True:
            quoted = self._quoted_field.match(line, at)
            if quoted:
                text = quoted[1].replace(how.quote * 2, how.quote)
                fields.append(None if text in nothing and text == how.null_text else text)
                at = quoted.end()
            elif line.startswith(how.quote, at):
                return _OPEN
            else:
                end = line.find(how.separator, at)
                end = len(line) if end < 0 else end
                text = line[at:end]
                fields.append(None if text in nothing else text)
                at = end
            if at >= len(line):
                break
            at += 1
        return self._of_width(fields)

    def _of_width(self, fields: list[str | None]) -> list[str | None] | str:
        found, wanted = len(fields), len(self.how.rows.columns)
        if found == wanted:
            return self._as_flink(fields)
        return f"{found} field{'s' * (found != 1)} for {wanted} column{'s' * (wanted != 1)}"

    def _as_flink(self, fields: list[str | None]) -> list[str | None] | str:
        """The fields, of which empty ones can be no NULL; or the reason why one of them has no value."""
        if self.how.empty_is_null:
            return fields
        for at, (text, column) in enumerate(zip(fields, self.how.rows.columns, strict=True)):
            if text != "" or column.type == STRING:
                continue
            if column.type != BOOLEAN:
                return EMPTY.format(column.name, column.type.flink)
            fields[at] = "false"
        return fields


def _direct(column: Column) -> pa.DataType:
    """The Arrow type of a column; string if Arrow's reader would give a different result."""
    return column.type.arrow if column.type in _DIRECT else pa.string()
