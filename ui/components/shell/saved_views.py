"""Named views: save what a page shows, open it again, copy its link."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import streamlit as st

from storage.library.saved_views import SavedView
from ui.access.people import person
from ui.components.sql.query_state import last_query
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import VIEWS, View
from ui.shell.state import LONGEST_SQL, state

_NAME: Final = "view-name"
_NOTE: Final = "view-note"
_SQL: Final = "sql"


def saved_views(view: View) -> None:
    """Draw the button that opens the views, within a row."""
    with st.popover("Views", icon=":material/bookmark:", type="tertiary", help="Save what is shown, and find it again"):
        st.caption("Link to this view")
        st.code(_link(), language=None, wrap_lines=True)
        st.text_input("Name of the view", key=_NAME, placeholder="Late orders of May")
        st.text_input("Note", key=_NOTE, placeholder="What to look at")
        what = "Save this query" if view.file == _SQL else "Save this view"
        st.button(what, icon=":material/bookmark_add:", key="view-save", on_click=_save, args=(view.file,))
        saved = workspace.store().saved_views.list()
        if saved:
            st.markdown("**Saved views**")
        for saved_view in saved:
            _row(saved_view)


def _row(saved: SavedView) -> None:
    page = next((view for view in VIEWS if view.file == saved.page), None)
    if page is None:
        return
    query = {name: value for name, value in saved.query.items() if name != _SQL or len(value) <= LONGEST_SQL}
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, gap="small"):
        with st.container(gap=None):
            st.page_link(page.path, label=words.escaped(saved.name), icon=page.icon, query_params=query)
            if saved.note:
                st.caption(words.escaped(saved.note))
        st.button(
            "",
            icon=":material/delete:",
            type="tertiary",
            key=f"view-forget-{saved.view_id}",
            help=f"Forget the view {words.escaped(saved.name)}",
            on_click=guarded(workspace.store().saved_views.delete),
            args=(saved.view_id,),
        )


@guarded
def _save(page: str) -> None:
    """Save what the page shows. A view of the same name on the same page is replaced."""
    query = state.as_query()
    question = last_query()
    if page == _SQL and question:
        query["sql"] = question
    name = st.session_state[_NAME].strip() or _named(page, query)
    workspace.store().saved_views.save(
        name, page=page, query=query, note=st.session_state[_NOTE].strip(), made_by=person()
    )
    st.session_state[_NAME] = st.session_state[_NOTE] = ""


def _named(page: str, query: dict[str, str]) -> str:
    """The default name of a view: the page, and the run, edge and event that are open on it."""
    title = next(view.title for view in VIEWS if view.file == page)
    parts = [f"{word} {query[word]}" for word in ("run", "edge", "event") if word in query]
    return ", ".join([title, *parts])


def _link() -> str:
    """The address of the page with everything that is open."""
    query = urlencode(state.as_query())
    page = str(st.context.url or "").partition("?")[0]
    return f"{page}?{query}" if query else page
