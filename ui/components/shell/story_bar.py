"""A story on the real pages: the text of the current step, and the buttons to the other steps."""

from __future__ import annotations

from typing import Final, NamedTuple

import streamlit as st

from engine.examples import examples
from engine.model.pipeline import Pipeline
from engine.model.story import Story
from storage.errors import UnknownRun
from storage.model import Run
from ui.builder.drafting import edited
from ui.runs.manager import runs
from ui.runs.operator_lines import pipeline_of
from ui.shell import words, workspace
from ui.shell.guard import guarded, guarded_fragment
from ui.shell.navigation import VIEWS, View, lead_to
from ui.shell.state import SHOWN, state
from ui.stories.step_words import as_markdown
from ui.stories.telling import missing, run_told, told_pipeline

_REFRESH_S: Final = 0.7
_KEPT: Final = ("selection", "sql")
"""What a step leaves as it is, unless it has its own."""


class OpenStory(NamedTuple):
    """The open story: its name, its pipeline, and the index of the current step, from 0.

    at: -1 if it has no steps, or if it is being written and none of them is what is shown.
    """

    name: str
    pipeline: Pipeline
    story: Story
    at: int


def opened_run() -> Run | None:
    """The run in the address; None if there is none."""
    try:
        return workspace.store().runs.get(state.run) if state.run is not None else None
    except UnknownRun:
        # The page itself reports a run that no longer exists.
        return None


def open_story() -> OpenStory | None:
    """The story in the address; None if there is none."""
    name, _, number = (state.story or "").rpartition(".")
    if not name or not number.isdecimal():
        return None
    drafting = edited()
    if drafting is not None and drafting.identity == name:
        pipeline: Pipeline | None = drafting.pipeline
    else:
        pipeline = told_pipeline(workspace.store(), name)
    if pipeline is None and (run := opened_run()) is not None and run.identity == name:
        pipeline = pipeline_of(run)
    if pipeline is None:
        return None
    story = pipeline.story or Story(title=pipeline.name)
    first = 0 if state.write and not state.present else 1
    return OpenStory(name, pipeline, story, min(max(int(number), first), len(story.steps)) - 1)


def example_of(example: Pipeline) -> str | None:
    """The name of an example that has a story; None if it has none."""
    return next((name for name, sample in examples().items() if sample == example and sample.story is not None), None)


@guarded
def tell(name: str) -> None:
    """Begin a story on its run, or on a new run of its pipeline."""
    pipeline = told_pipeline(workspace.store(), name)
    if pipeline is None:
        return
    run = run_told(workspace.store(), name, pipeline)
    is_example = name in examples()
    state.hold(run=run.run_id if run is not None else runs().start(pipeline, identity="" if is_example else name))
    state.hold(story=f"{name}.1", write=None)
    to_step(0)


@guarded
def _step(by: int) -> None:
    """Go on from the step in the address: a second press may come before the buttons are drawn again."""
    opened = open_story()
    if opened is not None and opened.story.steps:
        to_step(max(0, min(opened.at + by, len(opened.story.steps) - 1)))


def to_step(at: int) -> None:
    """For callbacks: open a step of the open story: its page, edge and event, and what else its page shows.

    The URL is written last and only once: writing it may make Streamlit interrupt this script run, and half a step
    would remain.
    """
    opened = open_story()
    if opened is None or not opened.story.steps:
        return
    step = opened.story.steps[at]
    # A story of any run stays on the one that its user has chosen.
    run = opened_run() if opened.story.run is None else None
    run = run or run_told(workspace.store(), opened.name, opened.pipeline)
    shown: dict[str, str | int | None] = {
        name: step.shown.get(name) for name in SHOWN if name in step.shown or name not in _KEPT
    }
    if run is not None:
        shown |= {"run": run.run_id, "edge": step.edge, "event": step.event}
        if step.page in {view.file for view in VIEWS}:
            lead_to(step.page)
    state.update(**shown, story=f"{opened.name}.{at + 1}")


@guarded
def _end() -> None:
    state.update(story=None, write=None)


def _is_running(run: Run | None) -> bool:
    return run is not None and run.goes_on and not run.is_live


@guarded_fragment(run_every=_REFRESH_S)
def _wait() -> None:
    """Wait while the pipeline runs. Other parts of the page may have seen its end earlier, so the page is rerun."""
    if not _is_running(opened_run()):
        st.rerun()
    st.caption(":material/progress_activity: The pipeline is running; the tour continues when it has finished.")


def _aside(title: str, number: str) -> None:
    """Draw the way back to the story, on a page that none of its steps shows."""
    with st.container(key="story-aside", horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(f":material/auto_stories: {words.escaped(title)} · {number}", width="content")
        st.button("Back to the story", key="story-back-to", type="tertiary", on_click=_step, args=(0,))
        st.button("End the tour", icon=":material/close:", key="story-end", type="tertiary", on_click=_end)


def story_bar(view: View) -> None:
    """Draw the current step, if a story is open, and is not being written."""
    opened = open_story()
    if opened is None or not opened.story.steps or (state.write and not state.present):
        return
    name, _, story, at = opened
    step, last = story.steps[at], len(story.steps) - 1
    run = opened_run()
    waits = _is_running(run)
    number = f"step {at + 1} of {last + 1}"
    if not state.present and view.file not in {step.page for step in story.steps}:
        _aside(story.title, number)
        return
    with st.container(border=not state.present, key="story"):
        with st.container(key="story-told", gap="small"):
            if not state.present:
                st.markdown(f":material/auto_stories: **{words.escaped(story.title)}** · {number}")
            st.markdown(as_markdown(step.text))
            for sentence in missing(workspace.store(), story, step, run):
                st.caption(f":material/warning: {sentence}")
        with st.container(key="story-steps", horizontal=True, gap="small", vertical_alignment="center"):
            if state.present:
                st.caption(number, width="content")
            st.button(
                "Back",
                icon=":material/arrow_back:",
                key="story-back",
                disabled=at == 0,
                on_click=_step,
                args=(-1,),
                shortcut="PageUp" if state.present else None,
            )
            # In a presentation the buttons keep their places, up to the last step.
            if at < last or state.present:
                st.button(
                    "Next step",
                    icon=":material/arrow_forward:",
                    key="story-next",
                    type="primary",
                    disabled=waits or at == last,
                    on_click=_step,
                    args=(1,),
                    shortcut="PageDown" if state.present else None,
                )
            if run is None:
                st.button("Run it", icon=":material/play_arrow:", key="story-run", on_click=tell, args=(name,))
            st.button(
                "Show me again",
                icon=":material/my_location:",
                key="story-here",
                type="tertiary",
                disabled=waits,
                on_click=_step,
                args=(0,),
                help="Go to the page of this step.",
            )
            st.button(
                "Finish" if at == last else "End the tour",
                icon=":material/close:",
                key="story-end",
                type="primary" if at == last and not state.present else "tertiary",
                on_click=_end,
            )
            if waits:
                _wait()
