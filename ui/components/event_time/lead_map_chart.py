"""How far records were ahead of the watermark or behind it over the run, as a heat map; cells with late records are
marked.

    ahead    #  #  #  #      a cell is a part of the run and a span of the lead; the darker, the more records
    -------  watermark
    behind   .  x  .  X      an x: records that were dropped; a ring: late but used; the larger, the more
"""

from __future__ import annotations

from math import ceil, log10
from typing import Final

import plotly.graph_objects as go

from storage.event_time.lead_map import LeadCell, LeadMap
from ui.shell import theme, words

_LATE: Final = (("dropped", "x", theme.DROPPED), ("late but used", "circle-open", theme.LATE_USED))
_CELLS: Final = "cells"
_ROW_PX: Final = 19
_SHADES: Final = ((0.0, "rgba(63,102,201,0.10)"), (0.5, "rgba(63,102,201,0.50)"), (1.0, "rgba(63,102,201,1)"))


def lead_map_chart(shown: LeadMap) -> go.Figure:
    """The chart. A point's customdata is the first and the last event of its part of the run."""
    chart = theme.figure(120 + _ROW_PX * max(8, len(shown.rows)))
    counts = [cell.records for cell in shown.cells if cell.records]
    most = max(counts, default=1)
    middles = {cell.column: sum(shown.events(cell.column)) / 2 for cell in shown.cells}
    # A grid without gaps: rows and parts without records would be covered by their neighbours.
    columns = range(max(middles, default=-1) + 1)
    by_place = {(cell.row, cell.column): cell.records for cell in shown.cells if cell.records}
    chart.add_heatmap(
        x=[sum(shown.events(column)) / 2 for column in columns],
        y=list(range(len(shown.rows))),
        z=[
            [log10(by_place[row, column]) if (row, column) in by_place else None for column in columns]
            for row in range(len(shown.rows))
        ],
        zmin=-0.001,
        zmax=max(log10(most), 0.5),
        colorscale=[list(shade) for shade in _SHADES],
        colorbar={
            "title": {"text": "records", "side": "right"},
            "tickvals": list(range(ceil(log10(most)) + 1)),
            "ticktext": [f"{10**digits:,}" for digits in range(ceil(log10(most)) + 1)],
            "thickness": 12,
            "outlinewidth": 0,
        },
        hoverinfo="skip",
        name="records",
    )
    # A heat map has nothing to click: every cell has a point that nobody sees.
    _points(
        chart,
        shown,
        list(shown.cells),
        middles,
        name=_CELLS,
        color=theme.TRANSPARENT,
        symbol="square",
        sizes=[8] * len(shown.cells),
    )
    for name, symbol, color in _LATE:
        numbers = [cell.dropped if name == "dropped" else cell.used for cell in shown.cells]
        late = [cell for cell, number in zip(shown.cells, numbers, strict=True) if number]
        largest = max(numbers, default=1)
        sizes = [6 + 9 * (log10(number) / log10(largest) if largest > 1 else 1) for number in numbers if number]
        if late:
            _points(chart, shown, late, middles, name=name, color=color, symbol=symbol, sizes=sizes)
    for at, (low, _) in enumerate(shown.rows):
        if low == 0:
            chart.add_hline(at - 0.5, line={"width": 1.5, "dash": "dot", "color": theme.PROBLEM})
    chart.update_xaxes(title="arrival order (event number)", tickformat=",d")
    chart.update_yaxes(
        title="event time against the watermark",
        tickvals=list(range(len(shown.rows))),
        ticktext=[row_label(*row) for row in shown.rows],
        range=[-0.5, len(shown.rows) - 0.5],
        showgrid=False,
    )
    chart.update_layout(dragmode=False, hovermode="closest", clickmode="event+select")
    return chart


def row_label(low: int | None, high: int | None) -> str:
    """A span of the lead: `1 s to 2 s ahead`, `less than 1 s behind`, `over 1 h behind`."""
    side = "behind" if high is not None and high <= 0 else "ahead"
    near, far = (high, low) if side == "behind" else (low, high)
    if far is None:
        return f"over {words.duration(abs(near or 0))} {side}"
    if not near:
        return f"less than {words.duration(abs(far))} {side}"
    return f"{words.duration(abs(near))} to {words.duration(abs(far))} {side}"


def _points(
    chart: go.Figure,
    shown: LeadMap,
    cells: list[LeadCell],
    middles: dict[int, float],
    *,
    name: str,
    color: str,
    symbol: str,
    sizes: list[float],
) -> None:
    chart.add_scatter(
        x=[middles[cell.column] for cell in cells],
        y=[cell.row for cell in cells],
        mode="markers",
        name=name,
        showlegend=name != _CELLS,
        marker={"symbol": symbol, "size": sizes, "color": color},
        unselected={"marker": {"opacity": 1}},
        customdata=[list(shown.events(cell.column)) for cell in cells],
        text=[_hover(shown, cell) for cell in cells],
        hovertemplate="%{text}<extra></extra>",
    )


def _hover(shown: LeadMap, cell: LeadCell) -> str:
    first, last = shown.events(cell.column)
    about = "about " if shown.one_in > 1 else ""
    lines = [
        f"<b>events {first:,} to {last:,}</b>",
        row_label(*shown.rows[cell.row]),
        f"{about}{words.count(cell.records, 'record')}",
    ]
    lines += [f"{count:,} {name}" for name, count in (("dropped", cell.dropped), ("late but used", cell.used)) if count]
    return "<br>".join(lines)
