"""The file of a late record: what it was, what pushed the watermark past it, and what would have come out in time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import streamlit as st

from engine.errors import NotReplayable, StudioError
from engine.model.zones import Zone
from storage.event_time.late_files import LateFile
from storage.event_time.model import LateRecord
from storage.model import Run
from ui.components.changelog.record_list import in_one_line
from ui.components.event_time.delay_button import delay_button
from ui.components.event_time.late_table import outcome_of, window_of
from ui.components.event_time.outcome_tables import outcome_tables
from ui.components.grid import Cell, Row, Table, grid
from ui.inspect.late_outcomes import late_outcome, missed_window
from ui.inspect.origins import origins_of
from ui.inspect.replaying import plan_of
from ui.runs.operator_lines import pipeline_of
from ui.shell import words, workspace
from ui.shell.engine_gate import gate
from ui.shell.guard import as_sentence
from ui.shell.navigation import go
from ui.shell.state import state

LATE_FILE: Final = "late-file"
"""The key of the file on the page."""
_NODES_NAMED: Final = 4
_RECORDS_SHOWN: Final = 12


def late_file(run: Run, event: int | None) -> None:
    """Draw the file of an event's record, or how to open one if it was not late."""
    files = workspace.store().late_files.of_event(run.run_id, event) if event is not None else ()
    if event is None or not files:
        st.caption("Pick a record: its file says what pushed the watermark past it, and what would have come out.")
        return
    late = files[0].late
    with st.container(border=True, key=LATE_FILE):
        title, close = st.columns([12, 1], vertical_alignment="center")
        title.markdown(f"**Event {event:,} of {words.escaped(late.source or late.node)}**, a late record")
        if close.button("", key="late-file-close", icon=":material/close:", help="Close the file", type="tertiary"):
            state.update(event=None)
            st.rerun()
        if late.values:
            record = Table(late.columns, [Row([Cell.of(value) for value in late.values])])
            grid(record, key="late-file-record", label="The late record")
        for at, file in enumerate(files):
            _operator(run, file, at)


def _operator(run: Run, file: LateFile, at: int) -> None:
    late = file.late
    st.markdown(f"**{words.escaped(late.node)}**: {outcome_of(late)}.")
    zone = workspace.store().runs.zone(run.run_id)
    st.markdown("\n".join(f"- {sentence}" for sentence in _sentences(file, zone)))
    if file.emitted:
        of = f" of {words.escaped(window_of(late, zone=zone))}" if late.window_end_ms is not None else ""
        then = "without" if late.dropped else "before"
        st.markdown(f"**What the window emitted**{of} when it fired last, {then} this record, and what that caused")
        grid(_window(file), key=f"late-file-{at}-window", label="What the window emitted, and what that caused")
        more = len(file.emitted) + len(file.followed) - 2 * _RECORDS_SHOWN
        if more > 0:
            st.caption("Not all of its records are listed.")
    _outcome(run, file, at, zone)
    with st.container(horizontal=True):
        places = (
            ("The record that pushed the watermark", file.push.seq if file.push is not None else None),
            ("The window as it fired", file.fired_seq),
        )
        for label, seq in places:
            if seq is not None and st.button(
                label, key=f"late-file-{at}-{seq}-{label[:10]}", icon=":material/my_location:", help=f"Event {seq:,}"
            ):
                state.update(event=seq)
                go("time_travel")
        ran = workspace.store().what_if.operator(run.run_id, late.node)
        if ran is not None and late.needed_delay_ms is not None:
            delay_button(
                run,
                ran,
                ran.with_delay_of(late.source, late.needed_delay_ms),
                key=f"late-file-{at}-what-if",
                help="What the whole run would keep; a run with it is compared with this one, down to the sinks.",
            )


def _window(file: LateFile) -> Table:
    """What the missed window emitted at its last firing, then what followed further down."""
    shown = (*file.emitted[:_RECORDS_SHOWN], *file.followed[:_RECORDS_SHOWN])
    return Table(
        ("on", "kind", "record"),
        [
            Row(
                (
                    Cell(entry.edge.name, is_strong=entry.edge.node == file.late.node),
                    Cell(kinds=(entry.record.kind,)),
                    Cell(in_one_line(entry.edge, entry.record)),
                )
            )
            for entry in shown
        ],
        narrow=frozenset({"kind"}),
    )


