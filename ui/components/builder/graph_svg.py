"""A pipeline as an SVG picture: nodes coloured by role, edges with their changelog mode, marks on invalid nodes.

Text and lines take the page's own colour, so the picture fits light and dark pages. It has nothing to click: it is
for cards and for exported pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final

from engine.contract.operator import OUT
from engine.model.changelog import APPEND, SYMBOLS, ChangelogMode
from engine.model.pipeline import Edge, Pipeline
from ui.builder.editing import edge_key, operator_class
from ui.builder.layout import Spot, layered
from ui.shell.theme import FAINT, KIND_COLORS, LINE, MUTED, ON_COLOR, PROBLEM, ROLE_COLORS


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """Pixels of a node, of the room between nodes, and around all of them."""

    width: int
    height: int
    gap_x: int
    gap_y: int
    margin: int = 14

    def corner(self, spot: Spot) -> tuple[float, float]:
        """The left and upper end of a node."""
        return self.margin + spot.layer * (self.width + self.gap_x), self.margin + spot.row * (self.height + self.gap_y)

    def extent(self, columns: int, rows: float) -> tuple[float, float]:
        """The width and height of the whole picture."""
        right, bottom = self.corner(Spot(columns, rows))
        return right - self.gap_x + self.margin, bottom - self.gap_y + self.margin


_LARGE: Final = _Sizes(width=158, height=52, gap_x=108, gap_y=30)
_SMALL: Final = _Sizes(width=118, height=40, gap_x=34, gap_y=16)
_BADGE_W: Final = 25
_BADGE_H: Final = 16


@dataclass(frozen=True)
class Marks:
    """Additions to the pipeline's picture.

    modes: by node, the changelog mode of its output. problems: by node, its problems as sentences.
    """

    modes: Mapping[str, ChangelogMode] = field(default_factory=dict)
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def graph_svg(pipeline: Pipeline, marks: Marks, *, small: bool = False) -> str:
    """The picture. small: for a card, without badges."""
    spots = layered(pipeline)
    if not spots:
        return ""
    columns = max(spot.layer for spot in spots.values()) + 1
    rows = max(spot.row for spot in spots.values()) + 1
    sizes = _SMALL if small else _LARGE
    width, height = sizes.extent(columns, rows)
    parts = [_edge(pipeline, edge, spots, marks, small) for edge in pipeline.edges]
    parts += [_node(pipeline, node.id, spots[node.id], marks, small) for node in pipeline.nodes]
    fit = f"width:{width:.0f}px;max-width:100%;" + ("height:80px" if small else f"min-width:{width * 0.6:.0f}px")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(pipeline.name)}: {len(pipeline.nodes)} nodes" '
        f'style="{fit};{"" if small else "height:auto;"}display:block;font-family:inherit">{"".join(parts)}</svg>'
    )


def _node(pipeline: Pipeline, node_id: str, spot: Spot, marks: Marks, small: bool) -> str:
    node = pipeline.node(node_id)
    cls = operator_class(node.operator)
    role = cls.role if cls else "operator"
    hint = cls.title if cls else f"{node.operator}?"
    wrong = marks.problems.get(node_id, ())
    sizes = _SMALL if small else _LARGE
    x, y = sizes.corner(spot)
    right, bottom = x + sizes.width, y + sizes.height
    color = ROLE_COLORS[role]
    stroke = PROBLEM if wrong else LINE
    title = escape("\n".join(wrong) if wrong else hint)
    mark = (
        f'<circle cx="{right - 3}" cy="{y + 3}" r="9" fill="{PROBLEM}"/><text x="{right - 3}" y="{y + 7.5}" '
        f'text-anchor="middle" font-size="12" font-weight="700" fill="{ON_COLOR}">!</text>'
        if wrong
        else ""
    )
    words = f'<text x="{x + 17}" y="{y + 25}" font-size="15" fill="currentColor">{escape(_short(node_id, 12))}</text>'
    if not small:
        words = (
            f'<text x="{x + 18}" y="{y + 22}" font-size="14" font-weight="600" fill="currentColor">'
            f"{escape(_short(node_id, 18))}</text>"
            f'<text x="{x + 18}" y="{bottom - 13}" font-size="11.5" fill="{MUTED}">{escape(_short(hint, 23))}</text>'
        )
    return (
        f'<g class="node" data-node="{escape(node_id)}"><title>{title}</title>'
        f'<rect class="body" x="{x}" y="{y}" width="{sizes.width}" height="{sizes.height}" rx="7" fill="{FAINT}" '
        f'stroke="{stroke}" stroke-width="{2.5 if wrong else 1.2}"/>'
        f'<path d="M{x + 7},{y} h-0 a7,7 0 0 0 -7,7 v{sizes.height - 14} a7,7 0 0 0 7,7 z" fill="{color}"/>'
        f"{words}{mark}</g>"
    )


def _edge(pipeline: Pipeline, edge: Edge, spots: Mapping[str, Spot], marks: Marks, small: bool) -> str:
    if edge.source not in spots or edge.target not in spots:
        return ""
    sizes = _SMALL if small else _LARGE
    x1, y1 = sizes.corner(spots[edge.source])
    x2, y2 = sizes.corner(spots[edge.target])
    x1, y1 = x1 + sizes.width, y1 + _output_height(pipeline, edge) * sizes.height
    y2 += _port_height(pipeline, edge) * sizes.height
    bend = max(12.0 if small else 40.0, (x2 - x1) / 2)
    key = edge_key(edge)
    line = f"M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2 - 5:.1f},{y2:.1f}"
    tip = f'<path d="M{x2 - 7:.1f},{y2 - 4:.1f} l7,4 l-7,4 z" fill="{MUTED}"/>'
    drawn = f'<path d="{line}" fill="none" stroke="{LINE}" stroke-width="1.6"/>{tip}'
    if small:
        return drawn
    is_first = edge.source_port == OUT
    mode = marks.modes.get(edge.source) if is_first else APPEND
    source = edge.source if is_first else f"{edge.source}.{edge.source_port}"
    words = f"from {source} to {edge.target}" + (f", {mode}" if mode else "")
    label = _port_label(pipeline, edge, x2, y2)
    # Badges are near the middle of the curve; if the edge skips a layer, that is in a free column.
    badges = _badges(mode, (x1 + x2) / 2, (y1 + y2) / 2) if mode else ""
    return f'<g class="edge" data-edge="{escape(key)}"><title>{escape(words)}</title>{drawn}{badges}{label}</g>'


def _port_height(pipeline: Pipeline, edge: Edge) -> float:
    """How far down the node's side the port is, from 0 to 1."""
    cls = operator_class(pipeline.node(edge.target).operator)
    ports = cls.ports if cls and edge.target_port in cls.ports else (edge.target_port,)
    if len(ports) > 1:
        return (ports.index(edge.target_port) + 1) / (len(ports) + 1)
    return 0.5


