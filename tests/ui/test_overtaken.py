"""Requests that the browser sends for a page which the user has left, while the next one is opened or drawn."""

from __future__ import annotations

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequestType

from ui.shell.overtaken import RequestsOfTheOpenPage


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
