"""Scripts with what people publish: all are read as they stand, and what Flink can run gives Flink's changelog.

`in_flink.py` records the answers. A script without one reads or writes what only a cluster of Kafka's has.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from engine.model.changelog import SYMBOLS
from engine.model.pipeline import Pipeline
from engine.script import Script
from engine.script.passwords import without_passwords
from tests.engine.script.scripts import exported, read
from tests.golden.trace import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = Path(__file__).parent
SCRIPTS: Final = {path.stem: path for path in sorted((HERE / "scripts").glob("*.sql"))}
ANSWERS: Final = {path.stem: path for path in sorted((HERE / "answers").glob("*.txt"))}
# Flink reads the files of several INSERTs in any order.
ANY_ORDER: Final = (
    *("filled_twice", "exists_and_in", "left_join_changes", "interval_join", "window_join"),
    *(
        "nested_computed_and_view_columns",
        "expanding_arrays",
        "sets_of_rows",
        "window_joins_of_all_kinds",
        "interval_parts",
        "pivoted_by_case",
        "scalar_and_correlated",
        "create_as",
    ),
    # Timers that are due at once.
    "time_zone_hours",
)
KINDS: Final = {"+I": 1, "+U": 1, "-U": -1, "-D": -1}


def opened(name: str, spark: SparkSession) -> Script:
    """The script; what was opened and not changed is exported byte for byte, without its passwords."""
    text = SCRIPTS[name].read_bytes().decode()
    script = read(text, spark, HERE)
    assert exported(Pipeline.from_json(script.pipeline.to_json()), spark, HERE).text == without_passwords(text)
    return script


@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - ANSWERS.keys()))
def test_a_script_is_read_as_it_stands(name: str, spark: SparkSession) -> None:
    assert opened(name, spark).jobs


@pytest.mark.parametrize("name", ANSWERS)
def test_a_script_gives_what_flink_gives(name: str, spark: SparkSession) -> None:
    answers = [answer.splitlines() for answer in ANSWERS[name].read_text(encoding="utf-8").split("\n\n")]
    for (columns, *found), (named, *expected) in zip(changelogs(opened(name, spark), spark), answers, strict=True):
        assert columns == named
        if name in ANY_ORDER:
            assert rows(found) == rows(expected)
        else:
            assert found == expected


def changelogs(script: Script, spark: SparkSession) -> Iterator[list[str]]:
    """The columns and the records of each SELECT, as `in_flink.py` writes them."""
    trace = run_locally(script.pipeline, spark, HERE)
    for sink in script.jobs:
        if not sink.startswith("result"):
            continue
        (edge,) = (edge for edge in trace.plan.edges if edge.node == sink)
        records = [f"{SYMBOLS[record.kind]}|{'|'.join(map(text, record.row))}" for record in trace.records[sink]]
        yield ["|".join(edge.schema.names), *records]


def text(value: Any) -> str:
    """A value as Flink's Python has it: an instant without its zone, which is UTC."""
    return str(value).removesuffix("+00:00") if isinstance(value, datetime) else str(value)


def rows(records: list[str]) -> dict[str, Any]:
    """The rows that a changelog leaves."""
    left: dict[str, int] = {}
    for record in records:
        kind, _, row = record.partition("|")
        left[row] = left.get(row, 0) + KINDS[kind]
    return {row: count for row, count in left.items() if count}


def test_in_a_time_zone_the_clock_of_values_is_what_its_clocks_show(spark: SparkSession) -> None:
    (shown,) = changelogs(opened("time_zone_clock_in_values", spark), spark)
    assert shown == ["a|b|c", "+I|2024-03-09|2024-03-09 22:30:00.000|2024-03-09 22:30:00"]
