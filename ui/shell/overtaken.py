"""What a page asks for after the user has left it is not drawn.

Until the browser has the next page, the timers and components of the old one request its fragments. Streamlit takes the
page of each request as the page to show. So a request that joined the one for the next page led back to the old page,
and one that came while the next page was drawn cleared it when it was complete: the page stayed blank.
"""

from __future__ import annotations

from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests


class RequestsOfTheOpenPage(ScriptRequests):
    """The requests that a script runner has received, without those for fragments of a page that was left."""

    def __init__(self) -> None:
        super().__init__()
        # Streamlit's id of the page; empty while only its name is known.
        self._open_page = ""

    def _request_rerun_locked(self, new_data: RerunData) -> bool:
        # It has no `fragment_id` if it was combined with others, or if the fragment requested itself.
        is_of_fragment = bool(new_data.fragment_id or new_data.fragment_id_queue)
        if not is_of_fragment:
            self._open_page = new_data.page_script_hash
        elif self._open_page and new_data.page_script_hash not in ("", self._open_page):
            # Received, and nothing is drawn: Streamlit does the same with fragments that a page no longer has.
            return True
        return super()._request_rerun_locked(new_data)


def ignore_pages_that_were_left() -> None:
    """Let all script runs of this process ignore them."""
    script_runner.ScriptRequests = RequestsOfTheOpenPage  # type: ignore[attr-defined]
