"""The changelog page on a seeded store."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from storage import Store
from storage.changelogs import search as search_module
from storage.database.connection import Database
from storage.errors import StoreReadFailed
from storage.wanted import Comparison, Term
from tests.ui.conftest import OpenView
from tests.ui.drawn import current_rows, html_of, rows_of
from ui.components.changelog.terms import FilterError, parse_terms
from ui.shell.state import KEY

EQ, LIKE, NOT_IN, NOT_NULL = Comparison.EQ, Comparison.LIKE, Comparison.NOT_IN, Comparison.IS_NOT_NULL


def test_without_runs_it_says_what_to_do(open_view: OpenView) -> None:
    assert open_view("changelog").subheader[0].value == "Nothing has run yet"


def test_an_edge_shows_its_records_in_position_order(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("changelog", run=seeded["word_count"], edge="inner")
    assert rows_of(app, f"records-{seeded['word_count']}-inner-grid") == [
        ["1", "1", "+I", "Hello", "1"],
        ["2", "1", "+I", "World", "1"],
        ["3", "1", "-U", "Hello", "1"],
        ["3", "2", "+U", "Hello", "2"],
    ]


def test_without_a_choice_it_shows_the_result(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("changelog", run=seeded["word_count"])
    assert app.session_state[KEY].values["edge"] == "out"


def test_folded_an_update_is_one_change_with_the_old_value(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("changelog", run=seeded["word_count"], edge="inner")
    app.segmented_control(key="changelog-mode").set_value("folded").run()
    assert rows_of(app, f"records-{seeded['word_count']}-inner-grid")[-1] == ["3", "2", "-U +U", "Hello", "1 → 2"]


def test_the_event_is_highlighted_and_the_table_is_as_of_it(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["word_count"]
    app = open_view("changelog", run=run, edge="inner", event=2)
    assert [row[3] for row in current_rows(app, f"records-{run}-inner-grid")] == ["World"]
    assert rows_of(app, f"as-of-{run}-inner-grid") == [["Hello", "1"], ["World", "1"]]
    assert app.slider(key="event-slider").value == app.number_input(key="event-number").value == 2


def test_the_slider_moves_the_event_everywhere(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["word_count"]
    app = open_view("changelog", run=run, edge="inner", event=2)
    app.slider(key="event-slider").set_value(3).run()
    assert app.number_input(key="event-number").value == 3
    assert rows_of(app, f"as-of-{run}-inner-grid") == [["Hello", "2"], ["World", "1"]]
    assert len(current_rows(app, f"records-{run}-inner-grid")) == 2
    assert app.query_params["event"] == "3"


def test_both_widgets_at_a_former_event_are_a_browser_that_is_behind(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    """It sends them with something else, such as a click in a list, before it has drawn the new event."""
    app = open_view("changelog", run=seeded["word_count"], edge="inner", event=3)
    app.button(key="event-previous").click().run()
    app.slider(key="event-slider").set_value(3)
    app.number_input(key="event-number").set_value(3).run()
    assert app.session_state[KEY].values["event"] == "2"
    assert app.slider(key="event-slider").value == app.number_input(key="event-number").value == 2
    app.slider(key="event-slider").set_value(3).run()
    assert app.session_state[KEY].values["event"] == "3"


def test_the_buttons_go_from_change_to_change(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["windows"]
    app = open_view("changelog", run=run, edge="per_window", event=1)
    app.button(key="event-next").click().run()
    assert app.number_input(key="event-number").value == 3
    app.button(key="event-previous").click().run()
    assert app.number_input(key="event-number").value == 0
    assert "every table is empty" in " ".join(caption.value for caption in app.caption)


def test_what_an_event_did_is_a_tree_over_all_edges(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("changelog", run=seeded["word_count"], edge="inner", event=3)
    assert [(row[0], row[1], row[3]) for row in rows_of(app, "cascade")] == [
        ("words", "+I", "word=Hello"),
        ("inner", "-U", "word=Hello, cnt=1"),
        ("outer", "-U", "cnt=1, words=2"),
        ("out", "-U", "cnt=1, words=2"),
        ("outer", "+U", "cnt=1, words=1"),
        ("out", "+U", "cnt=1, words=1"),
        ("inner", "+U", "word=Hello, cnt=2"),
        ("outer", "+I", "cnt=2, words=1"),
        ("out", "+I", "cnt=2, words=1"),
    ]


FIRED = "the watermark reached 2001-09-09 01:47:39.999, which event 1 waited for: the window's result"


def test_what_a_watermark_fires_is_not_said_to_be_the_records_doing(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("changelog", run=seeded["windows"], edge="per_window", event=3)
    assert [(row[0], row[2]) for row in rows_of(app, "cascade")] == [
        ("clicks", "the event: a new row"),
        ("per_window", FIRED),
        ("out", "written"),
    ]


def test_the_cause_of_a_cascade_says_for_whom_it_was_late(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("changelog", run=seeded["windows"], edge="per_window", event=5)
    assert rows_of(app, "cascade")[0][:3] == ["clicks", "+I", "the event: a new row, late: dropped by per_window"]


def test_the_chips_count_the_kinds_that_the_edge_can_carry(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["word_count"]
    html = html_of(open_view("changelog", run=run, edge="outer"), f"kinds-{run}-outer")
    for chip in ("+I 2, insert", "-U 2, update before", "+U 2, update after", "-D 0, delete"):
        assert f'aria-label="{chip}"' in html


def test_filters_narrow_the_list_and_the_table_and_stand_in_the_address(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    run = seeded["word_count"]
    key, table = f"records-{run}-inner-grid", f"as-of-{run}-inner-grid"
    app = open_view("changelog", run=run, edge="inner", event=3)
    app.text_input(key=f"where-{run}-inner").set_value("WORD = Hello").run()
    assert [row[0] for row in rows_of(app, key)] == ["1", "3", "3"]
    assert rows_of(app, table) == [["Hello", "2"]]
    assert "**Changelog** · 3 records match the filter" in [text.value for text in app.markdown]
    assert "**Table after event 3** · 1 row matches the filter" in [text.value for text in app.markdown]
    app.number_input(key=f"to-{run}-inner").set_value(2).run()
    assert [row[0] for row in rows_of(app, key)] == ["1"]
    assert "**Changelog** · 1 record matches the filter" in [text.value for text in app.markdown]
    assert (app.query_params["where"], app.query_params["events"]) == ("WORD = Hello", "-2")
    app.text_input(key=f"where-{run}-inner").set_value("cnt > 1").run()
    app.text_input(key=f"where-{run}-inner").set_value("cnt > 7").run()
    assert {"No record matches the filter.", "No row matches the filter."} <= {text.value for text in app.caption}
    assert app.query_params["where"] == "cnt > 7"


def test_an_address_has_the_filter_and_both_orders(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["word_count"]
    asked = {"kinds": "+I -U", "where": "word LIKE 'H%' AND cnt <> 5", "contains": "hel", "events": "1-3"}
    app = open_view("changelog", run=run, edge="inner", event=3, sort="-event", order="-cnt", **asked)
    assert [row[0] for row in rows_of(app, f"records-{run}-inner-grid")] == ["3", "1"]
    assert app.text_input(key=f"where-{run}-inner").value == asked["where"]
    assert app.text_input(key=f"text-{run}-inner").value == "hel"
    assert app.number_input(key=f"to-{run}-inner").value == 3
    assert asked.items() <= app.session_state[KEY].values.items()
    app = open_view("changelog", run=run, edge="inner", event=3, order="+cnt")
    assert rows_of(app, f"as-of-{run}-inner-grid") == [["World", "1"], ["Hello", "2"]]
    assert 'aria-sort="ascending"' in html_of(app, f"as-of-{run}-inner-grid")
    app.segmented_control(key=f"as-of-{run}-inner-order").set_value("newest").run()
    assert app.query_params["order"] == "newest"
    assert rows_of(app, f"as-of-{run}-inner-grid") == [["Hello", "2"], ["World", "1"]]


def test_what_an_address_asks_of_no_column_is_left_out(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["word_count"]
    app = open_view("changelog", run=run, edge="inner", sort="-wort", order="+", events="7-x", kinds="+Z")
    assert len(rows_of(app, f"records-{run}-inner-grid")) == 4


def test_an_unknown_column_is_said_at_the_filter(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["word_count"]
    app = open_view("changelog", run=run, edge="inner")
    app.text_input(key=f"where-{run}-inner").set_value("wort = Hello").run()
    assert any("Available: word, cnt" in caption.value for caption in app.caption)
    app.text_input(key=f"where-{run}-inner").set_value("cnt > many").run()
    assert any("olumn cnt has numbers (BIGINT); 'many' is none." in caption.value for caption in app.caption)
    assert len(rows_of(app, f"records-{run}-inner-grid")) == 4


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("word = Hello, cnt=2", (Term("word", EQ, ("Hello",)), Term("cnt", EQ, ("2",)))),
        ("word = 'a, ''b'''", (Term("word", EQ, ("a, 'b'",)),)),
        ("word = null, a b = 'NULL'", (Term("word", Comparison.IS_NULL), Term("a b", EQ, ("NULL",)))),
        ("cnt >= 2 AND cnt != 5", (Term("cnt", Comparison.GE, ("2",)), Term("cnt", Comparison.NE, ("5",)))),
        ("word like 'H%' and `a b` is not null", (Term("word", LIKE, ("H%",)), Term("a b", NOT_NULL))),
        ("word NOT IN (a, 'b,c'), \"cnt\" <> NULL", (Term("word", NOT_IN, ("a", "b,c")), Term("cnt", NOT_NULL))),
    ],
)
def test_a_filter_text_is_read_as_conditions(text: str, terms: tuple[Term, ...]) -> None:
    assert parse_terms(text, ("word", "cnt", "a b")) == terms


@pytest.mark.parametrize("text", ["Hello", "cnt", "cnt >", "cnt 3", "word IN", "word IN (a", "word IN ()", "= 2"])
def test_a_filter_text_that_cannot_be_read_is_a_sentence(text: str) -> None:
    with pytest.raises(FilterError, match=r"write column = value|unknown column"):
        parse_terms(text, ("word", "cnt", "a b"))


def test_a_run_without_edges_says_why(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("changelog", run=seeded["failed"])
    assert "before its first epoch" in app.info[0].value


def test_a_run_or_edge_that_is_gone_does_not_end_the_page(
    seeded: dict[str, int], open_view: OpenView, store: Store
) -> None:
    app = open_view("changelog", run=seeded["word_count"], edge="nowhere", event=99)
    assert app.session_state[KEY].values["edge"] == "out"
    assert app.number_input(key="event-number").value == 3


def test_a_run_that_goes_on_is_followed(store: Store, open_view: OpenView) -> None:
    run = store.runs.create("going on", "{}")
    app = open_view("changelog", run=run.run_id)
    assert [toggle.label for toggle in app.toggle] == ["Follow the run"]
    store.runs.finish(run.run_id)
    app.run()
    assert not app.toggle


def page_that_follows() -> None:
    from dataclasses import replace

    import streamlit as st

    from storage.model import RunStatus
    from ui.components.runs.open_run import watch
    from ui.shell import workspace

    run = workspace.store().runs.list()[0]
    drawn = st.session_state.setdefault("drawn", run)
    watch(replace(drawn, status=RunStatus.RUNNING))


def test_a_page_that_does_not_follow_looks_until_the_end_of_the_run(store: Store) -> None:
    run = store.runs.create("going on", "{}")
    app = AppTest.from_function(page_that_follows)
    app.session_state[f"follow|{run.run_id}"] = False
    app.run()
    assert len(app.get("bidi_component")) == 1
    store.runs.finish(run.run_id)
    app.run()
    assert not app.exception
    assert not app.get("bidi_component")
    assert [caption.value for caption in app.caption] == [":material/pause: The run has ended."]


def test_a_page_that_does_not_follow_counts_the_events_that_it_does_not_show(
    seeded: dict[str, int], store: Store
) -> None:
    run = store.runs.get(seeded["word_count"])
    app = AppTest.from_function(page_that_follows)
    app.session_state[f"follow|{run.run_id}"] = False
    app.session_state["drawn"] = replace(run, last_seq=1)
    app.run()
    assert [caption.value for caption in app.caption] == [
        ":material/pause: The run has ended. 2 more events since this was drawn."
    ]


def test_a_large_edge_is_searched_and_sorted_in_a_thread_of_its_own(
    seeded: dict[str, int], open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.components.changelog.looking.LARGE", 0)
    monkeypatch.setattr("ui.components.changelog.looking._SHORT_S", 0.0)
    run = seeded["word_count"]
    app = open_view("changelog", run=run, edge="inner", contains="HELL")
    assert [row[3] for row in rows_of(app, f"records-{run}-inner-grid")] == ["Hello"] * 3
    assert rows_of(app, f"as-of-{run}-inner-grid") == [["Hello", "2"]]
    app = open_view("changelog", run=run, edge="inner", sort="-word")
    assert [row[3] for row in rows_of(app, f"records-{run}-inner-grid")] == ["World"] + ["Hello"] * 3


class Slow:
    """A search that looks at a slice of two records each time it is let on."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ui.components.changelog.looking.LARGE", 0)
        monkeypatch.setattr("ui.components.changelog.looking._SHORT_S", 0.2)
        monkeypatch.setattr("storage.changelogs.search._SLICE", 2)
        self._let_on, interrupted = threading.Semaphore(0), threading.Event()
        look = search_module._looked_at

        def waits(database: Database, *asked: Any) -> Any:
            while not self._let_on.acquire(timeout=0.01):
                if interrupted.is_set():
                    interrupted.clear()
                    raise StoreReadFailed(database.path, "Interrupted.")
            return look(database, *asked)

        monkeypatch.setattr(search_module, "_looked_at", waits)
        monkeypatch.setattr(Database, "interrupt", lambda *_: interrupted.set())

    def on(self) -> None:
        self._let_on.release()


