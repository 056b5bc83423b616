"""The edge of a part of the workbench: resizes the part by dragging or with the arrow keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ui.components.registering import registered


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, '<div class="grip"></div>')


def panel_grip(*, on_close: Callable[[], None]) -> None:
    """Draw the left edge of the panel, inside it. on_close is called if Escape is pressed in the panel."""
    data = {"part": ".st-key-bench-panel", "sizes": "panel-width", "label": "Width of the form", "closes": True}
    _component()(key="panel-grip", data=data, on_closed_change=on_close)


def drawer_grip() -> None:
    """Draw the upper edge of the drawer, inside its head."""
    data = {"part": ".st-key-drawer-half", "sizes": "drawer-height", "label": "Height of the drawer", "closes": False}
    _component()(key="drawer-grip", data=data, on_closed_change=lambda: None)
