"""A session: its URL, the guard around pages, Spark behind its gate."""

from __future__ import annotations

import threading
import time
from unittest.mock import MagicMock

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import EngineUnavailable
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT
from tests.ui.test_page_record import redraw_fragments
from ui.builder.checking import checked
from ui.builder.importing import imported
from ui.shell.engine_gate import EngineGate, GateStatus, wait_for_rehearsal, without_rehearsal

SCHEMA = Schema((Column("a", BIGINT),))

NEW_SERVER = MagicMock(is_new=True)


def page_with_url() -> None:
    import streamlit as st

    from ui.shell.state import state

    state.sync()
    st.text(f"run {state.run} edge {state.edge} event {state.event}")
    if st.button("Other edge"):
        state.update(edge="totals", event=6)


def failing_page() -> None:
    import streamlit as st

    from engine.errors import PlanRejected
    from ui.shell.guard import guard, guarded

    def fail() -> None:
        msg = "it cannot be: [I,UA] has no -U."
        raise PlanRejected(msg, "latest")

    with guard():
        st.button("Fail", on_click=guarded(fail))
        st.text("the page")
        if st.toggle("Break"):
            1 / 0  # noqa: B018
    st.text("below")


def opened(**query: str) -> AppTest:
    app = AppTest.from_function(page_with_url)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def test_what_the_url_says_is_open() -> None:
    app = opened(run="12", edge="sink")
    assert app.text[0].value == "run 12 edge sink event None"


def test_what_is_opened_is_in_the_url_and_survives_a_change_of_page() -> None:
    app = opened(run="12")
    app.button[0].click().run()
    assert {name: app.query_params[name] for name in ("run", "edge", "event")} == {
        "run": "12",
        "edge": "totals",
        "event": "6",
    }
    app.query_params.clear()
    app.run()
    assert app.text[0].value == "run 12 edge totals event 6"


def test_a_number_that_is_none_is_no_run() -> None:
    app = opened(run="twelve")
    assert app.text[0].value == "run None edge None event None"


def test_an_error_in_a_callback_is_a_sentence_on_the_page_that_follows() -> None:
    app = AppTest.from_function(failing_page).run()
    app.button[0].click().run()
    assert app.error[0].value == r"latest: it cannot be: \[I,UA\] has no -U."
    assert [text.value for text in app.text] == ["the page", "below"]
    assert not app.run().error


def test_an_unexpected_error_is_a_sentence_too_and_its_trace_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    app = AppTest.from_function(failing_page).run()
    app.toggle[0].set_value(True).run()
    assert not app.exception
    assert "unexpected error" in app.error[0].value.lower()
    assert "ZeroDivisionError" in caplog.text
    assert app.text[-1].value == "below"


def page_with_failing_fragments() -> None:
    import streamlit as st

    from storage.errors import UnknownRun
    from ui.shell.guard import guarded_fragment

    @guarded_fragment(run_every=1)
    def poll(run_id: int) -> None:
        st.text("the fragment")
        raise UnknownRun(run_id)

    @guarded_fragment()
    def compute() -> None:
        1 / 0  # noqa: B018

    poll(7)
    compute()
    st.text("below")


def test_an_error_in_a_fragment_is_a_sentence_in_its_place(caplog: pytest.LogCaptureFixture) -> None:
    app = AppTest.from_function(page_with_failing_fragments).run()
    assert not app.exception
    assert app.error[0].value == "There is no run 7; it may have been deleted."
    assert "unexpected error" in app.error[1].value
    assert "ZeroDivisionError" in caplog.text
    assert [text.value for text in app.text] == ["the fragment", "below"]


def page_with_callbacks_in_a_fragment() -> None:
    import streamlit as st

    from storage.errors import UnknownRun
    from ui.shell.guard import guard, guarded, guarded_fragment
    from ui.shell.navigation import LEADS_TO, lead_to

    @guarded
    def fail() -> None:
        raise UnknownRun(7)

    @guarded_fragment()
    def buttons() -> None:
        st.button("Fail", on_click=fail)
        st.button("Open", on_click=guarded(lead_to), args=("run",))

    st.text(f"opens {st.session_state.pop(LEADS_TO, 'nothing')}")
    with guard():
        buttons()


def test_an_error_in_a_callback_of_a_fragment_is_shown_by_the_page() -> None:
    app = AppTest.from_function(page_with_callbacks_in_a_fragment).run()
    app.button[0].click()
    redraw_fragments(app)
    assert [error.value for error in app.error] == ["There is no run 7; it may have been deleted."]


def test_a_page_that_a_callback_of_a_fragment_requests_is_opened() -> None:
    app = AppTest.from_function(page_with_callbacks_in_a_fragment).run()
    assert app.text[0].value == "opens nothing"
    app.button[1].click()
    redraw_fragments(app)
    assert app.text[0].value == "opens run"


