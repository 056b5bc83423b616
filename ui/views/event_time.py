"""Event time: the order of arrival, the watermarks, the fired windows, and the late records."""

from __future__ import annotations

from typing import Final

import streamlit as st
from plotly.graph_objects import Figure

from engine.model.zones import Zone
from storage.event_time.idle_sources import lagging_sources
from storage.event_time.model import LateRecord, LateTotals, Timeline
from storage.model import Edge, EventRange, Run
from storage.wanted import Filter
from ui.components.changelog.record_list import in_one_line
from ui.components.chart_click import on_point_click
from ui.components.event_time.behind_watermark import behind_watermark
from ui.components.event_time.event_time_chart import event_time_chart, shows_windows
from ui.components.event_time.late_file import LATE_FILE, late_file
from ui.components.event_time.late_groups import late_groups
from ui.components.event_time.late_link import LATE, is_late, open_late_file
from ui.components.event_time.late_records import (
    cut_values,
    late_records,
    late_summary,
    none_late,
    rejected_rows,
    rejected_summary,
)
from ui.components.event_time.late_table import outcome_of, window_of
from ui.components.event_time.lead_chart import lead_chart
from ui.components.event_time.lead_map_chart import lead_map_chart
from ui.components.event_time.seq_range import seq_range
from ui.components.event_time.time_findings import future_sentence, idle_sentence, lagging_sentences
from ui.components.event_time.time_tables import arrival_table, operator_table, source_table
from ui.components.grid import grid
from ui.components.runs.next_steps import next_steps
from ui.components.runs.open_run import nothing_yet, opened_run
from ui.components.shell.finding import finding
from ui.components.shell.page_part import page_part
from ui.components.shell.pager import pager
from ui.components.time_travel.event_player import move_to
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.navigation import go
from ui.shell.state import state
from ui.shell.theme import chart_config, draw_figure

_PAGE: Final = 50
_DESCRIBED: Final = 1000
_AROUND: Final = 50
# A record that alone made this share of the late records late is worth a warning.
_ALARMING: Final = 0.2
_RECORDS, _GROUPS = "Records of the range", "Which ones?"
_FIGURES, _LEAD = "Sources and operators", "Lead over the watermark"
_MAP, _TIMES = "Lead over the watermark", "Event time"


def _describer(run: Run, sources: list[Edge], timeline: Timeline) -> dict[int, str]:
    """The text of the drawn records, by event; only if each record is a point of its own."""
    if not timeline.is_exact or timeline.to_seq - timeline.from_seq >= _DESCRIBED:
        return {}
    wanted = Filter(from_seq=timeline.from_seq, to_seq=timeline.to_seq)
    descriptions: dict[int, str] = {}
    for edge in sources:
        page = workspace.store().changelog.page(run.run_id, edge.node, edge.port, filter=wanted, limit=_DESCRIBED)
        descriptions |= {record.seq: in_one_line(edge, record) for record in page.records}
    return descriptions


def _missed(records: tuple[LateRecord, ...], zone: Zone | None) -> dict[int, list[str]]:
    missed: dict[int, list[str]] = {}
    for late in records:
        missed.setdefault(late.seq, []).append(
            f"{late.node} {window_of(late, zone=zone)}".strip() + f": {outcome_of(late)}"
        )
    return missed


def _seen_by(run: Run, sources: list[Edge]) -> tuple[str | None, list[str]]:
    """Draw the choices of an operator's point of view and of sources, if there are several; return both."""
    stored = workspace.store().runs.stored(run.run_id)
    operators = list(dict.fromkeys(edge.node for edge in stored.edges if edge.role == "operator"))
    names = [edge.node for edge in sources]
    node: str | None = None
    chosen: list[str] = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if operators:
            key = f"seen-by-{run.run_id}"
            if state.seen in operators:
                st.session_state.setdefault(key, state.seen)
            node = st.selectbox(
                "As seen by",
                operators,
                index=None,
                key=key,
                on_change=_saw,
                args=(key,),
                placeholder="the whole pipeline",
            )
        if len(names) > 1:
            above = names if node is None else [name for name in names if name in stored.holdbacks(node)]
            chosen = st.multiselect(
                "Sources", above, key=f"sources-{run.run_id}-{node}", placeholder="all", select_all=False
            )
    return node, chosen


@guarded
def _saw(key: str) -> None:
    state.update(seen=st.session_state[key])


def _chart(run: Run, sources: list[Edge], node: str | None, names: list[str]) -> Timeline:
    first, last = workspace.store().timeline.extent(run.run_id)
    events = EventRange(*seq_range(run.run_id, first, last))
    # A source without an event time has nothing to draw.
    timeline = workspace.store().timeline.timeline(
        run.run_id, events, node=node, sources=names or [edge.node for edge in sources]
    )
    shown = _TIMES
    if not timeline.is_exact:
        shown = st.segmented_control(
            "Chart", [_MAP, _TIMES], default=_MAP, required=True, key=f"chart-{run.run_id}", width="content"
        )
    if shown == _MAP:
        _map(run, timeline, node)
    else:
        _times(run, sources, timeline, node)
    return timeline


