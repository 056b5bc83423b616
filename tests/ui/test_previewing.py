"""First records are computed in the background: one that waits does not delay the others."""

from __future__ import annotations

from threading import Event

from engine.local.preview import Preview
from ui.builder.previewing import Previews

FOUND = Preview(("a",), (), {}, is_whole=True)


def test_one_that_waits_for_a_server_holds_up_no_other() -> None:
    answered, begun = Event(), Event()

    def wait() -> Preview:
        begun.set()
        answered.wait(30)
        return FOUND

    previews = Previews()
    waiting = previews.ask("a server that does not answer", wait)
    try:
        assert begun.wait(10)
        assert previews.ask("a file", lambda: FOUND).result(10) is FOUND
        assert not waiting.done()
    finally:
        answered.set()
    assert waiting.result(10) is FOUND
    assert previews.ask("a file", wait).result(0) is FOUND
