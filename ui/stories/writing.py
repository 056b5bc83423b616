"""Edits of a story: each takes a story and returns the changed one. Steps are counted from 0."""

from __future__ import annotations

from engine.errors import PipelineError
from engine.model.story import MOST_STEPS, Step, Story


def added(story: Story, step: Step, after: int) -> Story:
    """The story with a step more, after another one; -1: at its head. Raises PipelineError at the most steps."""
    if len(story.steps) >= MOST_STEPS:
        message = f"a story has at most {MOST_STEPS} steps. Delete one, or begin another pipeline's."
        raise PipelineError(message, "", "story")
    return _with(story, (*story.steps[: after + 1], step, *story.steps[after + 1 :]))


def moved(story: Story, at: int, to: int) -> Story:
    """The story with a step at another place; the same if there is no such place."""
    if not (0 <= at < len(story.steps) and 0 <= to < len(story.steps)):
        return story
    steps = [*story.steps]
    steps.insert(to, steps.pop(at))
    return _with(story, tuple(steps))


def removed(story: Story, at: int) -> Story:
    """The story without a step."""
    return _with(story, tuple(step for place, step in enumerate(story.steps) if place != at))


def replaced(story: Story, at: int, step: Step) -> Story:
    """The story with another step in the place of one."""
    return _with(story, tuple(step if place == at else old_step for place, old_step in enumerate(story.steps)))


def _with(story: Story, steps: tuple[Step, ...]) -> Story:
    return story.model_copy(update={"steps": steps})
