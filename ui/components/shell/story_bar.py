"""A story on the real pages: the text of the current step, and the buttons to the other steps."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.examples import examples
from engine.model.pipeline import Pipeline
from storage.errors import UnknownRun
from storage.model import Run, RunStatus
from ui.builder.editing import unplaced
from ui.runs.manager import runs
from ui.runs.operator_lines import pipeline_of
from ui.shell import workspace
from ui.shell.guard import guarded, guarded_fragment
from ui.shell.navigation import lead_to
from ui.shell.state import state
from ui.stories import Story, stories

_REFRESH_S: Final = 0.7


def _open_story() -> tuple[str, Story, int] | None:
    """The name in the URL, its story, and the index of the current step, from 0."""
    name, _, number = (state.story or "").rpartition(".")
    story = stories().get(name)
    if story is None or not number.isdecimal():
        return None
    return name, story, min(max(int(number), 1), len(story.steps)) - 1


def told_story() -> Story | None:
    """The story that is open; None if there is none."""
    opened = _open_story()
    return opened[1] if opened is not None else None


def run_of(name: str) -> Run | None:
    """The newest finished or running run of the example; runs of a changed pipeline do not fit the story."""
    document = unplaced(examples()[name])
    stored = workspace.store().runs
    for title in stored.titles(limit=200):
        if title.status in (RunStatus.FINISHED, RunStatus.RUNNING) and title.name == document.name:
            run = stored.get(title.run_id)
            if unplaced(pipeline_of(run)) == document:
                return run
    return None


def story_of(example: Pipeline) -> str | None:
    """The name of an example's story; None if it has no story."""
    return next((name for name in stories() if examples()[name] == example), None)


@guarded
def tell(name: str) -> None:
    """Begin a story on the newest run of its example, or on a new run."""
    run = run_of(name)
    _open(name, 0, run.run_id if run is not None else runs().start(examples()[name]))


@guarded
def _to(name: str, at: int) -> None:
    _open(name, at, state.run)


def _open(name: str, at: int, run_id: int | None) -> None:
    """Open a step: its page, edge and event, and the choices on its page.

    The URL is written last and only once: writing it may make Streamlit interrupt this script run, and half a step
    would remain.
    """
    step = stories()[name].steps[at]
    for key, value in step.choices.items():
        st.session_state[key.format(run=run_id)] = value
    lead_to(step.view)
    state.update(run=run_id, edge=step.edge, event=step.event, story=f"{name}.{at + 1}")


@guarded
def _end() -> None:
    state.story = None


def _is_running(run_id: int | None) -> bool:
    try:
        return run_id is not None and workspace.store().runs.get(run_id).goes_on
    except UnknownRun:
        # The page itself reports a run that no longer exists.
        return False


@guarded_fragment(run_every=_REFRESH_S)
def _wait(run_id: int) -> None:
    """Wait while the example runs. Other parts of the page may have seen its end earlier, so the page is rerun."""
    if not _is_running(run_id):
        st.rerun()
    st.caption(":material/progress_activity: The example is running; the tour continues when it has finished.")


def story_bar() -> None:
    """Draw the current step, if a story is open."""
    opened = _open_story()
    if opened is None:
        return
    name, story, at = opened
    step, last = story.steps[at], len(story.steps) - 1
    waits = _is_running(state.run)
    with st.container(border=True, key="story"):
        st.markdown(f":material/auto_stories: **{story.title}** · step {at + 1} of {last + 1}")
        st.markdown(step.text)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.button(
                "Back",
                icon=":material/arrow_back:",
                key="story-back",
                disabled=at == 0,
                on_click=_to,
                args=(name, at - 1),
            )
            if at < last:
                st.button(
                    "Next step",
                    icon=":material/arrow_forward:",
                    key="story-next",
                    type="primary",
                    disabled=waits,
                    on_click=_to,
                    args=(name, at + 1),
                )
            st.button(
                "Show me again",
                icon=":material/my_location:",
                key="story-here",
                type="tertiary",
                disabled=waits,
                on_click=_to,
                args=(name, at),
                help="Go to the page of this step.",
            )
            st.button(
                "Finish" if at == last else "End the tour",
                icon=":material/close:",
                key="story-end",
                type="primary" if at == last else "tertiary",
                on_click=_end,
            )
            if waits and state.run is not None:
                _wait(state.run)
