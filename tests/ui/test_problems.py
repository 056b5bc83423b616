"""Which problems of a pipeline are wrong, and which are only still to do."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import PipelineError, StudioError
from engine.model.pipeline import Pipeline
from tests.engine.planning import pipeline_of
from ui.builder.checking import checked
from ui.builder.picture import node_facts
from ui.builder.problems import is_to_do

PIPELINE = pipeline_of(
    "words -> latest",
    words=("rows", {"columns": [{"name": "word", "type": "string"}, {"name": "", "type": ""}]}),
    latest=("deduplicate", {"keys": []}),
    loose=("deduplicate", {"keys": ["q"]}),
)


@pytest.mark.parametrize(
    ("node", "field", "to_do"),
    [
        ("latest", "keys", True),
        ("latest", "in", False),
        ("loose", "in", True),
        ("loose", "keys", False),
        ("loose", "keys.0", False),
        ("words", "columns.0.name", False),
        ("words", "columns.1.name", True),
        ("words", "columns.2.name", True),
        ("words", "event_time", True),
        ("words", "", False),
        ("", "options", False),
    ],
)
def test_what_is_missing_is_to_do_and_what_was_given_is_wrong(node: str, field: str, to_do: bool) -> None:
    assert is_to_do(PIPELINE, PipelineError("it does not fit.", node, field)) == to_do


def test_an_empty_pipeline_is_still_to_do() -> None:
    nothing: dict[str, Any] = {}
    assert is_to_do(Pipeline(**nothing), StudioError("the pipeline is empty."))


def test_a_node_calls_what_is_missing_to_do_as_the_drawer_does() -> None:
    pipeline = pipeline_of(
        "words -> w",
        words=("rows", {"columns": [{"name": "word", "type": "string"}]}),
        w=("window_aggregate", {}),
    )
    facts = node_facts(pipeline, checked(pipeline), None)
    assert [each["brief"] for each in facts["w"]["problems"]] == ["1 to do"]
