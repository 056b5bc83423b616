"""Who uses what: the runs of each person that go on, and what all their runs have in the store."""

from __future__ import annotations

import streamlit as st

from storage.library.usage import Usage
from ui.access.serving import Serving, serving
from ui.components.grid import Cell, Row, Table, grid
from ui.runs.budget import runs_by_person
from ui.runs.manager import runs
from ui.shell import words, workspace

_COLUMNS = ("person", "runs going on", "all runs", "records", "in the store", "in workspaces")


def usage_table() -> None:
    """Draw the table, where people log in; without a login, nobody knows whose run it is."""
    if not serving().has_login:
        return
    st.subheader("Who uses what", anchor=False)
    going_on = runs_by_person(runs().going_on())
    used = {usage.person: usage for usage in workspace.store().usages()}
    people = [*used, *sorted(going_on.keys() - used.keys())]
    if people:
        rows = [_row(used.get(person, Usage(person)), going_on[person]) for person in people]
        grid(Table(_COLUMNS, rows, frozenset(_COLUMNS[1:])), key="usage", label="Who uses what")
    st.caption(_allowed(serving()) if people else "Nobody has made a run yet.")


def _row(usage: Usage, going_on: int) -> Row:
    name = Cell(usage.person, is_strong=True) if usage.person else Cell("without a login", tone="quiet")
    return Row(
        (
            name,
            Cell(f"{going_on}" if going_on else "", is_number=True),
            Cell(f"{usage.runs:,}", is_number=True),
            Cell(f"{usage.records:,}", is_number=True),
            Cell(words.size(usage.size), is_number=True, note="With the states and recordings beside the store."),
            Cell(words.size(usage.staying) if usage.staying else "", is_number=True),
        )
    )


def _allowed(how: Serving) -> str:
    limits = (
        f"{words.count(how.most_runs_each, 'run')} going on" if how.most_runs_each is not None else "",
        f"{words.size(how.most_memory_each)} of memory of engines" if how.most_memory_each is not None else "",
        f"{words.size(how.most_bytes_each)} in the store" if how.most_bytes_each is not None else "",
        f"{words.elapsed(60 * how.most_minutes_each)} for a run" if how.most_minutes_each is not None else "",
    )
    named = " and ".join(limit for limit in limits if limit)
    return f"This studio allows each person {named}." if named else "This studio limits nobody."
