"""A block of CSV has the same rows if read at once or line by line, and a file the same rows for any cut."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from engine.model.schema import Column, TimeUnit
from engine.model.types import BIGINT, STRING
from engine.reading.files import csv_scan
from engine.reading.files.csv_scan import CsvReader, _Reading
from engine.reading.files.text_files import LineNumbers, TextPart, blocks_of
from engine.reading.typed.typed_rows import RowTypes
from tests.engine.reading.scanned import assert_the_same_however_cut, file_of, row_types, shown

TYPES: Final = (
    "string bigint int tinyint double float boolean date timestamp timestamp_ntz decimal(5,2) binary array<bigint>"
)
NICE: Final = {
    "string": ("a", "b c", "é", "1"),
    "boolean": ("true", "FALSE", "t", "0"),
    "date": ("2024-05-01", "1969-12-31"),
    "timestamp": ("2024-05-01 10:00:00", "2024-05-01T10:00:00.5Z", "1000"),
    "timestamp_ntz": ("2024-05-01 10:00:00",),
    "double": ("1", "1.5", "-1e3"),
    "float": ("1", "0.1"),
    "decimal(5,2)": ("1", "-1.5", "999.994"),
    "binary": ("ab",),
    "array<bigint>": ("[]", "[1]"),
}
ODD: Final = (
    "",
    " ",
    "x",
    " 5",
    "5 ",
    "+5",
    "007",
    "-0",
    "1e400",
    "NaN",
    "inf",
    "nan",
    "128",
    "2147483648",
    "9223372036854775808",
    "1_0",
    "0x1F",
    "tRuE",
    "2024-02-30",
    "2024-5-1",
    "24:00",
    "NULL",
    '""',
    '"a"',
    '"a,b"',
    '"a""b"',
    '"',
    'a"b',
    '"a"b',
    '"a" ',
    '"1"',
    "+I",
    "-d",
    "update",
    " insert ",
    "\t",
    "\x00",
    "a\\",
    "'",
    ",",
    ";",
    "\r",
    "\u00a0",
    "1,2",
    '"\n"',
)
KINDS: Final = ("+I", "-U", "+U", "-D", "insert", "d")


@st.composite
def tables(draw: st.DrawFn) -> tuple[CsvReader, bytes]:
    """A reader, and a file for it, mostly well-formed."""
    rows = draw(row_types(TYPES, (TimeUnit.EPOCH_MS, TimeUnit.EPOCH_S)))
    separator, quote = draw(st.sampled_from((",", ",", ";", "\t", "|"))), draw(st.sampled_from(('"', '"', "'")))
    odd = st.sampled_from([text.replace('"', quote).replace(",", separator) for text in ODD])
    is_odd = draw(st.sampled_from((False, False, True)))
    fields = []
    for column in rows.columns:
        nice = KINDS if column.name == "op" else NICE.get(str(column.type), ("1", "-7", "0", ""))
        texts = [*nice, *(f"{quote}{text}{quote}" for text in nice if column.type == STRING)]
        fields.append(st.sampled_from(texts) | odd if is_odd else st.sampled_from(texts))
    lines = draw(st.lists(st.tuples(*fields).map(separator.join) | (odd if is_odd else st.nothing()), max_size=12))
    data = draw(file_of(lines, (b"\xff", b"\r", b"\n", b"\xc3", b'"') if is_odd else ()))
    null = draw(st.sampled_from(("", "NULL", "x")))
    empty = draw(st.booleans())
    return CsvReader(rows, separator, quote, null, header=False, multi_line=False, empty_is_null=empty), data


TINY: Final = CsvReader(RowTypes((Column("c", BIGINT),)), ",", '"', "", header=False, multi_line=False)


@example((TINY, b"1\n\n2\n"))
@example((TINY, b"\xef\xbb\xbf1\n"))
@given(tables())
def test_a_block_reads_the_same_at_once_and_line_by_line(made: tuple[CsvReader, bytes]) -> None:
    reader, data = made
    with TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes(data)
        part = TextPart(str(path), "in.csv", 0, None)
        reading = _Reading(reader, part.name, LineNumbers(part), at_start=True)
        for block in blocks_of(part):
            at_once = reading._at_once(block.text, block.first, block.size)
            if at_once is None:
                continue
            one_by_one = reading._one_by_one(block.text, block.first)
            assert shown([at_once]) == shown([one_by_one])
            assert at_once.records.schema == one_by_one.records.schema
            assert at_once.cut == one_by_one.cut


@example((TINY, b"1\r\rx\r\n2\n\rx"), 1, 1)
@given(tables(), st.integers(1, 60), st.integers(1, 60))
def test_a_file_reads_the_same_however_it_is_cut(
    made: tuple[CsvReader, bytes], part_size: int, block_size: int
) -> None:
    assert_the_same_however_cut(csv_scan, *made, part_size, block_size)
