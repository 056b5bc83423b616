"""The positions of the nodes of a drawn graph."""

from __future__ import annotations

from itertools import combinations

import pytest

from engine.examples import examples
from engine.model.pipeline import Edge, Node, Pipeline
from ui.builder.layout import layered
from ui.components.builder.graph_svg import Marks, graph_svg


@pytest.mark.parametrize("name", examples())
def test_every_node_stands_right_of_its_inputs_and_no_two_on_one_place(name: str) -> None:
    pipeline = examples()[name]
    spots = layered(pipeline)
    assert all(spots[edge.source].layer < spots[edge.target].layer for edge in pipeline.edges)
    assert all(a != b for a, b in combinations(spots.values(), 2))


def test_a_source_that_is_needed_late_stands_just_before_its_consumer() -> None:
    nodes = tuple(Node(id=name, operator="rows") for name in ("a", "b", "c", "late"))
    edges = (Edge(source="a", target="b"), Edge(source="b", target="c"), Edge(source="late", target="c"))
    assert layered(Pipeline(nodes=nodes, edges=edges))["late"].layer == 1


def test_a_cycle_is_still_drawn() -> None:
    nodes = (Node(id="a", operator="filter"), Node(id="b", operator="filter"))
    edges = (Edge(source="a", target="b"), Edge(source="b", target="a"))
    assert set(layered(Pipeline(nodes=nodes, edges=edges))) == {"a", "b"}


def test_the_picture_marks_what_is_wrong_and_has_nothing_to_click() -> None:
    pipeline = examples()["01-word-frequency"]
    picture = graph_svg(pipeline, Marks(problems={"words": ("a <column> is missing.",)}))
    assert "a &lt;column&gt; is missing." in picture
    assert "tabindex" not in picture
