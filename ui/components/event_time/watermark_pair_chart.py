"""The combined watermarks of two runs over the same arrival order."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.model.zones import Zone
from storage.event_time.model import Timeline
from ui.shell import theme, words


def watermark_pair_chart(
    left: Timeline, right: Timeline, names: tuple[str, str], zone: Zone | None = None
) -> go.Figure:
    """One step line per run; the second is drawn dashed over the first, so that both are visible if they coincide."""
    chart = theme.figure(320)
    styles = (
        {"width": 4, "color": theme.series_color(0)},
        {"width": 2, "color": theme.series_color(3), "dash": "dash"},
    )
    for timeline, name, style in zip((left, right), names, styles, strict=True):
        rows = timeline.watermark.to_pylist()
        steps = sorted((row["seq"], row["watermark_ms"]) for row in rows if row["watermark_ms"] < words.END_MS)
        if not steps:
            continue
        last = max(timeline.to_seq, steps[-1][0])
        chart.add_scatter(
            x=[*(seq for seq, _ in steps), last],
            y=[words.instant(mark, zone)[: words.LOCAL].replace(" ", "T") for _, mark in [*steps, steps[-1]]],
            mode="lines",
            line={"shape": "hv", **style},
            name=name,
        )
    chart.update_xaxes(title="arrival order (event number)", tickformat=",d")
    chart.update_yaxes(title=f"watermark ({words.zone_name(zone)})")
    return chart
