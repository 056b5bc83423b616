"""What if: the effect of another watermark delay or allowed lateness, shown at once without a run, then applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from engine.model.pipeline import Pipeline
from engine.model.zones import Zone
from storage.errors import UnknownPipeline
from storage.event_time.needed_waits import LateOperator
from storage.event_time.what_if import Losses, WhatIfRecord
from storage.model import Run
from ui.access.people import person
from ui.builder.drafting import open_draft
from ui.builder.merging import changed_nodes, is_same
from ui.components.engines.engine_choice import chosen_engine, run_engine
from ui.components.event_time.late_link import is_late, open_late_file, what_if_key
from ui.components.event_time.loss_chart import loss_chart
from ui.components.grid import Cell, Row, Table, grid
from ui.components.runs.next_steps import next_steps
from ui.components.runs.open_run import opened_run
from ui.components.runs.so_far import all_clear
from ui.components.shell.pager import pager
from ui.components.time_travel.event_player import move_to
from ui.forms.durations import durations_to
from ui.inspect.older_plans import with_late_rules
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go, lead_to
from ui.shell.state import state
from ui.shell.theme import draw_figure

_PAGE: Final = 50
_STOPS: Final = 100
_TRADE_OFF: Final = "The delay beyond which waiting longer keeps only few more records."


def _top(operator: LateOperator, losses: Losses) -> int:
    """The maximum of the sliders in whole seconds: above the lossless wait, the current settings and the window."""
    lateness = operator.rule.allowed_lateness_ms or 0
    wanted = max(losses.lossless_ms * 5 // 4, operator.delay_ms * 2, lateness * 2, operator.rule.window_ms, 1000)
    return -(-wanted // 1000) * 1000


def _worth_trying(losses: Losses, other_ms: int) -> list[int]:
    """The values at which one more record is kept, given what the other slider adds; a sample if there are many."""
    needed = sorted({int(each) - other_ms for each in losses.needed})
    return [each for each in needed[:: 1 + len(needed) // _STOPS] if each > 0]


@guarded
def _set(key: str, delay_ms: int, lateness_ms: int) -> None:
    st.session_state[f"{key}-delay"] = delay_ms
    st.session_state[f"{key}-lateness"] = lateness_ms


def _sliders(operator: LateOperator, losses: Losses, key: str) -> tuple[int, int]:
    top, lateness = _top(operator, losses), operator.rule.allowed_lateness_ms
    st.session_state.setdefault(f"{key}-delay", operator.delay_ms)
    st.session_state.setdefault(f"{key}-lateness", lateness or 0)
    now = int(st.session_state[f"{key}-delay"]), int(st.session_state[f"{key}-lateness"])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        delay_ms = st.select_slider(
            f"Watermark delay of {' and '.join(operator.sources)}",
            durations_to(top, operator.delay_ms, now[0], *_worth_trying(losses, now[1])),
            format_func=words.duration,
            key=f"{key}-delay",
            help="Results wait this long." if operator.rule.delays_results else "Rows are kept this much longer.",
        )
        lateness_ms = 0
        if lateness is not None:
            lateness_ms = st.select_slider(
                f"Allowed lateness of {operator.node}",
                durations_to(top, lateness, now[1], *_worth_trying(losses, delay_ms)),
                format_func=words.duration,
                key=f"{key}-lateness",
            )
    known = lateness_ms if lateness is not None else 0
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _keep(losses, key, known)
        for label, at, name, explanation in (
            ("As it ran", operator.delay_ms, "ran", None),
            ("Best trade-off", max(0, losses.knee_ms() - known), "knee", _TRADE_OFF),
            ("Nothing dropped", max(0, losses.lossless_ms - known), "lossless", None),
        ):
            preset_lateness = (lateness or 0) if name == "ran" else known
            st.button(
                f"{label}: {words.duration(at)}",
                key=f"{key}-{name}",
                on_click=_set,
                args=(key, at, preset_lateness),
                type="secondary",
                help=explanation,
            )
    return int(delay_ms), int(lateness_ms)


def _keep(losses: Losses, key: str, lateness_ms: int) -> None:
    """Draw the field that takes a share of the records, and sets the smallest delay that keeps it."""
    field = f"{key}-share"

    def take() -> None:
        share = st.session_state[field]
        if share is not None:
            _set(key, max(0, losses.wait_for(share / 100) - lateness_ms), lateness_ms)

    st.number_input(
        "Keep % of the records",
        min_value=0.0,
        max_value=100.0,
        value=None,
        step=0.1,
        format="%.2f",
        key=field,
        on_change=guarded(take),
        placeholder="99.9",
        help="Sets the smallest delay with which no more records are dropped than that.",
        width=190,
    )


def _figures(run: Run, operator: LateOperator, losses: Losses, delay_ms: int, lateness_ms: int) -> None:
    now = losses.lost(operator.wait_ms)
    then = losses.lost(delay_ms + lateness_ms)
    wait = workspace.store().added_latency.compared(run.run_id, operator, delay_ms)
    with st.container(horizontal=True):
        kept = losses.total - then
        st.metric("Records kept", f"{kept:,} of {losses.total:,}", f"{now - then:+,}" if now != then else None)
        st.metric("Records dropped", f"{then:,}", f"{then - now:+,}" if now != then else None, delta_color="inverse")
        st.metric(
            "Results wait" if operator.rule.delays_results else "Rows are kept longer by",
            words.duration(delay_ms),
            _signed(delay_ms - operator.delay_ms) if delay_ms != operator.delay_ms else None,
            delta_color="inverse",
        )
        if wait.windows:
            st.metric(
                "Windows fire",
                f"{abs(wait.events):,.1f} events {'earlier' if wait.events < 0 else 'later'}"
                if wait.events
                else "as in the run",
                help="On average, compared with the run.",
            )
    if wait.at_end and delay_ms > operator.delay_ms:
        st.caption(
            f"{wait.at_end:,} of {words.count(wait.windows, 'window')} would fire only at the end of the input: no "
            "record advances the watermark that far."
        )
    if not operator.is_exact:
        st.caption(
            "Approximate: the result also depends on other records (sessions merge, joined rows keep each other), on "
            "sources with different delays, or on an earlier watermark. A run gives the exact result."
        )


def _signed(ms: int) -> str:
    return f"+{words.duration(ms)}" if ms > 0 else f"-{words.duration(-ms)}"


def _records(run: Run, operator: LateOperator, delay_ms: int, lateness_ms: int, losses: Losses) -> None:
    total = losses.lost(min(operator.wait_ms, delay_ms + lateness_ms))
    if not total:
        all_clear("No record is dropped, neither in the run nor with these settings", run)
        return
    key = f"what-if-{run.run_id}-{operator.node}-{delay_ms}-{lateness_ms}"
    offset = int(st.session_state.get(key, 0))
    records = workspace.store().what_if.records(run.run_id, operator, delay_ms, lateness_ms, offset=offset, limit=_PAGE)
    st.markdown("**Which records**")
    windows = ("end of its window",) if operator.rule.window_ms else ()
    zone = workspace.store().runs.zone(run.run_id)
    delay = "kept by a delay of"
    columns = ("event", "with these settings", words.event_time(zone), *windows, delay, "record")
    rows = [_record(each, lateness_ms, bool(windows), zone) for each in records]
    grid(
        Table(columns, rows, frozenset({"event", delay})),
        key=f"what-if-grid-{run.run_id}",
        height=340,
        on_pick=lambda seq: _picked(run, int(seq)),
        label="Records that would be dropped or kept",
    )
    pager(key, offset, _PAGE, total, what="records")


def _picked(run: Run, event: int) -> None:
    """Open the record's file if it was late in the run; a record that only these settings would drop has none."""
    if is_late(run, event):
        open_late_file(run.run_id, event)
    else:
        move_to(event)


