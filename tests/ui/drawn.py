"""Readers of the output of a view: the rows of our grids, the traces of its chart."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from streamlit.testing.v1 import AppTest


class _Rows(HTMLParser):
    """The text of every cell, and the classes of every row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.classes: list[str] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
            self.classes.append(dict(attrs).get("class") or "")
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def _parsed(html: str) -> _Rows:
    parser = _Rows()
    parser.feed(html)
    return parser


def html_of(app: AppTest, key: str) -> str:
    """The HTML of the grid (or the chips) with this key; fails with the existing keys."""
    found = {element.proto.id.split("-", 2)[2]: element.proto for element in app.get("bidi_component")}
    assert key in found, f"no grid {key!r}; there are {sorted(found)}"
    html: str = json.loads(found[key].json)["html"]
    return html


def rows_of(app: AppTest, key: str) -> list[list[str]]:
    """The rows of a grid as text, without the head."""
    return _parsed(html_of(app, key)).rows[1:]


def current_rows(app: AppTest, key: str) -> list[list[str]]:
    """The highlighted rows of a grid."""
    parsed = _parsed(html_of(app, key))
    return [row for row, names in zip(parsed.rows, parsed.classes, strict=True) if "current" in names]


def traces_of(app: AppTest) -> dict[str, dict[str, Any]]:
    """The traces of the page's chart by their names."""
    [chart] = app.get("plotly_chart")
    return {trace["name"]: trace for trace in json.loads(chart.proto.spec)["data"]}
