"""`--edge NODE` or `--edge NODE.PORT`: one rule for the commands that run, resume and export."""

from __future__ import annotations

import pytest

from engine.command_line.edges import chosen_edge
from engine.errors import PipelineError

OUTPUTS = {"w": ("out", "late"), "shop.orders": ("out",), "all": ("out",)}


@pytest.mark.parametrize(
    ("wanted", "edge"),
    [
        ("w", ("w", "out")),
        ("w.out", ("w", "out")),
        ("w.late", ("w", "late")),
        ("shop.orders", ("shop.orders", "out")),
        (None, ("all", "out")),
    ],
)
def test_an_edge_is_named_by_its_node_and_port(wanted: str | None, edge: tuple[str, str]) -> None:
    assert chosen_edge(wanted, OUTPUTS, ["all"]) == edge


@pytest.mark.parametrize(
    ("wanted", "sinks", "sentence"),
    [
        ("x", ["all"], "unknown node 'x'. Available: w, shop.orders, all."),
        ("w.x", ["all"], "w: unknown output 'x'. Available: out, late."),
        (None, [], "there are 0 sinks; choose an output with --edge: w, shop.orders, all."),
        (None, ["w", "all"], "there are 2 sinks; choose an output with --edge: w, shop.orders, all."),
    ],
)
def test_what_it_can_be_is_said(wanted: str | None, sinks: list[str], sentence: str) -> None:
    with pytest.raises(PipelineError) as caught:
        chosen_edge(wanted, OUTPUTS, sinks)
    assert str(caught.value) == sentence
