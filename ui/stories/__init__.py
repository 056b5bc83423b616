"""Guided stories: one data file per example, with the example's name. A step is a sentence or two on a real page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

FOLDER: Final = Path(__file__).parent


class Step(BaseModel):
    """One step: the page (its file in `ui/views/`), what is open on it, and what to see there.

    choices: widgets of the page by key and what they are set to; {run} in a key is the run's number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    view: str
    text: str
    edge: str | None = None
    event: int | None = None
    choices: dict[str, str] = {}


class Story(BaseModel):
    """A story of an example, told on a run of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    steps: tuple[Step, ...]


@cache
def stories() -> dict[str, Story]:
    """The stories by the names of their examples."""
    paths = sorted(FOLDER.glob("*.json"))
    return {path.stem: Story.model_validate_json(path.read_text(encoding="utf-8")) for path in paths}
