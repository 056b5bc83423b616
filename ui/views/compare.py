"""Compare: what the open run changed, compared with another one; differences first. Both runs are in the URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import streamlit as st

from engine.contract.recorder import NONE
from storage.model import Edge, Run
from ui.components.changelog.table_comparison import comparison_table
from ui.components.event_time.watermark_pair_chart import watermark_pair_chart
from ui.components.grid import Cell, Row, Table, grid
from ui.components.live.retention import how_to_keep_more
from ui.components.runs.next_steps import next_steps
from ui.components.runs.open_run import opened_run
from ui.components.runs.run_difference_tables import (
    counter_table,
    late_pairs_table,
    plan_differences,
    plan_table,
    record_pairs_table,
    time_table,
)
from ui.components.runs.run_status import look, when
from ui.components.runs.so_far import all_clear, so_far
from ui.components.shell.page_part import page_part
from ui.components.time_travel.event_player import move_to
from ui.runs.manager import runs
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state
from ui.shell.theme import draw_figure

_OTHER: Final = "picked-versus"
_EDGE: Final = "compare-edge"
_PART: Final = "compare-part"
_RECORDS: Final = 100


@guarded
def _choose() -> None:
    state.update(versus=st.session_state[_OTHER])


@guarded
def _swap() -> None:
    state.update(run=state.versus, versus=state.run)


def _pick_other(run: Run) -> Run | None:
    """Draw the choice of the run to compare with: the URL's, else the previous one of the same name, else any other."""
    store = workspace.store()
    others = {title.run_id: title for title in store.runs.titles(limit=200) if title.run_id != run.run_id}
    if not others:
        st.info("There is only this run. Change something and run the pipeline again.", icon=":material/info:")
        next_steps(run, again=True)
        return None
    if state.versus not in others:
        same = [title.run_id for title in others.values() if title.name == run.name]
        before = [other_id for other_id in same if other_id < run.run_id]
        state.versus = (before or same or list(others))[0]
    st.session_state[_OTHER] = state.versus

    def label(run_id: int) -> str:
        title = others[run_id]
        return f"{run_id} · {title.name} · {look(title, runs().job(run_id)).word} · {when(title)}"

    st.selectbox("Compared with", list(others), key=_OTHER, format_func=label, on_change=_choose)
    return store.runs.get(int(st.session_state[_OTHER]))


def _common_edges(left: Run, right: Run) -> list[Edge]:
    """The edges that both runs have with the same number of columns, and of which both keep the same, results first."""
    store = workspace.store()
    there = {(edge.node, edge.port): edge for edge in store.runs.edges(right.run_id)}
    pairs = [(edge, there.get((edge.node, edge.port))) for edge in store.runs.edges(left.run_id)]
    common = [(edge, other) for edge, other in pairs if other and len(edge.columns) == len(other.columns)]
    comparable = [edge for edge, other in common if edge.share == other.share != NONE]
    if left_out := [edge.name for edge, _ in common if edge not in comparable]:
        names = words.escaped(", ".join(left_out))
        st.caption(f"The runs have not both kept the same records of {names}. {how_to_keep_more()}")
    return list(reversed(comparable))


