"""Which pattern of TO_TIMESTAMP reads the times of a column, and that the event time is read with it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.examples.from_file import first_pipeline, source_of
from engine.model.pipeline import Pipeline
from engine.reading.typed.time_patterns import milliseconds, pattern_of
from engine.sources.csv import Csv
from tests.golden.trace import run_pipeline

CASES = {
    "German": (["30.11.2026 14:05:09", "01.12.2026 00:00:00"], "dd.MM.yyyy HH:mm:ss"),
    "German, not padded": (["30.11.2026 14:05", "1.12.2026 9:05"], "d.M.yyyy H:mm"),
    "American": (["01/31/2026, 14:05:09", "02/01/2026, 14:05:09"], "MM/dd/yyyy, HH:mm:ss"),
    "American, not padded": (["1/31/2026 9:05"], "M/d/yyyy H:mm"),
    "British": (["31/01/2026 14:05:09.250"], "dd/MM/yyyy HH:mm:ss.SSS"),
    "day or month": (["01/02/2026 14:05:09", "03/04/2026 14:05:09"], None),
    "Japanese": (["2026/11/30 14:05:09"], "yyyy/MM/dd HH:mm:ss"),
    "a log's": (["2026-11-30 14:05:09,123"], "yyyy-MM-dd HH:mm:ss,SSS"),
    "with a T": (["2026/11/30T14:05"], "yyyy/MM/dd'T'HH:mm"),
    "by halves of the day": (["11/30/2026 12:05 AM", "11/30/2026 12:05 PM"], "MM/dd/yyyy hh:mm a"),
    "no such half": (["11/30/2026 13:05 PM"], None),
    "with names": (["30 Nov 2026 14:05", "1 Dec 2026 14:05"], "d MMM yyyy HH:mm"),
    "a web server's": (["30/Nov/2026:14:05:09", "01/Dec/2026:14:05:09"], "dd/MMM/yyyy:HH:mm:ss"),
    "no such day": (["31.02.2026 14:05:09"], None),
    "days": (["30.11.2026", "01.12.2026"], "dd.MM.yyyy"),
    "a version": (["1.2.2026", "10.3.11"], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_pattern_of_texts(name: str) -> None:
    texts, pattern = CASES[name]
    assert pattern_of(texts, len(texts)) == pattern


def test_some_texts_may_be_none() -> None:
    texts = ["n/a", *[f"{day:02}.11.2026 14:00:00" for day in range(1, 31)]]
    assert pattern_of(texts, 30) == "dd.MM.yyyy HH:mm:ss"
    assert pattern_of(texts, 31) is None


def test_milliseconds_of_a_text() -> None:
    wanted = datetime(2026, 11, 30, 14, 5, 9, 123_000, UTC).timestamp() * 1000
    assert milliseconds("2026-11-30 14:05:09,123", "yyyy-MM-dd HH:mm:ss,SSS") == wanted


@pytest.mark.parametrize("name", [name for name, (_, pattern) in CASES.items() if pattern])
def test_a_file_with_such_times_begins_with_an_event_time(tmp_path: Path, name: str) -> None:
    texts, pattern = CASES[name]
    assert pattern is not None
    (tmp_path / "in.csv").write_text("\n".join(["Zeit|n", *[f"{text}|1" for text in texts]]), encoding="utf-8")
    source = first_pipeline("in.csv", tmp_path).nodes[0]
    quoted = pattern.replace("'", "''")
    expression = f"TO_TIMESTAMP(`Zeit`, '{quoted}')"
    assert source.parameters["computed"] == [{"name": "Zeit_time", "expression": {"flink": expression}}]
    assert source.parameters["event_time"] == "Zeit_time"
    columns, _ = Csv.model_validate(source.parameters).profile("n", tmp_path)
    assert columns[0].why == f"all {len(texts)} are times as {pattern}"


DAYS = {
    "by ISO 8601": (["2026-11-30", "2026-12-02", "2026-12-01"], "CAST(`day` AS TIMESTAMP(3))"),
    "by a pattern": (["30.11.2026", "02.12.2026", "01.12.2026"], "TO_TIMESTAMP(`day`, 'dd.MM.yyyy')"),
    "of birth": (["1990-11-30", "1960-12-02", "2001-12-01"], None),
    "newest first": (["02.12.2026", "30.11.2026", "28.11.2026"], None),
}


@pytest.mark.parametrize("name", DAYS)
def test_days_are_the_event_time_if_they_are_in_order(tmp_path: Path, name: str) -> None:
    days, expression = DAYS[name]
    (tmp_path / "in.csv").write_text("\n".join(["day|n", *[f"{day}|1" for day in days]]), encoding="utf-8")
    parameters = first_pipeline("in.csv", tmp_path).nodes[0].parameters
    computed = [{"name": "day_time", "expression": {"flink": expression}}]
    assert parameters.get("computed") == (computed if expression else None)
    assert parameters.get("event_time") == ("day_time" if expression else None)


def test_a_time_of_day_is_preferred_to_a_day(tmp_path: Path) -> None:
    lines = ["day,at", "2026-11-30,2026-11-30 10:00:00", "2026-11-30,2026-11-30 10:00:01"]
    (tmp_path / "in.csv").write_text("\n".join(lines), encoding="utf-8")
    assert first_pipeline("in.csv", tmp_path).nodes[0].parameters["event_time"] == "at"


def test_a_run_reads_the_same_times_and_keeps_what_is_none(spark: SparkSession, tmp_path: Path) -> None:
    cases = {f"file{at}": case for at, case in enumerate(CASES.values()) if case[1]}
    for name, (texts, _) in cases.items():
        lines = ["t|n", *[f"{text}|1" for text in texts], "|2"]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    document = Pipeline(nodes=tuple(source_of(f"{name}.csv", tmp_path) for name in cases))
    trace = run_pipeline(document, spark, tmp_path, tmp_path / "work", epochs=1, partitions=None)
    for name, (texts, pattern) in cases.items():
        times = [record.rpartition(", ")[2].rstrip(")") for record in trace.changelog(name)]
        found = [datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * 1000 for time in times]
        assert found == [milliseconds(text, str(pattern)) for text in texts], pattern
    reason = "column 't_time': the event time is null"
    assert [(row["node"], row["reason"]) for row in trace.rejected] == [(name, reason) for name in sorted(cases)]
