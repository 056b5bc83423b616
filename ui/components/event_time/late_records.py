"""The late records and the rejected rows of a run: sorted by any column, page by page, and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from storage.event_time.late import SortOrder
from storage.event_time.model import LateTotals
from storage.model import EventRange, Run
from ui.components.event_time.late_downloads import late_download, rejected_download
from ui.components.event_time.late_sentences import late_sentence, lines_sentence
from ui.components.event_time.late_table import late_table, rejected_table
from ui.components.grid import Table, grid
from ui.components.runs.so_far import all_clear, so_far
from ui.components.shell.pager import pager
from ui.components.time_travel.event_player import move_to
from ui.shell import words, workspace
from ui.shell.state import state

_PAGE: Final = 50


def late_records(run: Run, last_seq: int, *, height: int | None = None) -> None:
    """Draw the late records of a run up to an event. A click on one moves the page to its event."""
    key = f"late-{run.run_id}"
    order, offset = _order(key), _offset(key)
    page = workspace.store().late.page(run.run_id, EventRange(to_seq=last_seq), order=order, offset=offset, limit=_PAGE)
    table = late_table(page.records, state.event, order)
    with _sorted("Late records", key, table, page.total, "lines", height, on_pick=lambda seq: move_to(int(seq))):
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
    without = "it" if totals.rejected == 1 else "them"
    st.markdown(
        f"**{words.count(totals.rejected, 'row')} {'was' if totals.rejected == 1 else 'were'} rejected**{scope}: they "
        f"could not be read, and the run went on without {without}."
    )


def rejected_rows(run: Run, *, height: int | None = None) -> None:
    """Draw the source rows that could not be read."""
    key = f"rejected-{run.run_id}"
    order, offset = _order(key), _offset(key)
    page = workspace.store().late.rejected(run.run_id, order=order, offset=offset, limit=_PAGE)
    with _sorted("Rejected rows", key, rejected_table(page.records, order), page.total, "rejected rows", height):
        rejected_download(run.run_id, page.total)


@contextmanager
def _sorted(
    label: str,
    key: str,
    table: Table,
    total: int,
    what: str,
    height: int | None,
    on_pick: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Draw a page of a table that can be sorted; its download, drawn inside, is beside its pager."""
    grid(
        table,
        key=f"{key}-grid",
        on_pick=on_pick,
        on_sort=lambda by: _sort(key, by),
        height=height,
        label=label,
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        yield
        pager(key, _offset(key), _PAGE, total, what=what)


def _offset(key: str) -> int:
    return int(st.session_state.get(key, 0))


def _order(key: str) -> SortOrder | None:
    order: SortOrder | None = st.session_state.get(f"{key}-order")
    return order


def _sort(key: str, by: str) -> None:
    """Sort by a column, the largest first; the second time, the smallest first. Return to the first page."""
    order = _order(key)
    is_turned = order is not None and order.by == by and order.descending
    st.session_state[f"{key}-order"] = SortOrder(by, descending=not is_turned)
    st.session_state[key] = 0
