"""The story of a pipeline by its name, the run that it is told on, and what of its steps is not there.

The name of a story: that of its example, else the identity of its pipeline.
"""

from __future__ import annotations

from typing import Final

from engine.errors import StudioError
from engine.examples import examples
from engine.model.pipeline import Pipeline
from engine.model.story import Step, Story
from storage import Store
from storage.errors import UnknownRun
from storage.model import Draft, Run, RunStatus
from ui.builder.history import History
from ui.builder.merging import is_same
from ui.runs.operator_lines import pipeline_of
from ui.shell import words
from ui.shell.navigation import VIEWS

_LOOKED_AT: Final = 200
_TOLD: Final = (RunStatus.FINISHED, RunStatus.RUNNING)


def told_pipeline(store: Store, name: str) -> Pipeline | None:
    """The pipeline of this name: an example, or the newest draft, or the newest version; None if there is none."""
    if name in examples():
        return examples()[name]
    try:
        for draft in store.drafts.list():
            if draft.identity == name:
                return History.from_json(draft.document).now
        for summary in store.pipelines.list():
            if summary.identity == name:
                return Pipeline.from_json(store.pipelines.load(summary.pipeline_id).document)
    except StudioError:
        # It was written by a newer studio: its own page says so.
        return None
    return None


def draft_about(store: Store, run: Run) -> Draft | None:
    """The newest draft with a story about this run; for a run that has no identity itself."""
    for draft in store.drafts.list():
        try:
            story = History.from_json(draft.document).now.story
        except StudioError:
            # Another draft's damage is not this run's.
            continue
        if story is not None and story.run == run.run_id:
            return draft
    return None


def story_of_run(store: Store, run: Run) -> Story | None:
    """The story of a run's pipeline: as it is now, else as it was when it ran."""
    about = draft_about(store, run) if not run.identity else None
    now = told_pipeline(store, about.identity if about is not None else run.identity)
    if now is not None and now.story is not None:
        return now.story
    ran = pipeline_of(run)
    return ran.story or next((example.story for example in examples().values() if is_same(example, ran)), None)


def run_told(store: Store, name: str, pipeline: Pipeline) -> Run | None:
    """The run of the story, else the newest finished or running one of its pipeline; None if there is none.

    A run without an identity is one of the pipeline if it ran the same.
    """
    if pipeline.story is not None and (own := _own_run(store, name, pipeline, pipeline.story)) is not None:
        return own
    for title in store.runs.titles(limit=_LOOKED_AT, identity=name):
        if title.status in _TOLD:
            return store.runs.get(title.run_id)
    for title in store.runs.titles(limit=_LOOKED_AT):
        if title.status in _TOLD and title.name == pipeline.name:
            run = store.runs.get(title.run_id)
            if is_same(pipeline_of(run), pipeline):
                return run
    return None


def is_about(name: str, pipeline: Pipeline, run: Run) -> bool:
    """Whether a run is one of the story's pipeline, whatever has been changed since; an example's run by its name."""
    return run.identity == name or (not run.identity and run.name == pipeline.name)


def _own_run(store: Store, name: str, pipeline: Pipeline, story: Story) -> Run | None:
    try:
        run = store.runs.get(story.run) if story.run is not None else None
    except UnknownRun:
        return None
    # In another store, its number may be that of another pipeline's run.
    return run if run is not None and is_about(name, pipeline, run) else None


def _is_here(store: Store, number: int | None, beside: Run) -> bool:
    try:
        return number is not None and store.runs.get(number).identity in ("", beside.identity)
    except UnknownRun:
        return False


def missing(store: Store, story: Story, step: Step, run: Run | None) -> tuple[str, ...]:
    """What of a step is not there, each as a sentence of Markdown. run: the one that it is told on."""
    if run is None:
        return ("There is no run of this pipeline: run it to see this step.",)
    said = []
    if story.run not in (None, run.run_id) and not _is_here(store, story.run, run):
        said.append(f"Run {story.run}, which the story is about, is gone. This is run {run.run_id}.")
    if step.page not in {view.file for view in VIEWS}:
        said.append(f"There is no page {words.code(step.page)}.")
    if step.edge is not None and step.edge not in {edge.name for edge in store.runs.edges(run.run_id)}:
        said.append(f"Run {run.run_id} has no edge {words.code(step.edge)}.")
    if step.event is not None and not run.goes_on and not max(run.kept_from - 1, 0) <= step.event <= run.last_seq:
        start = f" from {run.kept_from:,}" if run.kept_from > 1 else ""
        said.append(f"Run {run.run_id} has no event {step.event:,}: it has those{start} to {run.last_seq:,}.")
    return tuple(said)
