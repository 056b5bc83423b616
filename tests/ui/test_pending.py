"""Each input of a field is applied once, also if a run was interrupted, and never for a field that is gone."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from engine.examples import examples
from storage import Store
from ui.builder.drafting import Drafting
from ui.builder.editing import operator_class, set_parameter
from ui.builder.history import History
from ui.forms.binding import FormContext
from ui.forms.complaints import Complaints
from ui.forms.spec import fields_of
from ui.shell.pending import Pending


@pytest.fixture
def fields(monkeypatch: pytest.MonkeyPatch) -> Pending:
    found = Pending()
    monkeypatch.setattr("ui.forms.binding.pending", lambda: found)
    return found


def take(fields: Pending, values: dict[str, Any]) -> None:
    for change in fields.changes(values):
        change()


def bound(drafting: Drafting, name: str) -> str:
    """Draw a field of the window join's form; returns the key of its widget."""
    node = drafting.pipeline.node("joined")
    cls = operator_class(node.operator)
    assert cls is not None
    form = FormContext(drafting, node, {}, Complaints(()))
    field = next(each for each in fields_of(cls) if each.name == name)
    form.bind(field, form.key(name), form.value(field), lambda typed: typed)
    return form.key(name)


@pytest.fixture
def drafting(store: Store) -> Drafting:
    return Drafting("k1", History(examples()["05-window-join"]))


def test_a_change_is_taken_once_whoever_asks_first(fields: Pending, drafting: Drafting) -> None:
    key = bound(drafting, "size_ms")
    take(fields, {key: 60_000})
    take(fields, {key: 60_000})
    assert drafting.pipeline.node("joined").parameters["size_ms"] == 60_000
    assert len(drafting.history.past) == 1


def test_a_field_that_nobody_touched_writes_nothing(fields: Pending, drafting: Drafting) -> None:
    key = bound(drafting, "size_ms")
    drafting.edit(set_parameter(drafting.pipeline, "joined", "size_ms", 60_000))
    take(fields, {key: 10_000})
    assert drafting.pipeline.node("joined").parameters["size_ms"] == 60_000


def test_a_field_from_before_an_undo_writes_nothing(fields: Pending, drafting: Drafting) -> None:
    key = bound(drafting, "size_ms")
    take(fields, {key: 60_000})
    drafting.undo()
    take(fields, {key: 90_000})
    assert drafting.pipeline == examples()["05-window-join"]
    assert bound(drafting, "size_ms") != key
    drafting.redo()
    assert drafting.pipeline.node("joined").parameters["size_ms"] == 60_000


def test_two_fields_of_a_node_do_not_undo_each_other(fields: Pending, drafting: Drafting) -> None:
    size, keys = bound(drafting, "size_ms"), bound(drafting, "left_keys")
    take(fields, {size: 60_000, keys: ["ts"]})
    assert drafting.pipeline.node("joined").parameters["size_ms"] == 60_000
    assert drafting.pipeline.node("joined").parameters["left_keys"] == ["ts"]


def test_a_field_of_a_node_that_is_gone_writes_nothing(fields: Pending, drafting: Drafting) -> None:
    key = bound(drafting, "size_ms")
    gone = drafting.pipeline.model_copy(update={"nodes": (), "edges": ()})
    drafting.edit(gone)
    take(fields, {key: 60_000})
    assert drafting.pipeline == gone


def test_what_a_page_did_not_draw_again_is_forgotten(fields: Pending) -> None:
    heard: list[Any] = []
    fields.draw("a", 1, heard.append)
    fields.finish()
    fields.finish()
    take(fields, {"a": 2})
    assert heard == []


def test_no_field_of_the_builder_has_a_callback_of_its_own() -> None:
    """Streamlit loses such a callback, or calls it for a former document. A file and a tab are not fields."""
    folder = Path(__file__).resolve().parents[2] / "ui"
    names = ("arrival", "build_bar", "inspector", "options_form", "sql_tab", "pipeline_form", "run_tab")
    for file in (
        *(folder / "forms").glob("*.py"),
        *(folder / "components" / "builder" / f"{name}.py" for name in names),
    ):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and any(keyword.arg == "on_change" for keyword in call.keywords):
                assert isinstance(call.func, ast.Attribute)
                assert call.func.attr in ("file_uploader", "tabs"), f"{file.name}:{call.lineno}"
