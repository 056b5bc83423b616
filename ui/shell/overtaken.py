"""The page that the user has opened last is drawn, whole: Streamlit drops a part of it where two requests meet.

- Until the browser has the next page, the timers and components of the old one request its fragments, and a fragment
  that is at work may rerun its page. Streamlit takes the page of each request as the page to show. So a request that
  joined the one for the next page led back to the old page, and one that came while the next page was drawn, or just
  afterwards, cleared it: the page stayed blank. Fragments of the same function and place have one id on all pages.
- A request that comes when a script has ended, while the loop still has messages of it, begins another one. Streamlit
  forgets the messages of the first, and the browser cannot place those of the second.
"""

from __future__ import annotations

from typing import Final

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime import websocket_session_manager
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner import get_script_run_ctx, script_runner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

_SOON_S: Final = 0.005


class RequestsOfTheOpenPage(ScriptRequests):
    """The requests that a script runner has received, without those of a page that was left."""

    def __init__(self) -> None:
        super().__init__()
        # Streamlit's id of the page; empty while only its name is known.
        self._open_page = ""

    @property
    def is_over(self) -> bool:
        """Whether its script has ended, or will: it takes no more requests."""
        return self._state is ScriptRequestType.STOP

    def _request_rerun_locked(self, new_data: RerunData) -> bool:
        # Only the script's own thread has a context: the page that it draws.
        context = get_script_run_ctx(suppress_warning=True)
        drawn = "" if context is None else context.page_script_hash
        # It has no `fragment_id` if it was combined with others, or if the fragment requested itself.
        is_of_fragment = bool(new_data.fragment_id or new_data.fragment_id_queue)
        asking = new_data.page_script_hash if is_of_fragment else drawn
        if asking and self._open_page and asking != self._open_page:
            # Received, and nothing is drawn: Streamlit does the same with fragments that a page no longer has.
            return True
        if not is_of_fragment:
            self._open_page = new_data.page_script_hash
        return super()._request_rerun_locked(new_data)


class SessionOfTheOpenPage(AppSession):
    """A browser tab, whose requests wait for all that the script before them has drawn."""

    def request_rerun(self, client_state: ClientState | None) -> None:
        runner = self._scriptrunner
        is_closed = self._state is AppSessionState.SHUTDOWN_REQUESTED
        if not is_closed and runner is not None and runner._requests.is_over:  # type: ignore[attr-defined]
            # Its last message, after which there is no runner, is on its way.
            self._event_loop.call_later(_SOON_S, self.request_rerun, client_state)
            return
        if runner is None and client_state is not None and client_state.fragment_id:
            shown = self.page_script_hash
            if shown and client_state.page_script_hash not in ("", shown):
                return
        super().request_rerun(client_state)


def draw_the_open_page() -> None:
    """Let all sessions of this process draw the page that was opened last, and all of it."""
    script_runner.ScriptRequests = RequestsOfTheOpenPage  # type: ignore[attr-defined]
    websocket_session_manager.AppSession = SessionOfTheOpenPage  # type: ignore[attr-defined]
