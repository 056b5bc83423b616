"""The drawer below the canvas: the selected output's records and table, late records, plan, SQL and problems."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.contract.operator import OUT
from engine.model.pipeline import Pipeline
from engine.planner import Check
from ui.builder.drafting import Drafting
from ui.builder.editing import edge_at
from ui.builder.fixes import Fix, fixes
from ui.builder.problems import explained, is_to_do
from ui.components.builder.bench import PROBLEMS, SQL, TAB, TABS, Size, bench
from ui.components.builder.first_rows import first_rows
from ui.components.builder.plan_panel import node_plan, whole_plan
from ui.components.builder.run_size import size_of_run
from ui.components.builder.run_tab import edge_in_run, edge_of, node_in_run
from ui.components.builder.script_notes import script_notes
from ui.components.builder.sql_tab import sql_tab
from ui.components.builder.stand_ins import tables_elsewhere
from ui.components.changelog.table_as_of import table_as_of
from ui.components.event_time.behind_watermark import behind_watermark
from ui.components.event_time.late_records import (
    cut_values,
    late_records,
    late_summary,
    none_late,
    rejected_rows,
    rejected_summary,
)
from ui.components.grip import drawer_grip
from ui.components.runs.heavy_keys import heavy_keys
from ui.components.time_travel.event_player import event_player
from ui.runs.overlay import Overlay
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guard, guarded, guarded_fragment, take_fields
from ui.shell.navigation import go
from ui.shell.state import state

_NO_RUN: Final = "Run the pipeline, then select a node or an edge."


def drawer(drafting: Drafting, verdict: Check, shown: Overlay | None) -> None:
    """Draw the drawer as a fragment: actions in it redraw the rest of the page only if its content changes.

    The SQL tab is not a fragment: what the user types next is meant for the document that the whole page then shows.
    """
    drawn = signature(drafting)
    (_whole if bench().tab == SQL else _fragment)(drafting, verdict, shown, drawn)


def _whole(drafting: Drafting, verdict: Check, shown: Overlay | None, drawn: tuple[object, ...]) -> None:
    take_fields()
    if signature(drafting) != drawn:
        st.rerun()
    with guard():
        size = bench().size(shown)
        with st.container(key="drawer-head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            if size == "half":
                drawer_grip()
            tab = _head(drafting.pipeline, verdict, size)
        if size != "closed":
            with st.container(key=f"drawer-{size}"):
                _body(tab, drafting, verdict, shown)


_fragment: Final = guarded_fragment()(_whole)


def signature(drafting: Drafting) -> tuple[object, ...]:
    """The content of the whole page; while it is the same, only the drawer is redrawn."""
    return drafting.pipeline, drafting.selection, state.run, state.edge, state.event, bench().tab == SQL


def _head(pipeline: Pipeline, verdict: Check, size: Size) -> str:
    """Draw the tabs and the height buttons; return the chosen tab."""
    chosen = None if size == "closed" else bench().tab
    if st.session_state.get(TAB) != chosen:
        st.session_state[TAB] = chosen
    st.segmented_control(
        "What the drawer shows",
        TABS,
        key=TAB,
        on_change=_choose,
        label_visibility="collapsed",
        wrap=False,
    )
    to_do = sum(is_to_do(pipeline, problem) for problem in verdict.problems)
    if wrong := len(verdict.problems) - to_do:
        _problems(f":red-badge[{words.count(wrong, 'problem')}]", "wrong")
    if to_do and pipeline.nodes:
        _problems(f":gray-badge[{to_do} to do]", "to-do")
    st.space("stretch")
    if size != "closed":
        _height("Half height" if size == "full" else "Full height", "half" if size == "full" else "full")
    _height("Open the drawer" if size == "closed" else "Close the drawer", "half" if size == "closed" else "closed")
    return bench().tab


def _problems(label: str, key: str) -> None:
    st.button(label, key=f"drawer-{key}", type="tertiary", on_click=_show_problems, help="Show them")


def _show_problems() -> None:
    bench().open_drawer(PROBLEMS)


_ICONS: Final[dict[str, str]] = {
    "Full height": ":material/expand_content:",
    "Half height": ":material/collapse_content:",
    "Open the drawer": ":material/keyboard_arrow_up:",
    "Close the drawer": ":material/keyboard_arrow_down:",
}


def _height(label: str, size: Size) -> None:
    st.button(
        label, key=f"drawer-to|{label}", icon=_ICONS[label], type="tertiary", on_click=_resize, args=(size,), help=label
    )


def _resize(size: Size) -> None:
    bench().drawer_size = size


def _choose() -> None:
    """Open the drawer with the chosen tab; choosing the same tab again closes the drawer."""
    chosen = st.session_state[TAB]
    if chosen is None:
        bench().drawer_size = "closed"
    else:
        bench().open_drawer(chosen)


def _body(tab: str, drafting: Drafting, verdict: Check, shown: Overlay | None) -> None:
    node_id, port = shown_output(drafting)
    match tab:
        case "Table as of":
            _as_of(shown, node_id, port)
        case "Late":
            _late(shown)
        case "Plan":
            _plan(drafting.pipeline, verdict, shown, node_id)
        case "SQL":
            sql_tab(drafting, verdict)
        case "Problems":
            problem_list(drafting, verdict)
        case _:
            _records(drafting, shown, node_id, port)


def shown_output(drafting: Drafting) -> tuple[str, str]:
    """The output whose records are shown: of the selected edge or node, else the open edge, else of the last node."""
    edge = edge_at(drafting.pipeline, drafting.selection or "")
    if edge is not None:
        return edge.source, edge.source_port
    node_ids = [node.id for node in drafting.pipeline.nodes]
    if drafting.selection in node_ids:
        return str(drafting.selection), OUT
    name, _, port = (state.edge or "").partition(".")
    return (name, port or OUT) if name in node_ids else (node_ids[-1] if node_ids else "", OUT)


def _records(drafting: Drafting, shown: Overlay | None, node_id: str, port: str) -> None:
    """Draw the first records before a run, the changelog during and after it."""
    if shown is not None and node_id in shown.lines:
        edge_in_run(shown, node_id, port)
        return
    if shown is not None:
        st.caption(f"Run {shown.run.run_id} had no {words.escaped(node_id)}. This is a preview.")
    first_rows(drafting.pipeline, node_id)


def _as_of(shown: Overlay | None, node_id: str, port: str) -> None:
    edge = edge_of(shown, node_id, port)
    if shown is None or edge is None:
        st.caption(f"The table that an output describes after an event. {_NO_RUN}")
        return
    event = event_player(edge, shown.run.last_seq)
    table_as_of(edge, event, height=None)


def _late(shown: Overlay | None) -> None:
    if shown is None:
        st.caption("Records that came too late, and rows that could not be read. Run the pipeline to see them.")
        return
    run = shown.run
    totals = workspace.store().late.totals(run.run_id)
    if not totals.last_seq and run.goes_on:
        st.caption("The first late records and rejected rows appear when the first epoch is complete.")
        return
    if not totals.late and not totals.rejected:
        none_late("No record was late, and no row was rejected", run)
    else:
        late_summary(run, totals)
    if not run.goes_on:
        behind_watermark(run)
    if totals.late:
        late_records(run, totals.last_seq)
    if totals.rejected:
        rejected_summary(run, totals)
        rejected_rows(run)
    cut_values(run)
    if st.button("Look at event time", icon=":material/timeline:", type="tertiary", key="bench-event-time"):
        go("event_time")


def _plan(pipeline: Pipeline, verdict: Check, shown: Overlay | None, node_id: str) -> None:
    """Draw the planner's decisions and the run's figures for the selected node, and below it the plan of all nodes.

    Above both, what a run of them will take.
    """
    if verdict.plan:
        size_of_run(pipeline)
    if node_id:
        st.markdown(f"**{words.escaped(node_id)}**")
        node_plan(verdict, node_id)
        if shown is not None:
            node_in_run(shown, verdict, node_id)
    st.markdown("**All nodes**")
    if shown is not None:
        heavy_keys(shown.run)
    if verdict.plan:
        whole_plan(verdict.plan)
    else:
        st.caption("The plan appears as soon as the pipeline is valid.")


def problem_list(drafting: Drafting, verdict: Check) -> None:
    """Draw all problems, each with a button that selects its node, and those that mend it."""
    node_ids = {node.id for node in drafting.pipeline.nodes}
    wrong = verdict.problems
    if not wrong:
        st.success("Nothing is wrong: the pipeline can run.", icon=":material/check_circle:")
    for at, problem in enumerate(wrong):
        sentence, button = st.columns([6, 1], vertical_alignment="center")
        where = f"**{problem.node}**: " if problem.node else ""
        text = f"{where}{as_sentence(explained(drafting.pipeline, problem))}"
        if is_to_do(drafting.pipeline, problem):
            sentence.markdown(f":gray[:material/radio_button_unchecked:] {text}")
        else:
            sentence.markdown(f":red[:material/error: {text}]")
        if problem.node in node_ids:
            goto = f"goto|{at}|{problem.node}"
            button.button("Show", key=goto, type="tertiary", on_click=guarded(_show), args=(drafting, problem.node))
        if mends := fixes(drafting.pipeline, problem, verdict):
            with st.container(horizontal=True, gap="medium"):
                for fix in mends:
                    st.button(
                        fix.label,
                        key=f"fix|{at}|{fix.label}",
                        icon=":material/build:",
                        type="tertiary",
                        on_click=guarded(_mend),
                        args=(drafting, fix, problem.node),
                    )
    tables_elsewhere(drafting)
    script_notes(drafting)


def _mend(drafting: Drafting, fix: Fix, node_id: str) -> None:
    drafting.edit(fix.document)
    drafting.selection = node_id or None


def _show(drafting: Drafting, node_id: str) -> None:
    drafting.selection = node_id
