"""Tables and charts of a page as pictures for slides: copied by a key, or saved from a menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import streamlit as st
from changelog_studio_canvas import SHOTS

_COMPONENT: Final = "changelog-studio-canvas.shots"
_CAMERA: Final = (
    '<svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" fill="currentColor"><path d="'
    "M9 4 7.5 6H4a2 2 0 0 0-2 2v10a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2V8a2 2 0 0 0-2-2h-3.5L15 4zm3 4.5a4.5 4.5 0 1 1 0 "
    "9 4.5 4.5 0 0 1 0-9"
    '"/></svg>'
)
_HTML: Final = (
    '<div class="shots"><button type="button" class="take" title="As a picture (I copies it)" '
    f'aria-label="Picture of this table" aria-haspopup="menu" aria-expanded="false">{_CAMERA}</button>'
    '<div class="choices" role="menu" aria-label="As a picture" hidden>'
    '<button type="button" role="menuitem" data-how="copy">Copy <kbd>I</kbd></button>'
    '<button type="button" role="menuitem" data-how="png">Save as PNG</button>'
    '<button type="button" role="menuitem" data-how="svg">Save as SVG</button></div>'
    '<div class="told" role="status"></div></div>'
)
_CSS: Final = """
.shots {
  position: fixed; z-index: 999990; font-family: var(--st-font); font-size: .86rem; color: var(--st-text-color);
}
.shots:not(.near) .take { display: none; }
.take, .choices, .told:not(:empty) {
  position: absolute; right: 0; background: var(--st-background-color); border: 1px solid var(--st-border-color);
  border-radius: var(--st-button-radius, .4rem); color: inherit;
}
.take { top: -1.9rem; display: grid; padding: .3rem; cursor: pointer; }
[data-where="beside"] .take { top: 0; right: -1.9rem; }
[data-where="over"] .take { top: .1rem; right: .1rem; }
.choices { top: .2rem; display: flex; flex-direction: column; padding: .25rem; white-space: nowrap; }
.choices[hidden] { display: none; }
.choices button {
  font: inherit; color: inherit; text-align: left; border: 0; background: none; padding: .3rem .6rem; cursor: pointer;
}
:is(.take, .choices button):is(:hover, :focus-visible) { background: var(--st-secondary-background-color); }
:is(.take, .choices button):focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: -2px; }
.told:not(:empty) {
  position: fixed; right: 50%; bottom: 1rem; transform: translateX(50%); padding: .4rem .8rem;
  box-shadow: 0 6px 24px color-mix(in srgb, black 22%, transparent);
}
"""


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(_COMPONENT, html=_HTML, css=_CSS, js=SHOTS)


def shots() -> None:
    """Listen for the key, and draw the menu at the table with the mouse. Once per page."""
    _component()(key="shots")
