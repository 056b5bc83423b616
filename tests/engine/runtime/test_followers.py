"""Stateless steps are computed by the task of their input: no separate job, the same records, their own errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.contract.recorder import Progress
from engine.errors import RunFailed
from engine.model.pipeline import Pipeline
from engine.runtime import epoch, run
from engine.runtime.edges import shared_jobs
from engine.runtime.reports import run_each
from engine.spark.run_files import LocalFiles
from tests.golden.trace import TraceRecorder, plan_of, run_locally, run_pipeline

FOLDER = Path(__file__).parent
ROWS = [["a", 3], ["b", 1], ["a", 4], ["c", 1], ["b", 5], ["a", 9]]


def chained(last: str = "total * 2") -> Pipeline:
    """words -> loud -> totals -> shown (a view) -> some -> doubled -> result, and totals -> small beside it."""
    columns = [{"name": "word", "type": "string"}, {"name": "n", "type": "bigint"}]
    totals = {"group_by": ["word"], "aggregates": [{"function": "SUM", "argument": "n", "name": "total"}]}
    nodes: list[tuple[str, str, dict[str, Any]]] = [
        ("words", "rows", {"columns": columns, "rows": ROWS}),
        ("loud", "filter", {"condition": "n > 1 OR word = 'c'"}),
        ("totals", "aggregate", totals),
        (
            "shown",
            "project",
            {"columns": [{"name": "total", "expression": "total"}, {"name": "w", "expression": "word"}]},
        ),
        ("some", "filter", {"condition": "total > 3"}),
        ("doubled", "project", {"columns": [{"name": "w", "expression": "w"}, {"name": "x", "expression": last}]}),
        ("result", "sink", {}),
        ("small", "filter", {"condition": "total < 10"}),
    ]
    order = [name for name, _, _ in nodes[:-1]]
    return Pipeline.from_dict(
        {
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, op, given in nodes],
            "edges": [
                *({"source": one, "target": other} for one, other in zip(order, order[1:], strict=False)),
                {"source": "totals", "target": "small"},
            ],
        }
    )


@pytest.mark.parametrize(("partitions", "epochs"), [(1, 1), (2, 3)])
def test_what_follows_has_the_records_that_it_would_have_alone(
    spark: SparkSession, tmp_path: Path, partitions: int, epochs: int
) -> None:
    got = run_pipeline(chained(), spark, FOLDER, tmp_path, partitions=partitions, epochs=epochs)
    assert got.text() == run_locally(chained(), spark, FOLDER).text()
    assert got.records["doubled"]
    assert got.records["small"]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of tasks of the jobs that are handed out."""
    counts: list[int] = []
    handed_out = run_each

    def counted(session: SparkSession | None, works: Any, *, here: bool) -> Any:
        assert not here, "a bounded run leaves its tasks to workers"
        if session is not None:
            counts.append(len(works))
        return handed_out(session, works, here=here)

    for module in (epoch, shared_jobs):
        monkeypatch.setattr(module, "run_each", counted)
    return counts


def test_only_what_keeps_state_or_follows_a_source_is_a_job(
    spark: SparkSession, tmp_path: Path, jobs: list[int]
) -> None:
    run_pipeline(chained(), spark, FOLDER, tmp_path, partitions=1, epochs=1)
    # One job for the filter of the source, and one for the totals with all steps that follow.
    assert jobs == [1, 1]


def meeting(condition: str = "n < 9") -> Pipeline:
    """left -> some, right -> more; both = shown (a view of some) + more; twice = both + some -> result."""
    columns = [{"name": "word", "type": "string"}, {"name": "n", "type": "bigint"}]
    nodes: list[tuple[str, str, dict[str, Any]]] = [
        ("left", "rows", {"columns": columns, "rows": ROWS}),
        ("right", "rows", {"columns": columns, "rows": ROWS[:4]}),
        ("some", "filter", {"condition": "n > 3"}),
        ("more", "filter", {"condition": condition}),
        ("shown", "project", {"columns": [{"name": name, "expression": name} for name in ("word", "n")]}),
        ("both", "union", {}),
        ("twice", "union", {}),
        ("result", "sink", {}),
    ]
    edges = [("left", "some"), ("right", "more"), ("some", "shown"), ("shown", "both"), ("more", "both")]
    edges += [("both", "twice"), ("some", "twice"), ("twice", "result")]
    return Pipeline.from_dict(
        {
            "nodes": [{"id": name, "operator": op, "parameters": given} for name, op, given in nodes],
            "edges": [{"source": one, "target": other} for one, other in edges],
        }
    )


@pytest.mark.parametrize("epochs", [1, 3])
def test_steps_of_several_edges_that_are_there_are_one_job_with_what_follows_them(
    spark: SparkSession, tmp_path: Path, jobs: list[int], epochs: int
) -> None:
    got = run_pipeline(meeting(), spark, FOLDER, tmp_path, partitions=1, epochs=epochs)
    assert got.text() == run_locally(meeting(), spark, FOLDER).text()
    assert len(got.records["twice"]) == 10
    assert len(jobs) == epochs


def test_an_error_in_a_shared_job_is_told_at_its_step(spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_of(meeting("n * 9223372036854775807 > 0"), spark, FOLDER)
    with pytest.raises(RunFailed, match="overflow") as caught:
        run(plan, spark=spark, recorder=TraceRecorder(), folder=FOLDER, files=LocalFiles(tmp_path))
    assert caught.value.node == "more"


def test_an_error_is_told_at_the_step_that_raised_it(spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_of(chained("total * 9223372036854775807"), spark, FOLDER)
    progress = Progress()
    with pytest.raises(RunFailed, match="overflow") as caught:
        run(plan, spark=spark, recorder=TraceRecorder(), folder=FOLDER, files=LocalFiles(tmp_path), progress=progress)
    assert caught.value.node == "doubled"
    assert "StepFailed" not in str(caught.value)
    states = {name: node.state for name, node in progress.nodes.items()}
    assert (states["doubled"], states["totals"], states["result"]) == ("failed", "waiting", "waiting")
