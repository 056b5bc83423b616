"""Keep as test: the form in which a run becomes a test."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.contract.operator import OUT
from engine.kept.keeping import MOST, Chosen
from engine.kept.manifest import Wanted
from engine.kept.replaying import LATE
from storage.model import Run, RunStatus
from ui.runs.kept_tests import kept_tests
from ui.shell import workspace
from ui.shell.guard import guarded
from ui.shell.navigation import lead_to
from ui.shell.state import state

_CHANGELOG: Final = "The changelog"
_TABLE: Final = "The final table"
_ALL: Final = "All"
_SMALLEST: Final = "Only what one record needs"


def keep_as_test(run: Run, *, has_records: bool) -> None:
    """Draw the button that opens the form."""
    if run.status is not RunStatus.FINISHED:
        return
    if st.button(
        "Keep as test",
        key="keep-as-test",
        icon=":material/fact_check:",
        disabled=not has_records or run.kept_from > 1,
        help="What the sources read and what came out becomes a test: later versions of the pipeline run on the same "
        "records, and say what they change.",
    ):
        _form(run)


@st.dialog("Keep as test", width="medium", icon=":material/fact_check:")
def _form(run: Run) -> None:
    edges = workspace.store().runs.edges(run.run_id)
    names = [edge.node if edge.port == OUT else f"{edge.node}.{edge.port}" for edge in edges if edge.role != "source"]
    sinks = [edge.node for edge in edges if edge.role == "sink"]
    late = [f"{node}.{LATE}" for node in workspace.store().late.totals(run.run_id).by_node]
    names += [name for name in late if name not in names]
    st.text_input("Name", run.name, key="keep-name", max_chars=200)
    st.text_area("What it shows", key="keep-words", placeholder="Order 7 comes too late.", height=68)
    chosen = st.multiselect(
        "Outputs",
        names,
        [*(sinks or names[-1:]), *late],
        key="keep-edges",
        select_all=False,
        help=f"`NODE.{LATE}` is what was late at a step, with its window, how late it was, and whether it was dropped.",
    )
    with st.container(horizontal=True):
        expects = st.radio("Expect", [_CHANGELOG, _TABLE], key="keep-expects", horizontal=True)
        records = st.radio("Events", [_ALL, _SMALLEST], key="keep-records", horizontal=True)
    if expects == _CHANGELOG:
        with st.container(horizontal=True):
            st.toggle("The order counts", value=True, key="keep-order", help="Also the event that caused each record.")
            st.toggle(
                "The kinds count", value=True, key="keep-kinds", help="Otherwise +I and +U are the same, and -U and -D."
            )
    if records == _SMALLEST:
        st.number_input(
            "The record of the output that has to stay",
            min_value=1,
            value=1,
            key="keep-at",
            help="Its number on the page Changelog, from 1. Events that it does not need are left out.",
        )
        if len(chosen) != 1:
            st.caption("Choose one output: the record is one of its records.")
    st.caption(f"A test holds up to {MOST:,} events.")
    is_complete = bool(chosen) and (records == _ALL or len(chosen) == 1)
    if st.button(
        "Keep", type="primary", key="keep-now", disabled=not is_complete, on_click=guarded(_keep), args=(run.run_id,)
    ):
        st.rerun()


def _keep(run_id: int) -> None:
    given = st.session_state
    edges = tuple(given["keep-edges"])
    is_table = given["keep-expects"] == _TABLE
    wanted = Wanted.of(
        name=str(given["keep-name"]).strip() or "test",
        edges=edges,
        words=str(given["keep-words"]).strip(),
        expects="table" if is_table else "changelog",
        order=not is_table and bool(given.get("keep-order", True)),
        kinds=is_table or bool(given.get("keep-kinds", True)),
    )
    chosen = Chosen(edges[0], int(given["keep-at"]) - 1) if given["keep-records"] == _SMALLEST else None
    test = kept_tests().keep(workspace.store().runs.get(run_id), wanted, chosen)
    state.hold(test=test.folder.name)
    lead_to("tests")
