"""The run on the canvas: one line above it, and the watch that redraws the page when a run progresses or begins."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.builder.drafting import Drafting, current
from ui.components.builder.stand_ins import rows_for_failed
from ui.components.live.live_controls import live_controls, resume_button
from ui.components.live.live_figures import current_rate
from ui.components.runs.run_actions import cancel_button
from ui.components.runs.run_status import look, read_so_far, seconds
from ui.engines.known import names
from ui.runs.of_pipeline import follow
from ui.runs.overlay import Overlay, overlay
from ui.shell import words
from ui.shell.guard import as_sentence, guarded, guarded_fragment
from ui.shell.navigation import go
from ui.shell.state import state

_REFRESH_S: Final = 0.6
# For a run that somebody starts elsewhere: in another tab, or from a list.
_LOOK_S: Final = 2.0
_DRAWN: Final = "canvas-run-drawn"
_KEY: Final = "canvas-live"
_NAMED: Final = 2


def run_line(shown: Overlay) -> None:
    """Draw the run's status and its controls, within a row."""
    run = shown.run
    run_look = look(run, shown.job)
    st.badge(f"Run {run.run_id} {run_look.word}", icon=run_look.icon, color=run_look.color)  # type: ignore[arg-type]
    st.caption(" · ".join(part for part in _facts(shown) if part), width="content")
    if shown.goes_on and run.is_live:
        live_controls(run, key=_KEY, kind="tertiary")
    elif shown.goes_on:
        cancel_button(run, key="canvas-cancel", kind="tertiary")
    elif run.can_resume:
        resume_button(run, key=_KEY, kind="tertiary")
    if st.button("Open the run", key="canvas-run", type="tertiary", icon=":material/open_in_new:", help="Open the run"):
        go("run")
    for other in shown.others[:1]:
        st.button(
            f"Run {other.run_id} {look(other, None).word}",
            key="canvas-other",
            type="tertiary",
            icon=":material/sensors:",
            help="Another run of this pipeline goes on. Show it on the canvas.",
            on_click=show_run,
            args=(other.run_id,),
        )


@guarded
def show_run(run_id: int) -> None:
    """Show a run of the pipeline on its canvas."""
    state.hold(run=run_id, edge=None, event=None)
    follow(run_id)


def _facts(shown: Overlay) -> list[str]:
    run, job = shown.run, shown.job
    without = f":orange[without {words.count(shown.left_out, 'node')}]" if shown.left_out else ""
    differs = _differs(shown)
    if shown.goes_on and run.is_live:
        per_second = f"{current_rate(run.run_id):,.0f} per second" if run.last_seq else ""
        phase = job.progress.phase if job is not None and job.progress.live is None else ""
        return [
            without,
            differs,
            phase,
            per_second,
            words.count(run.last_seq, "event"),
            f"{words.count(run.records, 'record')} so far",
        ]
    took = seconds(run, job)
    phase = job.progress.phase if job is not None and shown.goes_on else ""
    on = f"on {run.engine}" if len(names()) > 1 else ""
    reads = read_so_far(job.progress) if job is not None and shown.goes_on else ""
    amount = reads or words.count(run.records, "changelog record") + (" so far" if shown.goes_on else "")
    return [without, differs, phase, words.elapsed(took) if took is not None else "", amount, on]


def _differs(shown: Overlay) -> str:
    """Where the pipeline of the run is another one than the canvas shows, before or since."""
    places = sorted(map(words.escaped, shown.changed))
    if len(places) > _NAMED:
        places = [words.count(len(places), "node")]
    places += ["the settings"] if shown.has_new_settings else []
    return f":orange[differs in {' and '.join(places)}]" if places else ""


def run_failure(drafting: Drafting, shown: Overlay) -> None:
    """Draw the error of a failed run; of one that a server failed, also what can be done without the server."""
    run = shown.run
    if run.error:
        place = f"**{run.error_node}**: " if run.error_node else ""
        run_look = look(run, shown.job)
        st.error(place + as_sentence(run.error.removeprefix(f"{run.error_node}: ")), icon=run_look.icon)
        rows_for_failed(drafting, run.error_node)


def run_watch(drafting: Drafting, shown: Overlay | None) -> None:
    """Redraw the page when a run of the pipeline progresses or begins.

    Call it last: it may see newer progress than the rest of the page.
    """
    st.session_state[_DRAWN] = _signature(shown)
    (_watch if shown is not None and shown.goes_on else _look)()


def _watch_once() -> None:
    """Rerun the page when the run has progressed, or another one has begun."""
    drafting = current()
    if drafting is None:
        return
    if _signature(overlay(drafting.pipeline, drafting.identity, state.run)) != st.session_state.get(_DRAWN):
        st.rerun()


_watch: Final = guarded_fragment(run_every=_REFRESH_S)(_watch_once)
_look: Final = guarded_fragment(run_every=_LOOK_S)(_watch_once)


def _signature(shown: Overlay | None) -> tuple[object, ...]:
    """What is drawn of runs. A live run without new events has a rate that falls, second by second."""
    if shown is None:
        return ()
    falls = round(current_rate(shown.run.run_id)) if shown.goes_on and shown.run.is_live else 0
    return *shown.signature, falls
