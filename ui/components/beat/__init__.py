"""Redraws the enclosing fragment at every beat, for as long as the fragment draws this component.

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
    """Beat every `every_ms` milliseconds. Outside a fragment, the whole page is redrawn."""
    _component()(key=key, data={"every_ms": every_ms}, on_due_change=lambda: None)
