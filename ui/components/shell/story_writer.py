"""The form of a story, beside every page: what is on screen becomes a step by one press."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from engine.errors import PipelineError
from engine.model.story import LONGEST_TEXT, Step, Story
from storage.model import Run
from ui.builder.drafting import Drafting, edited, open_of_run, resume
from ui.builder.merging import is_same
from ui.components.shell.story_bar import OpenStory, open_story, opened_run, to_step
from ui.components.sql.query_state import last_query
from ui.export.record import aside
from ui.shell import frame, words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import INSPECT, VIEWS, View
from ui.shell.pending import pending
from ui.shell.state import SHOWN, state
from ui.stories.telling import draft_about, is_about, missing
from ui.stories.writing import added, moved, removed, replaced

_WITH_STEPS: Final = ("build", "run", "sql")
_ABOUT_AN_EDGE: Final = ("changelog", "time_travel", "retractions", "why_retraction")
_OF_A_PAGE: Final = {"versus": "compare", "selection": "build", "sql": "sql"}
_LINE: Final = 46


def story_button(view: View) -> None:
    """Draw the button that opens and closes the form, within a row, on pages that show a run."""
    if view.place != INSPECT and view.file not in _WITH_STEPS:
        return
    run = opened_run()
    st.button(
        "Story",
        icon=":material/auto_stories:",
        type="tertiary",
        key="story-write",
        on_click=_close if state.write else _begin,
        args=() if state.write else (view,),
        disabled=run is None,
        help="Write down what to see in this run, step by step" if run is not None else "Run the pipeline first.",
    )


@guarded
def _begin(view: View) -> None:
    """Open the form at the step that is shown, or at none: what is shown is never changed, and never overwritten."""
    run = opened_run()
    if run is None:
        return
    opened = open_story()
    is_open = opened is not None and is_about(opened.name, opened.pipeline, run)
    drafting = _draft_of(run)
    if is_open and opened is not None:
        at = opened.at
    else:
        steps = drafting.pipeline.story.steps if drafting.pipeline.story is not None else ()
        shown = _taken(view)
        at = next((at for at, step in enumerate(steps) if step.model_copy(update={"text": ""}) == shown), -1)
    state.update(story=f"{drafting.identity}.{at + 1}", write="on")


def _draft_of(run: Run) -> Drafting:
    """The draft of a run's pipeline; of a run that is of no pipeline, the one whose story is about it."""
    drafting = edited()
    if drafting is not None and run.identity and drafting.identity == run.identity:
        return drafting
    if not run.identity:
        about = draft_about(workspace.store(), run)
        if about is not None and (resumed := resume(about.key)) is not None:
            return resumed
    return open_of_run(run)


@guarded
def _close() -> None:
    state.update(story=None, write=None)


def story_writer(view: View) -> None:
    """Draw the form, if a story is being written."""
    if not state.write or state.present:
        return
    drafting = edited() or (resume(state.draft) if state.draft else None)
    opened = open_story()
    if opened is None or drafting is None or drafting.identity != opened.name:
        return
    run = opened_run()
    st.html(frame.BESIDE)
    with aside(), st.container(key="story-form", gap="small"):
        _head(drafting, opened)
        for at, step in enumerate(opened.story.steps):
            _step(drafting, opened, at, step, run, view)
        if not opened.story.steps:
            st.caption(
                "Open a page, an event and an edge, then add what is shown as a step, and say what to see there."
            )
        _foot(drafting, opened, run, view)


