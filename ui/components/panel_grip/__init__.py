"""The edge of the builder's panel: drag it to widen the form, with the mouse or the arrow keys; Escape closes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ui.components.registering import registered


@cache
def _component() -> Any:
    grip = '<div class="grip" role="separator" aria-orientation="vertical" aria-label="Width of the form" tabindex="0">'
    return registered(Path(__file__).parent, f"{grip}</div>")


def panel_grip(*, key: str, on_close: Callable[[], None]) -> None:
    """Draw it, inside the panel. on_close is called where Escape is pressed in the panel."""
    _component()(key=key, on_closed_change=on_close)
