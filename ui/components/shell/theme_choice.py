"""The choice between light, dark and the system's own setting: for a room, the page may be lighter than the screen was.

Streamlit has it in a menu that the studio does not show, and keeps it by the address of a page. These links load the
page again with the choice in its address, whose head (`ui.access.page_head`) keeps it for all pages of this browser.
"""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from ui.access.page_head import THEME

_CHOICES: Final = {"Light": "Light", "Dark": "Dark", "System": "As the system"}
_LINK: Final = '<a href="?{}" style="display: block; padding: 0.3rem 0; color: inherit">{}</a>'


def theme_choice() -> None:
    """Draw it, for the bar of tools."""
    with st.popover("", icon=":material/contrast:", type="tertiary", key="theme-choice", help="Light or dark"):
        query = st.query_params.to_dict()
        links = (_LINK.format(escape(urlencode(query | {THEME: key})), words) for key, words in _CHOICES.items())
        st.html("".join(links))
