"""Plan explanations: stored and read again, read from older versions, and what computes each node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.contract.explanation import (
    InputExplanation,
    NodeExplanation,
    PlanExplanation,
    SecondOutputExplanation,
    to_text,
)
from engine.examples import examples
from engine.model.pipeline import Pipeline
from engine.model.schema import Schema, TimeUnit
from engine.model.types import BIGINT, BOOLEAN, Type
from engine.planner import plan
from engine.runtime.explain import explanation

ROWS = {
    "columns": [{"name": "k", "type": "string"}, {"name": "v", "type": "bigint"}, {"name": "ts", "type": "bigint"}],
    "rows": [["a", 1, 1]],
    "event_time": "ts",
}
OLDER = """{"nodes": [{"id": "w", "operator": "window_aggregate", "role": "operator", "rank": 1,
    "schema": [{"name": "ts", "type": "bigint", "time": "epoch_ms"}], "upsert_keys": [["k", "ts"]], "mode": "[I]",
    "table_type": "Append", "accumulate_mode": "Acc", "strategy": "per window", "reason": "why", "state": "none",
    "sources": {"a": 500}, "second outputs": [{"port": "late", "mode": "[I]", "columns": ["k"]}],
    "inputs": [{"node": "a", "output": "out", "port": "in", "mode": "[I]", "needs_retract": false,
        "update_kind": "none", "reason": "because"}]}]}"""


class Types:
    """A minimal analyzer for these tests."""

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        return BOOLEAN if field == "condition" else BIGINT


def explained(operator: str, parameters: dict[str, Any], **options: str) -> NodeExplanation:
    """The explanation of one operator above a source of rows."""
    nodes = [
        {"id": "rows", "operator": "rows", "parameters": ROWS},
        {"id": "it", "operator": operator, "parameters": parameters},
    ]
    document = {"nodes": nodes, "edges": [{"source": "rows", "target": "it"}], "options": options}
    found = explanation(plan(Pipeline.from_json(json.dumps(document)), Types(), Path())).node("it")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["01-word-frequency", "07-deduplication", "09-temporal-join"])
def test_what_is_written_is_what_is_read(name: str) -> None:
    whole = explanation(plan(examples()[name], Types(), Path()))
    assert PlanExplanation.from_json(whole.to_json()) == whole
    assert to_text(PlanExplanation.from_json(whole.to_json())) == to_text(whole)


def test_what_an_older_studio_wrote_is_read_and_what_it_lacks_is_empty() -> None:
    (node,) = PlanExplanation.from_json(OLDER).nodes
    assert (node.title, node.kernel) == ("", "")
    assert (node.upsert_keys, node.sources, node.schema[0].time) == ((("k", "ts"),), {"a": 500}, TimeUnit.EPOCH_MS)
    assert node.second_outputs == (SecondOutputExplanation("late", "[I]", ("k",)),)
    assert node.inputs == (InputExplanation("a", "in", "[I]", reason="because"),)
    assert "kernel" not in to_text(PlanExplanation((node,)))


def test_a_run_of_which_nothing_is_known_has_no_nodes() -> None:
    assert PlanExplanation.from_json("{}") == PlanExplanation()
    assert PlanExplanation().node("w") is None


@pytest.mark.parametrize(
    ("operator", "parameters", "kernel"),
    [
        ("sink", {"mode": "append"}, "a view of rows"),
        ("filter", {"condition": "v > 1"}, "columnar: its expressions in Arrow, a record at a time"),
        ("filter", {"condition": "soundex(k) = 'A'"}, "Spark SQL: Arrow does not support one of its expressions"),
        (
            "window_assign",
            {"kind": "hop", "size_ms": 4, "slide_ms": 2},
            "columnar: its expressions in Arrow, a record at a time",
        ),
        ("aggregate", {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]}, "columnar: COUNT"),
    ],
)
def test_it_says_what_computes_a_node(operator: str, parameters: dict[str, Any], kernel: str) -> None:
    assert explained(operator, parameters).kernel == kernel


def test_in_mini_batch_bundles_are_folded_record_by_record() -> None:
    options = {
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.size": "10",
        "table.exec.mini-batch.allow-latency": "5 s",
    }
    parameters = {"group_by": ["k"], "aggregates": [{"function": "COUNT", "name": "n"}]}
    assert explained("aggregate", parameters, **options).kernel.startswith("record by record: mini-batch folds")
