"""The retractions of one event: what every operator retracts and emits because of it, and the lineage of a record."""

from __future__ import annotations

from typing import Final

import streamlit as st

from storage.model import Edge, Run
from storage.wanted import ALL, Filter
from ui.components.changelog.cascade import Place, cascade_table, place_of
from ui.components.changelog.changelog_filter import rows_where
from ui.components.changelog.lineage_table import lineage_table
from ui.components.changelog.record_list import in_one_line
from ui.components.grid import grid
from ui.components.time_travel.event_player import event_player
from ui.inspect.branches import inputs_of
from ui.inspect.origins import origins_of
from ui.runs.operator_lines import pipeline_of
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state

_CASCADE: Final = 1000
_RECORD: Final = "retraction-record"


@guarded
def _pick(text: str) -> None:
    st.session_state[_RECORD] = (state.run, state.event, place_of(text))


def _picked(run: Run) -> Place | None:
    """The record that the user picked at this event, if any. It can be of an earlier event: the trace leads there."""
    picked = st.session_state.get(_RECORD)
    return picked[2] if picked is not None and picked[:2] == (run.run_id, state.event) else None


def event_retractions(run: Run, edge: Edge) -> None:
    """Draw the player, the cascade of its event with a reason per record, and the lineage of the picked one."""
    only, wanted = _stops(edge)
    event = event_player(edge, run.last_seq, wanted, taking_back=only)
    if not event:
        st.caption("Before the first event nothing has happened.")
        return
    cascade = workspace.store().changelog.cascade(run.run_id, event, limit=_CASCADE)
    if not cascade:
        st.caption("No operator emitted anything for this event.")
        return
    pipeline = pipeline_of(run)
    # The source's record is the event itself, not its effect.
    effects = [entry for entry in cascade if entry.edge.role != "source"]
    taken_back = sum(not entry.record.kind.is_accumulate for entry in effects)
    consumed = {output for outputs in inputs_of(pipeline).values() for output in outputs}
    last = [entry for entry in cascade if (entry.edge.node, entry.edge.port) not in consumed]
    st.markdown(
        f"**Event {event:,} caused {words.count(len(effects), 'record')}**"
        + (f", {taken_back:,} of them retractions" if taken_back else ", none of them retractions")
        + (f"; {words.count(len(last), 'record')} left the pipeline." if last else "; nothing left the pipeline.")
    )
    picked = _picked(run)
    # The last record is traced until one is picked, but the list begins with the cause.
    record = picked or (cascade[-1].edge.name, cascade[-1].record.row)
    table = cascade_table(run, cascade, current=record, pickable=True)
    label = f"What event {event} did"
    grid(table, key="retraction-cascade", on_pick=_pick, height=470, label=label, follows=picked is not None)
    _strategies(run, {entry.edge.node for entry in cascade})
    _lineage(run, record)


def _stops(edge: Edge) -> tuple[bool, Filter]:
    """Draw where Previous and Next stop: whether only at retractions, and of which rows."""
    if not any(count for kind, count in edge.counts.items() if not kind.is_accumulate):
        return False, ALL
    with st.container(horizontal=True, vertical_alignment="center"):
        only = st.toggle(
            f"Previous and next stop only at retractions of {edge.name}",
            key="retraction-stops",
            help="Where a row is taken back and not sent again as it was. A condition leaves out rows that are not "
            "talked about: `rank = 1` stops where the leader changes.",
        )
        return only, rows_where(edge) if only else ALL


def _strategies(run: Run, nodes: set[str]) -> None:
    """Draw the strategies that the planner chose for the operators of this cascade."""
    planned = [node for node in run.explanation.nodes if node.id in nodes and node.role != "source"]
    if planned:
        with st.expander("The strategies of these operators, and why"):
            for node in planned:
                st.markdown(f"**{node.id}** · {words.escaped(f'{node.strategy}: {node.reason}.')}")
                if node.kernel:
                    st.caption(f"Kernel: {node.kernel}.")


def _lineage(run: Run, record: Place) -> None:
    edges = workspace.store().runs.edges(run.run_id)
    edge = next((edge for edge in edges if edge.name == record[0]), None)
    if edge is None:
        return
    origins = origins_of(pipeline_of(run), edges)
    root = workspace.store().lineage.of(run.run_id, edge.node, record[1], origins, edge.port)
    if root is None:
        return
    record_text = words.code(in_one_line(edge, root.record))
    verb = "retracts" if not root.record.kind.is_accumulate else "emits"
    st.markdown(
        f"**Where this record comes from**: {edge.name} {verb} {record_text}, because of event {root.record.seq:,}"
    )
    st.caption(
        "Traced back to the sources: the rows that each operator held for its key at that event. Click a record to "
        "trace it."
    )
    grid(lineage_table(root), key="retraction-lineage", on_pick=_pick, height=320, label="Where the record comes from")
