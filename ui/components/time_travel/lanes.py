"""A marble diagram around the current event: a lane per edge, and a marble per record, by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import plotly.graph_objects as go
import streamlit as st

from engine.model.changelog import RowKind
from storage.changelogs.navigation import Around
from storage.model import Record
from ui.shell import theme, words
from ui.shell.guard import guarded

_LANE_PX: Final = 34
_AXIS_PX: Final = 74
_SPREAD: Final = 0.8
_LONGEST: Final = 90
_LETTERS: Final = 26


def lanes_chart(around: Around, event: int) -> go.Figure:
    """The chart. The records of one event are side by side, in order of emission."""
    lanes = around.lanes
    names = [lane.edge.name for lane in lanes]
    chart = theme.figure(_AXIS_PX + _LANE_PX * len(lanes))
    chart.add_vrect(
        event - 0.5, event + 0.5, fillcolor=theme.series_color(0), opacity=0.13, line_width=0, layer="below"
    )
    places = _places(around)
    for kind in RowKind:
        shown = [(at, record) for at, lane in enumerate(lanes) for record in lane.records if record.kind is kind]
        if not shown:
            continue
        chart.add_scatter(
            x=[places[at, record.row] for at, record in shown],
            y=[names[at] for at, _ in shown],
            mode="markers",
            name=kind.symbol,
            marker={
                "color": [_color(kind, is_past=record.seq <= event) for _, record in shown],
                "symbol": theme.KIND_MARKERS[kind],
                "size": [13 if record.seq == event else 10 for _, record in shown],
                "opacity": 1,
            },
            showlegend=False,
            unselected={"marker": {"opacity": 1}},
            customdata=[record.seq for _, record in shown],
            hovertext=[_hover_text(names[at], lanes[at].edge.names, record) for at, record in shown],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    # The legend has traces of its own: the legend mark of a trace is as pale as its first marble.
    for kind in RowKind:
        if any(record.kind is kind for lane in lanes for record in lane.records):
            chart.add_scatter(
                x=[None],
                y=[None],
                mode="markers",
                name=f"{kind.symbol} {theme.KIND_WORDS[kind]}",
                marker={"color": theme.KIND_COLORS[kind], "symbol": theme.KIND_MARKERS[kind], "size": 10},
            )
    _late(chart, around, places, names)
    chart.update_xaxes(
        range=[around.from_seq - 0.6, around.to_seq + 0.6],
        dtick=1,
        tickformat=",d",
        ticksuffix="  ",
        title={"text": "event", "standoff": 2},
        showgrid=False,
        fixedrange=True,
    )
    chart.update_yaxes(
        categoryorder="array",
        categoryarray=names[::-1],
        range=[-0.6, len(names) - 0.4],
        fixedrange=True,
        tickvals=names,
        ticktext=[_short(name) for name in names],
        showgrid=True,
    )
    chart.update_layout(dragmode=False, clickmode="event+select")
    return chart


def lanes(around: Around, event: int, *, key: str, on_event: Any) -> None:
    """Draw the diagram; a click on a marble goes to its event."""

    @guarded
    def clicked() -> None:
        chart_state = cast("Mapping[str, Any]", st.session_state.get(key) or {})
        points = chart_state.get("selection", {}).get("points", [])
        if points and points[0].get("customdata") is not None:
            seq = points[0]["customdata"]
            on_event(int(seq[0] if isinstance(seq, list) else seq))

    st.plotly_chart(
        lanes_chart(around, event),
        key=key,
        theme="streamlit",
        width="stretch",
        config=theme.chart_config(displayModeBar=False),
        on_select=clicked,
        selection_mode="points",
    )
    cut = [lane.edge.name for lane in around.lanes if lane.is_cut]
    if cut:
        st.caption(f"Not all records are drawn for {', '.join(cut)}.")


def _places(around: Around) -> dict[tuple[int, int], float]:
    """The x coordinate of each record (lane, row): an event's records share its width, in order of emission."""
    by_event: dict[int, list[tuple[bytes, int, int]]] = {}
    for at, lane in enumerate(around.lanes):
        for record in lane.records:
            by_event.setdefault(record.seq, []).append((record.step, at, record.row))
    places: dict[tuple[int, int], float] = {}
    for seq, records in by_event.items():
        records.sort()
        # A sink's output record has the position of its input record, so both share a place.
        steps = {step: at for at, step in enumerate(dict.fromkeys(step for step, _, _ in records))}
        for step, at, row in records:
            places[at, row] = seq + _SPREAD * ((steps[step] + 0.5) / len(steps) - 0.5)
    return places


def _late(chart: go.Figure, around: Around, places: Mapping[tuple[int, int], float], names: list[str]) -> None:
    """Draw rings around the late source records."""
    for name, color, is_dropped in (("dropped", theme.DROPPED, True), ("late but used", theme.LATE_USED, False)):
        shown = [
            (places[at, record.row], names[at], record.seq)
            for at, lane in enumerate(around.lanes)
            for record in lane.records
            if lane.edge.role == "source" and around.late.get((lane.edge.node, record.seq)) is is_dropped
        ]
        if shown:
            chart.add_scatter(
                x=[x for x, _, _ in shown],
                y=[lane for _, lane, _ in shown],
                mode="markers",
                name=name,
                marker={"symbol": "circle-open", "size": 20, "color": color, "line": {"width": 2.5}},
                customdata=[seq for _, _, seq in shown],
                hoverinfo="skip",
                unselected={"marker": {"opacity": 1}},
            )


def _color(kind: RowKind, *, is_past: bool) -> str:
    """The kind's colour; pale for records after the current event."""
    red, green, blue = (int(theme.KIND_COLORS[kind][at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{1 if is_past else 0.4})"


def _hover_text(edge: str, names: tuple[str, ...], record: Record) -> str:
    text = words.record(names, record.values)
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"<b>event {record.seq:,}</b> · {edge}<br>{record.kind.symbol} {words.in_chart(shown)}"


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
