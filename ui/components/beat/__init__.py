"""Draws the fragment that it is in anew, at every beat, for as long as that goes on drawing it.

A fragment with `run_every` cannot stop by itself: only the page, or a fragment around it, ends its timer.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ui.components.registering import registered


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, "<span></span>")


def beat(every_ms: int, *, key: str) -> None:
    """Beat every so many milliseconds. Without a fragment around it, the whole page is drawn anew."""
    _component()(key=key, data={"every_ms": every_ms}, on_due_change=lambda: None)
