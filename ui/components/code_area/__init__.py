"""A field for code: monospaced, with line numbers, a mark on the wrong line, and Ctrl+Enter to run.

It is Streamlit's own text area, so input, undo and session state work as in other fields; the browser draws the
numbers behind the text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.components.registering import registered


@cache
def _numbers() -> Any:
    # Not isolated: the field to number is part of the page, outside this component.
    return registered(Path(__file__).parent, '<span class="code-numbers" hidden></span>', isolate_styles=False)


def code_area(label: str, text: str = "", *, key: str, **look: Any) -> None:
    """Draw the field; `line_numbers` has to follow. text: its initial text, unless the session state has one.

    look: further arguments of st.text_area.
    """
    with st.container(key=f"code-area|{key}"):
        st.text_area(label, text, key=key, **look)


def line_numbers(key: str, *, wrong: str = "", line: int = 0, runs: str = "") -> None:
    """Number the lines of a field. line: the one to mark, from 1, as long as the text is still `wrong`.

    It is separate from the field, since the line may only be known after the field was drawn. runs: the key of the
    button that Ctrl+Enter presses.
    """
    data = {"field": key, "wrong": wrong if line else "", "line": line, "runs": runs}
    _numbers()(key=f"code-numbers|{key}", data=data, height="content")
