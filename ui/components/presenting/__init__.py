"""The keys of a presentation: one table, which the browser follows and tells at `?`."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

from ui.components.registering import registered


class Act(NamedTuple):
    """What keys do. shown: their names. buttons: the keys of the buttons of which the first on the page is pressed.

    keys: the browser's names of those that are heard here; the others are shortcuts of the buttons themselves. step:
    where there is no such button, how many nodes the canvas goes on.
    """

    does: str
    shown: tuple[str, ...]
    buttons: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    step: int = 0


ACTS: Final = (
    Act(
        "Next step; without a story, the next event, or the next node in Build",
        ("→", "Space"),
        ("story-next", "event-next"),
        ("ArrowRight", " "),
        1,
    ),
    Act(
        "Previous step; without a story, the previous event or node",
        ("←",),
        ("story-back", "event-previous"),
        ("ArrowLeft",),
        -1,
    ),
    Act("Next step, previous step of the story", ("Page Down", "Page Up")),
    Act("Next event, previous event", ("N", "P")),
    Act("Hide or show the controls", ("H",)),
    Act("End the presentation", ("Esc",), ("present-end",), ("Escape",)),
    Act("This list", ("?",)),
)


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, _html())


def presenting_keys() -> None:
    """Listen for the keys. Once per presented page."""
    data = {key: {"buttons": act.buttons, "step": act.step} for act in ACTS for key in act.keys}
    _component()(key="presenting", data=data)


def _html() -> str:
    rows = "".join(
        f"<dt>{' '.join(f'<kbd>{escape(key)}</kbd>' for key in act.shown)}</dt><dd>{escape(act.does)}</dd>"
        for act in ACTS
    )
    return f'<template><dialog aria-label="Keys of the presentation"><dl>{rows}</dl></dialog></template>'
