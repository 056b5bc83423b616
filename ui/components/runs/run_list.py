"""All runs, newest first, a page at a time. A click opens one.

The list is drawn with its page and never refreshes by itself, so that no row moves while the user clicks. A run that
goes on has no figures, which would be outdated at once. Code that watches a run compares `listed` to see whether runs
were added, deleted or ended, and then reruns the page.
"""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.model import Run
from ui.components.grid import Cell, Row, Table, grid
from ui.components.runs.run_status import look, seconds, when
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state

_PAGE: Final = 10
_PROBLEMS: Final = ("dropped", "late but used", "rejected")
_KEY: Final = "runs-page"


@guarded
def _open(run_id: str) -> None:
    state.update(run=int(run_id), edge=None, event=None)


def listed() -> tuple[tuple[int, str, str], ...]:
    """The parts of the list that can change: the shown runs, their names and their statuses."""
    return tuple((run.run_id, run.name, look(run, runs().job(run.run_id)).word) for run in _shown())


def _shown() -> tuple[Run, ...]:
    """The runs of the current page, and one more if there is a next page, which saves a count."""
    page = int(st.session_state.get(_KEY, 1))
    return workspace.store().runs.list(limit=_PAGE + 1, offset=(page - 1) * _PAGE)


def run_list(current: int | None) -> None:
    """Draw the list with the open run highlighted."""
    page = int(st.session_state.get(_KEY, 1))
    listed_runs = _shown()
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
                    *_figures(run),
                ),
                pick=str(run.run_id),
                is_current=run.run_id == current,
            )
        )
    columns = ("run", "name", "status", "started", "took", "engine", "events", "records", *_PROBLEMS)
    numbers = frozenset({"run", "took", "events", "records", *_PROBLEMS})
    grid(Table(columns, rows, numbers), key="runs", on_pick=_open, label="All runs")
    if page > 1 or len(listed_runs) > _PAGE:
        with st.container(horizontal=True):
            st.button("Newer", key="runs-newer", disabled=page == 1, on_click=_turn, args=(-1,))
            st.button("Older", key="runs-older", disabled=len(listed_runs) <= _PAGE, on_click=_turn, args=(1,))


def _figures(run: Run) -> list[Cell]:
    if run.goes_on:
        return [Cell()] * 5
    return [
        Cell(f"{run.last_seq:,}", is_number=True),
        Cell(f"{run.records:,}", is_number=True),
        Cell(f"{run.dropped:,}" if run.dropped else "", is_number=True, tone="bad"),
        Cell(f"{run.used:,}" if run.used else "", is_number=True),
        Cell(f"{run.rejected:,}" if run.rejected else "", is_number=True, tone="warn"),
    ]


def _turn(by: int) -> None:
    st.session_state[_KEY] = max(1, int(st.session_state.get(_KEY, 1)) + by)
