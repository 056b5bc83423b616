"""The run manager with the real engine."""

from __future__ import annotations

import json
import socket
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.planner import check
from engine.spark.engines import Engine, save_engine
from engine.spark.workspace import Workspace
from storage import Store
from storage.model import RunStatus
from tests.engine.planning import pipeline_of
from tests.storage.staying_runs import files_in
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.builder.picture import edge_facts
from ui.runs.deleting import delete_run
from ui.runs.manager import RunManager
from ui.runs.overlay import overlay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def changed(name: str, node: str, **parameters: Any) -> Pipeline:
    """An example with other parameters at one node."""
    raw = json.loads(examples()[name].to_json())
    next(entry for entry in raw["nodes"] if entry["id"] == node)["parameters"] |= parameters
    return Pipeline.from_dict(raw)


def test_an_example_runs_and_its_changelog_is_on_the_pages(
    spark: SparkSession, store: Store, open_view: OpenView
) -> None:
    manager = RunManager(store)
    run_id = manager.start(examples()["01-word-frequency"], master="local[2]", epochs=2)
    assert manager.wait(run_id, 120)
    run = store.runs.get(run_id)
    assert (run.status, run.error, run.epochs_done) == (RunStatus.FINISHED, "", 2)
    app = open_view("run", run=run_id)
    assert [row[:5] for row in rows_of(app, "operators")] == [
        ["● done", "words", "Rows", "", "3"],
        ["● done", "count_words", "Aggregate", "3", "4"],
        ["● done", "count_counts", "Aggregate", "4", "6"],
        ["● done", "frequencies", "Sink", "6", "6"],
    ]
    app = open_view("changelog", run=run_id, edge="frequencies", event=3)
    assert [row[0] for row in rows_of(app, "cascade")] == [
        "words",
        "count_words",
        "count_counts",
        "frequencies",
        "count_counts",
        "frequencies",
        "count_words",
        "count_counts",
        "frequencies",
    ]


