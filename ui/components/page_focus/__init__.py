"""The focus as one expects it who uses the mouse and the page's keys together.

A click anywhere on a page focuses it. From the next key on, whatever the key does, browsers count this focus as one
that should be seen, and a frame around the whole page would appear: it is drawn only for those who came to it by Tab.
A click on a switch focuses the switch, and Streamlit hears no shortcut while a field has the focus: N after it would be
lost. A button takes Enter also with Alt, and Streamlit's keep it: Alt+Enter after a click on *Problems* would close
that panel, and run nothing.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ui.components.registering import registered


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, "<span></span>", isolate_styles=False)


def page_focus() -> None:
    """Draw what listens. Once per page."""
    _component()(key="page-focus")
