"""Dropped records against latency: what each watermark delay would drop, with the important delays marked."""

from __future__ import annotations

from typing import Any, Final

import plotly.graph_objects as go

from storage.event_time.needed_waits import LateOperator
from storage.event_time.what_if import Losses
from ui.shell import theme, words

_POINTS: Final = 400
# With fewer dropped records, the axis would have ticks between whole numbers.
_FEW: Final = 5


def loss_chart(
    losses: Losses, operator: LateOperator, delay_ms: int, lateness_ms: int, dropped: int, top_ms: int
) -> go.Figure:
    """Records dropped over the delay, for the chosen allowed lateness, up to top_ms. dropped: with the chosen delay."""
    chart = theme.figure(340)
    unit, size = _unit(top_ms)
    xs, ys = _curve(losses, lateness_ms, top_ms)
    chart.add_scatter(
        x=[x / size for x in xs],
        y=ys,
        mode="lines",
        line={"shape": "hv", "width": 2.5, "color": theme.series_color(0)},
        name="records dropped",
        fill="tozeroy",
        fillcolor="rgba(63,102,201,0.10)",
        text=[f"delay {words.duration(x)}: {words.count(y, 'record')} dropped" for x, y in zip(xs, ys, strict=True)],
        hovertemplate="%{text}<extra></extra>",
    )
    marks: list[tuple[str, int, str, str]] = [
        ("as it ran", operator.delay_ms, "diamond", theme.OUT_OF_ORDER),
        ("best trade-off", max(0, losses.knee_ms() - lateness_ms), "triangle-up", theme.series_color(2)),
        ("nothing dropped", max(0, losses.lossless_ms - lateness_ms), "circle", theme.series_color(4)),
        ("chosen", delay_ms, "star", theme.series_color(5)),
    ]
    for name, at, symbol, color in marks:
        lost = dropped if name == "chosen" else losses.lost(at + lateness_ms)
        chart.add_scatter(
            x=[at / size],
            y=[lost],
            mode="markers",
            name=name,
            cliponaxis=False,
            marker={"symbol": symbol, "size": 13, "color": color},
            text=[f"{name}: {words.duration(at)}, {words.count(lost, 'record')} dropped"],
            hovertemplate="%{text}<extra></extra>",
        )
    price = "how long results wait" if operator.rule.delays_results else "how much longer rows are kept"
    chart.update_xaxes(title=f"watermark delay ({unit}): {price}", rangemode="tozero")
    chart.update_yaxes(title="records dropped", rangemode="tozero", tickformat=",d")
    if max(ys) < _FEW:
        chart.update_yaxes(dtick=1)
    return chart


def _unit(top_ms: int) -> tuple[str, int]:
    for unit, size in (("min", 60_000), ("s", 1000)):
        if top_ms >= 3 * size:
            return unit, size
    return "ms", 1


def _curve(losses: Losses, lateness_ms: int, top_ms: int) -> tuple[list[int], list[int]]:
    """The curve's corners if there are few, else points at even distances."""
    corners: list[Any] = [int(wait) - lateness_ms for wait in losses.needed if 0 < wait - lateness_ms <= top_ms]
    if len(corners) > _POINTS:
        corners = [top_ms * at // _POINTS for at in range(1, _POINTS)]
    xs = sorted({0, *corners, top_ms})
    return xs, [losses.lost(x + lateness_ms) for x in xs]