def test_changelogs_stay_in_the_workspace_until_the_run_is_deleted(
    spark: SparkSession, store: Store, open_view: OpenView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    place = tmp_path / "workspace"
    save_engine(Engine("loads", "local[2]", str(place)))
    save_engine(Engine("stays", "local[2]", str(place), changelogs_stay=True))
    # Its windows emit late records on a second output, and its sink is a view.
    pipeline = changed("02-window-late-record", "windows", late_records="port")
    manager = RunManager(store)
    loaded, staying = (manager.start(pipeline, master=name, epochs=3) for name in ("loads", "stays"))
    for run_id in (loaded, staying):
        assert manager.wait(run_id, 120)
        assert store.runs.get(run_id).error == ""
    assert all(edge.stays for edge in store.runs.edges(staying))
    for edge in store.runs.edges(loaded):
        pages = [store.changelog.page(run_id, edge.node, edge.port) for run_id in (loaded, staying)]
        assert pages[0] == pages[1], edge.name
    [folder] = store.staying.folders(staying)
    assert [str(path) for path in place.iterdir()] == [folder]
    [(files,)] = store.queries.run(f"SELECT count(*) FROM run_staying_files WHERE run_id = {staying}").rows
    assert len(files_in(Path(folder))) == files > 3
    app = open_view("run", run=staying)
    assert any(folder in note.value and "Deleting the run deletes them" in note.value for note in app.caption)
    assert delete_run(store, staying) == ()
    assert list(place.iterdir()) == []


def test_changelogs_that_could_not_be_read_here_are_refused_at_once(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    save_engine(Engine("stays", "local[2]", str(tmp_path / "workspace"), changelogs_stay=True))

    def unseen(*_: object) -> None:
        raise FileNotFoundError(tmp_path)

    # As on a machine that does not see what the workers see.
    monkeypatch.setattr(Workspace, "read", unseen)
    manager = RunManager(store)
    run_id = manager.start(examples()["01-word-frequency"], master="stays")
    assert manager.wait(run_id, 120)
    error = store.runs.get(run_id).error
    assert error.startswith(
        "the changelogs cannot stay in the workspace: this machine cannot read what the workers write"
    )
    assert files_in(tmp_path / "workspace") == []


def test_a_run_is_cancelled_while_the_bucket_of_its_source_is_silent(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listening.getsockname()[1]}")
        for name in ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "x")
        read = ("csv", {"path": "s3://silent/in/a.csv"})
        manager = RunManager(store)
        run_id = manager.start(pipeline_of("read -> out", read=read, out=("sink", {})), master="local[2]")
        asked, _ = listening.accept()
        with asked:
            manager.cancel(run_id)
            assert manager.wait(run_id, 120)
        # Not what the bucket's client says when it gives up.
        assert store.runs.get(run_id).status is RunStatus.CANCELLED


def test_each_output_of_an_operator_has_its_own_counts_on_the_canvas(spark: SparkSession, store: Store) -> None:
    raw = json.loads(changed("02-window-late-record", "windows", late_records="port").to_json())
    raw["nodes"].append({"id": "lost", "operator": "sink", "parameters": {"mode": "append"}})
    raw["edges"].append({"source": "windows", "source_port": "late", "target": "lost"})
    pipeline = Pipeline.from_dict(raw)
    manager = RunManager(store)
    run_id = manager.start(pipeline, master="local[2]", identity="mine")
    assert manager.wait(run_id, 120)
    laid_over = overlay(pipeline, "mine", run_id)
    facts = edge_facts(pipeline, check(pipeline, TypeRules(), Path()), laid_over)
    counts = {key: fact["counts"]["+I"] for key, fact in facts.items()}
    assert facts["windows.late>lost:in"]["output"] == "windows.late"
    assert counts == {"events>windows:in": 6, "windows>results:in": 4, "windows.late>lost:in": 1}


def test_a_pipeline_that_cannot_be_planned_fails_at_its_node(spark: SparkSession, store: Store) -> None:
    manager = RunManager(store)
    run_id = manager.start(changed("01-word-frequency", "count_words", group_by=["wort"]), master="local[2]")
    assert manager.wait(run_id, 60)
    run = store.runs.get(run_id)
    assert (run.status, run.error_node) == (RunStatus.FAILED, "count_words")
    assert "unknown column 'wort'. Available: word" in run.error


def test_a_run_on_spark_is_cancelled(spark: SparkSession, store: Store) -> None:
    manager = RunManager(store)
    run_id = manager.start(examples()["01-word-frequency"], master="local[2]", epochs=3)
    manager.cancel(run_id)
    assert manager.wait(run_id, 60)
    assert store.runs.get(run_id).status is RunStatus.CANCELLED


def test_what_if_of_the_delay_that_was_is_what_the_run_lost(spark: SparkSession, store: Store) -> None:
    made = {"rows": 400, "keys": 5, "disorder": 0.4, "disorder_ms": 4000, "watermark_delay_ms": 300}
    sums = [{"function": "SUM", "argument": "value", "name": "s"}]
    nodes = {
        "a": ("generator", {**made, "seed": 1}),
        "b": ("generator", {**made, "seed": 2}),
        "near": ("interval_join", {"left_keys": ["key"], "right_keys": ["key"], "lower_ms": -500, "upper_ms": 300}),
        "before": (
            "over_aggregate",
            {"partition_by": ["key"], "aggregates": sums, "frame": "rows", "preceding_rows": 3},
        ),
        "first": ("deduplicate", {"keys": ["key"], "keep": "first"}),
    }
    wires = [("a", "near", "left"), ("b", "near", "right"), ("a", "before", "in"), ("a", "first", "in")]
    wires += [(name, f"{name}_out", "in") for name in ("near", "before", "first")]
    pipeline = Pipeline.from_dict(
        {
            "version": 1,
            "name": "late in three ways",
            "nodes": [
                *({"id": name, "operator": kind, "parameters": given} for name, (kind, given) in nodes.items()),
                *(
                    {"id": f"{name}_out", "operator": "sink", "parameters": {"mode": "append"}}
                    for name in list(nodes)[2:]
                ),
            ],
            "edges": [{"source": one, "target": other, "target_port": port} for one, other, port in wires],
        }
    )
    manager = RunManager(store)
    run_id = manager.start(pipeline, master="local[2]")
    assert manager.wait(run_id, 120)
    assert store.runs.get(run_id).error == ""
    asked = {asked.node: asked for asked in store.what_if.operators(run_id)}
    assert set(asked) == {"near", "before", "first"}
    late = Counter(record.node for record in store.late.page(run_id, dropped=True, limit=10_000).records)
    for node in ("before", "first"):
        losses = store.what_if.losses(run_id, asked[node])
        assert losses.lost(300) == late[node] > 20
        page = store.what_if.records(run_id, asked[node], asked[node].with_delay(300), 0, limit=1000)
        assert all(record.was_late and record.is_late for record in page)
    # An interval join may keep a row beyond its time, until the next timer, and match it meanwhile.
    assert late["near"] <= store.what_if.losses(run_id, asked["near"]).lost(300) <= late["near"] * 1.05