def _output_height(pipeline: Pipeline, edge: Edge) -> float:
    """How far down the node's side the output port is, from 0 to 1."""
    node = pipeline.node(edge.source)
    cls = operator_class(node.operator)
    ports = cls.output_ports(node.parameters) if cls else (OUT,)
    return (ports.index(edge.source_port) + 1) / (len(ports) + 1) if edge.source_port in ports else 0.5


def _port_label(pipeline: Pipeline, edge: Edge, x: float, y: float) -> str:
    cls = operator_class(pipeline.node(edge.target).operator)
    if cls is None or len(cls.ports) < 2:
        return ""
    place = f'x="{x - 9:.1f}" y="{y - 5:.1f}" text-anchor="end" font-size="10"'
    return f'<text {place} fill="{MUTED}">{escape(edge.target_port)}</text>'


def _badges(mode: ChangelogMode, x: float, y: float) -> str:
    """The mode's kinds, two to a row, centred on a point of the edge."""
    kinds = sorted(mode)
    rows = [kinds[at : at + 2] for at in range(0, len(kinds), 2)]
    top = y - len(rows) * (_BADGE_H + 2) / 2
    parts = []
    for at, row in enumerate(rows):
        left = x - len(row) * (_BADGE_W + 2) / 2
        for place, kind in enumerate(row):
            bx, by = left + place * (_BADGE_W + 2), top + at * (_BADGE_H + 2)
            parts.append(
                f'<rect x="{bx:.1f}" y="{by:.1f}" width="{_BADGE_W}" height="{_BADGE_H}" rx="4" '
                f'fill="{KIND_COLORS[kind]}"/><text x="{bx + _BADGE_W / 2:.1f}" y="{by + 12:.1f}" font-size="11" '
                f'text-anchor="middle" font-weight="600" font-family="monospace" fill="{ON_COLOR}">'
                f"{SYMBOLS[kind]}</text>"
            )
    return "".join(parts)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
