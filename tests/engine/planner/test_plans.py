"""Pipelines and the planner's decisions for their nodes, from `plans.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.planner.plans import planned

PAIRS = [
    block.strip().removeprefix("# ").partition("\n")
    for block in (Path(__file__).parent / "plans.txt").read_text(encoding="utf-8").split("\n\n")
]


@pytest.mark.parametrize(("title", "pair"), [pytest.param(title, pair, id=title) for title, _, pair in PAIRS])
def test_a_pipeline_is_planned_as_written(title: str, pair: str) -> None:
    pipeline, _, expected = pair.partition("\n=>\n")
    assert planned(pipeline) == expected.splitlines(), title
