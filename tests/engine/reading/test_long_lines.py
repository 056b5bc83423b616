"""Unusual lines and files: too long, nested too deeply, or not a file at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.errors import SourceError
from engine.model.schema import Column
from engine.model.types import STRING
from engine.reading.documents import json_scan
from engine.reading.documents.json_scan import JsonReader
from engine.reading.files import csv_scan, text_files
from engine.reading.files import input_files as files
from engine.reading.files.csv_scan import CsvReader
from engine.reading.files.input_files import find_files, opened, raw_lines, text_lines
from engine.reading.files.text_files import TOO_LONG, TextPart, blocks_of, parts_of
from engine.reading.typed.typed_rows import RowTypes
from engine.sources import jsonl

COLUMNS = RowTypes((Column("c", STRING),))
LIMIT = 64
LONG = b"x" * 100


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short limit for lines, so that tests are quick."""
    for module in (text_files, csv_scan, json_scan, files):
        monkeypatch.setattr(module, "LINE_BYTES", LIMIT)


def read(path: Path, reader: CsvReader | JsonReader, part_size: int = 1 << 20) -> dict[int, str]:
    """By line, its value or the reason for its rejection."""
    found_files = find_files(str(path), path.parent, "n", (path.suffix,))
    whole = isinstance(reader, CsvReader) and reader.multi_line
    found: dict[int, str] = {}
    for part in parts_of(found_files, whole=whole, size=part_size):
        for read_part in reader(part):
            before = read_part.lines_before()
            values = read_part.records.column("c").to_pylist()
            found |= {before + line: value for line, value in zip(read_part.lines, values, strict=True)}
            found |= {rejected.line: rejected.reason for rejected in read_part.rejected}
    return found


@pytest.mark.parametrize("block_size", [1, 7, 150, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("part_size", [40, 1 << 20])
def test_a_line_that_is_too_long_is_one_rejected_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_size: int, end: bytes, part_size: int
) -> None:
    monkeypatch.setattr(csv_scan, "blocks_of", lambda part, quote: blocks_of(part, quote, block_size))
    path = tmp_path / "in.csv"
    path.write_bytes(end.join([b"a", LONG, b"b", LONG * 9, LONG, b"c", b"y" * LIMIT, LONG]))
    reader = CsvReader(COLUMNS, ",", '"', "", header=False, multi_line=False)
    assert read(path, reader, part_size) == {
        **{1: "a", 2: TOO_LONG, 3: "b", 4: TOO_LONG, 5: TOO_LONG, 6: "c"},
        **{7: "y" * LIMIT, 8: TOO_LONG},
    }


@pytest.mark.parametrize("block_size", [1, 7, 1 << 20])
def test_a_record_of_several_lines_that_is_too_long_is_one_rejected_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_size: int
) -> None:
    monkeypatch.setattr(csv_scan, "blocks_of", lambda part, quote: blocks_of(part, quote, block_size))
    path = tmp_path / "in.csv"
    path.write_bytes(b'a\n"b\nc"\n"' + b"x\ny" * 90 + b'"\nd\n"' + b"open\n" * 90)
    reader = CsvReader(COLUMNS, ",", '"', "", header=False, multi_line=True)
    found = read(path, reader)
    assert sorted(found) == [1, 2, 4, 95, 96]
    assert (found[1], found[2], found[4], found[95]) == ("a", "b\nc", TOO_LONG, "d")
    assert found[96] == TOO_LONG


def test_lines_that_end_with_cr_alone_are_no_long_line(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"\r".join(b"%d" % number for number in range(90)))
    reader = CsvReader(COLUMNS, ",", '"', "", header=False, multi_line=False)
    assert read(path, reader) == {number + 1: str(number) for number in range(90)}


def test_json_that_is_too_long_or_nested_too_deeply_is_a_rejected_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "in.jsonl"
    nested = [b'{"c": ' + b"[" * depth + b"]" * depth + b"}" for depth in (150, 300, 990, 100_000)]
    path.write_bytes(b"\n".join([b'{"c": "a"}', b'{"c": "' + LONG + b'"}', b'{"c": "b"}']))
    assert read(path, JsonReader(COLUMNS)) == {1: "a", 2: TOO_LONG, 3: "b"}
    for module in (text_files, json_scan, files):
        monkeypatch.setattr(module, "LINE_BYTES", 1 << 20)
    path.write_bytes(b"\n".join(nested))
    deep = "the line is nested more than 200 levels deep"
    assert read(path, JsonReader(COLUMNS)) == {1: "[" * 150 + "]" * 150, 2: deep, 3: deep, 4: deep}
    assert jsonl.SOURCE(path=str(path)).derive("events", tmp_path).schema.names == ("c",)


def test_a_sample_reads_no_more_of_a_line_than_a_row_may_have(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a\n" + LONG * 9 + b"\nb")
    (file,) = find_files(str(path), tmp_path, "n", (".csv",))
    with opened(file, "n") as stream:
        assert [len(line) for line in raw_lines(stream)] == [2, LIMIT + 2, 1]
    with opened(file, "n") as stream:
        assert list(text_lines(stream)) == ["a", "b"]


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for path, reason in [
        ("/dev/zero", "zero is not a regular file"),
        ("pipe.csv", "pipe.csv is not a regular file"),
        ("loop.csv", "there is no file loop.csv"),
        ("~nobody-of-that-name/x.csv", "the home of a user that does not exist"),
    ]:
        with pytest.raises(SourceError, match=reason):
            find_files(path, tmp_path, "n", (".csv",))


def test_links_that_lead_back_give_no_file_twice(tmp_path: Path) -> None:
    """If followed, two such links in one folder would make 2^40 paths to the file in it."""
    for name in ("a/in.csv", "a/b/in.csv", "a/.hidden/in.csv", "other/in.csv", "in.csv", "a/in.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    for name in ("a/back", "a/again", "a/b/up"):
        (tmp_path / name).symlink_to(tmp_path / "a")
    (tmp_path / "a" / "c").symlink_to(tmp_path / "other")
    for pattern, names in {
        "**/*.csv": ["a/b/in.csv", "a/c/in.csv", "a/in.csv", "in.csv", "other/in.csv"],
        "a/**/in.*": ["a/b/in.csv", "a/c/in.csv", "a/in.csv", "a/in.txt"],
        "**/b/*": ["a/b/in.csv"],
        "a/**": ["a/b/in.csv", "a/c/in.csv", "a/in.csv", "a/in.txt"],
        "a/*/in.csv": ["a/again/in.csv", "a/b/in.csv", "a/back/in.csv", "a/c/in.csv"],
    }.items():
        assert [file.name for file in find_files(pattern, tmp_path, "n", (".csv",))] == names


def test_the_part_before_a_long_line_says_how_many_lines_it_has(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"a\n" + LONG + b"\nb\n")
    sizes = [(block.first, block.size) for block in blocks_of(TextPart(str(path), "in.csv", 0, None), size=3)]
    assert [first for first, _ in sizes] == [1, 2, 3]
