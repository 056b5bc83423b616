"""A run in the store: its plan, edges and tables, read once and only when they are needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storage import Store
from storage.database.connection import Database
from storage.errors import UnknownEdge, UnknownRun
from storage.library.pipeline_document import PipelineDocument
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

WORDS = edge("words", columns(word="string"), watermark_delay_ms=0)
OTHERS = edge("others", columns(word="string"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(word="string", n="bigint"), "[I,UB,UA]", ["word"])
PLAN = plan(WORDS, OTHERS, TOTALS, wires=[("words", "totals"), ("others", "totals")])


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    return recorded(store, tmp_path, PLAN, Epoch(records={"words": [(1, b"", "+I", ("Hello",))]}))


@pytest.fixture
def queries(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that were sent to DuckDB."""
    sent: list[str] = []
    for name in ("rows", "row"):
        ask = getattr(Database, name)

        def noted(self: Database, sql: str, *values: Any, ask: Any = ask, **more: Any) -> Any:
            sent.append(sql)
            return ask(self, sql, *values, **more)

        monkeypatch.setattr(Database, name, noted)
    return sent


def test_the_catalog_is_read_when_it_is_needed_and_only_once(store: Store, run_id: int, queries: list[str]) -> None:
    run = store.runs.stored(run_id)
    assert run.tables.late == f'"run_{run_id}"."_late"'
    assert queries == []
    assert run.edge("totals").upsert_key == ("word",)
    assert [edge.node for edge in run.sources] == ["words", "others"]
    assert len(queries) == 1
    assert [(port, edge.node) for port, edge in run.input_edges("totals")] == [("in", "words"), ("in", "others")]
    assert run.holdbacks("totals") == {"words": 0, "others": 0}
    assert run.progress == (1, 1)
    assert len(queries) == 2


def test_a_page_of_a_changelog_takes_two_queries(store: Store, run_id: int, queries: list[str]) -> None:
    store.changelog.page(run_id, "words")
    assert len(queries) == 2


def test_an_unknown_run_or_edge_is_told(store: Store, run_id: int) -> None:
    with pytest.raises(UnknownRun):
        assert store.runs.stored(run_id + 1).edges
    with pytest.raises(UnknownEdge, match=r"Available: words, others, totals\."):
        store.runs.stored(run_id).edge("nope")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"nodes": null, "edges": 3}', '{"nodes": ["a"], "edges": [{"source": "a"}]}'],
)
def test_a_document_that_is_no_pipeline_is_empty(text: str) -> None:
    assert PipelineDocument.of(text) == PipelineDocument({}, {}, {}, {})


def test_a_document_says_who_feeds_whom() -> None:
    nodes = [{"id": "both", "operator": "union", "parameters": {"x": 1}}]
    edges = [
        {"source": "a", "target": "both", "target_port": "left"},
        {"source": "b", "source_port": "rest", "target": "both", "target_port": "right"},
        {"source": "both", "target": "sink"},
    ]
    document = PipelineDocument.of(json.dumps({"nodes": nodes, "edges": edges, "options": {"mini_batch": 5}}))
    assert document.operators == {"both": "union"}
    assert document.parameters == {"both": {"x": 1}}
    assert document.inputs["both"] == (("left", ("a", "out")), ("right", ("b", "rest")))
    assert document.options == {"mini_batch": 5}
    assert document.sources_above("sink") == {"a", "b"}
