"""A page as one HTML file: everything in it, nothing to fetch, nothing of the data that is run."""

from __future__ import annotations

import json
import re

from streamlit.proto.Element_pb2 import Element

from engine.examples import examples
from ui.builder.picture import document
from ui.components.grid import Cell, Row, Table, html_of
from ui.export.page import page_as_html


def element(kind: str, **fields: object) -> Element:
    made = Element()
    for name, value in fields.items():
        setattr(getattr(made, kind), name, value)
    return made


def test_texts_tables_and_charts_are_inside() -> None:
    table = Table(("word",), [Row([Cell("Hello")])])
    chart = {"data": [{"type": "scatter", "x": [1], "y": [2]}], "layout": {"template": {"x": 1}}}
    page = page_as_html(
        "Event time",
        "run 2",
        [
            element("heading", body="Late records", tag="h3"),
            element("markdown", body=":material/info: **2 of 6** were `late`\n\n- one\n- two"),
            element("alert", body="Gone", format=2),
            element("metric", label="Kept", body="4", delta="+2"),
            element("bidi_component", json=json.dumps({"html": html_of(table), "label": "Words", "shape": "grid"})),
            element("plotly_chart", spec=json.dumps(chart)),
        ],
    )
    assert "<h2>Late records</h2>" in page
    assert "<b>2 of 6</b> were <code>late</code>" in page
    assert "<li>one</li><li>two</li>" in page
    assert "<span>Hello</span>" in page
    assert "Plotly.newPlot" in page
    assert '"template"' not in re.findall(r'<script type="application/json">(.*?)</script>', page)[0]


def test_a_page_without_charts_is_small_and_asks_for_nothing() -> None:
    page = page_as_html("Changelog", "run 1", [element("markdown", body="text")])
    assert len(page) < 30_000
    assert not re.findall(r'(?:src|href)\s*=\s*["\']|@import|url\(', page)


def test_a_canvas_is_a_picture_with_what_went_along_its_edges() -> None:
    pipeline = examples()["01-word-frequency"]
    data = {
        "name": "words <b>",
        "document": document(pipeline),
        "nodes": {
            "count_words": {"mode": ["+I", "-U", "+U"]},
            "words": {"problems": [{"sentence": "<i> is missing."}]},
        },
        "edges": {
            "words>count_words:in": {"counts": {"+I": 3, "-U": 0, "+U": 0, "-D": 0}},
            "count_words>count_counts:in": {"records": [{"kind": "-U", "title": "cnt=<1>"}], "more": 2},
        },
    }
    page = page_as_html("Build", "a draft", [element("bidi_component", json=json.dumps(data))])
    assert page.count('class="node"') == len(pipeline.nodes)
    assert "words &lt;b&gt;: 4 nodes" in page
    assert "&lt;i&gt; is missing." in page
    assert "<td><span>words → count_words</span></td>" in page
    assert "<span>cnt=&lt;1&gt;</span>" in page
    assert "count_words → count_counts: and 2 more" in page
    assert "<i>" not in page


def test_what_users_wrote_is_text() -> None:
    evil = "<img src=x onerror=alert(1)>"
    spec = json.dumps({"data": [{"name": f"</script><script>alert(1)</script>{evil}"}], "layout": {}})
    page = page_as_html(
        evil, evil, [element("markdown", body=evil), element("alert", body=evil), element("plotly_chart", spec=spec)]
    )
    body = page.split("<body>")[1].split("<script>")[0]
    without_charts = re.sub(r'<script type="application/json">.*?</script>', "", body)
    assert "<img" not in without_charts
    assert "</script><script>alert(1)" not in body
