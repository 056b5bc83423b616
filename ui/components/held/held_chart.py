"""An operator's state over a run: its entries stacked by kind, and what it would hold if nothing had expired."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import plotly.graph_objects as go

from engine.model.zones import Zone
from storage.event_time.held_states import HeldPoint, HeldState
from ui.components.held.held_table import held_in_words
from ui.shell import theme, words

ENTRIES: Final = "entries"
KEYS: Final = "keys"
BYTES: Final = "bytes"
MEASURES: Final = (ENTRIES, KEYS, BYTES)
_DASHES: Final = ("solid", "dash", "dot")


def held_chart(state: HeldState, measure: str, *, over_time: bool, zone: Zone | None = None) -> go.Figure:
    """The state over events, or over the recorded clock. measure: one of MEASURES. zone: of the clock."""
    chart = theme.figure(320)
    points = [point for point in state.points if not over_time or point.clock_ms is not None]
    xs = [_moment(point.clock_ms, zone) if over_time else point.seq for point in points]
    hover = [_words_of(point, zone) for point in points]
    if measure == KEYS:
        chart.add_scatter(
            x=xs, y=[point.keys for point in points], name="keys", **_area(0), text=hover, hovertemplate=_HOVER
        )
    else:
        for at, kind in enumerate(state.kinds):
            ys = [_of_kind(point, kind, measure) for point in points]
            chart.add_scatter(x=xs, y=ys, name=kind, stackgroup="held", **_area(at), text=hover, hovertemplate=_HOVER)
        if state.last.expired:
            ys = [_of_all(point, measure) for point in points]
            line = {"shape": "hv", "width": 2, "dash": "dot", "color": theme.PROBLEM}
            chart.add_scatter(
                x=xs, y=ys, name="if nothing had expired", mode="lines", line=line, text=hover, hovertemplate=_HOVER
            )
    chart.update_xaxes(title=f"recorded clock ({words.zone_name(zone)})" if over_time else "event")
    chart.update_yaxes(title=measure, rangemode="tozero", tickformat=",d" if measure != BYTES else "~s")
    return chart


_HOVER: Final = "%{text}<extra></extra>"


def _area(at: int) -> dict[str, object]:
    color = theme.series_color(at)
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    line = {"shape": "hv", "width": 2, "color": color, "dash": _DASHES[at % len(_DASHES)]}
    return {"mode": "lines", "line": line, "fillcolor": f"rgba({red},{green},{blue},0.25)"}


def _of_kind(point: HeldPoint, kind: str, measure: str) -> float:
    number = point.entries.get(kind, 0)
    return number if measure == ENTRIES or not point.total else point.size * number / point.total


def _of_all(point: HeldPoint, measure: str) -> float:
    number = point.total + point.expired
    return number if measure == ENTRIES or not point.total else point.size * number / point.total


def _words_of(point: HeldPoint, zone: Zone | None) -> str:
    time = f", {words.instant(point.clock_ms, zone)}" if point.clock_ms is not None else ""
    gone = f"<br>{point.expired:,} expired so far" if point.expired else ""
    held = words.in_chart(held_in_words(point.entries))
    return f"event {point.seq:,}{time}<br>{held} of {words.count(point.keys, 'key')}{gone}"


def _moment(ms: int | None, zone: Zone | None) -> datetime | None:
    if ms is None:
        return None
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return (at if zone is None else zone.shown(at)).replace(tzinfo=None)