def _record(each: WhatIfRecord, lateness_ms: int, has_window: bool, zone: Zone | None) -> Row:
    """lateness_ms: what the windows allow with these settings, which adds to a delay."""
    words_of = {(True, True): ("still dropped", "bad"), (True, False): ("kept", "good")}
    outcome, tone = words_of.get((each.was_late, each.is_late), ("dropped now", "bad"))
    end_ms = each.window_end_ms
    return Row(
        (
            Cell(f"{each.seq:,}", is_number=True),
            Cell(outcome, tone=tone, is_strong=True),
            Cell(words.instant(each.event_time_ms, zone)),
            *((Cell("" if end_ms is None else words.instant(end_ms, zone)),) if has_window else ()),
            Cell(words.duration(max(0, each.needed_ms - lateness_ms)), is_number=True),
            Cell(words.record(each.columns, each.values) if each.values else ""),
        ),
        pick=str(each.seq),
        is_current=each.seq == state.event,
    )


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


def _changed(pipeline: Pipeline, operator: LateOperator, delay_ms: int, lateness_ms: int) -> Pipeline:
    """The pipeline with this delay and this allowed lateness."""
    nodes = []
    for node in pipeline.nodes:
        parameters = dict(node.parameters)
        if node.id in operator.sources:
            parameters["watermark_delay_ms"] = delay_ms
        if node.id == operator.node and operator.rule.lateness_parameter:
            parameters[operator.rule.lateness_parameter] = lateness_ms
        nodes.append(node.with_parameters(parameters))
    return pipeline.model_copy(update={"nodes": tuple(nodes)})