def _times(run: Run, sources: list[Edge], timeline: Timeline, node: str | None) -> None:
    late = workspace.store().late.page(run.run_id, timeline.events, node=node, limit=_DESCRIBED)
    described = _describer(run, [edge for edge in sources if edge.node in timeline.sources], timeline)
    zone = workspace.store().runs.zone(run.run_id)
    chart = event_time_chart(
        timeline,
        describe=lambda seq: described.get(seq, ""),
        missed=_missed(late.records, zone),
        event=state.event,
        zone=zone,
    )
    _selectable(run, chart, "event-time", "Event time over arrival order")
    notes = []
    if not timeline.is_exact:
        notes.append(
            f"{timeline.points.num_rows:,} points stand for {timeline.to_seq - timeline.from_seq + 1:,} events: each "
            "interval shows its earliest and latest record, and every state that occurs in it."
        )
    if not shows_windows(timeline):
        fired = sum(timeline.fires.column("windows").to_pylist())
        notes.append(f"{fired:,} windows fired in this range, too many to draw.")
    notes.append("Drag over a part of the chart to see its events alone; click a late record to open its file.")
    st.caption(" ".join(notes))


def _map(run: Run, timeline: Timeline, node: str | None) -> None:
    """Draw the lead over the watermark: where the records' own times would form a diagonal without detail."""
    shown = workspace.store().lead_maps.of(run.run_id, timeline.events, node=node)
    _selectable(run, lead_map_chart(shown), "lead-map", "Lead over the watermark by arrival order")
    notes = ["Event time minus the watermark at arrival. Click a cell to see its events."]
    if not shown.is_combined:
        notes.append("Sources were idle, so the watermark is that of each record's own source.")
    if shown.one_in > 1:
        notes.append(f"Counted in one of {shown.one_in} blocks of events; late records are all there.")
    st.caption(" ".join(notes))


def _selectable(run: Run, chart: Figure, name: str, alt: str) -> None:
    """Draw a chart over arrival order. A drag, or a click on a cell, shows these events alone; a click on a record
    goes to its event, and opens its file if it was late.
    """
    key = f"{name}-{run.run_id}"
    first, last = workspace.store().timeline.extent(run.run_id)

    @guarded
    def selected() -> None:
        selection = st.session_state[key].selection
        boxes, points = selection.get("box") or [], selection.get("points") or []
        if boxes and (xs := boxes[0].get("x")):
            low, high = sorted(float(x) for x in xs)
            _only(run, max(first, round(low + 0.5 - 1e-9)), min(last, int(high)))
        elif points:
            clicked(points[0].get("customdata"))

    def clicked(events: object) -> None:
        if isinstance(events, list):
            _only(run, max(first, int(events[0])), min(last, int(events[1])))

    st.plotly_chart(
        chart,
        key=key,
        theme="streamlit",
        width="stretch",
        on_select=selected,
        selection_mode=("box", "points"),
        config=chart_config(modeBarButtonsToRemove=["lasso2d", "autoScale2d"]),
        alt=alt,
    )
    if chart.layout.dragmode == "select":
        on_point_click(key, clicked, LATE_FILE)


def _only(run: Run, start: int, end: int) -> None:
    if start < end:
        st.session_state[f"range-{run.run_id}"] = (start, end)
        state.hold(part=_RECORDS)
    elif start == end and is_late(run, start):
        open_late_file(run.run_id, start)
    elif start == end:
        move_to(start)


def _findings(run: Run, timeline: Timeline, totals: LateTotals) -> None:
    """Draw what explains the chart: records from the future in the run, sources that held the watermark back here."""
    zone = workspace.store().runs.zone(run.run_id)
    delays = {edge.node: edge.watermark_delay_ms or 0 for edge in workspace.store().runs.edges(run.run_id)}
    for record in workspace.store().future_records.find(run.run_id):
        # A jump within the delay is expected, and a record that made only a few others late is not worth a warning.
        if record.jump_ms <= delays.get(record.source, 0) or record.late < _ALARMING * totals.late:
            continue
        finding(
            future_sentence(record, zone),
            ":material/fast_forward:",
            "Go there",
            ":material/my_location:",
            _around,
            (run.run_id, record.seq),
            key=f"future-{record.seq}",
        )
    sentences = lagging_sentences(lagging_sources(timeline), timeline)
    sentences += [idle_sentence(idle, zone) for idle in workspace.store().idle_sources.find(run.run_id, timeline)]
    if sentences:
        st.subheader("What holds the watermark back", anchor=False)
        st.markdown("\n".join(f"- {sentence}" for sentence in sentences))


