"""Recordings: a pipeline over those of a run sees what the run saw, and says what it said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.errors import PipelineError, SourceError
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.recordings import on_recordings
from engine.script import script_of, sql_of
from engine.sources.recording import Recording
from storage import Store
from storage.errors import NothingToRecord
from tests.engine.planning import KnownTypes
from tests.storage.local_runs import run_locally

COLUMNS = [
    {"name": "k", "type": "string"},
    {"name": "v", "type": "decimal(10,2)"},
    {"name": "at", "type": "timestamp"},
    {"name": "tags", "type": "array<int>"},
]


def typed(name: str, *rows: Any, **parameters: Any) -> dict[str, Any]:
    timed = {"columns": COLUMNS, "rows": rows, "event_time": "at", "watermark_delay_ms": 500}
    return {"id": name, "operator": "rows", "parameters": timed | parameters}


def pipeline_of(*sources: dict[str, Any], **arrival: Any) -> Pipeline:
    """Windows over the first source, and a count by key over all: what is late, what fires, what takes back."""
    total = {"function": "SUM", "argument": "v", "name": "total"}
    count = {"function": "COUNT", "name": "n"}
    window = {"kind": "tumble", "size_ms": 1000, "group_by": ["k"], "aggregates": [total]}
    nodes = [
        *sources,
        {"id": "windows", "operator": "window_aggregate", "parameters": window},
        {"id": "both", "operator": "union", "parameters": {}},
        {"id": "counts", "operator": "aggregate", "parameters": {"group_by": ["k"], "aggregates": [count]}},
    ]
    edges = [{"source": sources[0]["id"], "target": "windows"}, {"source": "both", "target": "counts"}]
    edges += [{"source": source["id"], "target": "both"} for source in sources]
    return Pipeline.from_dict({"name": "two", "nodes": nodes, "edges": edges, "arrival": arrival})


TWO = pipeline_of(
    typed("left", ["a", "1.5", 1000, [1]], ["b", "2", 3000, None], ["late", "1", 900, []], ["x"], {"watermark": 9000}),
    typed(
        "the right",
        ["+I", "a", "1", 1000, [2]],
        ["-D", "a", "1", 1000, [2]],
        ["+I", "c", None, 5000, [None, 3]],
        changelog=True,
        primary_key=["k"],
    ),
    mode="in_turn",
)


def said(store: Store, run_id: int) -> dict[str, Any]:
    """What a run said, but for the names of the sources' operators."""
    edges = {edge.node: store.changelog.page(run_id, edge.node) for edge in store.runs.edges(run_id)}
    return {
        "records": {node: (page.columns, page.records) for node, page in edges.items()},
        "modes": [(edge.node, edge.mode, edge.columns, edge.upsert_key) for edge in store.runs.edges(run_id)],
        "late": store.late.page(run_id),
        "rejected": store.late.rejected(run_id),
        "last": store.runs.get(run_id).last_seq,
    }


def test_a_pipeline_on_its_own_recordings_says_again_what_it_said(store: Store, tmp_path: Path) -> None:
    first = run_locally(store, tmp_path, TWO)
    files = store.recordings.write(first)
    again = on_recordings(TWO, files, tmp_path)
    assert {node.operator for node in again.nodes} >= {"recording"}
    second = run_locally(store, tmp_path, again)
    assert store.late.page(first).records
    assert store.runs.get(first).rejected == 1
    assert said(store, second) == said(store, first)
    # A recording of what was recorded is the same once more, and one that is there is not written again.
    assert said(store, run_locally(store, tmp_path, on_recordings(again, store.recordings.write(second), tmp_path)))
    written = {path: path.stat().st_mtime_ns for path in files.values()}
    assert {path: path.stat().st_mtime_ns for path in store.recordings.write(first).values()} == written


def test_the_watermark_of_a_recording_is_the_pipelines_own(store: Store, tmp_path: Path) -> None:
    first = run_locally(store, tmp_path, TWO)
    again = on_recordings(TWO, store.recordings.write(first), tmp_path)
    left = again.node("left")
    patient = left.model_copy(update={"parameters": left.parameters | {"watermark_delay_ms": 5000}})
    changed = again.model_copy(update={"nodes": (patient, *again.nodes[1:])})
    assert store.runs.get(first).dropped == 1
    assert store.runs.get(run_locally(store, tmp_path, changed)).dropped == 0


def test_a_recording_goes_with_its_run_and_says_so(store: Store, tmp_path: Path) -> None:
    first = run_locally(store, tmp_path, TWO)
    again = on_recordings(TWO, store.recordings.write(first), tmp_path)
    store.runs.delete(first)
    with pytest.raises(SourceError, match=r"left: the recording of run 1 is not there .* its run is deleted"):
        plan(again, KnownTypes(), tmp_path)


def test_recordings_of_one_run_alone_arrive_as_they_were_recorded(store: Store, tmp_path: Path) -> None:
    first = run_locally(store, tmp_path, TWO)
    again = on_recordings(TWO, store.recordings.write(first), tmp_path)
    mixed = again.model_copy(update={"nodes": (TWO.node("left"), *again.nodes[1:])})
    with pytest.raises(PipelineError, match="left is no recording"):
        plan(mixed, KnownTypes(), tmp_path)


def test_a_run_without_records_cannot_be_recorded(store: Store) -> None:
    with pytest.raises(NothingToRecord, match="run 1 has no records"):
        store.recordings.write(store.runs.create("none", "{}").run_id)


def test_the_first_rows_of_a_recording_are_one(store: Store, tmp_path: Path) -> None:
    first = run_locally(store, tmp_path, TWO)
    again = on_recordings(TWO, store.recordings.write(first), tmp_path)
    whole = Recording.model_validate(again.node("left").parameters)
    head = whole.head(2, "left", tmp_path, tmp_path)
    assert head.derive("left", tmp_path) == whole.derive("left", tmp_path)
    scan = head.scan("left", tmp_path)
    assert sum(part.records.num_rows for each in scan.parts for part in scan.read(each)) == 2


def test_a_pipeline_on_recordings_as_a_script_and_back_is_itself(store: Store, tmp_path: Path) -> None:
    first = run_locally(store, tmp_path, TWO)
    again = on_recordings(TWO, store.recordings.write(first), tmp_path)
    script = sql_of(again, KnownTypes(), tmp_path)
    assert "'connector' = 'filesystem'" in script.text
    back = script_of(script.text, KnownTypes(), tmp_path, "back").pipeline
    assert said(store, run_locally(store, tmp_path, back)) == said(store, first)


def test_the_command_line_gives_the_pipeline_of_a_run_on_its_recordings(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run_locally(store, tmp_path, TWO)
    assert main(["record", str(first), "--store", str(store.path)]) == 0
    again = Pipeline.from_json(capsys.readouterr().out)
    assert said(store, run_locally(store, tmp_path, again)) == said(store, first)
    assert main(["record", "9", "--store", str(store.path)]) == 2
    assert "there is no run 9" in capsys.readouterr().err
