"""Sources are merged by columns of one kind: numbers that can be compared exactly, times or texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import PipelineError
from engine.local.preview import first_records
from engine.model.changelog import INSERT, SYMBOLS, UPDATE_BEFORE
from engine.model.pipeline import Arrival, Pipeline
from engine.planner import plan
from tests.engine.planning import KnownTypes, pipeline_of
from tests.golden.trace import plan_of, run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merged(rows: tuple[list[Any], ...] = ([], []), **types: str) -> Pipeline:
    """Two sources, by name, with the type of the column `at` by which they are merged."""
    nodes: dict[str, tuple[str, dict[str, Any]]] = {"all": ("union", {})}
    for (name, type_), own in zip(types.items(), rows, strict=False):
        columns = [{"name": "at", "type": type_}, {"name": "n", "type": "bigint"}]
        nodes[name] = ("rows", {"columns": columns, "rows": own, "arrival_column": "at"})
        nodes[f"{name}_n"] = ("project", {"columns": [{"name": "n", "expression": "`n`"}]})
    pipeline = pipeline_of("\n".join(f"{name} -> {name}_n -> all" for name in types), **nodes)
    return pipeline.model_copy(update={"arrival": Arrival(mode="by_column")})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(("float", "double"), ("int", "double"), ("float", "bigint"), ("decimal(5,2)", "bigint")),
        *(("date", "timestamp"), ("string", "string")),
    ],
)
def test_columns_of_one_kind_can_be_merged(a: str, b: str) -> None:
    plan(merged(a=a, b=b), KnownTypes(), Path())


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ("bigint", "timestamp(3)", "b: the arrival column at is TIMESTAMP(3), but at of a is BIGINT. Choose columns"),
        ("date", "int", "b: the arrival column at is INT, but at of a is DATE. Choose columns that are all numbers"),
        ("string", "int", "b: the arrival column at is INT, but at of a is STRING. Choose columns that are all"),
        ("array<int>", "int", "a: the arrival column at is ARRAY<INT>. Sources are merged by numbers, times or texts"),
        ("int", "map<int,int>", "b: the arrival column at is MAP<INT, INT>. Sources are merged by"),
        ("row<x int>", "row<x int>", "a: the arrival column at is ROW<`x` INT>. Sources are merged by"),
        (
            "decimal(5,2)",
            "double",
            "b: the arrival column at is DOUBLE, but at of a is DECIMAL(5, 2). DECIMALs are not",
        ),
        ("float", "decimal(5,2)", "b: the arrival column at is DECIMAL(5, 2), but at of a is FLOAT. DECIMALs are not"),
        ("boolean", "boolean", "a: the arrival column at is BOOLEAN. Sources are merged by"),
    ],
)
def test_columns_that_cannot_be_compared_are_refused_with_their_source(a: str, b: str, sentence: str) -> None:
    with pytest.raises(PipelineError) as caught:
        plan(merged(a=a, b=b), KnownTypes(), Path())
    assert str(caught.value).startswith(sentence)
    assert caught.value.field == "arrival_column"


def test_every_pair_of_columns_is_compared() -> None:
    with pytest.raises(PipelineError, match=r"c: the arrival column at is DOUBLE, but at of b is DECIMAL\(5, 2\)"):
        plan(merged(([], [], []), a="int", b="decimal(5,2)", c="double"), KnownTypes(), Path())


@pytest.mark.parametrize(
    ("a", "b", "first", "second"),
    [
        ("date", "timestamp", ["2024-05-01", "2024-05-03"], ["2024-05-01 10:00:00", "2024-05-02 00:00:00"]),
        ("bigint", "decimal(20,1)", [2**53, 2**53 + 2], ["9007199254740992.5", "9007199254740993.0"]),
        ("bigint", "bigint", [2**53, 2**53 + 3], [2**53 + 1, 2**53 + 2]),
        ("float", "double", [1.5, "NaN"], [2.5, "Infinity"]),
        ("int", "double", [1, 3], [1.5, 2.5]),
        ("bigint", "double", [2**53 - 1, 2**53 + 1], [2.0**53, 2.0**53]),
        ("double", "bigint", ["-Infinity", -0.5], [-(2**63), -1]),
        ("double", "bigint", [-1.0, "NaN"], [0, 2**63 - 1]),
    ],
)
def test_columns_are_merged_alike_in_a_run_and_in_the_preview(
    a: str, b: str, first: list[Any], second: list[Any], spark: SparkSession, tmp_path: Path
) -> None:
    rows = [[first[0], 1], [first[1], 4]], [[second[0], 2], [second[1], 3]]
    expected = [(1,), (2,), (3,), (4,)]
    pipeline = merged(rows, a=a, b=b)
    planned = plan_of(pipeline, spark, tmp_path)
    trace = run_pipeline(pipeline, spark, tmp_path, tmp_path)
    assert [tuple(record.row) for record in trace.records["all"]] == expected
    shown = first_records(planned, "all", lambda: spark, tmp_path).records
    assert [tuple(record.row) for record in shown] == expected


def by_arrival(source: dict[str, Any]) -> Pipeline:
    """A pipeline whose clock goes by the arrival column of its source."""
    latest = {"keys": ["n"], "order": "arrival", "keep": "last"}
    pipeline = pipeline_of("a -> latest", a=("rows", source), latest=("deduplicate", latest))
    options = {"table.exec.state.ttl": "10 ms", "changelog-studio.clock": "ARRIVAL_COLUMN"}
    return pipeline.model_copy(update={"options": options})


@pytest.mark.parametrize(
    ("type_", "column", "sentence"),
    [
        (
            "bigint",
            None,
            "options: changelog-studio.clock is ARRIVAL_COLUMN, but no source says when its records arrived.",
        ),
        (
            "string",
            "at",
            "a: the arrival column at is STRING, but the clock goes by it. Choose a TIMESTAMP",
        ),
        (
            "date",
            "at",
            "a: the arrival column at is DATE, but the clock goes by it. Choose a TIMESTAMP",
        ),
        ("bigint", "when", "a: arrival_column: unknown column 'when'. Available: at, n."),
    ],
)
def test_a_clock_that_no_source_tells_is_refused(type_: str, column: str | None, sentence: str) -> None:
    columns = [{"name": "at", "type": type_}, {"name": "n", "type": "bigint"}]
    source = {"columns": columns, "rows": [], **({"arrival_column": column} if column else {})}
    with pytest.raises(PipelineError) as caught:
        plan(by_arrival(source), KnownTypes(), Path())
    assert str(caught.value).startswith(sentence)


def test_the_plan_says_that_the_clock_goes_by_arrival() -> None:
    columns = [{"name": "at", "type": "bigint"}, {"name": "n", "type": "bigint"}]
    planned = plan(by_arrival({"columns": columns, "rows": [], "arrival_column": "at"}), KnownTypes(), Path())
    assert planned.node("latest").strategy.state.endswith(
        "; each entry goes 10 ms after its last write, by the arrival columns of the sources"
    )


TIMES = [0, 5, None, 3, 9, 1 << 62, 15]
"""A NULL, an earlier time and one that no clock shows keep the clock as it was: at 0, 5, 5, 5, 9, 9, 15."""


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        ("bigint", str),
        ("timestamp(3)", "1970-01-01 00:00:00.{:03}".format),
        ("timestamp_ltz(3)", "1970-01-01 00:00:00.{:03}Z".format),
        ("computed", str),
    ],
)
def test_the_clock_of_a_column_never_goes_back(type_: str, written: Any, spark: SparkSession, tmp_path: Path) -> None:
    times = [time if type_ in ("bigint", "computed") or time != 1 << 62 else None for time in TIMES]
    named = "text" if type_ == "computed" else "at"
    columns = [{"name": named, "type": "string" if type_ == "computed" else type_}, {"name": "n", "type": "bigint"}]
    rows = [[None if time is None else int(time) if type_ == "bigint" else written(time), 1] for time in times]
    source: dict[str, Any] = {"columns": columns, "rows": rows, "arrival_column": "at"}
    if type_ == "computed":
        source["computed"] = [{"name": "at", "expression": "CAST(`text` AS BIGINT)"}]
    trace = run_pipeline(by_arrival(source), spark, tmp_path, tmp_path / "run", epochs=4, partitions=2)
    kinds = [(record.seq, SYMBOLS[record.kind]) for record in trace.records["latest"] if record.kind != UPDATE_BEFORE]
    # Written at 0, 5, 5, 5, 9, 9, 15: never 10 ms apart. Written at 0 and 15 only, it would begin anew.
    assert kinds == [(1, "+I"), *((seq, "+U") for seq in range(2, 8))]
    short = by_arrival(source)
    short = short.model_copy(update={"options": {**short.options, "table.exec.state.ttl": "4 ms"}})
    begun = run_pipeline(short, spark, tmp_path, tmp_path / "short", epochs=3, partitions=1)
    # 5 ms after the first write, 4 after the last at 5, and 6 after that at 9.
    assert [record.seq for record in begun.records["latest"] if record.kind == INSERT] == [1, 2, 5, 7]
    assert run_locally(short, spark, tmp_path).records["latest"] == begun.records["latest"]