def _sentences(file: LateFile, zone: Zone | None) -> Iterator[str]:
    """Markdown."""
    late = file.late
    if late.window_end_ms is not None:
        fired = (
            f"which had fired at event {file.fired_seq:,}, {words.count(late.seq - file.fired_seq, 'event')} earlier"
            if file.fired_seq is not None
            else "for which nothing had arrived in time"
        )
        yield f"**It missed the window** {words.escaped(window_of(late, zone=zone))}, {fired}."
    if late.event_time_ms is not None:
        at = words.moment(late.event_time_ms, zone)
        yield f"**Its event time** was {at}; the watermark stood at {_mark(late, zone)}."
    yield _push(file, zone)
    if late.needed_delay_ms is not None:
        ran = f" instead of {words.duration(file.delay_ms)}" if file.delay_ms is not None else ""
        # What is dropped needs to reach its window while that allows late records; what was used, before it fires.
        outcome = "Kept with" if late.dropped else "In time with"
        yield (
            f"**{outcome}** a watermark delay of **{words.duration(late.needed_delay_ms)}** at "
            f"{words.escaped(late.source)}{ran}."
        )
    if file.alike > 1:
        where = "this window" if late.window_end_ms is not None else "this operator"
        became = "dropped" if late.dropped else "late but used"
        yield f"**{file.alike - 1:,} more** {'was' if file.alike == 2 else 'were'} {became} for {where}."
    if file.below and late.dropped:
        named = ", ".join(words.escaped(name) for name in file.below[:_NODES_NAMED])
        more = f" and {len(file.below) - _NODES_NAMED} more" if len(file.below) > _NODES_NAMED else ""
        result = "has the result without it" if len(file.below) == 1 else "have the result without it"
        yield f"**Further down**, {named}{more} {result if file.emitted else 'never heard of it'}."


def _mark(late: LateRecord, zone: Zone | None) -> str:
    by = f", {words.duration(late.lateness_ms)} too far" if late.lateness_ms and late.lateness_ms < words.END_MS else ""
    return f"{words.instant(late.watermark_ms, zone)}{by}"


def _push(file: LateFile, zone: Zone | None) -> str:
    push = file.push
    if push is None:
        return "**What pushed the watermark** past it is no longer kept."
    source = words.escaped(push.source)
    if push.is_end:
        return f"**The end of {source}** at event {push.seq:,} pushed the watermark past it: after it, all is late."
    ahead = ""
    if file.ahead_ms is not None and push.event_time_ms is not None:
        ahead = f" from {words.instant(push.event_time_ms, zone)}, **{words.duration(file.ahead_ms)} ahead** of it"
    content = words.record(push.columns, push.values)
    shown = f": {words.code(content)}" if content else ""
    return f"**Event {push.seq:,} of {source} pushed the watermark past it**: a record{ahead}{shown}."


def _outcome(run: Run, file: LateFile, at: int, zone: Zone | None) -> None:
    if file.delay_ms is None:
        return
    store, late = workspace.store(), file.late
    origin = origins_of(pipeline_of(run), store.runs.edges(run.run_id)).get((late.node, late.port))
    missed = missed_window(late, origin.window, zone) if origin is not None and origin.window is not None else None
    try:
        outcome = late_outcome(store, run.run_id, plan_of(run), late, file.delay_ms, gate().spark, missed=missed)
    except NotReplayable as error:
        st.caption(f"What would have come out is not shown: {as_sentence(error)}")
        return
    except StudioError as error:
        st.caption(f"What would have come out cannot be computed: {as_sentence(error)}")
        return
    if outcome is not None:
        # Of the other windows of its key, the longer delay may change some as well.
        words_ = ("Came out", "In time, would have come out", "In time, it would have changed nothing")
        outcome_tables(outcome, late.node, words_, f"late-file-{at}")
