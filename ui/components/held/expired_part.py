"""What expiry did: the records that met expired state, and the file of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import streamlit as st

from engine.errors import NotReplayable, StudioError
from engine.model.zones import Zone
from storage.event_time.expired_records import ExpiredRecord
from storage.event_time.held_states import HeldState
from storage.model import Run
from storage.wanted import SortOrder
from ui.components.event_time.outcome_tables import outcome_tables
from ui.components.grid import Cell, Row, Table, grid
from ui.components.held.held_table import of_kind
from ui.components.runs.so_far import all_clear
from ui.components.shell.sorted_page import PAGE, offset_of, order_of, sorted_page
from ui.components.time_travel.event_player import move_to
from ui.inspect.expiry_outcomes import expiry_outcome
from ui.shell import words, workspace
from ui.shell.engine_gate import gate
from ui.shell.guard import as_sentence
from ui.shell.navigation import go
from ui.shell.state import state

_FILES: Final = 4
_SORTS: Final = {"event": "event", "expired": "entries", "last written": "written", "too late by": "gone"}


def expired_part(run: Run, states: Sequence[HeldState]) -> None:
    """Draw the records of a run that came after state of their key had expired, and the file of the open event."""
    key = f"expired-{run.run_id}"
    order = order_of(key)
    page = workspace.store().expired_records.page(run.run_id, order=order, offset=offset_of(key), limit=PAGE)
    if not page.total:
        if any(held.last.expired for held in states):
            all_clear("State expired, but no record of its key came after it", run)
        elif any("after its last write" in node.state for node in run.explanation.nodes):
            all_clear("Nothing has expired: each key came again within the TTL", run)
        else:
            st.info(
                "No state of this pipeline expires. To see what a TTL would do, set **State TTL** in the pipeline's "
                "options, or on the sides of a join.",
                icon=":material/info:",
            )
        return
    _file(run, state.event)
    met = words.count(page.total, "record")
    st.markdown(f"**{met} met expired state**: what was known of their key was gone when they came.")
    table = _table(page.records, order, workspace.store().runs.zone(run.run_id))
    label = "Records that met expired state"
    with sorted_page(label, key, table, page.total, "records", 380, on_pick=lambda seq: move_to(int(seq))):
        pass


def _table(records: Sequence[ExpiredRecord], order: SortOrder | None, zone: Zone | None) -> Table:
    columns = ("event", "operator", "expired", "last written", "went at", "too late by", "record")
    rows = [
        Row(
            (
                Cell(f"{expired.seq:,}", is_number=True),
                Cell(expired.node, is_strong=True),
                Cell(of_kind(expired.entries, expired.kinds)),
                Cell(words.instant(expired.written_ms, zone), note=words.moment(expired.written_ms, zone)),
                Cell(words.instant(expired.expired_ms, zone), note=words.moment(expired.expired_ms, zone)),
                Cell(words.duration(expired.now_ms - expired.expired_ms), is_number=True),
                Cell(words.record(expired.columns, expired.values)),
            ),
            pick=str(expired.seq),
            is_current=expired.seq == state.event,
        )
        for expired in records
    ]
    return Table(columns, rows, frozenset({"event", "too late by"}), sorts=_SORTS, sorted_by=order)


def _file(run: Run, event: int | None) -> None:
    store = workspace.store()
    records = store.expired_records.page(run.run_id, seq=event, limit=_FILES).records if event is not None else ()
    if not records:
        st.caption("Pick a record: its file says when its state went, and what would have come out without a TTL.")
        return
    with st.container(border=True, key="expired-file"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**Event {event:,}** met expired state", width="content")
            if st.button("", key="expired-file-close", icon=":material/close:", help="Close the file", type="tertiary"):
                state.update(event=None)
                st.rerun()
        first = records[0]
        if first.values:
            record = Table(first.columns, [Row([Cell.of(value) for value in first.values])])
            grid(record, key="expired-file-record", label="The record")
        for at, expired in enumerate(records):
            st.markdown(f"**{words.escaped(expired.node)}**")
            st.markdown("\n".join(f"- {sentence}" for sentence in _sentences(run, expired)))
            _outcome(run, expired, at)
        if st.button(f"See what event {event:,} did", icon=":material/undo:", key="expired-to-cascade"):
            go("retractions")


def _sentences(run: Run, record: ExpiredRecord) -> Iterator[str]:
    """Markdown."""
    zone = workspace.store().runs.zone(run.run_id)
    entries = words.escaped(of_kind(record.entries, record.kinds))
    yield f"**{entries}** of its key had expired, last written at {words.moment(record.written_ms, zone)}."
    late = words.duration(record.now_ms - record.expired_ms)
    yield (
        f"**The TTL ran out** at {words.instant(record.expired_ms, zone)}, "
        f"{words.duration(record.expired_ms - record.written_ms)} later; the clock stood at "
        f"{words.instant(record.now_ms, zone)}: **{late} too late**."
    )
    below = workspace.store().runs.stored(run.run_id).below(record.node)
    if below:
        yield f"**Further down**, {', '.join(map(words.escaped, below))} received what came out instead."


def _outcome(run: Run, record: ExpiredRecord, at: int) -> None:
    try:
        outcome = expiry_outcome(workspace.store(), run, record, gate().spark)
    except NotReplayable as error:
        st.caption(f"What would have come out is not shown: {as_sentence(error)}")
        return
    except StudioError as error:
        st.caption(f"What would have come out cannot be computed: {as_sentence(error)}")
        return
    titles = ("Came out", "Without a TTL, would have come out", "Without a TTL, the same would have come out")
    outcome_tables(outcome, record.node, titles, f"expired-file-{at}")
