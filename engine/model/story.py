"""A story of a pipeline: what to see in a run of it, step by step, in the words of the one who tells it."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

LONGEST_TEXT: Final = 2000
MOST_STEPS: Final = 200


class Step(BaseModel):
    """One step: a page of the studio, the event and the edge that are open on it, and what to see there.

    text: **bold**, *italic* and `code` are marks; all else is text. shown: what else the page shows, by the names in
    its address.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: str
    text: str = Field(default="", max_length=LONGEST_TEXT)
    edge: str | None = Field(default=None, exclude_if=lambda edge: edge is None)
    event: int | None = Field(default=None, ge=0, exclude_if=lambda event: event is None)
    shown: dict[str, str] = Field(default={}, exclude_if=lambda shown: not shown)


class Story(BaseModel):
    """The steps in their order. run: the number of the run that it was written over; None: any run of the pipeline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(default="", max_length=200)
    steps: tuple[Step, ...] = Field(default=(), max_length=MOST_STEPS)
    run: int | None = Field(default=None, exclude_if=lambda run: run is None)

    def renamed(self, old: str, new: str) -> Story:
        """The story after a node has got another name."""

        def named(name: str) -> str:
            node, dot, port = name.partition(".")
            return f"{new}{dot}{port}" if node == old else name

        steps = tuple(
            step.model_copy(
                update={
                    "edge": named(step.edge) if step.edge is not None else None,
                    "shown": {of: named(what) if of in ("node", "seen") else what for of, what in step.shown.items()},
                }
            )
            for step in self.steps
        )
        return self.model_copy(update={"steps": steps})
