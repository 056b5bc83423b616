"""Files of lines: on Spark, as Flink's format `raw` reads them, and with the event time that stands in logs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import PipelineError, SourceError
from engine.examples.from_file import first_pipeline, source_of
from engine.expressions.analyzer import TypeRules
from engine.model.types import literal
from engine.reading.files.input_files import opened
from engine.reading.files.pasted import pasted
from engine.script import script_of
from engine.sources import text_lines
from engine.sources.text_lines import Lines
from tests.engine.sources.reading import read, types
from tests.golden.trace import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WEB = [
    '10.0.0.5 - - [01/Dec/2026:10:00:00 +0000] "GET /p/1?q=a,b HTTP/1.1" 200 6589 "-" "Mozilla/5.0"',
    '10.0.0.3 - - [01/Dec/2026:10:00:03 +0000] "GET /p/1?q=a,b HTTP/1.1" 404 1189 "-" "Mozilla/5.0"',
    '10.0.0.7 - - [01/Dec/2026:10:00:01 +0000] "GET /p/5 HTTP/1.1" 200 4841 "-" "Mozilla/5.0"',
]
LOGS = {
    "of a web server": (WEB, "dd/MMM/yyyy:HH:mm:ss"),
    "of Java": (
        ["2026-12-01 10:00:00,123 [main] INFO Up", "2026-12-01 10:00:01,000 [main] ERROR x", "\tat com.x.Y(Y.java:12)"],
        "yyyy-MM-dd HH:mm:ss,SSS",
    ),
    "by ISO 8601": (["2026-12-01T10:00:00Z INFO Up", "2026-12-01T10:00:01Z WARN x"], "yyyy-MM-dd'T'HH:mm:ss"),
    "of nginx": (["2026/12/01 10:00:00 [error] 31#0: x", "2026/12/01 10:00:01 [error] 31#0: y"], "yyyy/MM/dd HH:mm:ss"),
}
NO_LOGS = {
    "names": ("id,ts,amount", {}),
    "a first row with a time": ("1,2026-12-01 10:00:00,5", {"header": False}),
    "a first row with a time of ISO 8601, last": ("1;5;2026-12-01T10:00:00+01:00", {"separator": ";", "header": False}),
    "a time in quotes": ('"2026-12-01 10:00:00","a"', {"header": False}),
    "a time of PostgreSQL": ("1,2026-12-01 10:00:00.123456+00,5", {"header": False}),
    "a time in UTC": ("2026-12-01 10:00:00.5 UTC,5", {"header": False}),
    "a time before noon": ("a,12/1/2026 10:00:00 AM,5", {"header": False}),
    "a day": ("Bern,2026-12-01,5", {"header": False}),
    "numbers alone": ("1,2.5,3", {"header": False}),
    "years beside a name": ("country,2019,2020", {}),
}


def test_each_line_is_a_row_as_in_flink(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.log").write_bytes(b"a,b\r\n\n  c \n\xff\nd")
    source = Lines(path="in.log")
    assert types(source, tmp_path) == "line string"
    assert read(spark, source, tmp_path) == ([("a,b",), ("",), ("  c ",), ("\ufffd",), ("d",)], [])


def test_compressed_lines_in_another_charset(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.log.gz").write_bytes(gzip.compress("Müller\n".encode("latin-1")))
    source = Lines(path="in.log.gz", column="text", charset="ISO-8859-1")
    assert read(spark, source, tmp_path)[0] == [("Müller",)]


def test_a_number_is_the_bytes_of_a_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.log").write_bytes(b"\0\0\1\0\nab\n")
    records, rejected = read(spark, Lines(path="in.log", types={"line": "INT"}), tmp_path)
    assert records == [("256",)]
    assert rejected == [("in.log", 2, "ab", "it has 2 bytes, but INT has 4 bytes")]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"path": "none.log"}, "none.log"),
        ({"types": {"line": "DATE"}}, "types: raw has no DATE. Make line one of STRING"),
        ({"types": {"text": "STRING"}}, "types: unknown column 'text'"),
        ({"charset": "UTF-9"}, "charset: 'UTF-9' is no known charset"),
    ],
)
def test_wrong_settings_are_sentences(tmp_path: Path, changed: dict[str, object], sentence: str) -> None:
    (tmp_path / "in.log").write_text("a\n")
    source = Lines.model_validate({"path": "in.log", **changed})
    with pytest.raises((PipelineError, SourceError), match=sentence):
        source.scan("n", tmp_path)


def test_a_table_of_two_columns_is_refused(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (a STRING, b STRING) WITH ('connector' = 'filesystem', 'path' = 'in.log', 'format' = 'raw');"
        "SELECT a FROM t;"
    )
    (failure, *_) = script_of(script, TypeRules(), tmp_path, "two").failures
    assert "raw is for a table of one column. It has 2: choose csv or json." in failure.sentence


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("ending", [".log", ".txt"])
def test_a_dropped_log_begins_with_the_time_in_its_lines(
    spark: SparkSession, tmp_path: Path, name: str, ending: str
) -> None:
    lines, pattern = LOGS[name]
    (tmp_path / f"in{ending}").write_text("\n".join([*lines, ""]))
    pipeline = first_pipeline(f"in{ending}", tmp_path)
    assert [node.operator for node in pipeline.nodes] == ["text_lines", "sink"]
    (computed,) = pipeline.nodes[0].parameters["computed"]
    assert computed["expression"]["flink"].endswith(f", 0), {literal(pattern)})")
    trace = run_locally(pipeline, spark, tmp_path)
    has_time = [line for line in lines if not line.startswith("\t")]
    assert [row.row[0] for row in trace.records["sink"]] == has_time


def test_no_more_files_are_opened_than_there_are_lines_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(4):
        (tmp_path / f"{at}.log").write_text(f"{WEB[0]}\n" * 2)
    seen = []
    monkeypatch.setattr(text_lines, "ROWS", 3)
    monkeypatch.setattr(text_lines, "opened", lambda file, node: (seen.append(file.name), opened(file, node))[1])
    _, (proposal,) = Lines(path=".").profile("n", tmp_path)
    assert (seen, proposal.column) == (["0.log", "1.log"], "log")


@pytest.mark.parametrize("name", NO_LOGS)
def test_other_first_lines_are_those_of_csv(tmp_path: Path, name: str) -> None:
    line, parameters = NO_LOGS[name]
    (tmp_path / "in.txt").write_text(f"{line}\n")
    node = source_of("in.txt", tmp_path)
    assert node.operator == "csv"
    known = {field: value for field, value in node.parameters.items() if field in ("separator", "header")}
    assert known == parameters


def test_pasted_lines_of_a_log_are_a_log() -> None:
    assert pasted("\n".join(WEB)).name == "pasted.log"
    assert pasted("id,ts\n1,2026-12-01 10:00:00\n").name == "pasted.csv"


def test_a_compressed_file_is_opened_by_its_inner_ending(tmp_path: Path) -> None:
    (tmp_path / "events.csv.gz").write_bytes(gzip.compress(b"id;n\n1;2\n"))
    node = source_of("events.csv.gz", tmp_path)
    assert (node.id, node.operator, node.parameters["separator"]) == ("events", "csv", ";")