class _Differences:
    """The differences of two runs, by part: a sentence for each part, and the function that draws it."""

    def __init__(self, left: Run, right: Run, edge: Edge | None) -> None:
        self.left, self.right, self.edge = left, right, edge
        self.names = (f"run {left.run_id}", f"run {right.run_id}")
        store = workspace.store()
        ids = (left.run_id, right.run_id)
        # Of two zones, one would be wrong.
        zones = [store.runs.zone(run_id) for run_id in ids]
        self.zone = zones[0] if zones[0] == zones[1] else None
        self.plans = plan_differences(store.run_differences.plans(left, right))
        self.counters = store.run_differences.counters(*ids)
        self.times = store.run_differences.times(*ids)
        self.late = store.run_differences.late(*ids)
        self.table = store.table_differences.between(*ids, edge.node, edge.port) if edge else None
        self.event = store.run_differences.first_different_event(*ids, edge.node, edge.port) if edge else None

    def parts(self) -> list[tuple[str, int, str, Callable[[], None]]]:
        """(name, number of differences, sentence, function that draws the part); parts with differences first."""
        counters = sum(not pair.is_same for pair in self.counters)
        times = sum(pair.left != pair.right for pair in self.times)
        late = self.late.only_left + self.late.only_right + self.late.other_outcome
        left_name, other = self.names
        entries = [
            ("Plan", len(self.plans), words.count(len(self.plans), "difference"), self._plan),
            ("Counters", counters, f"{words.count(counters, 'node')} with different counts", self._counters),
            ("Event time", times, f"{words.count(times, 'difference')} in watermarks and windows", self._times),
            (
                "Late records",
                late,
                f"{self.late.only_left:,} only in {left_name}, {self.late.only_right:,} only in {other}, "
                f"{self.late.both:,} in both"
                + (
                    f", {self.late.other_outcome:,} of them dropped in one and used in the other"
                    if self.late.other_outcome
                    else ""
                ),
                self._late,
            ),
        ]
        if self.table is not None:
            entries.insert(
                0,
                (
                    "Final table",
                    self.table.different,
                    f"{words.count(self.table.different, 'row')} different, {self.table.equal:,} the same "
                    f"({self.table.left:,} and {self.table.right:,} rows)",
                    self._table,
                ),
            )
            sentence = "the same, record by record" if self.event is None else f"they diverge at event {self.event:,}"
            entries.insert(1, ("Changelog", int(self.event is not None), sentence, self._changelog))
        return sorted(entries, key=lambda part: part[1] == 0)

    def _plan(self) -> None:
        if not self.plans:
            st.success("The pipelines and their plans are the same.", icon=":material/check_circle:")
            return
        grid(plan_table(self.plans, *self.names), key="compare-plan", label="Plans compared")

    def _counters(self) -> None:
        grid(counter_table(self.counters, *self.names), key="compare-counters", label="Counters compared")

    def _times(self) -> None:
        if not self.times:
            st.caption("Neither run has an event time.")
            return
        grid(time_table(self.times, *self.names, self.zone), key="compare-times", label="Event time compared")
        timelines = workspace.store().timeline
        left, right = (timelines.timeline(run.run_id) for run in (self.left, self.right))
        draw_figure(watermark_pair_chart(left, right, self.names, self.zone), "compare-watermarks")

    def _late(self) -> None:
        if not self.late.rows:
            all_clear("The same records were dropped and used in both, or none was late", self.left, self.right)
            return
        grid(
            late_pairs_table(self.late.rows, *self.names, state.event, self.zone),
            key="compare-late",
            height=420,
            on_pick=lambda seq: move_to(int(seq)),
            label="Late records compared",
        )

    def _table(self) -> None:
        assert self.edge is not None
        assert self.table is not None
        if self.table.is_same:
            all_clear(f"The same {words.count(self.table.equal, 'row')} in both", self.left, self.right)
            return
        by = (
            f"by {words.escaped(', '.join(self.table.key))}"
            if self.table.key
            else "by whole row, because there is no key"
        )
        st.caption(f"Rows that differ, {by}.")
        table = comparison_table(self.edge, self.table, *self.names)
        grid(table, key="compare-table", height=420, label="Final tables compared")

    def _changelog(self) -> None:
        assert self.edge is not None
        if self.event is None:
            all_clear("Both changelogs are the same, record by record", self.left, self.right)
            return
        start = max(0, self.event - 1)
        pairs = workspace.store().run_differences.records(
            self.left.run_id, self.right.run_id, self.edge.node, self.edge.port, from_seq=start, limit=_RECORDS
        )
        st.caption(f"They diverge at event {self.event:,}. From just before it, position by position:")
        grid(
            record_pairs_table(pairs, self.edge.names, *self.names, state.event or self.event),
            key="compare-records",
            height=420,
            on_pick=lambda seq: move_to(int(seq)),
            label="Changelogs compared",
        )


def _overview(parts: list[tuple[str, int, str, Callable[[], None]]], scope: str) -> None:
    """scope: up to which events the parts hold; empty if they are about whole runs. The plan always is."""

    def open_part(name: str) -> None:
        state.part = name

    rows = [
        Row(
            (
                Cell(name, is_strong=True),
                Cell("different", tone="warn") if count else _same("" if name == "Plan" else scope),
                Cell(sentence),
            ),
            pick=name,
            is_current=name == (state.part or parts[0][0]),
        )
        for name, count, sentence, _ in parts
    ]
    grid(Table(("part", "", "what"), rows), key="compare-parts", on_pick=open_part, label="What differs")


def _same(scope: str) -> Cell:
    return Cell("the same so far") if scope else Cell("the same", tone="good")


def _first_different(left: Run, right: Run, edges: Mapping[str, Edge]) -> str:
    """The initial edge: the first one, from the results up, whose records differ; else the result."""
    first_different = workspace.store().run_differences.first_different_event
    differing = (
        name
        for name, edge in edges.items()
        if first_different(left.run_id, right.run_id, edge.node, edge.port) is not None
    )
    return next(differing, next(iter(edges)))


def _show(left: Run, right: Run) -> None:
    edges = {edge.name: edge for edge in _common_edges(left, right)}
    edge: Edge | None = None
    if edges:
        if st.session_state.get(_EDGE) not in edges:
            st.session_state[_EDGE] = _first_different(left, right, edges)
        edge = edges[st.selectbox("Edge whose changelog and table are compared", list(edges), key=_EDGE)]
    else:
        st.caption("The runs have no edge in common, so no changelog and no table can be compared.")
    parts = _Differences(left, right, edge).parts()
    names = [name for name, *_ in parts]
    _overview(parts, so_far(left, right))
    chosen = page_part("Part", names, _PART)
    next(show for name, _, _, show in parts if name == chosen)()


opened = opened_run()
if opened is not None:
    two, swap = st.columns([5, 1], vertical_alignment="bottom")
    with two:
        compared = _pick_other(opened)
    if compared is not None:
        swap.button("Swap", icon=":material/swap_horiz:", on_click=_swap, key="compare-swap", width="stretch")
        _show(compared, opened)