def titles(app: AppTest) -> list[str]:
    return [text.value for text in app.markdown if text.value.startswith("**Changelog**")]


def test_the_page_is_shown_before_its_records_are_counted(
    seeded: dict[str, int], store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, slow = seeded["word_count"], Slow(store, monkeypatch)
    key = f"records-{run}-inner-near"
    app = open_view("changelog", run=run, edge="inner", event=1, contains="HELL")
    assert titles(app) == ["**Changelog** · no record matches the filter so far, :gray[0 % searched]"]
    slow.on()
    app.run()
    assert titles(app) == ["**Changelog** · at least 1 record matches the filter, :gray[50 % searched]"]
    assert [row[0] for row in rows_of(app, f"{key}-grid")] == ["1"]
    assert "Its rows that match the filter are shown when all records are searched." in [
        caption.value for caption in app.caption
    ]
    slow.on()
    app.run()
    assert titles(app) == ["**Changelog** · 3 records match the filter"]
    assert [row[0] for row in rows_of(app, f"records-{run}-inner-grid")] == ["1", "3", "3"]
    assert rows_of(app, f"as-of-{run}-inner-grid") == [["Hello", "1"]]


def test_a_search_stops_and_goes_on_and_another_filter_ends_it(
    seeded: dict[str, int], store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, slow = seeded["word_count"], Slow(store, monkeypatch)
    slow.on()
    app = open_view("changelog", run=run, edge="inner", event=1, contains="HELL")
    searching = app.session_state["search"]
    first = searching.asked
    app.button(key="search-stop").click().run()
    assert first.wait(0)
    assert titles(app) == ["**Changelog** · at least 1 record matches the filter, :gray[50 % searched]"]
    app.button(key="search-stop").click().run()
    second = searching.asked
    assert second is not first
    app.text_input(key=f"text-{run}-inner").set_value("WOR").run()
    assert second.wait(0)
    slow.on()
    slow.on()
    app.run()
    assert titles(app) == ["**Changelog** · 1 record matches the filter"]
    assert searching.asked is None