@guarded
def _around(run_id: int, seq: int) -> None:
    """Show the events around one, and move the page to it."""
    first, last = workspace.store().timeline.extent(run_id)
    st.session_state[f"range-{run_id}"] = (max(first, seq - _AROUND), min(last, seq + _AROUND))
    state.hold(part=_RECORDS)
    move_to(seq)


def _records(run: Run, timeline: Timeline) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.selectbox("Source", timeline.sources, index=None, key="records-source", placeholder="all")
        state_ = st.selectbox(
            "State",
            ["in time", "out of order", "late but used", "dropped"],
            index=None,
            key="records-state",
            placeholder="all",
        )
    key = f"records-{run.run_id}-{timeline.from_seq}-{timeline.to_seq}-{source}-{state_}"
    offset = int(st.session_state.get(key, 0))
    page = workspace.store().arrivals.page(
        run.run_id, timeline.events, source=source, state=state_, offset=offset, limit=_PAGE
    )
    st.caption(f"{words.count(page.total, 'event')} from {timeline.from_seq:,} to {timeline.to_seq:,}")
    grid(
        arrival_table(page.records, state.event, workspace.store().runs.zone(run.run_id)),
        key=f"records-{run.run_id}-grid",
        height=380,
        on_pick=lambda seq: move_to(int(seq)),
        label="Records of the range",
    )
    pager(key, offset, _PAGE, page.total, what="events")


def _figures(run: Run, timeline: Timeline) -> None:
    arrivals = workspace.store().arrivals
    figures = source_table(arrivals.sources(run.run_id, timeline.events), workspace.store().runs.zone(run.run_id))
    grid(figures, key="sources-grid", label="Sources in figures")
    st.space("small")

    def see(node: str) -> None:
        st.session_state[f"seen-by-{run.run_id}"] = node
        state.update(seen=node)

    operators = operator_table(arrivals.operators(run.run_id, timeline.events))
    grid(operators, key="operators-grid", label="Operators in figures", on_pick=see)


def _lead(timeline: Timeline) -> None:
    st.caption(
        "How far each record's event time was ahead of the watermark as it arrived. The larger it is, the longer "
        "results wait. Below zero, the watermark had already passed the record."
    )
    draw_figure(lead_chart(timeline), "lead-chart")


def _parts(run: Run, timeline: Timeline, totals: LateTotals) -> None:
    """Draw one part at a time: parts that are not shown are not queried."""
    # Of many records, the chart above shows it.
    lead = [_LEAD] if timeline.is_exact else []
    shown = [LATE, *([_GROUPS] if totals.late else []), _RECORDS, _FIGURES, *lead]
    match page_part("Show", shown, f"part-{run.run_id}"):
        case "Records of the range":
            _records(run, timeline)
        case "Sources and operators":
            _figures(run, timeline)
        case "Lead over the watermark":
            _lead(timeline)
        case "Which ones?":
            late_groups(run, dropped=totals.dropped)
        case _:
            _late(run, totals)


def _late(run: Run, totals: LateTotals) -> None:
    if not totals.late:
        none_late(f"None of {words.count(totals.records, 'record')} was late for any operator", run)
        return
    late_file(run, state.event)
    late_records(run, totals.last_seq, height=380)
    if state.event is not None and st.button(
        f"See what event {state.event:,} did", icon=":material/receipt_long:", key="late-to-changelog"
    ):
        go("changelog")


def _rejected(run: Run, totals: LateTotals) -> None:
    cut_values(run)
    if not totals.rejected:
        return
    st.subheader("Rejected rows", anchor=False)
    rejected_summary(run, totals)
    rejected_rows(run, height=320)


def _show(run: Run) -> None:
    stored = workspace.store().runs.stored(run.run_id)
    timed = list(stored.timed_sources)
    totals = workspace.store().late.totals(run.run_id)
    if not stored.sources:
        nothing_yet(run)
    elif not timed:
        st.info(
            "No source of this pipeline declares an event time, so there is no watermark and nothing can be late. "
            "To see event time here, open the pipeline, choose a source, and set **Event time** to the column that "
            "says when each record happened.",
            icon=":material/schedule:",
        )
        next_steps(run, "Open the pipeline")
    elif run.last_seq == 0:
        st.info("The sources had no records.", icon=":material/info:")
    else:
        node, names = _seen_by(run, timed)
        if totals.late:
            late_summary(run, totals)
        behind_watermark(run, node)
        timeline = _chart(run, timed, node, names)
        _findings(run, timeline, totals)
        _parts(run, timeline, totals)
    _rejected(run, totals)


chosen = opened_run()
if chosen is not None:
    _show(chosen)
