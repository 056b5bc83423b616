"""The first page: examples, saved pipelines with their actions, drafts and runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.examples import examples
from engine.model.pipeline import Node, Pipeline
from storage import Store
from tests.storage.beside import beside
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from ui.builder.history import History


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.shell.engine_gate.EngineGate.warm_up", lambda self: None)


def press(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def test_every_example_has_a_card_with_a_sentence(open_view: OpenView) -> None:
    app = open_view("gallery")
    words = " ".join(element.proto.body for element in app.get("html"))
    for example in examples().values():
        assert example.name in words
        assert app.button(key=f"run|{example.name}")
        assert example.description


def test_an_empty_store_says_what_will_appear(open_view: OpenView) -> None:
    app = open_view("gallery")
    captions = [caption.value for caption in app.caption]
    assert "Pipelines that you save appear here." in captions
    assert "Runs appear here, with everything that they emitted." in captions


def test_a_deleted_pipeline_comes_back(store: Store, open_view: OpenView) -> None:
    saved = store.pipelines.save(examples()["08-top-3"].to_json(), name="Best sellers")
    app = press(open_view("gallery"), f"p{saved.pipeline_id}|delete")
    assert store.pipelines.list() == ()
    assert any("Best sellers was deleted" in caption.value for caption in app.caption)
    press(app, "undelete")
    assert [each.name for each in store.pipelines.list()] == ["Best sellers"]


def test_a_pipeline_is_renamed_and_duplicated(store: Store, open_view: OpenView) -> None:
    saved = store.pipelines.save(examples()["08-top-3"].to_json(), name="Best sellers")
    app = open_view("gallery")
    app.text_input(key=f"p{saved.pipeline_id}|name").set_value("Top").run()
    press(app, f"p{saved.pipeline_id}|twin")
    assert sorted(each.name for each in store.pipelines.list()) == ["Top", "Top (copy)"]


def test_a_name_with_markdown_in_it_is_shown_as_it_is(store: Store, open_view: OpenView) -> None:
    store.pipelines.save(examples()["08-top-3"].to_json(), name="a *b* [c] $d$")
    app = open_view("gallery")
    assert any(r"a \*b\* \[c\] \$d\$" in text.value for text in app.markdown)


def test_a_draft_that_was_never_saved_can_be_gone_on_with_or_discarded(store: Store, open_view: OpenView) -> None:
    history = History(examples()["08-top-3"])
    store.drafts.save("d0", history.to_json())
    history.change(history.now.model_copy(update={"name": "Mine"}))
    store.drafts.save("d1", history.to_json())
    app = open_view("gallery")
    assert not any("Top 3 with rank" in text.value for text in app.markdown), "nothing of that example would be lost"
    assert any("draft, 3 nodes" in text.value for text in app.markdown)
    press(app, "dd1|discard")
    assert store.drafts.load("d1") is None


def test_recent_runs_say_how_they_ended(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("gallery")
    words = " ".join(text.value for text in app.markdown)
    assert "windows of ten seconds" in words
    assert "2 dropped" in words
    assert "failed" in words


def test_a_recent_run_has_the_status_that_other_pages_show(store: Store, open_view: OpenView, tmp_path: Path) -> None:
    run_id = seeded_store.marked_up(store, tmp_path)
    with beside(store) as database:
        database.rows("UPDATE runs SET status = 'resumable' WHERE run_id = ?", (run_id,))
        database.rows("DELETE FROM run_edges WHERE run_id = ? AND role = 'sink'", (run_id,))
    [shown] = [text.value for text in open_view("gallery").markdown if "1 record" in text.value]
    assert shown.startswith(":orange[:material/power_off:]")
    assert shown.endswith(":small[:gray[can be resumed, 1 record]]")


def test_a_discarded_draft_comes_back_and_older_ones_are_listed_too(store: Store, open_view: OpenView) -> None:
    history = History(examples()["08-top-3"])
    history.change(examples()["01-word-frequency"])
    for at in range(10):
        store.drafts.save(f"k{at}", history.to_json())
    app = press(open_view("gallery"), "dk9|discard")
    assert len(store.drafts.list()) == 9
    assert [each.label for each in app.expander if "older" in each.label] == ["1 older draft"]
    press(app, "undiscard")
    assert len(store.drafts.list()) == 10
    # A user's own pipelines and runs are above the examples.
    assert [each.value for each in app.header] == ["Your pipelines", "Recent runs", "Examples"]


def test_a_draft_of_a_script_or_of_rows_is_listed_before_its_first_edit(store: Store, open_view: OpenView) -> None:
    made = Pipeline(name="pasted", nodes=(Node(id="t", operator="rows"),))
    store.drafts.save("d1", History(made).to_json())
    store.drafts.save("d2", History(Pipeline(name="untitled")).to_json())
    app = open_view("gallery")
    assert [each.value.partition(" ")[0] for each in app.markdown if ":gray[draft" in each.value] == ["pasted"]
