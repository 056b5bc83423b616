"""The records on the wires of a run, from the sources to the sinks, with a band per kind (a Sankey chart)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from engine.model.changelog import RowKind
from storage.changelogs.model import Wire
from storage.model import Edge
from ui.shell import words
from ui.shell.theme import KIND_COLORS, KIND_WORDS, ROLE_COLORS, figure

_ALPHA: Final = 0.6
_OUT: Final = "written"


def flow_chart(edges: Sequence[Edge], wires: Sequence[Wire]) -> go.Figure:
    """The chart. A node's height is its number of records; records that leave the pipeline flow on to the right."""
    roles = {edge.node: edge.role for edge in edges}
    names = list(roles)
    colors = [ROLE_COLORS.get(roles[name], ROLE_COLORS["operator"]) for name in names]
    labels = list(names)
    sources, targets, values, link_colors, texts = [], [], [], [], []
    for wire in wires:
        total = sum(wire.counts.values())
        if not total:
            continue
        if wire.target:
            target = names.index(wire.target)
        else:
            target = len(labels)
            labels.append(_OUT if roles[wire.source] == "sink" else "")
            colors.append("rgba(0,0,0,0)")
        for kind, count in wire.counts.items():
            if count:
                sources.append(names.index(wire.source))
                targets.append(target)
                values.append(count)
                link_colors.append(_transparent(KIND_COLORS[kind]))
                to = f"{wire.source} → {wire.target}" if wire.target else f"{wire.source} writes"
                share = f"{count / total:.0%} of them" if total != count else "all of them"
                texts.append(
                    f"<b>{kind.symbol}</b> {KIND_WORDS[kind]}<br>{to}<br>{words.count(count, 'record')}, {share}"
                )
    chart = figure(height=max(260, 90 + 46 * len(names)))
    chart.add_trace(
        go.Sankey(
            name="flow",
            arrangement="snap",
            # On a saved picture the glow around names makes them hard to read.
            textfont={"size": 13, "shadow": "none"},
            node={
                "label": labels,
                "color": colors,
                "pad": 22,
                "thickness": 12,
                "line": {"width": 0},
                "hovertemplate": "%{label}<br>%{value:,} records<extra></extra>",
            },
            link={
                "source": sources,
                "target": targets,
                "value": values,
                "color": link_colors,
                "customdata": texts,
                "hovertemplate": "%{customdata}<extra></extra>",
            },
        )
    )
    kinds = sorted({kind for wire in wires for kind, count in wire.counts.items() if count})
    chart.add_annotation(
        text="   ".join(f'<span style="color:{KIND_COLORS[kind]}">■</span> {_named(kind)}' for kind in kinds),
        xref="paper",
        yref="paper",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        yshift=8,
        showarrow=False,
    )
    chart.update_layout(margin={"l": 8, "r": 8, "t": 40, "b": 12})
    return chart


def _named(kind: RowKind) -> str:
    return f"{kind.symbol} {KIND_WORDS[kind]}"


def _transparent(color: str) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{_ALPHA})"
