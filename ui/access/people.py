"""Who is looking: for what is kept with a run or a pipeline, and for asking twice before what is another's is ended."""

from __future__ import annotations

import streamlit as st

from ui.access.login import COOKIE
from ui.access.serving import Serving, serving


def person() -> str:
    """The name of whoever this session is; empty where nobody has to log in."""
    how: Serving = serving()
    if how.header:
        return str(st.context.headers.get(how.header) or "")
    if how.is_oidc:
        known = st.user if st.user.is_logged_in else {}
        return str(known.get("email") or known.get("name") or known.get("sub") or "")
    return how.person_of(st.context.cookies.get(COOKIE) or "") or "" if how.people else ""


def is_anothers(made_by: str) -> bool:
    """Whether something is another person's. What was made before there were names is everybody's."""
    return bool(made_by) and made_by != person()


def let_in() -> None:
    """Where people log in with a provider, end the page here for a login that was for another name of this host."""
    if not serving().is_oidc or st.user.is_logged_in:
        return
    st.title("Changelog Studio")
    st.button("Log in", type="primary", on_click=st.login, key="log-in")
    st.stop()
