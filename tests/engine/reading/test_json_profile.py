"""Proposals for JSON Lines: the event time and the delay that its records need, as for CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.examples.from_file import first_pipeline
from engine.reading.typed.profile import ROWS
from engine.sources.debezium_json import DebeziumJson
from engine.sources.jsonl import JsonLines
from tests.engine.reading.test_profile import TIMES


def write(folder: Path, rows: list[Any]) -> None:
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "parameters"),
    [
        (lambda time: {"ordered at": time.isoformat()}, {"event_time": "ordered at"}),
        (lambda time: {"ts": int(time.timestamp() * 1000)}, {"event_time": "ts"}),
        (lambda time: {"ts": int(time.timestamp())}, {"event_time": "ts", "event_time_unit": "epoch_s"}),
        (
            lambda time: {"meta": {"by": {"at": f"{time:%Y-%m-%d %H:%M:%S}"}}},
            {"event_time": "at", "computed": [{"name": "at", "expression": {"flink": "`meta`.`by`.`at`"}}]},
        ),
        (
            lambda time: {"ts": "soon", "meta": {"ts": int(time.timestamp() * 1_000_000)}},
            {
                "event_time": "meta_ts_time",
                "computed": [{"name": "meta_ts_time", "expression": {"flink": "TO_TIMESTAMP_LTZ(`meta`.`ts`, 6)"}}],
            },
        ),
        # A column is more likely the event time than what is inside of one.
        (
            lambda time: {"meta": {"ts": int(time.timestamp() * 1000)}, "at": time.isoformat()},
            {"event_time": "at"},
        ),
    ],
    ids=["zone", "ms", "s", "nested", "nested us", "both"],
)
def test_times_are_proposed_with_the_delay_that_the_disorder_of_the_lines_needs(
    tmp_path: Path, row: Any, parameters: dict[str, object]
) -> None:
    write(tmp_path, [{"id": at} | row(time) for at, time in enumerate(TIMES)])
    document = first_pipeline("in.jsonl", tmp_path)
    expected = {"path": "in.jsonl", "nested_types": True, "watermark_delay_ms": 10_000} | parameters
    assert document.nodes[0].parameters == expected


def test_a_profile_says_what_columns_hold(tmp_path: Path) -> None:
    write(tmp_path, [{"n": "x" if at == 7 else str(at), "o": {"a": at}, "l": [1], "e": None} for at in range(100)])
    columns, times = JsonLines(path="in.jsonl", nested_types=True).profile("n", tmp_path)
    assert [(column.name, column.type.flink, column.proposed.flink, column.why) for column in columns] == [
        ("n", "STRING", "BIGINT", '99 of 100 are integers; 1 is not, such as "x"'),
        ("o", "ROW<`a` BIGINT>", "ROW<`a` BIGINT>", "all 100 are objects"),
        ("l", "ARRAY<BIGINT>", "ARRAY<BIGINT>", "all 100 are lists"),
        ("e", "STRING", "STRING", "no value"),
    ]
    assert times == ()


def test_a_profile_of_a_part_says_so(tmp_path: Path) -> None:
    write(tmp_path, [{"n": at} for at in range(ROWS + 1)])
    (column,), _ = JsonLines(path="in.jsonl").profile("n", tmp_path)
    assert column.why == f"all {ROWS:,} are integers (of the first {ROWS:,} rows)"


def test_rows_in_envelopes_are_profiled_alike(tmp_path: Path) -> None:
    write(tmp_path, [{"op": "c", "after": {"at": time.isoformat(), "by": {"id": 1}}} for time in TIMES])
    columns, times = DebeziumJson(path="in.jsonl", nested_types=True).profile("n", tmp_path)
    assert [column.type.flink for column in columns] == ["TIMESTAMP_LTZ(3)", "ROW<`id` BIGINT>"]
    assert times[0].parameters == {"event_time": "at", "watermark_delay_ms": 10_000}
