"""The person of a session: stored with runs and pipelines; changes to another person's need a confirmation."""

from __future__ import annotations

import streamlit as st

from ui.access.login import COOKIE
from ui.access.serving import Serving, serving


def person() -> str:
    """The name of this session's person; empty if the studio needs no login."""
    how: Serving = serving()
    if how.header:
        return str(st.context.headers.get(how.header) or "")
    if how.is_oidc:
        claims = st.user if st.user.is_logged_in else {}
        return str(claims.get("email") or claims.get("name") or claims.get("sub") or "")
    return how.person_of(st.context.cookies.get(COOKIE) or "") or "" if how.people else ""


def is_anothers(made_by: str) -> bool:
    """Whether something belongs to another person. Without the name of its maker it belongs to everybody."""
    return bool(made_by) and made_by != person()


def let_in() -> None:
    """Ask for a login if this session has none: a login is valid for one host name only."""
    if not serving().is_oidc or st.user.is_logged_in:
        return
    st.title("Changelog Studio")
    st.button("Log in", type="primary", on_click=st.login, key="log-in")
    st.stop()
