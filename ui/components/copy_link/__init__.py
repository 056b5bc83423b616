"""A button that copies the page's address, which has all that is shown, and says so."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ui.components.registering import registered

_HTML = (
    '<button type="button"><svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" fill="none" '
    'stroke="currentColor" stroke-width="2"><path d="M10 14a4 4 0 0 0 6 0l3.5-3.5a4 4 0 0 0-6-6L12 6M14 10a4 4 0 0 0'
    '-6 0l-3.5 3.5a4 4 0 0 0 6 6L12 18"/></svg>Copy link</button><p role="status"></p>'
)


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, _HTML)


def copy_link(has: str) -> None:
    """Draw the button. has: what the address has, for the confirmation."""
    _component()(key="copy-link", data={"has": has})