def _head(drafting: Drafting, opened: OpenStory) -> None:
    with st.container(key="story-form-head", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.markdown("**Story**", width="content")
        st.space("stretch")
        _tool("Undo", "undo", _undo, drafting, off=not _can_undo(drafting), help_="Undo the last change of the story")
        _tool(
            "New story",
            "note_add",
            _renew,
            drafting,
            off=not opened.story.steps,
            help_="Begin anew, without these steps. Undo brings them back.",
        )
        _tool("Close", "close", _close, help_="Close. The story is kept with its pipeline.")
    key = f"story-title|{drafting.key}|{drafting.generation('story')}"

    def take(typed: str) -> None:
        story = drafting.pipeline.story or opened.story
        if typed.strip() != story.title:
            _edit(drafting, story.model_copy(update={"title": typed.strip() or opened.pipeline.name}), redraw=False)

    pending().draw(key, opened.story.title, take)
    st.text_input("Title of the story", opened.story.title, key=key, max_chars=200, label_visibility="collapsed")


def _step(drafting: Drafting, opened: OpenStory, at: int, step: Step, run: Run | None, view: View) -> None:
    """A step as one line that opens it; the open one with its words and what can be done with it."""
    name, last = f"{drafting.key}|{at}", len(opened.story.steps) - 1
    is_open = at == opened.at
    gone = missing(workspace.store(), opened.story, step, run)
    with st.container(key=f"story-step-{at}{'-open' if is_open else ''}", gap="xsmall"):
        st.button(
            f"**{at + 1}** {_place(step)}" + ("" if is_open else f"  \n:small[{words.escaped(_line(step.text))}]"),
            icon=":material/warning:" if gone else None,
            key=f"story-open|{name}",
            type="tertiary",
            width="stretch",
            on_click=guarded(to_step),
            args=(at,),
            help=" ".join(gone) or None,
        )
        if not is_open:
            return
        key = f"story-words|{name}|{drafting.generation('story')}"

        def take(typed: str) -> None:
            now = drafting.pipeline.story
            if now is not None and at < len(now.steps):
                changed = now.steps[at].model_copy(update={"text": typed[:LONGEST_TEXT].strip()})
                _edit(drafting, replaced(now, at, changed), redraw=False)

        pending().draw(key, step.text, take)
        st.text_area(
            f"Words of step {at + 1}",
            step.text,
            key=key,
            height=130,
            max_chars=LONGEST_TEXT,
            placeholder="What is to be seen here. **Bold**, *italic* and `code` are marks.",
            label_visibility="collapsed",
        )
        for sentence in gone:
            st.caption(f":material/warning: {sentence}")
        with st.container(horizontal=True, gap="xsmall"):
            _tool("Move up", "arrow_upward", _move, drafting, -1, off=at == 0)
            _tool("Move down", "arrow_downward", _move, drafting, 1, off=at == last)
            _tool(
                "Take what is shown instead",
                "screenshot_region",
                _retake,
                drafting,
                view,
                off=not _fits(opened, run, view),
            )
            st.space("stretch")
            _tool("Delete the step", "delete", _remove, drafting)


def _foot(drafting: Drafting, opened: OpenStory, run: Run | None, view: View) -> None:
    st.button(
        "Add what is shown",
        icon=":material/add_to_photos:",
        key="story-add",
        type="primary" if not opened.story.steps else "secondary",
        width="stretch",
        on_click=guarded(_add),
        args=(drafting, view),
        disabled=not _fits(opened, run, view),
        help="This page, with its event, edge and choices, as a step after the open one, or at the end",
    )
    if not opened.story.steps:
        return
    st.button(
        "Present from the first step",
        icon=":material/slideshow:",
        key="story-present",
        width="stretch",
        on_click=guarded(_present),
    )
    told_on = opened.story.run
    if run is not None and told_on is not None and run.run_id != told_on and _fits(opened, run, view):
        st.caption(f"The story is about run {told_on}; this is run {run.run_id}.")
        _tool(f"Tell it about run {run.run_id}", "swap_horiz", _about, drafting, run.run_id)


def _fits(opened: OpenStory, run: Run | None, view: View) -> bool:
    """Whether what is shown can be a step."""
    has_steps = view.place == INSPECT or view.file in _WITH_STEPS
    return has_steps and run is not None and is_about(opened.name, opened.pipeline, run)


def _tool(
    title: str, icon: str, act: Callable[..., None], *args: object, off: bool = False, help_: str | None = None
) -> None:
    st.button(
        title,
        icon=f":material/{icon}:",
        key=f"story-{icon}",
        type="tertiary",
        on_click=guarded(act),
        args=args,
        disabled=off,
        help=help_ or title,
    )


def _place(step: Step) -> str:
    """The page, the edge and the event of a step."""
    page = next((view.title for view in VIEWS if view.file == step.page), step.page)
    event = f"event {step.event:,}" if step.event is not None else None
    return words.escaped(" · ".join(filter(None, (page, step.edge, event))))


def _line(text: str) -> str:
    line = " ".join(text.replace("*", "").replace("`", "").split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _taken(view: View, text: str = "") -> Step:
    """What is on screen as a step."""
    asked = last_query() if view.file == "sql" else None
    query = state.as_query() | ({"sql": asked} if asked else {})
    shown: dict[str, str] = {
        name: query[name] for name in SHOWN if name in query and _OF_A_PAGE.get(name, view.file) == view.file
    }
    edge = state.edge if view.file in _ABOUT_AN_EDGE else None
    return Step(page=view.file, text=text, edge=edge, event=state.event, shown=shown)


def _edit(drafting: Drafting, story: Story, *, redraw: bool = True) -> None:
    drafting.edit(drafting.pipeline.model_copy(update={"story": story}), redraw=redraw)


def _add(drafting: Drafting, view: View) -> None:
    name, _, story, at = _now()
    if not story.steps:
        story = story.model_copy(update={"run": state.run})
    after = at if at >= 0 else len(story.steps) - 1
    _edit(drafting, added(story, _taken(view), after))
    _open(name, after + 1)


def _retake(drafting: Drafting, view: View) -> None:
    _, _, story, at = _now()
    _edit(drafting, replaced(story, at, _taken(view, story.steps[at].text)))


def _move(drafting: Drafting, by: int) -> None:
    name, _, story, at = _now()
    _edit(drafting, moved(story, at, at + by))
    _open(name, min(max(at + by, 0), len(story.steps) - 1))


def _remove(drafting: Drafting) -> None:
    name, _, story, at = _now()
    _edit(drafting, removed(story, at))
    _open(name, min(at, len(story.steps) - 2))


def _renew(drafting: Drafting) -> None:
    name, pipeline, _, _ = _now()
    _edit(drafting, Story(title=pipeline.name))
    _open(name, -1)


def _about(drafting: Drafting, run_id: int) -> None:
    _edit(drafting, _now().story.model_copy(update={"run": run_id}))


def _now() -> OpenStory:
    """The story as it is, not as it was drawn: a second press may come before the first one is drawn."""
    opened = open_story()
    if opened is None:
        message = "the story is no longer open. Press Story to open it again."
        raise PipelineError(message, "", "story")
    return opened


def _open(name: str, at: int) -> None:
    """Open a step in the form; the page stays."""
    state.update(story=f"{name}.{max(at, 0) + 1}")


def _present() -> None:
    state.hold(present="on")
    to_step(0)


def _can_undo(drafting: Drafting) -> bool:
    """Whether the last edit was one of the story alone."""
    now, past = drafting.pipeline, drafting.history.past
    return bool(past) and past[-1].story != now.story and is_same(past[-1], now)


def _undo(drafting: Drafting) -> None:
    drafting.undo()
