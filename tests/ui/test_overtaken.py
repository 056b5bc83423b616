"""Requests that the browser sends for a page which the user has left, while the next one is opened or drawn."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequestType

from ui.shell import overtaken
from ui.shell.overtaken import RequestsOfTheOpenPage, SessionOfTheOpenPage


def page(name: str) -> RerunData:
    return RerunData(page_script_hash=name)


def fragment(of: str) -> RerunData:
    return RerunData(page_script_hash=of, fragment_id=f"fragment of {of}", is_auto_rerun=True)


# Title, the requests before a run begins, those during it, the page that is run first, what is run after it.
CASES: list[tuple[str, list[RerunData], list[RerunData], str, list[str] | None]] = [
    ("a fragment of the old page before the next page is run", [page("next"), fragment("old")], [], "next", None),
    ("a fragment of the old page while the next page is run", [page("next")], [fragment("old")], "next", None),
    ("a fragment of the next page while it is run", [page("next")], [fragment("next")], "next", ["fragment of next"]),
    ("a fragment of each", [page("next")], [fragment("old"), fragment("next")], "next", ["fragment of next"]),
    ("a fragment, and then the next page", [fragment("old"), page("next")], [fragment("old")], "next", None),
    ("a fragment of the first page, whose id is not known yet", [page("")], [fragment("a")], "", ["fragment of a"]),
    ("back on the old page", [page("next"), page("old")], [fragment("old")], "old", ["fragment of old"]),
]


@pytest.mark.parametrize(("before", "during", "first", "then"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_the_page_that_was_requested_last_is_drawn_and_stays(
    before: list[RerunData], during: list[RerunData], first: str, then: list[str] | None
) -> None:
    requests = RequestsOfTheOpenPage()
    assert all(requests.request_rerun(each) for each in before)
    run = requests.on_scriptrunner_ready()
    assert (run.rerun_data.page_script_hash, run.rerun_data.fragment_id_queue) == (first, [])
    assert all(requests.request_rerun(each) for each in during)
    after = requests.on_scriptrunner_ready()
    assert (after.rerun_data.fragment_id_queue if after.type is ScriptRequestType.RERUN else None) == then


def test_a_page_that_reruns_itself_does_not_take_back_a_page_that_was_opened_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = RequestsOfTheOpenPage()
    assert requests.request_rerun(page("old"))
    requests.on_scriptrunner_ready()
    assert requests.request_rerun(page("next"))
    # What `st.rerun` does, in the thread of the script.
    drawn = SimpleNamespace(page_script_hash="old")
    with monkeypatch.context() as in_script:
        in_script.setattr(overtaken, "get_script_run_ctx", lambda **_: drawn)
        assert requests.request_rerun(page("old"))
    run = requests.on_scriptrunner_yield()
    assert run is not None
    assert run.rerun_data.page_script_hash == "next"
    # The next page may rerun itself, and open another one.
    drawn.page_script_hash = "next"
    for then in ("next", "another"):
        with monkeypatch.context() as in_script:
            in_script.setattr(overtaken, "get_script_run_ctx", lambda **_: drawn)
            assert requests.request_rerun(page(then))
        assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == then


class Runner:
    """A script runner whose script has ended, or goes on."""

    def __init__(self) -> None:
        self._requests = RequestsOfTheOpenPage()
        self._requests.request_rerun(page("open"))
        self._requests.on_scriptrunner_ready()

    def request_rerun(self, data: RerunData) -> bool:
        return self._requests.request_rerun(data)


async def _asked(session: Any, asked: ClientState, runner: Runner, started: list[RerunData]) -> list[int]:
    """How many scripts had been started when the messages of the first were there, and in the end."""
    session._event_loop, session._scriptrunner = asyncio.get_running_loop(), runner
    session.request_rerun(asked)
    counts = [len(started)]
    await asyncio.sleep(0.02)
    counts.append(len(started))
    session._scriptrunner = None
    await asyncio.sleep(0.05)
    return [*counts, len(started)]


@pytest.mark.parametrize(
    ("of", "has_ended", "expected"),
    [("open", True, [0, 0, 1]), ("left", True, [0, 0, 0]), ("open", False, [0, 0, 0])],
    ids=["its messages are on their way", "of a page that was left", "its script takes it"],
)
def test_a_request_waits_for_what_the_script_before_it_has_drawn(
    of: str, has_ended: bool, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[RerunData] = []
    monkeypatch.setattr(AppSession, "_create_scriptrunner", lambda _, data: started.append(data))
    monkeypatch.setattr(AppSession, "has_fragment", lambda _, fragment_id: True)
    session: Any = SessionOfTheOpenPage.__new__(SessionOfTheOpenPage)
    session.id, session._state = "", AppSessionState.APP_IS_RUNNING
    session._client_state = ClientState(page_script_hash="open")
    runner = Runner()
    if has_ended:
        assert runner._requests.on_scriptrunner_ready().type is ScriptRequestType.STOP
    asked = ClientState(page_script_hash=of, fragment_id="shared by both pages")
    assert asyncio.run(_asked(session, asked, runner, started)) == expected
    # Nothing of it has to be closed.
    session._state = AppSessionState.SHUTDOWN_REQUESTED
