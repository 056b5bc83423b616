"""A field for code: every character a column, lines numbered, the line that is wrong marked, Ctrl+Enter runs.

It is Streamlit's own text area, so what is typed is taken, undone and kept as everywhere; the browser draws the numbers
behind the text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.components.registering import registered


@cache
def _numbers() -> Any:
    # Not isolated: what it numbers is a field of the page.
    return registered(Path(__file__).parent, '<span class="code-numbers" hidden></span>', isolate_styles=False)


def code_area(label: str, text: str = "", *, key: str, **look: Any) -> None:
    """Draw the field; `line_numbers` has to follow. text: what it begins with, unless the session state has it.

    look: what st.text_area takes.
    """
    with st.container(key=f"code-area|{key}"):
        st.text_area(label, text, key=key, **look)


def line_numbers(key: str, *, wrong: str = "", line: int = 0, runs: str = "") -> None:
    """Number the lines of a field. line: the one to mark, from 1, as long as the text is still `wrong`.

    Apart from the field, as the line may only be known after it was drawn. runs: the key of the button that Ctrl+Enter
    presses.
    """
    data = {"field": key, "wrong": wrong if line else "", "line": line, "runs": runs}
    _numbers()(key=f"code-numbers|{key}", data=data, height="content")
