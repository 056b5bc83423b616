"""Computed columns of what workers read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.contract.source import ComputedColumn
from engine.model.schema import Column, Schema, TimeUnit
from engine.reading.computed import computation_of
from engine.reading.text_files import parts_of
from engine.sources.jsonl import JsonLines


def test_a_row_without_a_computed_event_time_is_rejected_with_its_line_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"s": 1}\n\n{"s": 2}\n{"s": null}\n{"s": 4}\n', encoding="utf-8")
    computed = (ComputedColumn(name="t", expression="s * 1000"),)
    source = JsonLines(path="in.jsonl", event_time="t", computed=computed)
    read = source.derive("n", tmp_path).schema
    time = replace(Column("t", "bigint", nullable=False), time=TimeUnit.EPOCH_MS)
    compute = computation_of(source, Schema((*read, time)), "n", tmp_path)
    scan = source.scan("n", tmp_path)
    assert compute is not None
    parts = parts_of([(str(tmp_path / "in.jsonl"), "in.jsonl")], size=10)
    assert len(parts) > 1
    found = [compute(each) for part in parts for each in scan.read(part)]
    assert [row["t"] for each in found for row in each.records.to_pylist()] == [1000, 2000, 4000]
    reason = "column 't': the event time is null"
    assert [row for each in found for row in each.rejected] == [("in.jsonl", 4, '{"s": null}', reason)]
