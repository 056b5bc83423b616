"""The lead of event time over the watermark: how long results wait, at the least, and which records were late.

ahead   .  o  .      a record's event time minus the (combined) watermark at its arrival; below zero the watermark
    0 ------x---     had already passed it
"""

from __future__ import annotations

from bisect import bisect_left

import plotly.graph_objects as go

from storage.event_time.model import Timeline
from ui.shell import theme, words

_STATES = {
    "in time": theme.IN_TIME,
    "out of order": theme.OUT_OF_ORDER,
    "late but used": theme.LATE_USED,
    "dropped": theme.DROPPED,
}
_SYMBOLS = {"in time": "circle", "out of order": "diamond", "late but used": "square", "dropped": "x"}


def leads(timeline: Timeline) -> list[tuple[int, str, int]]:
    """(event, state, event time minus the previous watermark in ms) of the drawn records that had a watermark."""
    steps = sorted((row["seq"], row["watermark_ms"]) for row in timeline.watermark.to_pylist())
    seqs = [seq for seq, _ in steps]
    points = []
    for row in timeline.points.to_pylist():
        at = bisect_left(seqs, row["seq"]) - 1
        if at >= 0 and steps[at][1] < words.END_MS:
            points.append((row["seq"], row["state"], row["event_time_ms"] - steps[at][1]))
    return points


def lead_chart(timeline: Timeline) -> go.Figure:
    """The chart of a timeline's leads, in the timeline's states and colours."""
    chart = theme.figure(300)
    points = leads(timeline)
    largest = max((abs(lead) for _, _, lead in points), default=0)
    unit, size = ("s", 1000) if largest >= 2000 else ("ms", 1)
    for state, color in _STATES.items():
        own = [(seq, lead) for seq, point_state, lead in points if point_state == state]
        if own:
            chart.add_scattergl(
                x=[seq for seq, _ in own],
                y=[lead / size for _, lead in own],
                mode="markers",
                name=state,
                marker={"color": color, "symbol": _SYMBOLS[state], "size": 6},
                text=[f"event {seq:,}: {words.duration(lead)} ahead of the watermark" for seq, lead in own],
                hovertemplate="%{text}<extra></extra>",
            )
    chart.add_hline(0, line={"width": 1.5, "dash": "dot", "color": theme.PROBLEM})
    chart.update_xaxes(
        title="arrival order (event number)", range=[timeline.from_seq, timeline.to_seq], tickformat=",d"
    )
    chart.update_yaxes(title=f"event time ahead of the watermark ({unit})")
    return chart
