"""The SQL tab: the script of a document, the document of a script, and the place of an error in a script."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from engine.examples import examples
from engine.model.pipeline import Pipeline
from storage import Store
from tests.ui.conftest import OpenView
from ui.builder.history import History
from ui.builder.importing import imported, is_document
from ui.components.editor import wrong_at

OpenDraft = Callable[[Pipeline], AppTest]


@pytest.fixture
def open_draft(store: Store, open_view: OpenView) -> OpenDraft:
    def open_(pipeline: Pipeline) -> AppTest:
        store.drafts.save("k1", History(pipeline).to_json())
        return open_view("build", draft="k1").segmented_control(key="drawer-tab").set_value("SQL").run()

    return open_


def script(app: AppTest) -> str:
    return str(editor(app).value)


def editor(app: AppTest) -> object:
    return next(area for area in app.text_area if area.label == "Flink SQL")


def kept(store: Store) -> Pipeline:
    draft = store.drafts.load("k1")
    assert draft is not None
    return History.from_json(draft.document).now


def test_the_tab_has_the_script_of_the_document(open_draft: OpenDraft) -> None:
    text = script(open_draft(examples()["01-word-frequency"]))
    assert "CREATE TEMPORARY VIEW count_words AS\nSELECT word, COUNT(*) AS cnt FROM words GROUP BY word;" in text


def test_an_edited_script_changes_the_document_and_nodes_stay_where_they_are(
    store: Store, open_draft: OpenDraft
) -> None:
    before = examples()["01-word-frequency"]
    app = open_draft(before)
    editor(app).set_value(script(app).replace("COUNT(cnt) AS freq", "SUM(cnt) AS freq")).run()  # type: ignore[attr-defined]
    after = kept(store)
    assert after.node("count_counts").parameters["aggregates"][0]["function"] == "SUM"
    assert {node.id: node.place for node in after.nodes} == {node.id: node.place for node in before.nodes}
    assert "SUM(cnt) AS freq" in script(app)


def test_a_script_that_is_wrong_is_marked_and_changes_nothing(store: Store, open_draft: OpenDraft) -> None:
    before = examples()["01-word-frequency"]
    app = open_draft(before)
    wrong = script(app).replace("SELECT word, COUNT(*)", "SELECT wort, COUNT(*)")
    editor(app).set_value(wrong).run()  # type: ignore[attr-defined]
    assert any("unknown column 'wort'. Available: word." in error.value for error in app.error)
    assert script(app) == wrong
    assert kept(store) == before


def test_the_error_of_a_script_is_no_markdown(open_draft: OpenDraft) -> None:
    app = open_draft(examples()["01-word-frequency"])
    editor(app).set_value(script(app).replace("SELECT word,", "SELECT `![t](http://host)`,")).run()  # type: ignore[attr-defined]
    assert any("!\\[t\\](http:" in error.value for error in app.error)


def test_a_script_from_elsewhere_replaces_the_document(store: Store, open_draft: OpenDraft) -> None:
    app = open_draft(Pipeline())
    pasted = (
        "CREATE TABLE t (k STRING) WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');"
        "INSERT INTO t VALUES ('a'); SELECT k, COUNT(*) AS n FROM t GROUP BY k;"
    )
    editor(app).set_value(pasted).run()  # type: ignore[attr-defined]
    assert [node.operator for node in kept(store).nodes] == ["rows", "aggregate", "sink"]


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [(2, 6, "xs"), (2, 0, "FROM xs"), (1, 9, "\n"), (3, 1, ";"), (0, 0, None), (9, 1, None)],
)
def test_the_word_at_a_place_is_underlined(line: int, column: int, word: str | None) -> None:
    text = "SELECT k\nFROM xs\n;"
    assert [text[each.start : each.end] for each in wrong_at(text, line, column, "no table")] == [word] * bool(word)


def test_what_was_exported_is_imported_as_json_and_as_sql(open_draft: OpenDraft) -> None:
    example = examples()["01-word-frequency"]
    exported = script(open_draft(example)).encode()
    read, notices, _ = imported(exported, "words.SQL")
    assert (read.name, notices) == (example.name, ())
    assert [node.id for node in read.nodes] == [node.id for node in example.nodes]
    view = exported + b"\nCREATE VIEW `my count` AS SELECT word FROM words;\n"
    foreign = b"\n".join(line for line in view.splitlines() if not line.startswith(b"-- studio"))
    read, notices, _ = imported(foreign, "words.sql")
    assert {node.id for node in read.nodes} >= {"count_words", "count_counts"}
    assert notices == ("the view my count is left out: no INSERT and no SELECT at the end reads it.",)
    assert imported(example.to_json().encode(), "words.json").pipeline == example
    assert is_document(example.to_json().encode())
    assert not is_document(b'{"nodes": 1}\n{"nodes": 2}')


def test_an_unread_statement_is_respelt_by_one_press(store: Store, open_view: OpenView) -> None:
    table = "CREATE TABLE t (k INT, s STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '9');\n"
    script = table + "SELECT SUBSTRNG(s, 1) AS x FROM t; -- the first\nSELECT k FROM t;\n"
    store.drafts.save("k1", History(imported(script.encode(), "s.sql").pipeline).to_json())
    app = open_view("build", draft="k1").segmented_control(key="drawer-tab").set_value("Problems").run()
    mends = [button for button in app.button if str(button.key).startswith("fix|")]
    assert [button.label for button in mends] == ["Write SUBSTRING", "Write SUBSTR"]
    mends[0].click().run()
    assert not app.error
    draft = store.drafts.load("k1")
    assert draft is not None
    now = History.from_json(draft.document).now
    assert now.script == script.replace("SUBSTRNG", "SUBSTRING")
    assert not any(node.operator == "unread" for node in now.nodes)


def test_what_flink_would_refuse_is_said_and_written_as_flink_wants_it(store: Store, open_view: OpenView) -> None:
    script = (
        "-- Ours.\nCREATE TABLE t (k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');\n"
        "DESCRIBE t;\nSELECT k AS a,  k AS b FROM t WHERE k == 1;\n"
    )
    store.drafts.save("k1", History(imported(script.encode(), "s.sql").pipeline).to_json())
    app = open_view("build", draft="k1").segmented_control(key="drawer-tab").set_value("Problems").run()
    assert any("Flink would refuse this" in text.value and "line 4" in text.value.lower() for text in app.markdown)
    assert any("Line 3: DESCRIBE: t: k INT" in text.value for text in app.markdown)
    app.button(key="as-flink-wants").click().run()
    assert not app.error
    assert not [button for button in app.button if button.key == "as-flink-wants"]
    draft = store.drafts.load("k1")
    assert draft is not None
    assert History.from_json(draft.document).now.script == script.replace("==", "=")
