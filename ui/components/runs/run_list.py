"""All runs, newest first, a page at a time. A click opens one."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.components.grid import Cell, Row, Table, grid
from ui.components.runs.run_status import look, seconds, when
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state

_PAGE: Final = 10
_KEY: Final = "runs-page"


@guarded
def _open(run_id: str) -> None:
    state.update(run=int(run_id), edge=None, event=None)


def run_list(current: int | None) -> None:
    """Draw the list with the open run highlighted."""
    page = int(st.session_state.get(_KEY, 1))
    # One more than is shown tells whether there is a next page, without counting.
    listed_runs = workspace.store().runs.list(limit=_PAGE + 1, offset=(page - 1) * _PAGE)
    rows = []
    for run in listed_runs[:_PAGE]:
        job = runs().job(run.run_id)
        shown, took = look(run, job), None if run.goes_on else seconds(run, job)
        rows.append(
            Row(
                (
                    Cell(str(run.run_id), is_number=True),
                    Cell(run.name, is_strong=True),
                    Cell(shown.word, tone=shown.tone, note=run.error),
                    Cell(when(run), note=f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC"),
                    Cell(words.elapsed(took) if took is not None else "", is_number=True),
                    Cell(run.engine, tone="quiet"),
                    Cell(f"{run.last_seq:,}", is_number=True),
                    Cell(f"{run.records:,}", is_number=True),
                    Cell(f"{run.late:,}" if run.late else "", is_number=True, tone="warn"),
                    Cell(f"{run.rejected:,}" if run.rejected else "", is_number=True, tone="warn"),
                ),
                pick=str(run.run_id),
                is_current=run.run_id == current,
            )
        )
    columns = ("run", "name", "status", "started", "took", "engine", "events", "records", "late", "rejected")
    numbers = frozenset({"run", "took", "events", "records", "late", "rejected"})
    grid(Table(columns, rows, numbers), key="runs", on_pick=_open, label="All runs")
    if page > 1 or len(listed_runs) > _PAGE:
        with st.container(horizontal=True):
            st.button("Newer", key="runs-newer", disabled=page == 1, on_click=_turn, args=(-1,))
            st.button("Older", key="runs-older", disabled=len(listed_runs) <= _PAGE, on_click=_turn, args=(1,))


def _turn(by: int) -> None:
    st.session_state[_KEY] = max(1, int(st.session_state.get(_KEY, 1)) + by)
