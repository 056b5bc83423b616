"""The local executor equals a run on Spark: records with positions, watermarks, fired windows, late records.

FUZZ_SEEDS=20  pytest tests/engine/test_local_on_spark.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.runtime.in_process import in_process
from tests.differential.arrived import AnyJob, plan_of, with_rows
from tests.differential.random_jobs import random_job
from tests.differential.random_joins import random_join
from tests.differential.random_windows import random_windows
from tests.golden.trace import run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = int(os.environ.get("FUZZ_SEEDS", "2"))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("make", [random_job, random_join, random_windows])
def test_a_random_pipeline_comes_to_the_same(
    make: Callable[[Random], AnyJob], seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    # Of each kind, one in Spark's workers.
    with in_process() if seed else nullcontext():
        assert_one(with_rows(planned_job(make, Random(seed))), spark, tmp_path)


def planned_job(make: Callable[[Random], AnyJob], random: Random) -> AnyJob:
    """The first job that the planner does not reject."""
    while True:
        job = make(random)
        try:
            plan_of(job)
        except StudioError:
            continue
        return job


@pytest.mark.parametrize("mode", ["one_after_the_other", "in_turn", "by_event_time", "by_column"])
def test_what_only_spark_can_compute_comes_to_the_same(mode: str, spark: SparkSession, tmp_path: Path) -> None:
    # Only one of the orders is computed by Spark; the others are tested in its workers with their ingest.
    with nullcontext() if mode == "by_column" else in_process():
        assert_one(shop(mode), spark, tmp_path)


def shop(mode: str) -> Pipeline:
    """A pipeline with routed late records, all kinds of watermarks, and expressions that need Spark."""
    columns = [
        {"name": "item", "type": "string"},
        {"name": "price", "type": "decimal(10,2)"},
        {"name": "at_s", "type": "bigint"},
    ]
    rows: list[Any] = [[f"{'ab'[at % 2]}{at % 3}", f"{at}.50", at * 7 % 40] for at in range(14)]
    rows[9:9] = [{"watermark": 30_000}]
    orders = {
        "columns": columns,
        "rows": rows,
        "event_time": "at",
        "watermark_delay_ms": 4000,
        "watermark_every": 2,
        "arrival_column": "at_s",
        "computed": [{"name": "at", "expression": "timestamp_seconds(at_s)"}],
    }
    returns = {**orders, "rows": [["a0", "1.50", 3], ["b9", None, 25], [None, "2.00", None], ["a1", "9.99", 12]]}
    windows = {
        "kind": "hop",
        "size_ms": 20_000,
        "slide_ms": 10_000,
        "group_by": [{"name": "kind", "expression": "upper(substr(item, 1, 1))"}],
        "aggregates": [{"function": "SUM", "argument": "price * 2", "name": "twice"}],
        "late_records": "port",
    }
    counted = {"group_by": ["item"], "aggregates": [{"function": "COUNT", "name": "n"}]}
    projected = [{"name": "item", "expression": "reverse(item)"}, {"name": "cents", "expression": "price * 100"}]
    nodes = {
        "orders": ("rows", orders),
        "returns": ("rows", returns),
        "all": ("union", {}),
        "dear": ("filter", {"condition": "price IS NULL OR price / 2 > 1"}),
        "windows": ("window_aggregate", windows),
        "missed": ("project", {"columns": projected}),
        "counts": ("aggregate", counted),
        "slices": ("window_assign", {"kind": "cumulate", "size_ms": 20_000, "step_ms": 5000}),
    }
    edges = (
        ("orders", "out", "all"),
        ("returns", "out", "all"),
        ("all", "out", "dear"),
        ("all", "out", "slices"),
        ("dear", "out", "windows"),
        ("dear", "out", "counts"),
        ("windows", "late", "missed"),
    )
    return Pipeline.from_dict(
        {
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, (op, given) in nodes.items()],
            "edges": [{"source": source, "source_port": port, "target": target} for source, port, target in edges],
            "arrival": {"mode": mode},
        }
    )


def assert_one(pipeline: Pipeline, spark: SparkSession, work: Path) -> None:
    trace = run_pipeline(pipeline, spark, Path(), work, epochs=2, partitions=2)
    # The local executor keeps no rejected rows. On Spark, every task reports its fired windows: they may repeat.
    trace.rejected = []
    trace.fires = [fire for at, fire in enumerate(trace.fires) if fire not in trace.fires[:at]]
    assert run_locally(pipeline, spark, Path()).text() == trace.text()
