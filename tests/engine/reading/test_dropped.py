"""Dropped files, as sources read them: their encoding, and JSON objects that are not one per line."""

from __future__ import annotations

import io

import pytest

from engine.reading.files import dropped as module
from engine.reading.files.dropped import as_read

LINES = b'{"a": 1.10}\n{"a": 2}\n'
UNCHANGED = {
    "csv": ("a.csv", b"a,b\n1,2\n"),
    "no text": ("a.parquet", b"PAR1\xff\xfe"),
    "UTF-8": ("a.csv", "name\nMüller\n".encode()),
    "UTF-8 with a broken line": ("a.csv", "name\nMüller\n".encode() + b"Jos\xe9\n"),
    "no letter of Windows-1252": ("a.csv", b"name\n\x81\xe9\n"),
    "objects, one per line": ("a.jsonl", LINES),
    "objects, of which a later one is broken": ("a.jsonl", b'{"a": 1}\n{"a"\n'),
    "an array that does not end": ("a.json", b'[{"a": 1},\n{"a": 2}\n'),
    "an array of numbers": ("a.json", b"[1, 2]\n"),
    "an empty file": ("a.json", b""),
}
CHANGED = {
    "UTF-16 of Windows": ("a.csv", "name\r\nMüller\r\n".encode("utf-16"), "name\r\nMüller\r\n".encode(), None),
    "UTF-16, big-endian": ("a.tsv", "\ufeffa\tb\nü\t1\n".encode("utf-16-be"), "a\tb\nü\t1\n".encode(), None),
    "Windows-1252": ("a.csv", "name\nMüller\n10 €\n".encode("cp1252"), "name\nMüller\n10 €\n".encode(), "(cp1252)"),
    "a log in Windows-1252": ("a.log", "ab ü\n".encode("cp1252"), "ab ü\n".encode(), "(cp1252)"),
    "an array": ("a.json", b'[{"a": 1.10}, {"a": 2}]', LINES, "one JSON object in each"),
    "an array over several lines": (
        "a.json",
        b'\xef\xbb\xbf[\n{"a": 1.10},\n{"a": 2}\n]\n',
        LINES,
        "brought into lines",
    ),
    "objects over several lines": (
        "a.json",
        b'{\n"a": 1}\n{\n"a": 2}',
        b'{ "a": 1}\n{ "a": 2}\n',
        "brought into lines",
    ),
    "an array in UTF-16": ("a.json", '[{"a": "ü"}]'.encode("utf-16"), '{"a": "ü"}\n'.encode(), "into lines"),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_a_source_reads_or_rejects_line_by_line_stays_as_it_is(name: str) -> None:
    file, content = UNCHANGED[name]
    chunks, note = as_read(io.BytesIO(content), file)
    assert (b"".join(chunks), note) == (content, None)


@pytest.mark.parametrize("name", CHANGED)
def test_other_encodings_and_json_become_lines_of_utf_8(name: str) -> None:
    file, content, kept, told = CHANGED[name]
    chunks, note = as_read(io.BytesIO(content), file)
    assert b"".join(chunks) == kept
    assert (note is None) if told is None else (note is not None and told in note)


@pytest.mark.parametrize("size", range(2, 9))
def test_a_letter_of_utf_8_is_seen_wherever_the_file_is_cut(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", size)
    content = "name\n😀ü\n".encode()
    assert b"".join(as_read(io.BytesIO(content), "a.csv").chunks) == content
    assert b"".join(as_read(io.BytesIO("ü\nß".encode("utf-16")), "a.csv").chunks) == "ü\nß".encode()


def test_json_that_is_too_large_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 8)
    assert b"".join(as_read(io.BytesIO(b'[{"a": 1}]'), "a.json").chunks) == b'[{"a": 1}]'
