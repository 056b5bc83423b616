"""Computed columns of rows that workers read."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.contract.source import ComputedColumn
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.types import BIGINT
from engine.reading.files.input_files import local_file
from engine.reading.files.text_files import parts_of
from engine.reading.typed.computed import computation_of, frames_of
from engine.sources.csv import Csv
from engine.sources.jsonl import JsonLines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_row_without_a_computed_event_time_is_rejected_with_its_line_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"s": 1}\n\n{"s": 2}\n{"s": null}\n{"s": 4}\n', encoding="utf-8")
    computed = (ComputedColumn(name="t", expression="s * 1000"),)
    source = JsonLines(path="in.jsonl", event_time="t", computed=computed)
    read = source.derive("n", tmp_path).schema
    time = replace(Column("t", BIGINT, nullable=False), time=TimeUnit.EPOCH_MS)
    compute = computation_of(source, Schema((*read, time)), "n", tmp_path)
    scan = source.scan("n", tmp_path)
    assert compute is not None
    parts = parts_of([local_file(tmp_path / "in.jsonl", "in.jsonl")], size=10)
    assert len(parts) > 1
    found = [compute(each) for part in parts for each in scan.read(part)]
    assert [row["t"] for each in found for row in each.records.to_pylist()] == [1000, 2000, 4000]
    reason = "column 't': the event time is null"
    assert [row for each in found for row in each.rejected] == [("in.jsonl", 4, '{"s": null}', reason)]


def test_workers_reject_what_they_cannot_compute_and_keep_the_rest(tmp_path: Path) -> None:
    big = 1 << 62
    (tmp_path / "in.csv").write_text(f"a\n1\n{big}\n3\n\n{big}\n5\n", encoding="utf-8")
    source = Csv(path="in.csv", computed=(ComputedColumn(name="b", expression="a * 2"),))
    scan = source.scan("n", tmp_path)
    compute = computation_of(source, Schema((Column("a", BIGINT), Column("b", BIGINT))), "n", tmp_path)
    assert compute is not None
    [found] = [compute(each) for part in scan.parts for each in scan.read(part)]
    assert found.records.column("b").to_pylist() == [2, 6, 10]
    reason = f"column 'b': it cannot be computed of a = \"{big}\""
    assert [(row.line, row.reason) for row in found.rejected] == [(3, reason), (6, reason)]


SECONDS = "unix_seconds(CAST(t AS TIMESTAMP))"


@pytest.mark.parametrize(
    ("expression", "rejected"),
    [
        ("CAST(t AS TIMESTAMP(3))", ['3: ts cannot be computed of t = "24-05-01"', "5: ts is null"]),
        ("to_timestamp(t, 'yyyy-MM-dd HH:mm:ss')", ['3: ts cannot be computed of t = "24-05-01"', "5: ts is null"]),
        ("timestamp_seconds(coalesce(try_cast(n AS INT), CAST(t AS INT)))", []),
        (
            "CASE WHEN t LIKE '2024%' THEN CAST(t AS TIMESTAMP) ELSE timestamp_seconds(10 / (n - 2)) END",
            ['3: ts cannot be computed of t = "24-05-01", n = "2"'],
        ),
        (
            f"timestamp_seconds(if(n = 2, n, {SECONDS} div (n - 4)))",
            ["5: ts is null", "6: ts cannot be computed of t = "],
        ),
    ],
)
def test_spark_rejects_what_it_cannot_compute_with_its_line_in_the_file(
    spark: SparkSession, tmp_path: Path, expression: str, rejected: list[str]
) -> None:
    time = "2024-05-01 10:00:00"
    (tmp_path / "in.csv").write_text(f"t,n\n{time},1\n24-05-01,2\n\n,3\n{time},4\n", encoding="utf-8")
    source = Csv(
        path="in.csv",
        types={"t": "STRING"},
        event_time="ts",
        computed=(ComputedColumn(name="ts", expression=expression),),
    )
    frames = frames_of(source, spark, "n", tmp_path)
    rows = sorted(frames.rejected.collect(), key=lambda row: row.line)
    assert {row.file for row in rows} <= {"in.csv"}
    said = [re.sub("column 'ts': (the event time|it)", f"{row.line}: ts", row.reason) for row in rows]
    assert len(said) == len(rejected)
    assert all(one.startswith(other) for one, other in zip(said, rejected, strict=True)), said
    assert frames.records.count() == 4 - len(rejected)
