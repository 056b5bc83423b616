"""The page of engines, and the choice of an engine at the start of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import EngineUnavailable
from engine.examples import examples
from engine.model.pipeline import Pipeline
from engine.spark.engines import Engine, engines, engines_file, save_engine
from engine.spark.probing import Finding, Fit
from storage import Store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.builder.history import History
from ui.engines.engine_tests import EngineTest, EngineTests
from ui.engines.known import default_name, home, known, names
from ui.runs import manager as runs
from ui.runs.batch_checks import engine_for
from ui.runs.manager import RunManager

TOKEN = "s3cret/+token"
FAR = Engine("far", "sc://host:9", "s3a://bucket/studio", TOKEN, True)


def button(app: AppTest, key: str) -> AppTest:
    """The page after a click on this button."""
    app.button(key=key).click().run()
    assert not app.exception
    return app


def typed(app: AppTest, **fields: str) -> AppTest:
    """The page with these fields of the form filled in."""
    boxes = {box.label.lower(): box for box in app.text_input}
    for name, value in fields.items():
        boxes[name].set_value(value)
    app.run()
    return app


def texts(app: AppTest) -> str:
    return "\n".join(each.value for each in (*app.markdown, *app.caption, *app.error))


@pytest.fixture
def tests(monkeypatch: pytest.MonkeyPatch) -> EngineTests:
    """Tests of engines with two immediate findings."""

    def probe(test: EngineTest) -> Iterator[Finding]:
        yield Finding("reach", Fit.GOOD, "Connected.")
        yield Finding("spark", Fit.BROKEN, "The server runs Spark 3.", "Update Spark.")

    made = EngineTests(probe)
    for module in ("engine_list", "engine_form"):
        monkeypatch.setattr(f"ui.components.engines.{module}.engine_tests", lambda: made)
    return made


def test_with_the_embedded_engine_alone_it_says_what_others_are_for(open_view: OpenView) -> None:
    app = open_view("engines")
    assert "local\\[2\\]" in texts(app)
    assert "Add another engine to run where" in texts(app)
    assert not [each for each in app.button if each.label in ("Remove", "Edit", "Use for new runs")]


def test_an_engine_is_added_changed_and_removed_after_a_question(open_view: OpenView) -> None:
    app = button(open_view("engines"), "engine-add")
    app = button(typed(app, name="one core", address="local[1]"), "engine-save")
    assert engines() == {"one core": Engine("one core", "local[1]")}
    assert not app.text_input
    app = button(app, "engine-edit|one core")
    app = button(typed(app, name="one", workspace="/mnt/x"), "engine-save")
    assert engines() == {"one": Engine("one", "local[1]", "/mnt/x")}
    app = button(app, "engine-remove|one")
    assert list(engines()) == ["one"]
    button(app, "engine-remove-sure")
    assert not engines()


def test_what_is_wrong_is_said_at_its_field_and_nothing_is_lost(open_view: OpenView) -> None:
    app = button(open_view("engines"), "engine-add")
    app = button(typed(app, name="local[2]", address="https://host", workspace="data"), "engine-save")
    shown = texts(app)
    for sentence in ("There is an engine called", "address of a web page", "Write an absolute path"):
        assert sentence in shown
    assert not engines()
    assert [box.value for box in app.text_input] == ["local[2]", "https://host", "data", ""]
    app = button(app, "engine-cancel")
    assert not app.text_input


def test_a_pasted_address_is_taken_apart_and_the_token_is_never_shown_again(open_view: OpenView) -> None:
    app = button(open_view("engines"), "engine-add")
    app = typed(app, name="far", address="sc://host:9/;token=s3cret%2F%2Btoken;use_ssl=true")
    assert {box.label: box.value for box in app.text_input} == {
        "Name": "far",
        "Address": "sc://host:9",
        "Workspace": "",
        "Token": TOKEN,
    }
    assert {box.label: box.value for box in app.checkbox} == {
        "Changelogs of bounded runs stay there": False,
        "Encrypt the connection (TLS)": True,
    }
    app = button(app, "engine-save")
    assert engines()["far"] == Engine("far", "sc://host:9", "", TOKEN, True)
    app = button(app, "engine-edit|far")
    token = next(box for box in app.text_input if box.label == "Token")
    assert (token.value, token.placeholder) == ("", "a token is saved; type to replace it")
    shown = str(app) + str([each.proto for each in (*app.markdown, *app.caption, *app.text_input)])
    assert TOKEN not in shown
    assert "s3cret" not in shown
    assert "s3cret" not in str(app.query_params)
    button(app, "engine-save")
    assert engines()["far"].token == TOKEN


def test_the_token_is_in_the_users_own_file_and_in_no_other(store: Store, open_view: OpenView) -> None:
    save_engine(FAR)
    app = open_view("engines")
    button(app, "engine-use|far")
    holding = [
        file
        for folder in (store.path.parent, engines_file().parent)
        for file in Path(folder).rglob("*")
        if file.is_file() and b"s3cret" in file.read_bytes()
    ]
    assert holding == [engines_file()]
    assert engines_file().stat().st_mode & 0o077 == 0
    assert "s3cret" not in repr(app.session_state)


def test_findings_stay_until_the_engine_is_changed(open_view: OpenView, tests: EngineTests) -> None:
    save_engine(FAR)
    app = button(open_view("engines"), "engine-test|far")
    test = tests.of(FAR)
    assert test is not None
    end = time.monotonic() + 10
    while test.ended is None and time.monotonic() < end:
        time.sleep(0.01)
    shown = texts(open_view("engines"))
    assert "**Connection**: Connected." in shown
    assert "The server runs Spark 3." in shown
    assert "Update Spark." in shown
    assert "Pipelines cannot run here yet" in shown
    app = button(open_view("engines"), "engine-edit|far")
    button(typed(app, address="sc://other:9"), "engine-save")
    assert "Connected." not in texts(open_view("engines"))


def test_a_broken_file_of_engines_is_a_sentence_here_and_no_choice_elsewhere(store: Store) -> None:
    engines_file().parent.mkdir(parents=True, exist_ok=True)
    engines_file().write_text("{")
    with pytest.raises(EngineUnavailable, match="Repair it, or move it away"):
        known()
    assert names() == ["local[2]"]
    assert home() == "local[2]"


def test_new_runs_take_the_engine_that_the_user_chose(open_view: OpenView, store: Store) -> None:
    save_engine(Engine("one", "local[1]"))
    assert default_name() == "local[2]"
    app = button(open_view("engines"), "engine-use|one")
    assert default_name() == "one"
    # It stays the default when it is renamed, but not when it is removed.
    app = button(app, "engine-edit|one")
    app = button(typed(app, name="single"), "engine-save")
    assert default_name() == "single"
    app = button(button(app, "engine-remove|single"), "engine-remove-sure")
    assert default_name() == "local[2]"


def test_pages_use_an_engine_that_sees_this_machines_files(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    save_engine(FAR)
    save_engine(Engine("near", "sc://localhost:9"))
    assert home() == "local[2]"
    monkeypatch.setenv("CHANGELOG_STUDIO_ENGINE", "near")
    assert home() == "near"
    monkeypatch.setenv("CHANGELOG_STUDIO_ENGINE", "far")
    assert home() == "local[*]"
    assert [(each.engine.name, each.is_own, each.is_home, each.is_default) for each in known()] == [
        ("local[*]", False, True, False),
        ("far", True, False, True),
        ("near", True, False, False),
    ]
    for engine, checked_on in {"near": "near", "far": "local[*]", "gone": "local[*]", "": "local[*]"}.items():
        assert engine_for(store.runs.create("a run", Pipeline().to_json(), engine=engine)) == checked_on


def selected(app: AppTest) -> tuple[list[str], str]:
    [box] = [each for each in app.selectbox if each.label == "Engine"]
    return list(box.options), str(box.value)


def test_run_again_begins_with_the_engine_of_the_run(seeded: dict[str, int], store: Store, open_view: OpenView) -> None:
    manager = RunManager(store, execute=lambda job, store: None)
    runs.use(manager)
    save_engine(Engine("one", "local[1]"))
    first = manager.start(Pipeline(name="first"), master="one")
    assert manager.wait(first, 10)
    app = open_view("run", run=first)
    assert selected(app) == (["local[2]", "one"], "one")
    assert "on `one`" in texts(app)
    assert rows_of(app, "runs")[0][5] == "one"
    button(app, "run-start")
    assert store.runs.list(limit=1)[0].engine == "one"
    assert manager.wait(first + 1, 10)
    app = open_view("run", run=first)
    [box] = [each for each in app.selectbox if each.label == "Engine"]
    box.set_value("local[2]").run()
    button(app, "run-start")
    assert store.runs.list(limit=1)[0].engine == "local[2]"
    assert manager.wait(first + 2, 10)


def test_run_again_after_the_engine_was_removed_takes_the_default_and_says_so(
    store: Store, open_view: OpenView
) -> None:
    runs.use(RunManager(store, execute=lambda job, store: None))
    run = store.runs.create("a run", Pipeline().to_json(), engine="gone")
    store.runs.finish(run.run_id)
    app = open_view("run", run=run.run_id)
    assert selected(app) == (["local[2]"], "local[2]")
    assert "This run used gone, which is no longer in your list of engines." in texts(app)
    button(app, "run-start")
    assert store.runs.list(limit=1)[0].engine == "local[2]"


def test_an_address_that_is_in_no_list_can_be_taken_again(store: Store, open_view: OpenView) -> None:
    run = store.runs.create("a run", Pipeline().to_json(), engine="local[3]")
    store.runs.finish(run.run_id)
    assert selected(open_view("run", run=run.run_id)) == (["local[2]", "local[3]"], "local[3]")


def test_the_builder_offers_a_choice_where_there_is_one(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.shell.engine_gate.EngineGate.warm_up", lambda self: None)
    manager = RunManager(store, execute=lambda job, store: None)
    runs.use(manager)
    store.drafts.save("k1", History(examples()["01-word-frequency"]).to_json())
    assert not [each for each in open_view("build", draft="k1").selectbox if each.label == "Engine"]
    save_engine(Engine("one", "local[1]"))
    app = open_view("build", draft="k1")
    assert selected(app) == (["local[2]", "one"], "local[2]")
    [box] = [each for each in app.selectbox if each.label == "Engine"]
    box.set_value("one")
    app.run()
    button(app, "run")
    [run] = store.runs.list()
    assert run.engine == "one"
    assert manager.wait(run.run_id, 10)


def test_a_variant_runs_where_its_run_did_unless_another_engine_is_chosen(
    seeded: dict[str, int], store: Store, open_view: OpenView
) -> None:
    manager = RunManager(store, execute=lambda job, store: None)
    runs.use(manager)
    save_engine(Engine("one", "local[1]"))
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.button(key=f"what-if-{run}-per_window-lossless").click().run()
    app.selectbox(key=f"what-if-engine-{run}").set_value("one").run()
    button(app, "what-if-run")
    newest = store.runs.list(limit=1)[0]
    assert newest.engine == "one"
    assert manager.wait(newest.run_id, 10)
