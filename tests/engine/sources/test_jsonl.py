"""JSON Lines files on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import SourceError
from engine.sources.jsonl import JsonLines
from tests.engine.sources.reading import read, types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write(folder: Path, *lines: str | bytes, name: str = "in.jsonl") -> None:
    (folder / name).write_bytes(b"".join((x if isinstance(x, bytes) else x.encode()) + b"\n" for x in lines))


def test_objects_become_typed_rows_and_missing_keys_null(spark: SparkSession, tmp_path: Path) -> None:
    write(
        tmp_path,
        '{"k": "a", "ts": 1000, "p": 1.5, "ok": true, "tags": ["x"], "o": {"a": [1]}, "at": "2024-05-01T10:00:00Z"}',
        "",
        '{"ts": 2000, "a b.c": 7, "k": null}',
    )
    source = JsonLines(path="in.jsonl", event_time="ts")
    assert (
        types(source, tmp_path)
        == "k string, ts bigint, p double, ok boolean, tags array<string>, o string, at timestamp, a b.c bigint"
    )
    records, rejected = read(spark, source, tmp_path)
    assert rejected == []
    assert records == [
        ("a", "1000", "1.5", "true", "[x]", '{"a":[1]}', "2024-05-01 10:00:00", None),
        (None, "2000", None, None, None, None, None, "7"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"k": "b", "ts": 2000', "the line is broken JSON"),
        ('{"k": "b", "ts": }', "the line is broken JSON"),
        ("[1, 2]", "the line is not a JSON object"),
        ("7", "the line is not a JSON object"),
        ('{"k": "b", "ts": 1} tail', "the line is broken JSON"),
        ('{"k": "b", "ts": 1} {"k": "c", "ts": 2}', "the line is broken JSON"),
        ('{"k": "b", "ts": 1}, {"k": "c", "ts": 2}', "the line has more than one JSON object"),
        ('{"k": "b", "ts": "soon"}', "column 'ts': \"soon\" is not a BIGINT"),
        ('{"k": "b", "ts": 1.5}', "column 'ts': \"1.5\" is not a BIGINT"),
        ('{"k": "b"}', "column 'ts': the event time is null"),
        (b'{"k": "\xff", "ts": 1}', "the line is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_line_that_cannot_be_read_is_rejected(
    spark: SparkSession, tmp_path: Path, line: str | bytes, reason: str
) -> None:
    write(tmp_path, '{"k": "a", "ts": 1000}', line, '{"k": "c", "ts": 3000}')
    source = JsonLines(path="in.jsonl", event_time="ts", types={"ts": "BIGINT"})
    records, rejected = read(spark, source, tmp_path)
    assert records == [("a", "1000"), ("c", "3000")]
    raw = line if isinstance(line, str) else line.decode(errors="replace")
    assert rejected == [("in.jsonl", 2, raw, reason)]


def test_a_column_that_the_sample_lacks_can_be_declared(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, '{"k": "a"}', '{"k": "b", "late": "1.10", "m": {"x": 1}}')
    source = JsonLines(path="in.jsonl", sample_rows=1, types={"late": "DECIMAL(5,2)", "m": "MAP<STRING, INT>"})
    assert types(source, tmp_path) == "k string, late decimal(5,2), m map<string,int>"
    assert read(spark, source, tmp_path)[0] == [("a", None, None), ("b", "1.10", "{x -> 1}")]


def test_several_files_come_in_name_order(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, '{"n": 1}', '{"n": 2}', name="1.jsonl")
    write(tmp_path, '{"n": 3}', name="2.ndjson")
    assert read(spark, JsonLines(path="."), tmp_path)[0] == [("1",), ("2",), ("3",)]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "in.jsonl has no JSON object in its first lines"),
        (["x"], "in.jsonl has no JSON object in its first lines"),
        (['{"a": 1, "A": 2}'], "keys in in.jsonl: the columns 'a' and 'A' have the same name"),
    ],
)
def test_a_file_without_columns_is_a_sentence(tmp_path: Path, lines: list[str], sentence: str) -> None:
    write(tmp_path, *lines)
    with pytest.raises(SourceError, match=sentence):
        JsonLines(path="in.jsonl").derive("n", tmp_path)
