"""A page as one HTML file: it contains everything, loads nothing, and executes nothing from the data."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from streamlit.proto.Element_pb2 import Element

from engine.examples import examples
from engine.model.story import Step, Story
from storage import Store
from storage.model import EventRange
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store
from ui.builder.picture import catalog, colors, document
from ui.components.grid import Cell, Row, Table, html_of
from ui.export.markdown import as_html, as_inline_html
from ui.export.page import page_as_html
from ui.replay.page import replay_as_html


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
    assert "<p><strong>2 of 6</strong> were <code>late</code></p>" in page
    assert "<li>one</li>\n<li>two</li>" in page
    assert "<span>Hello</span>" in page
    assert "Plotly.newPlot" in page
    assert '"template"' not in re.findall(r'<script type="application/json">(.*?)</script>', page)[0]


def test_a_replay_has_its_events_and_runs_nothing_of_the_data(store: Store, tmp_path: Path) -> None:
    text = "</script><script>alert(1)</script><!-- \"'" + "x" * 1000
    pipeline = pipeline_of(
        "notes -> out", notes=rows("note string", rows=[[text], [None]]), out=("sink", {"mode": "changelog"})
    ).model_copy(update={"name": "<img src=x onerror=alert(1)>"})
    run = store.runs.get(run_locally(store, tmp_path, pipeline))
    told = Story(title="<b>", steps=(Step(page="changelog", text="<i>*see*</i> [it](http://x)", event=2),))
    page = replay_as_html(store, run, EventRange(1, 1), told)
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    data = json.loads(found[0])
    # The story's event is in the file, although it is outside of the range.
    assert (data["first"], data["last"], data["steps"]) == (1, 2, [{"event": 2, "edge": None}])
    (shown,), (null,) = (each["records"][0][2] for each in data["events"][:2])
    assert (len(shown), shown[:9], null) == (160, "</script>", None)
    assert page.count("<script") == page.count("</script>") == 4
    assert "<img" not in page
    assert "&lt;i&gt;<em>see</em>" in page
    assert not re.findall(r'(?:src|href)\s*=\s*["\']|@import|url\(', page)
    assert len(page) - len(found[0]) < 150_000


def test_a_replay_of_a_run_without_event_time_has_every_event(store: Store, tmp_path: Path) -> None:
    run = store.runs.get(run_locally(store, tmp_path, examples()["01-word-frequency"]))
    page = replay_as_html(store, run, EventRange())
    events = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])["events"]
    assert [len(event["records"]) for event in events] == [4, 6, 9]


def test_a_replay_begins_with_the_table_before_its_events_and_has_what_was_late(store: Store, tmp_path: Path) -> None:
    run = store.runs.get(seeded_store.windows(store, tmp_path))
    page = replay_as_html(store, run, EventRange(5, 7))
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    by_name = {edge["name"]: edge for edge in data["edges"]}
    assert [row[-1] for row in by_name["per_window"]["rows"]] == ["[1, 2]", "[3]"]
    late, _, end = data["events"]
    assert late["late"] == [{"node": "per_window", "dropped": True, "text": "dropped [2001-09-09 01:48:20, 01:48:30)"}]
    assert (end["ends"], end["fires"]) == ("clicks", ["per_window [2001-09-09 01:48:40, 01:48:50)"])
    assert data["watermarks"][0]["end"] == 7


def test_a_page_without_charts_is_small_and_asks_for_nothing() -> None:
    page = page_as_html("Changelog", "run 1", [element("markdown", body="text")])
    assert len(page) < 30_000
    assert not re.findall(r'(?:src|href)\s*=\s*["\']|@import|url\(', page)


def test_a_canvas_is_a_picture_with_what_went_along_its_edges() -> None:
    pipeline = examples()["01-word-frequency"]
    data = {
        "name": "words <b>",
        "colors": colors(),
        "catalog": catalog(),
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
    (picture,) = re.findall(r'data-picture="([^"]*)"', page)
    drawing = json.loads(unescape(picture))["drawing"]
    assert {entry["operator"] for entry in drawing["catalog"]} == {node.operator for node in pipeline.nodes}
    assert (drawing["name"], drawing["nodes"]["words"]) == (data["name"], data["nodes"]["words"])
    assert "<td><span>words → count_words</span></td>" in page
    assert "<span>cnt=&lt;1&gt;</span>" in page
    assert "count_words → count_counts: and 2 more" in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one  \n:small[:gray[version 2]]", "<p>one<br />\nversion 2</p>"),
        (
            ":red[:material/error: **1 row** of `a[0]` is wrong]: too early",
            "<p><strong>1 row</strong> of <code>a[0]</code> is wrong: too early</p>",
        ),
        (r"per\_window costs 3 \$ for \[0, 10)", "<p>per_window costs 3 $ for [0, 10)</p>"),
        (
            "`:red[code]` stays, and so does 10:30 and a :lone colon",
            "<p><code>:red[code]</code> stays, and so does 10:30 and a :lone colon</p>",
        ),
        (":red[open, and <b>bold</b>", "<p>:red[open, and &lt;b&gt;bold&lt;/b&gt;</p>"),
    ],
)
def test_streamlits_own_marks_leave_their_text(text: str, expected: str) -> None:
    assert as_html(text).strip() == expected


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "a <b onclick=alert(1)>b</b>",
        ":red[<img src=x>]",
        "![picture](http://example.org/x.png)",
        "[click](javascript:alert(1))",
        "<http://example.org>",
        "[a]: http://example.org\n\n![a]",
        "| a |\n|---|\n| <img src=x> |",
    ],
)
def test_neither_html_nor_links_nor_images_get_through(text: str) -> None:
    allowed = r"</?(?:p|table|thead|tbody|tr|th|td)>"
    assert "<" not in re.sub(allowed, "", as_html(text))
    assert "<" not in as_inline_html(text)


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


@pytest.mark.parametrize("text", ["<!-- <script>", "</script>", "<!--", "a < b\\<", "]]>&lt;"])
def test_a_chart_with_any_text_is_read_back_as_json(text: str) -> None:
    spec = json.dumps({"data": [{"hovertext": [text]}], "layout": {}})
    [chart] = re.findall(
        r"<script type=\"application/json\">(.*?)</script>",
        page_as_html("a", "b", [element("plotly_chart", spec=spec)]),
    )
    assert "<" not in chart
    assert json.loads(chart)["data"] == [{"hovertext": [text]}]
