"""Half of a character in any text that people give: a sentence that can be shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import StudioError
from engine.model.pipeline import Edge, Node, Pipeline
from engine.planner import plan
from engine.script import script_of
from tests.engine.planning import KnownTypes
from tests.engine.script.scripts import whole

HALF = "\ud800"
ROWS = {"columns": [{"name": "k", "type": "STRING"}], "rows": [["a"]]}


def planned(operator: str, **parameters: Any) -> Callable[[], object]:
    nodes = (Node(id="a", operator="rows", parameters=ROWS), Node(id="f", operator=operator, parameters=parameters))
    pipeline = Pipeline(nodes=nodes, edges=(Edge(source="a", target="f"),))
    return lambda: plan(pipeline, KnownTypes(), Path())


def script(text: str) -> Callable[[], object]:
    return lambda: whole(script_of(text, KnownTypes(), Path()))


TEXTS: dict[str, tuple[Callable[[], object], str]] = {
    "a literal": (script(f"SELECT *\nFROM t WHERE k = '{HALF}'"), r"line 2, column 19: .* is half of a character"),
    "a comment": (script(f"-- {HALF}\nSELECT 1"), "line 1, column 4: .* is half of a character"),
    "an option": (script(f"CREATE TABLE t (k STRING) WITH ('a' = '{HALF}');"), "half of a character"),
    "a name of a column": (planned("project", columns=[{"expression": "k", "name": HALF}]), "whole characters"),
    "an expression": (planned("filter", condition=f"k = '{HALF}'"), "whole characters"),
    "a cell of a form": (lambda: Node(id="a", operator="rows").with_parameters({"rows": [[HALF]]}), "rows: it has"),
    "a name of a parameter": (lambda: Node(id="a", operator="rows").with_parameters({HALF: 1}), "half of a character"),
    "what a canvas sends": (
        lambda: Pipeline.from_dict({"nodes": [{"id": "a", "operator": "rows", "parameters": {"rows": [[HALF]]}}]}),
        r"the pipeline has '\\ud800', which is half of a character",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_half_of_a_character_is_named_in_a_sentence_that_can_be_shown(name: str) -> None:
    ask, sentence = TEXTS[name]
    with pytest.raises(StudioError, match=sentence) as caught:
        ask()
    str(caught.value).encode()
