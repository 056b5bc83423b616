"""The way from delays that are tried to a run: the pipeline that gets them, the engine, and the button."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.model.pipeline import Pipeline
from storage.errors import UnknownPipeline
from storage.event_time.needed_waits import LateOperator
from storage.model import Run
from ui.access.people import person
from ui.builder.drafting import open_draft, open_of_run
from ui.builder.merging import changed_nodes, is_same
from ui.components.engines.engine_choice import chosen_engine, run_engine
from ui.components.event_time.tried_delays import Tried
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go, lead_to
from ui.shell.state import state


@dataclass(frozen=True)
class _Base:
    """The pipeline that gets the settings. newest: its version, if that is newer than the run's; else None."""

    pipeline: Pipeline
    newest: int | None = None


def _base(run: Run, operator: LateOperator) -> _Base:
    """The run's pipeline or its newest version; if the two differ, draw the choice between them."""
    ran = Pipeline.from_json(run.document)
    if run.pipeline_id is None or run.pipeline_version is None:
        return _Base(ran)
    try:
        newest = workspace.store().pipelines.load(run.pipeline_id)
    except UnknownPipeline:
        return _Base(ran)
    document = Pipeline.from_json(newest.document)
    if newest.version <= run.pipeline_version or is_same(document, ran):
        return _Base(ran)
    changed = ", ".join(changed_nodes(ran, document)) or "the order of arrival or the options"
    st.info(
        f"This run used version {run.pipeline_version}. The newest, version {newest.version}, has changes in "
        f"{words.escaped(changed)}.",
        icon=":material/info:",
    )
    names = {node.id for node in document.nodes}
    missing = [name for name in (operator.node, *operator.sources) if name not in names]
    if missing:
        st.caption(
            f"Version {newest.version} has no {words.escaped(missing[0])}: the settings apply to this run's version."
        )
        return _Base(ran)
    latest = f"Version {newest.version}, the newest"
    chosen = st.segmented_control(
        "Apply to",
        [latest, f"Version {run.pipeline_version}, as it ran"],
        default=latest,
        required=True,
        key=f"what-if-base-{run.run_id}",
        help="Start from the newest version and keep its other changes, or start from the version that ran.",
    )
    return _Base(document, newest.version) if chosen == latest else _Base(ran)


def _changed(pipeline: Pipeline, tried: Tried) -> Pipeline:
    """The pipeline with these delays and this allowed lateness."""
    nodes, operator = [], tried.operator
    for node in pipeline.nodes:
        parameters = dict(node.parameters)
        if node.id in operator.delays_ms:
            parameters["watermark_delay_ms"] = operator.delays_ms[node.id]
        if node.id == operator.node and operator.rule.lateness_parameter:
            parameters[operator.rule.lateness_parameter] = tried.lateness_ms
        nodes.append(node.with_parameters(parameters))
    return pipeline.model_copy(update={"nodes": tuple(nodes)})


@guarded
def _run_it(run: Run, base: _Base, operator: LateOperator, top_ms: int) -> None:
    # As the address is now: a press right after a number was typed comes before the page is drawn with it.
    tried = Tried.of(operator, top_ms)
    if tried.is_as_it_ran(operator):
        st.toast(f"Nothing differs from run {run.run_id}: choose another delay first.", icon=":material/info:")
        return
    pipeline = _changed(base.pipeline, tried)
    version = run.pipeline_version
    if run.pipeline_id is not None:
        note = f"{tried.told}, based on version {base.newest or run.pipeline_version}"
        saved = workspace.store().pipelines.save(
            pipeline.to_json(), name=pipeline.name, pipeline_id=run.pipeline_id, note=note, made_by=person()
        )
        version = saved.version
    elif run.identity:
        _draft_it(run, base, tried)
    started = runs().start(
        pipeline,
        master=chosen_engine(_engine_key(run), run.engine),
        pipeline_id=run.pipeline_id,
        pipeline_version=version,
        identity=run.identity,
    )
    lead_to("run")
    state.update(run=started, versus=run.run_id, edge=None, event=None)


def _draft_it(run: Run, base: _Base, tried: Tried) -> None:
    """The draft that ran gets these delays, too; one that was edited since keeps its own."""
    drafting = open_of_run(run)
    if is_same(drafting.pipeline, base.pipeline):
        drafting.edit(_changed(drafting.pipeline, tried))
    else:
        st.toast("The draft in Build was edited since, and keeps its delays.", icon=":material/info:")


def _engine_key(run: Run) -> str:
    return f"what-if-engine-{run.run_id}"


def apply_delays(run: Run, operator: LateOperator, tried: Tried, top_ms: int) -> None:
    """Draw what applies the delays that are tried: as a run of a new version, or in the builder."""
    base = _base(run, operator)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run_engine(run.engine, key=_engine_key(run), only_if_several=True)
        st.button(
            "Apply and run",
            type="primary",
            icon=":material/play_arrow:",
            key="what-if-run",
            on_click=_run_it,
            args=(run, base, operator, top_ms),
            help="Changes the pipeline (a new version, if it is saved), runs it, and compares it with this run.",
        )
        if st.button("Open in the builder", icon=":material/edit_square:", key="what-if-draft"):
            open_draft(_changed(base.pipeline, tried), identity=run.identity)
            go("build")
