"""Two people on one pipeline: both changes are merged, and no change is lost without a message."""

from __future__ import annotations

import pytest

from engine.examples import examples
from engine.model.pipeline import Pipeline
from storage import Store
from tests.ui.conftest import OpenView
from tests.ui.test_build_view import labelled, open_draft
from ui.builder.editing import add_node, delete_node, set_parameter
from ui.builder.history import History
from ui.builder.merging import changed_nodes, merged
from ui.shell.state import SessionState

__all__ = ["open_draft"]
BASE = examples()["05-window-join"]


def longer(pipeline: Pipeline, size_ms: int) -> Pipeline:
    return set_parameter(pipeline, "joined", "size_ms", size_ms)


def test_what_one_side_alone_changed_is_as_that_side_has_it() -> None:
    mine = add_node(longer(BASE, 60_000), "filter", "joined", {"condition": "true"})[0]
    source = BASE.nodes[0].id
    theirs = set_parameter(BASE, source, "watermark_delay_ms", 7000)
    both = merged(BASE, mine, theirs)
    assert both.disputed == ()
    assert both.pipeline.node("joined").parameters["size_ms"] == 60_000
    assert both.pipeline.node(source).parameters["watermark_delay_ms"] == 7000
    assert both.pipeline.node("filter")
    sink = next(node.id for node in BASE.nodes if node.operator == "sink")
    gone = merged(BASE, mine, delete_node(BASE, sink)).pipeline
    assert sink not in {node.id for node in gone.nodes} | {edge.target for edge in gone.edges}


def test_what_both_changed_is_named_and_mine_counts() -> None:
    both = merged(BASE, longer(BASE, 60_000), longer(BASE, 5000))
    assert both.disputed == ("joined",)
    assert both.pipeline.node("joined").parameters["size_ms"] == 60_000
    assert changed_nodes(BASE, both.pipeline) == ("joined",)


def test_a_version_that_somebody_else_saved_is_said_before_it_is_saved_over(store: Store, open_view: OpenView) -> None:
    saved = store.pipelines.save(BASE.to_json(), name="pairs")
    history = History(longer(BASE, 60_000))
    store.drafts.save("k1", history.to_json(), pipeline_id=saved.pipeline_id, version=saved.version)
    app = open_view("build", draft="k1", selection="joined")
    source = BASE.nodes[0].id
    theirs = set_parameter(BASE, source, "watermark_delay_ms", 7000)
    store.pipelines.save(theirs.to_json(), name="pairs", pipeline_id=saved.pipeline_id)
    app.button(key="save").click().run()
    assert any(f"It changes {source}" in text.value.replace("\\", "") for text in app.markdown)
    assert store.pipelines.load(saved.pipeline_id).version == 2
    labelled(app.button, "Merge both").click().run()
    head = store.pipelines.load(saved.pipeline_id)
    document = Pipeline.from_json(head.document)
    assert head.version == 3
    assert document.node("joined").parameters["size_ms"] == 60_000
    assert document.node(source).parameters["watermark_delay_ms"] == 7000


def test_a_draft_that_another_tab_changed_goes_on_as_two(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_url = SessionState.write_url
    are_kept: list[bool] = []

    def noting(state: SessionState) -> None:
        are_kept.append(state.draft is not None and store.drafts.load(state.draft) is not None)
        write_url(state)

    monkeypatch.setattr(SessionState, "write_url", noting)
    store.drafts.save("k1", History(BASE).to_json())
    app = open_view("build", draft="k1", selection="joined")
    store.drafts.save("k1", History(longer(BASE, 5000)).to_json())
    labelled(app.text_input, "Window size").set_value("1 min").run()
    found = {
        History.from_json(draft.document).now.node("joined").parameters["size_ms"] for draft in store.drafts.list()
    }
    assert found == {5000, 60_000}
    assert any("another tab" in info.value for info in app.info)
    assert app.query_params["draft"] != ["k1"]
    assert all(are_kept), "the URL was written before the edit was saved, and may interrupt it"
