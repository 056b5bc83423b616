"""The navigation: the places in the order of a user's work, the pages of each, and the switch between pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import streamlit as st

from ui.shell.state import state

_VIEWS: Final = Path(__file__).parents[1] / "views"
LEADS_TO: Final = "leads-to"
"""The key of the page that a callback requested, until it is opened."""


@dataclass(frozen=True)
class View:
    """A page: the file in `ui/views/`, its title, its icon, and the place of the navigation that it belongs to."""

    file: str
    title: str
    icon: str
    place: str

    @property
    def path(self) -> Path:
        """The script."""
        return _VIEWS / f"{self.file}.py"

    @property
    def url(self) -> str:
        """The address below the app's own; words are joined by a hyphen."""
        return self.file.replace("_", "-")


INSPECT: Final = "Inspect"
VIEWS: Final = (
    View("gallery", "Pipelines", ":material/account_tree:", "Pipelines"),
    View("build", "Build", ":material/edit_square:", "Build"),
    View("run", "Runs", ":material/play_circle:", "Runs"),
    View("changelog", "Changelog", ":material/receipt_long:", INSPECT),
    View("time_travel", "Time travel", ":material/history:", INSPECT),
    View("retractions", "Retractions", ":material/undo:", INSPECT),
    View("why_retraction", "Without retraction", ":material/help_center:", INSPECT),
    View("event_time", "Event time", ":material/timeline:", INSPECT),
    View("state", "State", ":material/inventory_2:", INSPECT),
    View("what_if", "What if", ":material/tune:", INSPECT),
    View("compare", "Compare", ":material/compare_arrows:", INSPECT),
    View("sql", "Query store", ":material/database:", "Query store"),
    View("tests", "Tests", ":material/fact_check:", "Runs"),
    View("engines", "Engines", ":material/dns:", "Runs"),
)
PLACES: Final = tuple(dict.fromkeys(view.place for view in VIEWS))
"""The entries of the navigation. A place opens its first page; Inspect the page that was shown last."""


def pages() -> list[st.Page]:
    """The pages for st.navigation; the first is the start page."""
    return [
        st.Page(view.path, title=view.title, icon=view.icon, url_path=view.url, default=at == 0)
        for at, view in enumerate(VIEWS)
    ]


def view_of(shown: st.Page) -> View:
    """The view that is shown."""
    return next(view for view in VIEWS if view.title == shown.title)


def views_of(place: str) -> tuple[View, ...]:
    """The pages of a place."""
    return tuple(view for view in VIEWS if view.place == place)


def lead_to(file: str) -> None:
    """Let the next script run open another page: for callbacks, which cannot `go` themselves."""
    st.session_state[LEADS_TO] = file


def follow(shown: st.Page) -> None:
    """Open the page that a callback requested.

    The request is cleared on the opened page: Streamlit may end this run before the switch.
    """
    if (file := st.session_state.get(LEADS_TO)) is not None:
        if _view(file).title != shown.title:
            go(file)
        del st.session_state[LEADS_TO]


def _view(file: str) -> View:
    return next(view for view in VIEWS if view.file == file)


def go(file: str) -> NoReturn:
    """Open another page, by its file's name; the session's state is passed on in the URL."""
    st.switch_page(_view(file).path, query_params=state.as_query())