def test_a_script_is_read_and_checked_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(engine: str) -> None:
        raise AssertionError(engine)

    monkeypatch.setattr("engine.spark.session.get_spark", nobody)
    monkeypatch.setattr("ui.shell.engine_gate.get_spark", nobody)
    table = "CREATE TABLE t (k STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '9');"
    pipeline = imported(
        f"{table} SELECT UPPER(k) AS u, COUNT(*) AS n FROM t GROUP BY UPPER(k);".encode(), "s.sql"
    ).pipeline
    assert checked(pipeline).problems == ()


def page_as_spark_starts() -> None:
    import streamlit as st

    from ui.components.shell.engine_status import engine_note
    from ui.shell.engine_gate import gate

    at_first = gate().status
    st.text(gate().status.value)
    engine_note(at_first)


def test_a_page_that_spark_starts_under_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([GateStatus.STARTING] * 2)
    monkeypatch.setattr(EngineGate, "warm_up", lambda self: None)
    monkeypatch.setattr(EngineGate, "status", property(lambda self: next(looks, GateStatus.READY)))
    app = AppTest.from_function(page_as_spark_starts).run()
    assert not app.exception
    assert [text.value for text in app.text] == ["ready"]


def test_a_run_lets_the_rehearsal_end_first_unless_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, cancel = threading.Event(), threading.Event()
    monkeypatch.setattr("ui.shell.engine_gate.server_of", lambda spark: NEW_SERVER)
    monkeypatch.setattr("ui.shell.engine_gate.get_spark", lambda master: MagicMock())
    monkeypatch.setattr("ui.shell.engine_gate.ARCHIVE_AFTER_S", 0)
    monkeypatch.setattr("ui.shell.engine_gate.make_in_background", lambda: None)
    begun = threading.Event()
    monkeypatch.setattr("ui.shell.engine_gate._wanted", threading.Event())
    monkeypatch.setattr("ui.shell.engine_gate.rehearse", lambda spark: begun.set() or goes_on.wait(20))
    EngineGate("local[2]").warm_up()
    assert begun.wait(5)
    before = time.monotonic()
    wait_for_rehearsal(cancel, patience_s=0.3)
    assert time.monotonic() - before >= 0.3
    waiting = threading.Thread(target=wait_for_rehearsal, args=(cancel,))
    waiting.start()
    assert waiting.is_alive()
    cancel.set()
    waiting.join(5)
    assert not waiting.is_alive()
    goes_on.set()
    wait_for_rehearsal(threading.Event(), patience_s=5)
    assert time.monotonic() - before < 5


def test_there_is_no_rehearsal_where_a_run_waits_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsed, archived = threading.Event(), threading.Event()
    monkeypatch.setattr("ui.shell.engine_gate.server_of", lambda spark: NEW_SERVER)
    monkeypatch.setattr("ui.shell.engine_gate._wanted", threading.Event())
    monkeypatch.setattr("ui.shell.engine_gate.get_spark", lambda master: MagicMock())
    monkeypatch.setattr("ui.shell.engine_gate.rehearse", lambda spark: rehearsed.set())
    monkeypatch.setattr("ui.shell.engine_gate.ARCHIVE_AFTER_S", 0)
    monkeypatch.setattr("ui.shell.engine_gate.make_in_background", archived.set)
    without_rehearsal()
    EngineGate("local[2]").warm_up()
    assert archived.wait(5)
    assert not rehearsed.is_set()


@pytest.mark.parametrize(("server", "archives"), [(MagicMock(is_new=False), True), (None, False)])
def test_a_server_that_was_found_has_nothing_to_rehearse(
    monkeypatch: pytest.MonkeyPatch, server: object, archives: bool
) -> None:
    rehearsed, archived = threading.Event(), threading.Event()
    monkeypatch.setattr("ui.shell.engine_gate._wanted", threading.Event())
    monkeypatch.setattr("ui.shell.engine_gate.get_spark", lambda master: MagicMock())
    monkeypatch.setattr("ui.shell.engine_gate.server_of", lambda spark: server)
    monkeypatch.setattr("ui.shell.engine_gate.rehearse", lambda spark: rehearsed.set())
    monkeypatch.setattr("ui.shell.engine_gate.ARCHIVE_AFTER_S", 0)
    monkeypatch.setattr("ui.shell.engine_gate.make_in_background", archived.set)
    gate = EngineGate("local[2]")
    gate.warm_up()
    assert gate._thread is not None
    gate._thread.join(5)
    assert (rehearsed.is_set(), archived.is_set()) == (False, archives)


def test_a_spark_that_cannot_start_is_a_sentence_and_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(master: str) -> None:
        msg = "no Java here."
        raise EngineUnavailable(msg)

    monkeypatch.setattr("ui.shell.engine_gate.get_spark", refuse)
    gate = EngineGate("local[2]")
    with pytest.raises(EngineUnavailable, match="no Java here"):
        gate.spark()
    assert gate.status is GateStatus.FAILED
    gate.retry()
    with pytest.raises(EngineUnavailable):
        gate.spark()


@pytest.mark.slow
def test_a_run_gets_the_session_of_the_gate(spark: object) -> None:
    assert EngineGate("local[2]").spark() is spark
