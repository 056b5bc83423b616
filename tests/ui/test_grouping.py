"""Groups of nodes: what changes with them, and what does not."""

from __future__ import annotations

import pytest

from engine.errors import PipelineError
from engine.model.pipeline import Edge, Group, Node, Pipeline, Place
from ui.builder.editing import placed_like, rename_node, unplaced
from ui.builder.grouping import grouped, grouped_like, members, memberships, renamed_group
from ui.builder.merging import changed_nodes, is_same, merged

CHAIN = Pipeline(
    nodes=tuple(Node(id=name, operator="filter") for name in "abc"),
    edges=(Edge(source="a", target="b"), Edge(source="b", target="c")),
)
GROUPED = grouped(CHAIN, ("a", "b"), "g")[0]


def test_a_group_is_no_change_of_what_runs() -> None:
    assert is_same(CHAIN, GROUPED)
    assert changed_nodes(CHAIN, GROUPED) == ()
    assert unplaced(GROUPED) == CHAIN
    assert memberships(CHAIN) != memberships(GROUPED)


def test_a_document_without_groups_is_written_as_before() -> None:
    assert "group" not in CHAIN.to_json()
    assert Pipeline.from_json(GROUPED.to_json()) == GROUPED


def test_a_node_that_is_renamed_stays_in_its_group() -> None:
    assert members(rename_node(GROUPED, "b", "x"), "g") == ("a", "x")


@pytest.mark.parametrize(
    ("groups", "group", "sentence"),
    [
        ((), "gone", "unknown group 'gone'"),
        ((Group(name="g"), Group(name="g")), "g", "two groups have the same name"),
        ((Group(name="g", inside="gone"),), "g", "unknown group 'gone'"),
        ((Group(name="g", inside="h"), Group(name="h", inside="g")), "g", "inside of itself"),
    ],
)
def test_a_document_with_groups_that_are_none_is_refused(groups: tuple[Group, ...], group: str, sentence: str) -> None:
    document = Pipeline(nodes=(Node(id="a", operator="filter", group=group),), groups=groups)
    with pytest.raises(PipelineError, match=sentence):
        Pipeline.from_json(document.to_json())


@pytest.mark.parametrize("name", ["", " ", "h", "x" * 101])
def test_a_group_keeps_its_name_if_the_new_one_cannot_be(name: str) -> None:
    both = grouped(GROUPED, ("c",), "h")[0]
    with pytest.raises(PipelineError):
        renamed_group(both, "g", name)


def test_a_script_that_is_read_again_keeps_the_groups_of_the_canvas() -> None:
    # Somebody took the group of b away, and folded the other.
    seen = GROUPED.model_copy(
        update={
            "nodes": tuple(
                node.model_copy(update={"group": "" if node.id == "b" else node.group}) for node in GROUPED.nodes
            ),
            "groups": (Group(name="g", folded=True, place=Place(x=5)),),
        }
    )
    again = grouped(GROUPED, ("c",), "new")[0]
    read = grouped_like(placed_like(again, seen), seen)
    assert [node.group for node in read.nodes] == ["g", "", ""]
    assert read.groups == seen.groups


def test_both_sides_groups_are_merged() -> None:
    mine, theirs = grouped(CHAIN, ("a",), "mine")[0], grouped(CHAIN, ("c",), "theirs")[0]
    both = merged(CHAIN, mine, theirs)
    assert [node.group for node in both.pipeline.nodes] == ["mine", "", "theirs"]
    assert {group.name for group in both.pipeline.groups} == {"mine", "theirs"}
    assert both.disputed == ()
