"""The late records and the rejected rows of a run: sorted by any column, page by page, and as CSV."""

from __future__ import annotations

import streamlit as st

from storage.event_time.model import LateTotals
from storage.model import EventRange, Run
from ui.components.event_time.late_downloads import late_download, rejected_download
from ui.components.event_time.late_link import open_late_file
from ui.components.event_time.late_sentences import late_sentence, lines_sentence
from ui.components.event_time.late_table import late_table, rejected_table
from ui.components.runs.so_far import all_clear, so_far
from ui.components.shell.sorted_page import PAGE, offset_of, order_of, sorted_page
from ui.shell import words, workspace
from ui.shell.state import state


def late_records(run: Run, last_seq: int, *, height: int | None = None) -> None:
    """Draw the late records of a run up to an event. A click on one opens its file."""
    key = f"late-{run.run_id}"
    order, offset = order_of(key), offset_of(key)
    page = workspace.store().late.page(run.run_id, EventRange(to_seq=last_seq), order=order, offset=offset, limit=PAGE)
    table = late_table(page.records, state.event, order, workspace.store().runs.zone(run.run_id))

    def pick(seq: str) -> None:
        open_late_file(run.run_id, int(seq))

    with sorted_page("Late records", key, table, page.total, "lines", height, on_pick=pick):
        late_download(run.run_id, page.total)


def late_summary(run: Run, totals: LateTotals) -> None:
    """Draw how many records were late, what became of them, and how long the list of them is."""
    if not totals.late:
        all_clear("No record was late for any operator", run)
        return
    st.markdown(late_sentence(run, totals, workspace.store().late.summary(run.run_id, totals.last_seq)))
    if lines := lines_sentence(totals):
        st.caption(lines)


def rejected_summary(run: Run, totals: LateTotals) -> None:
    """Draw how many rows were rejected."""
    scope = f" {so_far(run)}" if so_far(run) else ""
    were, they, them = ("was", "it", "it") if totals.rejected == 1 else ("were", "they", "them")
    st.markdown(
        f"**{words.count(totals.rejected, 'row')} {were} rejected**{scope}: {they} could not be read, and the run went "
        f"on without {them}."
    )


def rejected_rows(run: Run, *, height: int | None = None) -> None:
    """Draw the source rows that could not be read."""
    key = f"rejected-{run.run_id}"
    order, offset = order_of(key), offset_of(key)
    page = workspace.store().late.rejected(run.run_id, order=order, offset=offset, limit=PAGE)
    with sorted_page("Rejected rows", key, rejected_table(page.records, order), page.total, "rejected rows", height):
        rejected_download(run.run_id, page.total)