@guarded
def _run_it(run: Run, base: _Base, operator: LateOperator, delay_ms: int, lateness_ms: int) -> None:
    pipeline = _changed(base.pipeline, operator, delay_ms, lateness_ms)
    version = run.pipeline_version
    if run.pipeline_id is not None:
        note = f"delay {words.duration(delay_ms)}, based on version {base.newest or run.pipeline_version}"
        saved = workspace.store().pipelines.save(
            pipeline.to_json(), name=pipeline.name, pipeline_id=run.pipeline_id, note=note, made_by=person()
        )
        version = saved.version
    started = runs().start(
        pipeline,
        master=chosen_engine(_engine_key(run), run.engine),
        pipeline_id=run.pipeline_id,
        pipeline_version=version,
        identity=run.identity,
    )
    lead_to("run")
    state.update(run=started, versus=run.run_id, edge=None, event=None)


def _engine_key(run: Run) -> str:
    return f"what-if-engine-{run.run_id}"


def _apply(run: Run, operator: LateOperator, delay_ms: int, lateness_ms: int) -> None:
    same = (delay_ms, lateness_ms) == (operator.delay_ms, operator.rule.allowed_lateness_ms or 0)
    base = _base(run, operator)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run_engine(run.engine, key=_engine_key(run), only_if_several=True)
        st.button(
            "Apply and run",
            type="primary",
            icon=":material/play_arrow:",
            key="what-if-run",
            disabled=same,
            on_click=_run_it,
            args=(run, base, operator, delay_ms, lateness_ms),
            help="Saves a new version (if the pipeline is saved), runs it, and compares it with this run.",
        )
        if st.button("Open in the builder", icon=":material/edit_square:", key="what-if-draft", disabled=same):
            open_draft(_changed(base.pipeline, operator, delay_ms, lateness_ms), identity=run.identity)
            go("build")


def _show(run: Run) -> None:
    operators = {each.node: each for each in workspace.store().what_if.operators(run.run_id)}
    if not operators:
        st.info(
            "This page predicts the late records of windows, interval joins, over aggregates, sorting by time, pattern "
            "matching and the first row by event time, below sources with a **watermark delay**. This run has none of "
            "these.",
            icon=":material/info:",
        )
        next_steps(run, "Add a window, or a watermark delay")
        return
    names = list(operators)
    node = names[0]
    if len(names) > 1:
        node = st.selectbox("Operator", names, key=f"what-if-node-{run.run_id}")
    operator = operators[node]
    losses = workspace.store().what_if.losses(run.run_id, operator)
    delay_ms, lateness_ms = _sliders(operator, losses, what_if_key(run.run_id, node))
    _figures(run, operator, losses, delay_ms, lateness_ms)
    _apply(run, operator, delay_ms, lateness_ms)
    draw_figure(loss_chart(losses, operator, delay_ms, lateness_ms, _top(operator, losses)), "loss-chart")
    _records(run, operator, delay_ms, lateness_ms, losses)


chosen = opened_run()
if chosen is not None:
    _show(with_late_rules(chosen))
