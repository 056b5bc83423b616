"""First records are computed in the background: one that waits does not delay the others."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from threading import Event

import pytest
from streamlit.testing.v1 import AppTest

from engine.local.preview import Preview
from ui.builder.previewing import Asker, Previews

FOUND = Preview(("a",), (), {}, is_whole=True)


def test_one_that_waits_for_a_server_holds_up_no_other() -> None:
    answered, begun = Event(), Event()

    def wait() -> Preview:
        begun.set()
        answered.wait(30)
        return FOUND

    previews, asker = Previews(), Asker()
    waiting = previews.ask("a server that does not answer", wait, asker)
    try:
        assert begun.wait(10)
        assert previews.ask("a file", lambda: FOUND, asker).result(10) is FOUND
        assert not waiting.done()
    finally:
        answered.set()
    assert waiting.result(10) is FOUND
    assert previews.ask("a file", wait, asker).result(0) is FOUND


@pytest.fixture
def busy() -> Iterator[Previews]:
    """Previews of which none starts before the end of the test."""
    previews, over = Previews(), Event()

    def wait() -> Preview:
        over.wait(30)
        return FOUND

    for number in range(4):
        previews.ask(f"slow {number}", wait, Asker())
    yield previews
    over.set()


def test_what_a_session_has_left_is_cancelled_and_what_another_waits_for_is_not(busy: Previews) -> None:
    ada, ben = Asker(), Asker()
    of_ada, of_ben = busy.ask("orders", lambda: FOUND, ada), busy.ask("rates", lambda: FOUND, ben)
    assert not of_ada.cancelled()
    busy.ask("totals", lambda: FOUND, ada)
    assert of_ada.cancelled()
    assert not of_ben.cancelled()


def test_what_two_sessions_wait_for_is_cancelled_when_both_have_left_and_is_then_asked_again(busy: Previews) -> None:
    ada, ben = Asker(), Asker()
    both = busy.ask("orders", lambda: FOUND, ada)
    assert busy.ask("orders", lambda: FOUND, ben) is both
    busy.ask("totals", lambda: FOUND, ada)
    assert not both.cancelled()
    busy.ask("rates", lambda: FOUND, ben)
    assert both.cancelled()
    assert not busy.ask("orders", lambda: FOUND, ben).cancelled()


def page_of_first_rows() -> None:
    from engine.model.pipeline import Pipeline
    from ui.components.builder.first_rows import first_rows

    first_rows(Pipeline(), "orders")


def test_a_page_asks_again_for_a_preview_that_was_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled: Future[Preview] = Future()
    cancelled.cancel()
    found: Future[Preview] = Future()
    found.set_result(Preview(("a",), (), {"orders": 0}, is_whole=True))
    answers = iter([cancelled, found])
    monkeypatch.setattr("ui.components.builder.first_rows.preview_of", lambda *_: next(answers))
    app = AppTest.from_function(page_of_first_rows).run()
    assert not app.exception
    assert app.caption[0].value == "0 records from 0 rows of orders: all rows."
