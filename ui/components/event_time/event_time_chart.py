"""Event time over arrival order: records, watermarks, windows with the events that fired them, ends of sources.

    event time
        |   +--------------+        a window: the band's height is its time span; the band ends at the
        |   |  o     o     |<fires  event whose watermark fired it
        |   +--------------+
        |        ______________     the watermark, a step per event
        |  _____|
        +------------------------> arrival order (event number)

The store decimates the records; the chart draws all that it receives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import plotly.graph_objects as go

from engine.model.zones import Zone
from storage.event_time.model import Timeline
from ui.shell import theme, words

_HEIGHT: Final = 520
_WINDOWS: Final = 120
_STATES: Final = {
    "in time": ("circle", theme.IN_TIME),
    "out of order": ("diamond", theme.OUT_OF_ORDER),
    "late but used": ("square", theme.LATE_USED),
    "dropped": ("x", theme.DROPPED),
}
_DASHES: Final = ("dot", "dash", "dashdot", "longdash")
_WINDOW: Final = "rgba(124,112,200,0.13)"
_WINDOW_EDGE: Final = "rgba(124,112,200,0.65)"
_EARLIEST_MS: Final = -62_135_596_800_000
_LATEST_MS: Final = 253_402_300_799_999

# The text of the record of an event; empty if it is not known.
Describe = Callable[[int], str]


@dataclass(frozen=True)
class Span:
    """A fired window of an operator, with the event that fired it and the first event drawn inside it."""

    node: str
    start_ms: int
    end_ms: int
    first_seq: int
    fired_seq: int
    windows: int


@dataclass(frozen=True)
class _Scale:
    """Event time on the axis: as dates in a zone, or as milliseconds outside the years 1 to 9999."""

    low_ms: int
    high_ms: int
    zone: Zone | None

    @property
    def is_calendar(self) -> bool:
        return self.low_ms > _EARLIEST_MS and self.high_ms < _LATEST_MS

    def at(self, ms: int) -> str | int:
        shown = min(max(ms, self.low_ms), self.high_ms)
        return words.instant(shown, self.zone)[: words.LOCAL].replace(" ", "T") if self.is_calendar else shown


def shows_windows(timeline: Timeline) -> bool:
    """Whether the windows are drawn: too many would form one dark band that hides the records."""
    fires = timeline.fires
    return fires.num_rows <= _WINDOWS and all(windows == 1 for windows in fires.column("windows").to_pylist())


def spans(timeline: Timeline) -> tuple[Span, ...]:
    """The fired windows, each from the first drawn record inside it."""
    points = [(row["seq"], row["event_time_ms"]) for row in timeline.points.to_pylist()]
    window_spans: list[Span] = []
    for fire in timeline.fires.to_pylist():
        start, end, fired = fire["window_start_ms"], fire["window_end_ms"], fire["seq"]
        inside = [seq for seq, time in points if start <= time < end and seq <= fired]
        first = min(inside, default=fired)
        window_spans.append(Span(fire["node"], start, end, first, fired, fire["windows"]))
    return tuple(window_spans)


def event_time_chart(
    timeline: Timeline,
    *,
    describe: Describe = lambda _seq: "",
    missed: Mapping[int, Sequence[str]] | None = None,
    event: int | None = None,
    zone: Zone | None = None,
) -> go.Figure:
    """The chart of a timeline. missed: by event, what became of a late record. zone: of the times."""
    chart = theme.figure(_HEIGHT)
    fired = spans(timeline)
    scale = _scale(timeline, fired, zone)
    if shows_windows(timeline):
        _draw_windows(chart, fired, scale)
        _draw_fires(chart, fired, scale)
    _draw_watermarks(chart, timeline, scale)
    _draw_points(chart, timeline, scale, fired, describe, missed or {})
    for source, seq in timeline.ends.items():
        if timeline.from_seq <= seq <= timeline.to_seq:
            chart.add_vline(
                seq,
                line={"dash": "dot", "width": 1, "color": theme.GRID.replace("0.22", "0.8")},
                annotation={"text": f"end of {source}", "textangle": -90, "xanchor": "right", "opacity": 0.75},
                annotation_position="bottom right",
            )
    if event is not None and timeline.from_seq <= event <= timeline.to_seq:
        chart.add_vline(event, line={"width": 2, "color": theme.series_color(0)}, opacity=0.55)
    room = max(1.0, 0.02 * (timeline.to_seq - timeline.from_seq))
    few = timeline.to_seq - timeline.from_seq < 25
    chart.update_xaxes(
        title="arrival order (event number)",
        range=[timeline.from_seq - room, timeline.to_seq + room],
        dtick=1 if few else None,
        tickformat=",d",
    )
    chart.update_yaxes(
        title=words.event_time(zone) if scale.is_calendar else "event time (ms)",
        range=[scale.at(scale.low_ms), scale.at(scale.high_ms)],
    )
    chart.update_layout(
        dragmode="select",
        selectdirection="h",
        hovermode="closest",
        margin={"l": 8, "r": 8, "t": 56, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "itemwidth": 30},
    )
    return chart


def _scale(timeline: Timeline, fired: Sequence[Span], zone: Zone | None) -> _Scale:
    """The range of all drawn times, without the watermark at the end of input, which is far above."""
    times: list[int] = timeline.points.column("event_time_ms").to_pylist()
    times += [bound for span in fired for bound in (span.start_ms, span.end_ms)]
    marks: list[int] = timeline.watermarks.column("watermark_ms").to_pylist()
    times += [mark for mark in marks if mark < words.END_MS]
    low, high = min(times, default=0), max(times, default=1)
    room = max((high - low) // 20, 1)
    return _Scale(low - room, high + room, zone)


def _draw_windows(chart: go.Figure, fired: Sequence[Span], scale: _Scale) -> None:
    if not fired:
        return
    xs: list[Any] = []
    ys: list[Any] = []
    for span in fired:
        left, right = span.first_seq - 0.3, max(span.fired_seq, span.first_seq + 0.3)
        bottom, top = scale.at(span.start_ms), scale.at(span.end_ms)
        xs += [left, right, right, left, left, None]
        ys += [bottom, bottom, top, top, bottom, None]
    chart.add_scatter(
        x=xs,
        y=ys,
        mode="lines",
        fill="toself",
        fillcolor=_WINDOW,
        line={"color": _WINDOW_EDGE, "width": 1},
        hoverinfo="skip",
        name="window",
        legendgroup="window",
        legendrank=5,
    )


def _draw_fires(chart: go.Figure, fired: Sequence[Span], scale: _Scale) -> None:
    if not fired:
        return
    chart.add_scatter(
        x=[span.fired_seq for span in fired],
        y=[scale.at(span.end_ms) for span in fired],
        mode="markers",
        marker={"symbol": "triangle-left", "size": 12, "color": _WINDOW_EDGE.replace("0.65", "1")},
        text=[
            f"<b>{span.node}</b> {words.window(span.start_ms, span.end_ms, zone=scale.zone)}"
            f"<br>fired at event {span.fired_seq:,}"
            for span in fired
        ],
        hovertemplate="%{text}<extra>window fired</extra>",
        name="window fires",
        legendrank=6,
    )


def _draw_watermarks(chart: go.Figure, timeline: Timeline, scale: _Scale) -> None:
    by_source: dict[str, list[tuple[int, int]]] = {}
    for row in timeline.watermarks.to_pylist():
        by_source.setdefault(row["source"], []).append((row["seq"], row["watermark_ms"]))
    single = not timeline.is_combined
    if not single:
        _draw_combined(chart, timeline, scale)
    for at, source in enumerate(timeline.sources):
        if steps := by_source.get(source):
            name = "watermark" if len(timeline.sources) == 1 else f"watermark of {source}"
            style = {"color": theme.series_color(at), "width": 2.5 if single else 1.5}
            if not single:
                style["dash"] = _DASHES[at % len(_DASHES)]
            _draw_steps(chart, name, steps, timeline.ends.get(source), timeline.to_seq, scale, style)


def _draw_combined(chart: go.Figure, timeline: Timeline, scale: _Scale) -> None:
    """Draw the minimum below the sources' own lines, so that the source that holds it back is visible on top."""
    steps = [(row["seq"], row["watermark_ms"]) for row in timeline.combined.to_pylist()]
    ends = timeline.ends
    end = max(ends.values()) if len(ends) == len(timeline.sources) else None
    if steps:
        style = {"color": theme.series_color(4), "width": 4}
        _draw_steps(chart, "combined watermark", steps, end, timeline.to_seq, scale, style)


