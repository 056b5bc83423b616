"""Every colour of the studio and what it stands for, in this one place.

Kinds have the same colour and sign everywhere. The four are as bright as each other, so that white text is
readable on them (4.5:1) and they stand out on light and on dark pages (3:1), and they stay apart for people
with any of the three kinds of colour blindness (`tests/ui/test_theme.py` measures all that). The colour is never
alone: the sign is always written, and in charts each kind has a marker of its own.

Neutral strokes are made of the text's own colour, so they follow the theme by themselves.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

from engine.model.changelog import SYMBOLS, ChangelogMode, RowKind
from ui.shell.state import state

KIND_COLORS: Final = {
    RowKind.INSERT: "#2e8553",
    RowKind.UPDATE_BEFORE: "#956c08",
    RowKind.UPDATE_AFTER: "#2955e8",
    RowKind.DELETE: "#c3468c",
}
KIND_WORDS: Final = {
    RowKind.INSERT: "insert",
    RowKind.UPDATE_BEFORE: "update before",
    RowKind.UPDATE_AFTER: "update after",
    RowKind.DELETE: "delete",
}
KIND_MARKERS: Final = {
    RowKind.INSERT: "circle",
    RowKind.UPDATE_BEFORE: "triangle-down",
    RowKind.UPDATE_AFTER: "triangle-up",
    RowKind.DELETE: "x",
}
ON_COLOR: Final = "#ffffff"

ROLE_COLORS: Final = {"source": "#1c7f8c", "operator": "#6a63c9", "sink": "#6f7683"}
PROBLEM: Final = "#c73a36"
IN_TIME: Final = "#2f7fb8"
OUT_OF_ORDER: Final = "#956c08"
DROPPED: Final = PROBLEM
LATE_USED: Final = "#6f7683"
REJECTED: Final = "#7d6a5c"
SERIES: Final = ("#3f66c9", "#1c7f8c", "#8a5fbf", "#a8600c", "#4f7f2e", "#b4487f")

MUTED: Final = "color-mix(in srgb, currentColor 74%, transparent)"
LINE: Final = "color-mix(in srgb, currentColor 26%, transparent)"
FAINT: Final = "color-mix(in srgb, currentColor 6%, transparent)"
THEMES: Final = {
    "light": {
        "background": "#fdfdfc",
        "text": "#20242c",
        "second": "#f4f4f1",
        "border": "#e0e0da",
        "primary": "#3654b8",
        "green": "#1f6b43",
        "red": "#a8332e",
        "orange": "#8a5210",
        "blue": "#2c489f",
    },
    "dark": {
        "background": "#15171c",
        "text": "#e3e5ea",
        "second": "#1f2229",
        "border": "#32363f",
        "primary": "#4e6dd9",
        "green": "#6cc79a",
        "red": "#ee8a83",
        "orange": "#e6a862",
        "blue": "#8fa8f5",
    },
}
"""The colours of the page in both themes, as `.streamlit/config.toml` has them, for what is read outside of it."""
_NAMES: Final = {"Download plot as a PNG": "As a picture (I copies it)"}
TRANSPARENT: Final = "rgba(0,0,0,0)"
GRID: Final = "rgba(128,132,140,0.22)"

_BADGE: Final = (
    "display:inline-block;padding:0 .4em;border-radius:.3em;font:600 .78rem/1.5 var(--st-code-font,monospace);"
    "white-space:nowrap;"
)


def pens() -> dict[str, dict[str, str]]:
    """The colours of a picture by theme: plain ones, since not every program for slides mixes them."""
    return {name: _pens(colors["text"], colors["background"]) for name, colors in THEMES.items()}


def _pens(text: str, paper: str) -> dict[str, str]:
    return {
        "text": text,
        "muted": _mixed(text, paper, 0.7),
        "line": _mixed(text, paper, 0.35),
        "card": _mixed(text, paper, 0.06),
        "paper": paper,
    }


def _mixed(one: str, other: str, share: float) -> str:
    parts = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in parts)


def series_color(index: int) -> str:
    """The colour of the n-th source (or any other series) in every chart."""
    return SERIES[index % len(SERIES)]


def kind_badge(kind: RowKind) -> str:
    """A kind as HTML: its sign in white on its colour."""
    style = f"{_BADGE}background:{KIND_COLORS[kind]};color:{ON_COLOR}"
    return f'<span class="kind" title="{KIND_WORDS[kind]}" style="{style}">{SYMBOLS[kind]}</span>'


def mode_badges(mode: ChangelogMode) -> str:
    """A changelog mode as HTML: one badge per kind that the edge carries."""
    return f'<span style="white-space:nowrap">{" ".join(kind_badge(kind) for kind in sorted(mode))}</span>'


def role_dot(role: str) -> str:
    """A small round mark in the role's colour, as HTML."""
    return (
        f'<span aria-hidden="true" style="display:inline-block;width:.6em;height:.6em;border-radius:50%;'
        f'background:{ROLE_COLORS.get(role, ROLE_COLORS["operator"])}"></span>'
    )


def muted(text: str) -> str:
    """Secondary text, as HTML; the text is escaped."""
    return f'<span style="color:{MUTED}">{escape(text)}</span>'


def figure(height: int = 320) -> go.Figure:
    """An empty chart with the studio's template: no title, transparent background, faint grid, narrow margins."""
    axis = {"gridcolor": GRID, "zeroline": False, "linecolor": GRID, "ticks": ""}
    chart = go.Figure()
    chart.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        paper_bgcolor=TRANSPARENT,
        plot_bgcolor=TRANSPARENT,
        colorway=list(SERIES),
        xaxis=axis,
        yaxis=axis,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        hoverlabel={"align": "left"},
        dragmode="pan",
        # The default background is half black on a transparent chart.
        modebar={"bgcolor": TRANSPARENT, "color": ROLE_COLORS["sink"], "activecolor": SERIES[0]},
    )
    return chart


def chart_config(**more: Any) -> dict[str, Any]:
    """The buttons of a chart. Its camera, known by its name, opens the menu of `ui/components/shell/shots.py`."""
    return {"displaylogo": False, "locale": "en", "locales": {"en": {"dictionary": _NAMES}}, **more}


def draw_figure(chart: go.Figure, key: str) -> None:
    """Show a chart in the page's fonts and text colours (Streamlit's own theme), without the logo."""
    # A chart takes the size of its text when it is made, so a presentation makes its own.
    chart_key = f"{key}-presented" if state.present else key
    st.plotly_chart(chart, key=chart_key, theme="streamlit", width="stretch", config=chart_config())
