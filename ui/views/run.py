"""Run: the open run, live while it goes on, and the list of all runs below."""

from __future__ import annotations

import streamlit as st

from storage.errors import UnknownRun
from storage.model import Run, RunStatus
from ui.builder.drafting import open_of_run
from ui.components.kept.keep_form import keep_as_test
from ui.components.live.live_conditions import warnings_of
from ui.components.live.live_figures import live_figures
from ui.components.live.retention import say_kept
from ui.components.live.written import written_places
from ui.components.runs.ask_flink import ask_flink
from ui.components.runs.batch_check import batch_check
from ui.components.runs.heavy_keys import heavy_keys
from ui.components.runs.left_out_nodes import left_out_nodes
from ui.components.runs.open_run import no_runs, open_or_newest_run
from ui.components.runs.operator_table import operator_table
from ui.components.runs.run_actions import run_actions
from ui.components.runs.run_list import listed, run_list
from ui.components.runs.run_status import facts, look, read_so_far
from ui.components.runs.try_change import try_change
from ui.runs.manager import runs
from ui.runs.operator_lines import operator_lines
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guarded_fragment
from ui.shell.navigation import go
from ui.shell.state import state

_REFRESH_S = 0.7
# Before this much is done, the remaining time cannot be estimated.
_TELLING_S = 5
_TELLING_PART = 0.15


def _heading(run: Run) -> None:
    shown = look(run, runs().job(run.run_id))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(words.escaped(run.name), anchor=False, width="content")
        st.badge(shown.word, icon=shown.icon, color=shown.color)  # type: ignore[arg-type]
        st.space("small")
        # Not at the right edge: there, a button that appears or disappears would move the others under the mouse.
        run_actions(run)


def _in_heading(run: Run) -> object:
    """What determines the buttons: the status, and the pause, as the status change of one epoch may go unnoticed."""
    control = runs().control(run.run_id)
    return run.status, control is not None and control.is_paused


def _time_left(part: float, seconds: float) -> str:
    """The approximate remaining time, once enough of the run is done to estimate it."""
    if seconds < _TELLING_S or not _TELLING_PART <= part < 1:
        return ""
    return f" · about {words.elapsed(seconds * (1 - part) / part)} left"


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(run_id: int, drawn: object, in_list: object) -> None:
    """Draw the part that changes while a run goes on. Once the run has ended, the page is rerun and then stays still.

    drawn, in_list: the content of the heading and of the list below; if one changes, the page is rerun.
    """
    store = workspace.store()
    try:
        run, job = store.runs.get(run_id), runs().job(run_id)
    except UnknownRun:
        # Another session has deleted it: the page says so, and shows another run.
        st.rerun()
    if _in_heading(run) != drawn or listed() != in_list:
        st.rerun()
    if job is None:
        st.caption("It was started by another process, so its progress is not known here.")
        return
    if run.engine:
        st.caption(
            f"run {run_id} · on {words.code(run.engine)}{' · live' if run.is_live else ''} · all numbers are so far"
        )
    progress = job.progress
    lines = operator_lines(run, job)
    if run.is_live:
        # Each part has its own container: a part that appears or disappears does not take another part's place.
        with st.container():
            if progress.live is None:
                st.progress(0.0, text=f"{progress.phase} · {job.seconds:.0f} s")
        live_figures(store, run, job)
        with st.container():
            written_places(store, run, job)
        with st.container():
            warnings_of(run)
        with st.container():
            say_kept(run)
        operator_table(lines, key="operators-live")
        _ways_on(run, has_records=run.records > 0)
        return
    done = sum(line.state == "done" for line in lines)
    epochs = max(progress.epochs, 1)
    part = (min(progress.epoch, epochs - 1) + done / max(len(lines), 1)) / epochs
    epoch = f" · epoch {min(progress.epoch + 1, epochs)} of {epochs}" if epochs > 1 else ""
    phase = "cancelling" if job.cancel.is_set() else progress.phase
    # The records of an epoch are in the store only once it is complete.
    emitted = sum(node.records_out or 0 for node in progress.nodes.values())
    if so_far := read_so_far(progress) or (f"{words.count(emitted, 'changelog record')} so far" if emitted else ""):
        st.caption(so_far)
    st.progress(min(part, 1.0), text=f"{phase}{epoch} · {job.seconds:.0f} s{_time_left(part, job.seconds)}")
    operator_table(lines, key="operators-live")


def _ended(run: Run) -> None:
    store = workspace.store()
    st.caption(facts(run, runs().job(run.run_id)))
    if run.error:
        place = f"**{run.error_node}**: " if run.error_node else ""
        message = place + as_sentence(run.error.removeprefix(f"{run.error_node}: "))
        show = st.error if run.status is RunStatus.FAILED else st.warning
        show(message, icon=look(run, None).icon)
    written_places(store, run, None)
    warnings_of(run)
    say_kept(run)
    counters = store.runs.counters(run.run_id)
    operator_table(operator_lines(run, runs().job(run.run_id)), key="operators")
    heavy_keys(run)
    batch_check(run)
    ask_flink(run)
    _ways_on(run, has_records=any(counter.records_out for counter in counters))


def _ways_on(run: Run, *, has_records: bool) -> None:
    with st.container(horizontal=True):
        if st.button("Open the changelog", icon=":material/receipt_long:", type="primary", disabled=not has_records):
            state.run = run.run_id
            go("changelog")
        if st.button("Look at event time", icon=":material/timeline:", disabled=not has_records):
            state.run = run.run_id
            go("event_time")
        if st.button("Compare with another run", icon=":material/compare_arrows:", disabled=not has_records):
            state.run = run.run_id
            go("compare")
        try_change(run, has_records=has_records)
        keep_as_test(run, has_records=has_records)
        if st.button("Open on the canvas", icon=":material/account_tree:"):
            open_of_run(run)
            go("build")


chosen = open_or_newest_run()
if chosen is None:
    no_runs("No runs yet", "A run executes a pipeline on Spark and keeps every changelog record that it emits.")
else:
    # Read before the heading is drawn, so that a change in the meantime is noticed.
    in_heading = _in_heading(chosen)
    _heading(chosen)
    left_out_nodes(chosen)
    if chosen.goes_on:
        _going_on(chosen.run_id, in_heading, listed())
    else:
        _ended(chosen)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader("All runs", anchor=False, width="content")
        st.space("stretch")
        if st.button("Tests", icon=":material/fact_check:", key="to-tests", help="The runs that were kept as tests."):
            go("tests")
    run_list(chosen.run_id)