def _draw_steps(
    chart: go.Figure,
    name: str,
    steps: list[tuple[int, int]],
    end: int | None,
    last: int,
    scale: _Scale,
    style: Mapping[str, Any],
) -> None:
    """Draw a step line, constant until the next step; at the end of its source it leaves the chart at the top."""
    stops = last if end is None else min(end, last)
    line = [*steps, (stops, steps[-1][1])]
    if end is not None and end <= last:
        line.append((end, words.END_MS))
    chart.add_scatter(
        x=[seq for seq, _ in line],
        y=[scale.at(mark) for _, mark in line],
        mode="lines",
        line={"shape": "hv", **style},
        name=name,
        legendrank=4,
        text=[words.instant(mark, scale.zone) for _, mark in line],
        hovertemplate="%{text} after event %{x:,}<extra>" + name + "</extra>",
    )


def _draw_points(
    chart: go.Figure,
    timeline: Timeline,
    scale: _Scale,
    fired: Sequence[Span],
    describe: Describe,
    missed: Mapping[int, Sequence[str]],
) -> None:
    rows = timeline.points.to_pylist()
    for rank, (state, (symbol, color)) in enumerate(_STATES.items()):
        points = [row for row in rows if row["state"] == state]
        if not points:
            continue
        size = (11 if state in ("late but used", "dropped") else 9) if len(rows) <= 400 else 4
        hovers = [_hover(row, timeline, scale.zone, fired, describe, missed) for row in points]
        chart.add_scatter(
            x=[row["seq"] for row in points],
            y=[scale.at(row["event_time_ms"]) for row in points],
            mode="markers",
            marker={"symbol": symbol, "size": size, "color": color, "line": {"width": 0}},
            name=state,
            text=hovers,
            hovertemplate="%{text}<extra>" + state + "</extra>",
            legendrank=rank,
            # The first and the last event of what it stands for.
            customdata=[[row["seq"], row["seq"]] for row in points],
        )


def _hover(
    row: Mapping[str, Any],
    timeline: Timeline,
    zone: Zone | None,
    fired: Sequence[Span],
    describe: Describe,
    missed: Mapping[int, Sequence[str]],
) -> str:
    seq, time = row["seq"], row["event_time_ms"]
    lines = [f"<b>event {seq:,}</b> of {row['source']}", words.instant(time, zone)]
    if row["records"] > 1:
        lines.append(f"stands for {row['records']:,} records")
    if description := describe(seq):
        lines.append(words.in_chart(description))
    if seq in missed:
        lines += list(missed[seq])
    elif timeline.is_exact:
        inside = [span for span in fired if span.start_ms <= time < span.end_ms and span.windows == 1]
        named = [f"in {span.node} {words.window(span.start_ms, span.end_ms, zone=zone)}" for span in inside]
        lines += list(dict.fromkeys(named))[:3]
    return "<br>".join(lines)
