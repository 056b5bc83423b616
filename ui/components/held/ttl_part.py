"""What if: the run's records again with other state TTLs, the size of the state against the results that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from engine.model.changelog import RowKind
from engine.model.options import state_ttl_ms
from engine.model.pipeline import Pipeline
from engine.model.state_ttl import with_ttl
from engine.model.timeline import MIN_WATERMARK
from storage.model import Run
from ui.builder.drafting import open_draft
from ui.components.grid import Cell, Row, Table, grid
from ui.components.held.ttl_chart import ttl_chart
from ui.components.time_travel.event_player import move_to
from ui.forms.durations import parse_duration
from ui.runs.ttl_trials import Found, FoundResult, FoundTrial, Going, trials
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guarded, guarded_fragment
from ui.shell.navigation import go
from ui.shell.theme import draw_figure

_OFFERED: Final = ("1 h", "6 h", "1 d", "7 d")
_REFRESH_S: Final = 0.7


def ttl_part(run: Run) -> None:
    """Draw the choice of TTLs, the trials that go on, and what is known."""
    if workspace.store().replays.marks(run.run_id).time_at(run.last_seq) == MIN_WATERMARK:
        st.info(
            "Nothing expires in this run, whatever the TTL: its clock stood still, as no source has an event time. "
            "Give a source an **event time**, or run it live.",
            icon=":material/info:",
        )
        return
    if run.kept_from > 1:
        st.info("The first events of this run were deleted, so it cannot be run again.", icon=":material/info:")
        return
    _choice(run)
    if run.run_id in trials().going_on:
        _going_on(run.run_id)
    findings = trials().found(run.run_id)
    if findings.error:
        st.warning(f"No more is known: {as_sentence(findings.error)}", icon=":material/hourglass_disabled:")
    if len(findings.trials) > 1:
        _draw(run, findings)


def _choice(run: Run) -> None:
    own_ms = state_ttl_ms(Pipeline.from_json(run.document).options)
    offered = list(dict.fromkeys([*_OFFERED, *([words.duration(own_ms)] if own_ms else [])]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "TTLs to try",
            offered,
            offered,
            accept_new_options=True,
            select_all=False,
            key=f"ttls-{run.run_id}",
            help="Choose some, or write your own, such as 90 min.",
        )
        ttls_ms = {text: parse_duration(text) for text in chosen}
        wrong = [text for text, ttl_ms in ttls_ms.items() if not ttl_ms or ttl_ms < 0]
        st.button(
            "Run these records again",
            type="primary",
            icon=":material/play_arrow:",
            key="ttls-run",
            disabled=bool(wrong) or not chosen or run.run_id in trials().going_on,
            on_click=guarded(_start),
            args=(run, [ttl_ms for ttl_ms in ttls_ms.values() if ttl_ms]),
            help="Runs the records of this run once without expiry and once with each TTL, on this run's engine, and "
            "then looks for the smallest TTL that changes nothing for 99.9 % of the events. No run is stored.",
        )
    if wrong:
        st.caption(f"{words.escaped(', '.join(wrong))}: no duration. Write 90 min, 12 h or 3 d.")


def _start(run: Run, ttls_ms: Sequence[int]) -> None:
    trials().start(run, ttls_ms)


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(run_id: int) -> None:
    going = trials().going_on.get(run_id)
    seen = f"ttls-seen-{run_id}"
    if going is None or st.session_state.setdefault(seen, going.done) != going.done:
        st.session_state.pop(seen, None)
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, (going.done + 0.5) / (len(going.wanted) + 1)), _doing(going))
        st.button("Cancel", key="ttls-cancel", on_click=guarded(trials().cancel), args=(run_id,))


def _doing(going: Going) -> str:
    if going.cancel.is_set():
        return "cancelling"
    if going.ttl_ms is None:
        return "waiting"
    ttl = f"TTL {words.duration(going.ttl_ms)}" if going.ttl_ms else "no TTL"
    turn = ", looking for the smallest" if going.is_search else f", {going.done + 1} of {len(going.wanted)}"
    return f"{ttl}{turn if going.ttl_ms else ''}: {words.escaped(going.progress.phase)}"


def _draw(run: Run, found: Found) -> None:
    st.markdown(_told(found))
    draw_figure(ttl_chart(found.trials, found.smallest_ms), f"ttl-chart-{run.run_id}")
    picked = f"ttl-picked-{run.run_id}"

    def pick(ttl_ms: str) -> None:
        st.session_state[picked] = int(ttl_ms)

    chosen = st.session_state.get(picked)
    table = ttl_table(found, chosen)
    grid(table, key=f"ttl-table-{run.run_id}", on_pick=guarded(pick), label="State TTLs that were tried")
    trial = next((trial for trial in found.trials if trial.ttl_ms and trial.ttl_ms == chosen), None)
    if trial is None:
        st.caption("Pick a TTL: its first event with other results is shown, and the pipeline opens with it.")
    else:
        _first(run, trial)


def _told(found: Found) -> str:
    best = next((trial for trial in found.trials if trial.ttl_ms and trial.ttl_ms == found.smallest_ms), None)
    shorter = [trial for trial in found.trials if best and trial.ttl_ms and trial.ttl_ms < best.ttl_ms]
    so_far = "" if found.is_whole else " so far"
    if best is None:
        return f"**None of the TTLs tried{so_far}** changes nothing for 99.9 % of the events."
    sentence = f"**The smallest TTL that changes nothing for 99.9 % of the events is {words.duration(best.ttl_ms)}**"
    sentence += " (of the round ones)" if found.is_whole else ", of those tried so far"
    free = next((trial for trial in found.trials if not trial.ttl_ms), None)
    if free is not None and best.entries < free.entries:
        sentence += f", with {100 * best.entries / free.entries:.0f} % of the state that no TTL needs"
    if shorter:
        last = shorter[-1]
        sentence += f"; {words.duration(last.ttl_ms)} changes the results of {_share(last)}"
    return f"{sentence}."


def _share(trial: FoundTrial) -> str:
    return f"{100 * trial.share:.2g} % of the events"


def ttl_table(found: Found, chosen: int | None = None) -> Table:
    """One line per TTL."""
    columns = ("TTL", "most entries", "size", "expired", "events with other results", "share", "first of them")
    rows = [
        Row(
            (
                Cell(words.duration(trial.ttl_ms) if trial.ttl_ms else "none", is_strong=True),
                Cell(f"{trial.entries:,}", is_number=True),
                Cell(words.size(trial.size), is_number=True),
                Cell(f"{trial.expired:,}", is_number=True),
                Cell(f"{trial.changed:,}", is_number=True, tone="" if not trial.ttl_ms else _tone(trial)),
                Cell(f"{100 * trial.share:.2f} %" if trial.ttl_ms else "", is_number=True),
                Cell("" if trial.first is None else f"event {trial.first:,}"),
            ),
            pick=str(trial.ttl_ms) if trial.ttl_ms else "",
            is_current=bool(trial.ttl_ms) and trial.ttl_ms == chosen,
        )
        for trial in found.trials
    ]
    return Table(columns, rows, frozenset(columns[1:6]))


def _tone(trial: FoundTrial) -> str:
    return "good" if trial.suffices else "bad"


def _first(run: Run, trial: FoundTrial) -> None:
    ttl = words.duration(trial.ttl_ms)
    with st.container(border=True, key="ttl-file"):
        if trial.first is None:
            st.markdown(f"With a TTL of **{ttl}** no event has other results than without expiry.")
        else:
            st.markdown(f"With a TTL of **{ttl}**, **event {trial.first:,}** is the first with other results.")
            left, right = st.columns(2)
            for place, title, results in (
                (left, f"With {ttl}", trial.came),
                (right, "Without expiry", trial.otherwise),
            ):
                with place:
                    st.caption(title)
                    _results(results, f"ttl-{title}")
        with st.container(horizontal=True):
            if st.button("Open in the builder with this TTL", icon=":material/edit_square:", key="ttl-draft"):
                open_draft(with_ttl(Pipeline.from_json(run.document), trial.ttl_ms), identity=run.identity)
                go("build")
            if trial.first is not None and st.button(
                f"See what event {trial.first:,} did in this run", icon=":material/undo:", key="ttl-to-cascade"
            ):
                move_to(trial.first)
                go("retractions")


def _results(results: Sequence[FoundResult], key: str) -> None:
    if not results:
        st.markdown("Nothing.")
    for node in dict.fromkeys(record.node for record in results):
        own = [record for record in results if record.node == node]
        rows = [Row([Cell(kinds=(RowKind.of(record.kind),)), *map(Cell, record.values)]) for record in own]
        grid(Table(("kind", *own[0].columns), rows, narrow=frozenset({"kind"})), key=f"{key}-{node}", label=node)
