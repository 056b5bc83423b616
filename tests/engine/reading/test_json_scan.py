"""Values of JSON lines. A block has the same rows if read at once or line by line, and a file for any cut."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.model.schema import Column, TimeUnit
from engine.model.types import BIGINT, STRING
from engine.reading.documents import json_scan
from engine.reading.documents.json_scan import EnvelopeReader, JsonReader
from engine.reading.files.text_files import TextPart
from engine.reading.typed.typed_rows import RowTypes
from engine.sources.debezium_json import DebeziumJson
from tests.engine.reading.scanned import assert_the_same_however_cut, file_of, row_types, shown

NO_OBJECT = "the line is not a JSON object"
BROKEN = "the line is broken JSON"
SEVERAL = "the line has more than one JSON object"


def texts_of(folder: Path, *lines: str | bytes) -> list[Any]:
    """The values a and b of each line as texts, or the reason for its rejection."""
    path = folder / "in.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n")
    reader = JsonReader(RowTypes((Column("a", STRING), Column("b", STRING))))
    found: dict[int, Any] = {}
    for part in reader(TextPart(str(path), "in.jsonl", 0, None)):
        found |= dict(zip(part.lines, part.records.to_pylist(), strict=True))
        found |= {rejected.line: rejected.reason for rejected in part.rejected}
    return [tuple(each.values()) if isinstance(each, dict) else each for _, each in sorted(found.items())]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ('{"a": 1.10, "b": 1e3}', ("1.10", "1e3")),
        ('{"a": -0, "b": -0.0}', ("-0", "-0.0")),
        ('{"a": 12345678901234567890123, "b": 1E400}', ("12345678901234567890123", "1E400")),
        ('{"a": true, "b": false}', ("true", "false")),
        ('{"a": null}', (None, None)),
        ('{"a": "", "b": "null"}', ("", "null")),
        ('{"a": NaN, "b": -Infinity}', ("NaN", "-Infinity")),
        (
            '{"a": {"z": 1, "y": [1.50, null, true, "\\u00e9\\n\\/"]}, "b": [ ]}',
            ('{"z":1,"y":[1.50,null,true,"é\\n/"]}', "[]"),
        ),
        ('{"a": {"z": 1.50, "y": true}}', ('{"z":1.50,"y":true}', None)),
        ('{"a": 1, "b": 2, "a": 3}', ("3", "2")),
        ('{"A": 1, "b": 2}', (None, "2")),
        ('{"a": "\\ud83d\\ude00", "b": ["\\ud83d\\ude00"]}', ("😀", '["😀"]')),
        ('{"a": "\\ud83d"}', ("?", None)),
        (' {"a": 1} \t', ("1", None)),
        ("{}", (None, None)),
        ("\t{}", NO_OBJECT),
        ("null", NO_OBJECT),
        ("[{}]", NO_OBJECT),
        ('{"a": 1}}', BROKEN),
        ('{"a": 01}', BROKEN),
        ('{"a": 1,}', BROKEN),
        ('{"a": 1} x', BROKEN),
        ('{"a": 1}, 5', BROKEN),
        ('{"a": "x\ty"}', BROKEN),
        ('{"a": tru, "c": 1}', BROKEN),
        ('{"a": ' + "[" * 5000 + "]" * 5000 + "}", "the line is nested more than 200 levels deep"),
        ('{"a": 1},{"b": 2}', SEVERAL),
        ('{"a": 1}, null', SEVERAL),
    ],
)
def test_a_line_is_worth_its_texts(tmp_path: Path, line: str, values: Any) -> None:
    assert texts_of(tmp_path, line) == [values]
    assert texts_of(tmp_path, '{"a": "x"}', line, "", '{"b": "y"}') == [("x", None), values, (None, "y")]


TYPES: Final = "string bigint tinyint double float boolean date timestamp decimal(5,2) array<bigint>"
NICE: Final = {
    "string": ('"a"', '"b\\n\\u00e9"', '""', '"😀"'),
    "double": ("1", "1.5", "-1e3", "0.1", "-0"),
    "float": ("0.1", "16777217"),
    "boolean": ("true", "false"),
    "date": ('"2024-05-01"',),
    "timestamp": ('"2024-05-01T10:00:00.5Z"',),
    "decimal(5,2)": ('"1.50"',),
    "array<bigint>": ("[]", "[1, 2]"),
}
ODD: Final = (
    "1",
    "1.0",
    "1e400",
    "-0",
    "128",
    "9223372036854775808",
    "01",
    "NaN",
    "Infinity",
    "-Inf",
    "Inf",
    "true",
    "null",
    '"x"',
    '"1"',
    '" 5 "',
    '"true"',
    '"NaN"',
    "{}",
    '{"a": {"c0": 1}}',
    "[1, [2.50]]",
    '"a\tb"',
    '"\\ud83d"',
    '"\\u0000"',
    "tru",
    "",
    '"2024-02-30"',
    "1714557600000",
    '"+I"',
    '"upsert"',
    '"{"',
    '"}"',
    "'x'",
    "\x0c1",
    '"\\q"',
    "1.",
)
LINES: Final = (
    "",
    " ",
    "null",
    "x",
    "{",
    "}",
    "{}",
    "[]",
    "{} {}",
    "{},{}",
    '{"c0": 1}{"c0": 2}',
    ' {"c0": 1}',
    '{"c0": 1} ',
    '{"c0":',
    "1}",
    '{"c0": [{}',
    '{"c0": 1, "c0": 2}',
    '{"z": NaN}',
    '{"z": Inf}',
    '{"\\u0063\\u0030": 1}',
    "\ufeff{}",
    "\x85",
    "\u2028",
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[JsonReader, bytes]:
    """A reader, and a file for it, mostly well-formed."""
    rows = draw(row_types(TYPES, (TimeUnit.EPOCH_MS,)))
    is_odd = draw(st.sampled_from((False, False, True)))
    fields = []
    for column in [*rows.columns, Column("z", STRING)]:
        nice = ('"+I"', '"delete"') if column.name == "op" else NICE.get(str(column.type), ("1", "-7", "0"))
        values = st.sampled_from(nice) | st.sampled_from(ODD) if is_odd else st.sampled_from(nice)
        fields.append(values.map(lambda value, name=column.name: f'"{name}": {value}'))
    lines = st.tuples(*fields).map(lambda found: "{" + ", ".join(found) + "}")
    if is_odd:
        lines |= st.lists(st.sampled_from(fields).flatmap(lambda field: field), max_size=3).map(
            lambda f: "{" + ",".join(f) + "}"
        )
        lines |= st.sampled_from(LINES)
    pieces = (b"\xff", b"\n", b"{", b"}", b"\xc3") if is_odd else ()
    return JsonReader(rows), draw(file_of(draw(st.lists(lines, max_size=8)), pieces))


ONE: Final = JsonReader(RowTypes((Column("c0", BIGINT),)))


@example((ONE, b'{"c0": 1}{"c0": 2}\n{"z": [{}\n{}]}\n'))
@example((ONE, b'\xef\xbb\xbf{"c0": 1}'))
@given(tables())
def test_a_block_reads_the_same_at_once_and_line_by_line(made: tuple[JsonReader, bytes]) -> None:
    reader, data = made
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "in.jsonl"
        path.write_bytes(data)
        part = TextPart(str(path), "in.jsonl", 0, None)
        found = list(reader(part))
        patch.setattr(json_scan, "_at_once", lambda *_: None)
        line_by_line = list(reader(part))
        assert shown(found) == shown(line_by_line)
        assert [each.records.schema for each in found] == [each.records.schema for each in line_by_line]


def changes() -> st.SearchStrategy[bytes]:
    """A Debezium file, some lines of which are rejected."""
    row = st.sampled_from([{"id": 1}, {"id": "x"}, {"id": None}, {}, None, 5])
    op = st.sampled_from(["c", "u", "u", "d", "t", None])
    line = st.builds(lambda before, after, op: json.dumps({"before": before, "after": after, "op": op}), row, row, op)
    return st.lists(line | st.sampled_from(["null", "", "{"]), max_size=8).map(lambda lines: "\n".join(lines).encode())


@given(tables() | changes(), st.integers(1, 80), st.integers(1, 80))
def test_a_file_reads_the_same_however_it_is_cut(
    made: tuple[JsonReader | EnvelopeReader, bytes] | bytes, part_size: int, block_size: int
) -> None:
    if isinstance(made, bytes):
        made = EnvelopeReader(RowTypes((Column("id", BIGINT),)), DebeziumJson.changes_of), made
    assert_the_same_however_cut(json_scan, *made, part_size, block_size)
