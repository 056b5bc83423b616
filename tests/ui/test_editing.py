"""Edits of a document: what they change, what they leave unchanged, and that undo restores everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.bundling import MiniBatch, mini_batch
from engine.errors import PipelineError
from engine.examples import examples
from engine.model.options import BUNDLE_SIZE, MINI_BATCH
from engine.model.pipeline import Edge, Pipeline
from engine.registry import operators, sources
from ui.builder.editing import (
    ABSENT,
    add_node,
    ancestors,
    connect,
    delete_node,
    disconnect,
    duplicate_node,
    edge_at,
    edge_key,
    insert_on_edge,
    palette,
    rename_node,
    set_arrival,
    set_option,
    set_parameter,
)
from ui.builder.history import History


def chain(*ops: str) -> Pipeline:
    """A chain of nodes, each named like its operator."""
    pipeline, last = Pipeline(), None
    for operator in ops:
        pipeline, last = add_node(pipeline, operator, last)
    return pipeline


def wires(pipeline: Pipeline) -> list[str]:
    return [edge_key(edge) for edge in pipeline.edges]


def test_a_node_that_is_added_is_connected_to_the_one_before() -> None:
    assert wires(chain("rows", "filter", "sink")) == ["rows>filter:in", "filter>sink:in"]


def test_a_source_is_added_unconnected_and_gets_a_free_name() -> None:
    pipeline, name = add_node(chain("rows", "filter"), "rows", "filter")
    assert name == "rows_2"
    assert wires(pipeline) == ["rows>filter:in"]


def test_the_second_input_of_a_join_goes_to_its_free_port() -> None:
    pipeline = chain("rows", "window_join")
    pipeline, other = add_node(pipeline, "rows")
    assert wires(connect(pipeline, other, "window_join", "right")) == [
        "rows>window_join:left",
        "rows_2>window_join:right",
    ]


def test_an_edge_in_the_way_is_replaced_but_a_union_takes_them_all() -> None:
    pipeline, second = add_node(chain("rows", "filter"), "rows")
    assert wires(connect(pipeline, second, "filter", "in")) == ["rows_2>filter:in"]
    pipeline, second = add_node(chain("rows", "union"), "rows")
    assert wires(connect(pipeline, second, "union", "in")) == ["rows>union:in", "rows_2>union:in"]


def test_a_cycle_is_refused_with_both_ends() -> None:
    with pytest.raises(PipelineError, match="Connecting sink to filter would create a cycle"):
        connect(chain("rows", "filter", "sink"), "sink", "filter", "in")


def test_a_node_is_inserted_on_an_edge() -> None:
    pipeline = chain("rows", "sink")
    grown, _ = insert_on_edge(pipeline, pipeline.edges[0], "filter")
    assert sorted(wires(grown)) == ["filter>sink:in", "rows>filter:in"]


def test_a_deleted_node_leaves_no_gap() -> None:
    assert wires(delete_node(chain("rows", "filter", "sink"), "filter")) == ["rows>sink:in"]


def test_a_deleted_join_takes_its_edges_along() -> None:
    assert delete_node(examples()["05-window-join"], "joined").edges == ()


def test_a_node_is_renamed_everywhere() -> None:
    pipeline = set_arrival(chain("rows", "sink"), mode="listed", order=("rows", "rows"))
    renamed = rename_node(pipeline, "rows", "words")
    assert wires(renamed) == ["words>sink:in"]
    assert renamed.arrival.order == ("words", "words")


@pytest.mark.parametrize(("name", "reason"), [("Filter", "already"), ("", "start with a letter"), ("1a", "letter")])
def test_a_name_that_cannot_be_is_refused(name: str, reason: str) -> None:
    with pytest.raises(PipelineError, match=reason):
        rename_node(chain("rows", "filter"), "rows", name)


def test_a_twin_has_the_same_inputs_and_parameters() -> None:
    pipeline = set_parameter(chain("rows", "filter", "sink"), "filter", "condition", "a > 1")
    grown, twin = duplicate_node(pipeline, "filter")
    assert twin == "filter_2"
    assert grown.node(twin).parameters == {"condition": "a > 1"}
    assert wires(grown)[-1] == "rows>filter_2:in"


def test_a_parameter_that_is_taken_away_leaves_the_default() -> None:
    pipeline = set_parameter(chain("rows", "filter"), "filter", "condition", "a > 1")
    assert set_parameter(pipeline, "filter", "condition", ABSENT).node("filter").parameters == {}


def test_an_edge_is_found_by_its_key_and_taken_away() -> None:
    pipeline = chain("rows", "sink")
    edge = edge_at(pipeline, "rows>sink:in")
    assert edge == Edge(source="rows", target="sink")
    assert disconnect(pipeline, edge).edges == ()


def test_the_palette_has_everything_sources_first_and_sinks_last() -> None:
    groups = palette()
    shown = {cls.operator for members in groups.values() for cls in members}
    assert shown == {*operators(), *sources()}
    roles = [{cls.role for cls in members} for members in groups.values()]
    assert roles[0] == {"source"}
    assert roles[-1] == {"sink"}


EDITS = st.lists(st.tuples(st.sampled_from(["add", "delete", "twin", "set", "undo", "redo"]), st.integers(0, 9)))


@given(EDITS)
def test_undo_and_redo_never_corrupt_whatever_was_done(edits: list[tuple[str, int]]) -> None:
    history = History(examples()["01-word-frequency"])
    seen = [history.now]
    for what, number in edits:
        nodes = history.now.nodes
        node = nodes[number % len(nodes)].id if nodes else ""
        if what == "undo":
            history.undo()
        elif what == "redo":
            history.redo()
        elif what == "add" or not nodes:
            history.change(add_node(history.now, "filter", node or None)[0])
        elif what == "delete":
            history.change(delete_node(history.now, node))
        elif what == "twin":
            history.change(duplicate_node(history.now, node)[0])
        else:
            history.change(set_parameter(history.now, node, "condition", f"a > {number}"))
        history.now.check()
        seen.append(history.now)
    assert History.from_json(history.to_json()).now == history.now
    while history.undo():
        assert history.now in seen
    assert history.now == seen[0]
    while history.redo():
        pass
    assert history.now in seen


def test_the_letters_typed_into_one_field_are_one_step() -> None:
    history = History(chain("rows", "filter"))
    for text in ("a", "a ", "a > 1"):
        history.change(set_parameter(history.now, "filter", "condition", text), "filter|condition")
    history.undo()
    assert history.now == chain("rows", "filter")


def test_a_draft_that_is_damaged_is_a_sentence() -> None:
    with pytest.raises(PipelineError, match="draft cannot be read"):
        History.from_json('{"now": 3}')


def test_mini_batch_is_switched_on_with_what_it_needs_and_off_without_a_trace() -> None:
    on = set_option(chain("rows", "sink"), MINI_BATCH, "true")
    assert mini_batch(on.options) == MiniBatch(1000, 5000)
    sized = set_option(set_option(on, BUNDLE_SIZE, "3"), MINI_BATCH, "true")
    assert mini_batch(sized.options) == MiniBatch(3, 5000)
    assert MINI_BATCH.name not in set_option(on, MINI_BATCH, "false").options


def test_what_a_node_is_made_of_is_a_pipeline_of_its_own() -> None:
    joined = examples()["05-window-join"]
    assert ancestors(joined, "pairs") == joined
    alone = ancestors(joined, "orders")
    assert ([node.id for node in alone.nodes], alone.edges) == (["orders"], ())


def test_the_outputs_that_are_kept_follow_their_nodes() -> None:
    nodes = [{"id": name, "operator": "filter"} for name in ("a", "b")]
    pipeline = Pipeline.model_validate({"nodes": nodes, "options": {"changelog-studio.keep.edges": "a, b.late, b"}})
    renamed = rename_node(pipeline, "b", "c")
    assert renamed.options == {"changelog-studio.keep.edges": "a, c.late, c"}
    assert delete_node(renamed, "c").options == {"changelog-studio.keep.edges": "a"}
    assert delete_node(delete_node(renamed, "c"), "a").options == {}
