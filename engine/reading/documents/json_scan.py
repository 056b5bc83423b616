"""Reads JSON Lines on the workers: byte ranges of files, in blocks of lines, directly into typed Arrow columns.

An object is a row itself, or an envelope around several changes. The text of a value determines its value in a
column: a number as written, `true` and `false`, an object or a list as JSON without blanks.

Arrow parses a block of regular rows at once. A block with a broken line, a repeated key, a number in a text column
or a text in a numeric column is parsed line by line, with the same result and a reason for every rejected line. A
million lines of four fields take 1.2 CPU seconds at once and 4.7 line by line; ten thousand lines of a thousand
fields (227 MB) 4.8 and 9.7.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import json as arrow_json

from engine.contract.frames import KIND
from engine.contract.scan import LINE_BYTES, ReadPart, Rejected
from engine.model.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, TINYINT
from engine.reading.documents.nested import Number, decoder, parsed, text_of
from engine.reading.files.text_files import NOT_UTF8, TOO_LONG, Block, LineNumbers, Places, TextPart, blocks_of
from engine.reading.typed.casts import cast_texts
from engine.reading.typed.kinds import kinds_of
from engine.reading.typed.typed_rows import RowTypes, all_fit, records_of

_NO_OBJECT: Final = "the line is not a JSON object"
_BROKEN: Final = "the line is broken JSON"
_SEVERAL: Final = "the line has more than one JSON object"
_LEVELS: Final = 200
_TOO_DEEP: Final = f"the line is nested more than {_LEVELS} levels deep"
_SPACE: Final = " \t\r\n"

# The types that Arrow reads with the same result, if at all; it never reads a text as a number, or the reverse.
_DIRECT: Final = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, BOOLEAN)
# Arrow accepts more of these words than JSON's readers agree on.
_NO_NUMBER: Final = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")

Row = dict[str, Any]


class Line(NamedTuple):
    """A line with its object. number: of the line in its part; raw: its bytes."""

    number: int
    raw: bytes
    object: Row


class NoChange(ValueError):
    """An envelope that is rejected, with the reason."""


@dataclass(frozen=True)
class JsonReader:
    """Reads a part in which each line is a row."""

    rows: RowTypes

    def __call__(self, part: TextPart) -> Iterator[ReadPart]:
        """Its records and rejected lines."""
        numbers = LineNumbers(part)
        for block in blocks_of(part):
            yield self.of(block, part.name, numbers)

    def of(self, block: Block, name: str, numbers: Places) -> ReadPart:
        """The records and rejected lines of a block. name: of its file."""
        # A block of this size may be one line that is too long.
        part = _at_once(block, self.rows, name, numbers) if len(block.text) <= LINE_BYTES else None
        if part is not None:
            return part
        lines, rejected = objects_of(block, numbers)
        objects = [line.object for line in lines]
        texts = [_texts(objects, column.name) for column in self.rows.columns]
        columns, reasons = self.rows.judged(texts)
        rejected += [numbers.rejected(lines[at].number, lines[at].raw, why) for at, why in reasons.items()]
        batch, places = records_of(self.rows.batch(columns), [line.number for line in lines], set(reasons))
        cut = self.rows.cut(texts, reasons)
        return ReadPart(batch, name, places, sorted(rejected), numbers.before, cut=cut)


@dataclass(frozen=True)
class EnvelopeReader:
    """Reads a part in which each line is an envelope: all of its records in order, or none.

    changes_of: the (kind, row) pairs in an envelope; raises NoChange if the line is to be rejected.
    """

    rows: RowTypes
    changes_of: Callable[[Row], Sequence[tuple[int, Row]]]

    def __call__(self, part: TextPart) -> Iterator[ReadPart]:
        """Its records and rejected lines."""
        numbers = LineNumbers(part)
        for block in blocks_of(part):
            yield self.of(block, part.name, numbers)

    def of(self, block: Block, name: str, numbers: Places) -> ReadPart:
        """The records and rejected lines of a block. name: of its file."""
        lines, rejected = objects_of(block, numbers, skip_null=True)
        kinds: list[int] = []
        rows: list[Row] = []
        owners: list[int] = []
        for at, line in enumerate(lines):
            try:
                changes = self.changes_of(line.object)
            except NoChange as error:
                rejected.append(numbers.rejected(line.number, line.raw, str(error)))
                continue
            for kind, row in changes:
                kinds.append(kind)
                rows.append(row)
                owners.append(at)
        texts = [_texts(rows, column.name) for column in self.rows.columns]
        columns, reasons = self.rows.judged(texts)
        # If one record does not fit, all records of its line are rejected; the first misfit gives the reason.
        broken: dict[int, str] = {}
        for place in sorted(reasons):
            broken.setdefault(owners[place], reasons[place])
        rejected += [numbers.rejected(lines[at].number, lines[at].raw, why) for at, why in broken.items()]
        lost = {place for place, at in enumerate(owners) if at in broken} if broken else set()
        batch = self.rows.batch({KIND: pa.array(kinds, pa.int8()), **columns})
        batch, places = records_of(batch, [lines[at].number for at in owners], lost)
        cut = self.rows.cut(texts, lost)
        return ReadPart(batch, name, places, sorted(rejected), numbers.before, cut=cut)


def _at_once(block: Block, rows: RowTypes, name: str, numbers: Places) -> ReadPart | None:
    """The records of a block in which every line is valid; None if the lines have to be read one by one."""
    text = block.text.removesuffix(b"\n")
    # Then no object continues on the next line: no opening brace can follow a closing one.
    are_objects = text.startswith(b"{") and text.endswith(b"}") and text.count(b"}\n{") == block.size - 1
    if not are_objects or any(column.type.is_nested for column in rows.columns):
        return None
    if (b"NaN" in text or b"Inf" in text) and _NO_NUMBER.search(text):
        return None
    types = [(column.name, column.type.arrow if column.type in _DIRECT else pa.string()) for column in rows.columns]
    try:
        text.decode()
        table = arrow_json.read_json(
            io.BytesIO(text),
            arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            arrow_json.ParseOptions(
                explicit_schema=pa.schema(types), newlines_in_values=False, unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != block.size:
        return None
    batch = table.combine_chunks().to_batches()[0]
    columns: dict[str, pa.Array] = {}
    for column in rows.columns:
        held = batch.column(column.name)
        if column.name == rows.kind_column:
            columns[KIND] = values = kinds_of(held)
            if values.null_count:
                return None
            continue
        columns[column.name] = values = held if column.type in _DIRECT else cast_texts(held, column.type)
        if not all_fit(values, held, column):
            return None
    lines = range(block.first, block.first + block.size)
    cut = rows.cut([batch.column(column.name) for column in rows.columns])
    return ReadPart(rows.batch(columns), name, lines, (), numbers.before, cut=cut)


def objects_of(block: Block, numbers: Places, *, skip_null: bool = False) -> tuple[list[Line], list[Rejected]]:
    """The objects of a block, and the lines without one. Blank lines are skipped; with skip_null, `null` too."""
    # Without nested values, a number can be read as plain text, which is faster: each brace begins a line.
    begun = block.text.startswith(b"{") + block.text.count(b"\n{")
    is_flat = b"[" not in block.text and block.text.count(b"{") == begun
    scan = decoder(str if is_flat else Number).raw_decode
    lines: list[Line] = []
    rejected: list[Rejected] = []
    for number, raw in enumerate(block.text.removesuffix(b"\n").split(b"\n"), block.first):
        if len(raw) > LINE_BYTES:
            rejected.append(numbers.rejected(number, raw, TOO_LONG))
            continue
        try:
            text = raw.decode()
            value, end = scan(text)
            if type(value) is dict and (end == len(text) or not text[end:].strip(_SPACE)):
                if _is_deep(raw, value):
                    rejected.append(numbers.rejected(number, raw, _TOO_DEEP))
                else:
                    lines.append(Line(number, raw, value))
                continue
        except (ValueError, RecursionError):
            pass
        try:
            # Blanks before an object are rare, as are invalid lines.
            text = raw.decode().strip(" ")
            if not text or (skip_null and text == "null"):
                continue
            object_ = _object_in(text)
        except UnicodeDecodeError:
            object_ = NOT_UTF8
        if isinstance(object_, str) or _is_deep(raw, object_):
            rejected.append(numbers.rejected(number, raw, object_ if isinstance(object_, str) else _TOO_DEEP))
        else:
            lines.append(Line(number, raw, object_))
    return lines, rejected


def _is_deep(raw: bytes, value: Any) -> bool:
    """Whether a value, written as this text, is nested more deeply than Python can process."""
    if raw.count(b"{") + raw.count(b"[") <= _LEVELS:
        return False
    level = [value]
    for _ in range(_LEVELS):
        level = [item for parent in level for item in (parent.values() if isinstance(parent, dict) else parent)]
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _object_in(text: str) -> Row | str:
    """The object of a line, or the reason why it has none."""
    if not text.startswith("{"):
        return _NO_OBJECT
    try:
        values = parsed(f"[{text}]")
    except RecursionError:
        return _TOO_DEEP
    except ValueError:
        return _BROKEN
    if any(not isinstance(value, dict | None) for value in values):
        return _BROKEN
    return _SEVERAL if len(values) > 1 else values[0]


def _texts(rows: Sequence[Row], name: str) -> pa.Array:
    """A column of texts; null for rows without this key."""
    values = [row.get(name) for row in rows]
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        # A lone surrogate is not a character.
        texts = (text_of(value) for value in values)
        return pa.array(
            [None if text is None else text.encode(errors="replace").decode() for text in texts], pa.string()
        )
