"""A page as one self-contained HTML file: its texts, tables and charts.

Charts stay interactive, since the file contains the chart library. Tables look as they do on the page. The colours
follow the reader's own light or dark theme.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from streamlit.proto.Element_pb2 import Element

from ui.export.canvas import canvas_as_html
from ui.export.markdown import as_html, as_inline_html
from ui.export.picture import chart_library, picture_script
from ui.shell import theme

_GRID_CSS: Final = Path(__file__).parents[1] / "components" / "grid" / "grid.css"
_STYLE: Final = """
body { margin: 2rem auto; max-width: 78rem; padding: 0 1.5rem; background: var(--st-background-color);
  color: var(--st-text-color); font: 15px/1.5 var(--st-font); }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2, h3 { margin: 1.6rem 0 .5rem; }
code { font-family: var(--st-code-font); font-size: .88em; }
.caption { opacity: .7; font-size: .87rem; } .alert { border-left: 4px solid var(--st-primary-color);
  background: var(--st-secondary-background-color); padding: .6rem 1rem; margin: .6rem 0; border-radius: .3rem; }
.alert.error { border-color: var(--st-red-text-color); } .alert.warning { border-color: var(--st-orange-text-color); }
.alert.success { border-color: var(--st-green-text-color); }
.metric { display: inline-block; margin: .4rem 2.5rem .6rem 0; } .metric b { display: block; font-size: 1.5rem; }
.grid { margin: .6rem 0 1rem; } .picture svg { max-width: 100%; height: auto; } pre { overflow-x: auto; }
"""
_ALERTS: Final = {1: "error", 2: "warning", 3: "info", 4: "success"}


def page_as_html(title: str, about: str, shown: Sequence[Element]) -> str:
    """The page as a standalone document. about: one line below the title that names what the page shows."""
    body = [part for element in shown if (part := _element(element))]
    script = ""
    if any('class="chart"' in part for part in body):
        script = chart_library() + f'<script type="module">{_DRAW}</script>'
    if any("data-picture" in part for part in body):
        script += picture_script()
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{theme_variables()}{_STYLE}{_GRID_CSS.read_text(encoding='utf-8')}</style></head><body>"
        f'<h1>{escape(title)}</h1><p class="caption">{escape(about)}</p>{"".join(body)}{script}</body></html>'
    )


# Charts take the text's colour from the page, so that they are readable in both themes.
_DRAW: Final = """
await chartsLoaded;
document.querySelectorAll('.chart').forEach(place => {
  const chart = JSON.parse(place.querySelector('script').textContent);
  for (const trace of chart.data) if (trace.type === 'scattergl') trace.type = 'scatter';
  const color = getComputedStyle(document.body).color;
  chart.layout = {...chart.layout, font: {...(chart.layout.font || {}), color}, autosize: true};
  const target = document.createElement('div');
  place.append(target);
  Plotly.newPlot(target, chart.data, chart.layout, {displaylogo: false, responsive: true});
});
"""


def theme_variables(name: str | None = None) -> str:
    """The colours of a theme as CSS; without a name those of both, of which the reader's own theme chooses."""
    fonts = "--st-font: system-ui, sans-serif; --st-code-font: ui-monospace, monospace; --st-base-radius: .4rem;"

    def block(name: str) -> str:
        colors = theme.THEMES[name]
        tones = "".join(
            f"--st-{tone}-text-color: {colors[tone]}; "
            f"--st-{tone}-background-color: color-mix(in srgb, {colors[tone]} 14%, transparent);"
            for tone in ("green", "red", "orange", "blue")
        )
        return (
            f":root {{ color-scheme: {name}; {fonts} --st-background-color: {colors['background']}; "
            f"--st-text-color: {colors['text']}; --st-secondary-background-color: {colors['second']}; "
            f"--st-border-color: {colors['border']}; --st-primary-color: {colors['primary']}; {tones} }}"
        )

    if name in theme.THEMES:
        return block(name)
    return f"{block('light')} @media (prefers-color-scheme: dark) {{ {block('dark')} }}"


def _element(element: Element) -> str:
    match element.WhichOneof("type"):
        case "markdown":
            text = as_html(element.markdown.body)
            is_caption = element.markdown.element_type == element.markdown.Type.CAPTION
            return f'<div class="caption">{text}</div>' if is_caption else text
        case "heading":
            return f"<h2>{as_inline_html(element.heading.body)}</h2>"
        case "alert":
            kind = _ALERTS.get(element.alert.format, "info")
            return f'<div class="alert {kind}">{as_html(element.alert.body)}</div>'
        case "metric":
            metric = element.metric
            change = f' <span class="caption">{escape(metric.delta)}</span>' if metric.delta else ""
            return f'<div class="metric">{as_inline_html(metric.label)}<b>{escape(metric.body)}</b>{change}</div>'
        case "code":
            return f"<pre><code>{escape(element.code.code_text)}</code></pre>"
        case "html":
            return "" if "<style" in element.html.body else element.html.body
        case "plotly_chart":
            return _chart(element.plotly_chart.spec)
        case "bidi_component":
            return _component(element.bidi_component.json)
    return ""


def _chart(spec: str) -> str:
    figure: dict[str, Any] = json.loads(spec)
    layout = figure.get("layout", {})
    # Streamlit's own template has placeholders for colours that only its own page replaces.
    layout.pop("template", None)
    layout |= {"paper_bgcolor": theme.TRANSPARENT, "plot_bgcolor": theme.TRANSPARENT, "dragmode": "zoom"}
    layout.setdefault("colorway", list(theme.SERIES))
    # Streamlit's own page also adds the margin that the labels of an axis need.
    for name in ("xaxis", "yaxis"):
        layout.setdefault(name, {})["automargin"] = True
    text = json.dumps({"data": figure.get("data", []), "layout": layout}, ensure_ascii=False)
    # No text may end the script element that contains it, or begin a comment in it.
    safe = text.replace("<", "\\u003c")
    return f'<div class="chart"><script type="application/json">{safe}</script></div>'


def _component(data: str) -> str:
    """A grid or a canvas of the page as HTML; other components have no content to export."""
    try:
        drawn = json.loads(data)
    except ValueError:
        return ""
    if not isinstance(drawn, dict):
        return ""
    if "document" in drawn:
        return canvas_as_html(drawn)
    if not isinstance(drawn.get("html"), str) or drawn.get("shape") == "chips":
        return ""
    label = str(drawn.get("label") or "")
    heading = f"<h3>{escape(label)}</h3>" if label else ""
    return f'{heading}<div class="grid">{drawn["html"]}</div>'
