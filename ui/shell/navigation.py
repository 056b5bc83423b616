"""The pages of the studio, in the order of a person's work, and how one page leads to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import streamlit as st

from ui.shell.state import state

_VIEWS: Final = Path(__file__).parents[1] / "views"
_LEADS_TO: Final = "leads-to"


@dataclass(frozen=True)
class View:
    """A page: the file in `ui/views/`, what the navigation calls it, its icon and its address."""

    file: str
    title: str
    icon: str

    @property
    def path(self) -> Path:
        """The script."""
        return _VIEWS / f"{self.file}.py"

    @property
    def url(self) -> str:
        """The address below the app's own; words are joined by a hyphen."""
        return self.file.replace("_", "-")


VIEWS: Final = (
    View("gallery", "Pipelines", ":material/account_tree:"),
    View("build", "Build", ":material/edit_square:"),
    View("run", "Run", ":material/play_circle:"),
    View("changelog", "Changelog", ":material/receipt_long:"),
    View("time_travel", "Time travel", ":material/history:"),
    View("retractions", "Retractions", ":material/undo:"),
    View("why_retraction", "Why retraction", ":material/help_center:"),
    View("event_time", "Event time", ":material/timeline:"),
    View("what_if", "What if", ":material/tune:"),
    View("compare", "Compare", ":material/compare_arrows:"),
    View("sql", "SQL", ":material/database:"),
    View("engines", "Engines", ":material/dns:"),
)


def pages() -> list[st.Page]:
    """The pages for st.navigation; the first is where everybody starts."""
    return [
        st.Page(view.path, title=view.title, icon=view.icon, url_path=view.url, default=at == 0)
        for at, view in enumerate(VIEWS)
    ]


def lead_to(file: str) -> None:
    """Let the next script run open another page: for callbacks, which cannot `go` themselves."""
    st.session_state[_LEADS_TO] = file


def follow(shown: st.Page) -> None:
    """Go where a callback leads to. It is forgotten only there, as Streamlit may end a run before it has gone."""
    if (file := st.session_state.get(_LEADS_TO)) is not None:
        if _view(file).title != shown.title:
            go(file)
        del st.session_state[_LEADS_TO]


def _view(file: str) -> View:
    return next(view for view in VIEWS if view.file == file)


def go(file: str) -> NoReturn:
    """Open another page, by its file's name, with what is open now."""
    st.switch_page(_view(file).path, query_params=state.as_query())
