"""Another delay, seen at once, on a seeded store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.model.pipeline import Pipeline
from storage import Store
from tests.storage.written_runs import Epoch, columns, edge
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of, traces_of
from ui.runs import manager as runs
from ui.shell.state import KEY

NEEDED = 3_598_002


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_the_run_as_it_was_is_where_it_begins(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("what_if", run=seeded["future"])
    assert metrics(app)["Records lost"] == "12"
    assert metrics(app)["Results wait"] == "2 s"
    assert app.button(key="what-if-run").disabled
    rows = rows_of(app, f"what-if-grid-{seeded['future']}")
    assert (len(rows), rows[0][:2], rows[0][4]) == (12, ["9", "still lost"], "59 min 58.002 s")


def test_the_smallest_delay_without_loss_is_a_click_away(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.button(key=f"what-if-{run}-per_window-lossless").click().run()
    assert app.slider(key=f"what-if-{run}-per_window-delay").value == NEEDED
    assert metrics(app)["Records kept"] == "20 of 20"
    assert {row[1] for row in rows_of(app, f"what-if-grid-{run}")} == {"kept"}


def test_a_longer_allowed_lateness_keeps_records_without_waiting(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.slider(key=f"what-if-{run}-per_window-lateness").set_value(NEEDED - 2000).run()
    assert metrics(app)["Records lost"] == "0"
    assert metrics(app)["Results wait"] == "2 s"


def test_a_shorter_delay_shows_what_it_would_lose(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.slider(key=f"what-if-{run}-per_window-delay").set_value(NEEDED - 5000).run()
    said = [row[1] for row in rows_of(app, f"what-if-grid-{run}")]
    assert (said.count("kept"), said.count("still lost")) == (7, 5)


def test_the_curve_marks_the_knee_and_the_ends(seeded: dict[str, int], open_view: OpenView) -> None:
    traces = traces_of(open_view("what_if", run=seeded["future"]))
    assert set(traces) == {"records lost", "as it ran", "knee", "nothing lost", "chosen"}
    assert traces["nothing lost"]["y"] == [0]
    assert traces["as it ran"]["y"] == [12]


def test_it_is_applied_and_run_as_a_new_version(
    store: Store, seeded: dict[str, int], open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Pipeline] = []

    def start(_manager: runs.RunManager, pipeline: Pipeline, **_: object) -> int:
        started.append(pipeline)
        return 1

    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.button(key=f"what-if-{run}-per_window-lossless").click().run()
    monkeypatch.setattr(runs.RunManager, "start", start)
    app.button(key="what-if-run").click()
    # The page that follows is another one, which a view alone cannot open.
    app.run()
    [pipeline] = started
    assert pipeline.node("clicks").parameters["watermark_delay_ms"] == NEEDED
    assert json.loads(pipeline.to_json())["nodes"][1]["parameters"]["allowed_lateness_ms"] == 0
    assert app.session_state[KEY].values["versus"] == str(run)


def test_a_run_without_such_an_operator_says_so(seeded: dict[str, int], open_view: OpenView) -> None:
    assert "In this run no watermark delay decides" in open_view("what_if", run=seeded["word_count"]).info[0].value


def test_an_interval_join_keeps_rows_for_longer_and_its_results_wait_for_nothing(
    store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    raw = json.loads(
        seeded_store.document(
            "orders with their payments", [("orders", "rows"), ("payments", "rows"), ("paid", "interval_join")], []
        )
    )
    raw["nodes"][2]["parameters"] = {"left_keys": ["id"], "right_keys": ["id"], "lower_ms": -1000, "upper_ms": 0}
    raw["edges"] = [
        {"source": source, "target": "paid", "target_port": port}
        for source, port in (("orders", "left"), ("payments", "right"))
    ]
    ids = columns(id="bigint", ts="bigint*")
    edges = (
        edge("orders", ids, operator="rows", watermark_delay_ms=500),
        edge("payments", ids, operator="rows", watermark_delay_ms=500),
        edge("paid", columns(id="bigint", id0="bigint"), operator="interval_join"),
    )
    arrivals = [
        ("orders", 1, 0),
        ("payments", 1, 800),
        ("orders", 2, 5000),
        ("payments", 9, 5000),
        ("payments", 2, 100),
    ]
    top: dict[str, int] = {}
    marks = []
    for seq, (source, _, time) in enumerate(arrivals, 1):
        top[source] = max(top.get(source, 0), time)
        marks.append((seq, source, time, top[source] - 500, False))
    records = {
        name: [(seq, b"", "+I", (key, time)) for seq, (source, key, time) in enumerate(arrivals, 1) if source == name]
        for name in ("orders", "payments")
    }
    late = [("paid", "right", 5, b"", 100, None, None, 4500, 4400, "no row could match it any more when it arrived")]
    epoch = Epoch(records=records, watermarks=marks, late=late)
    run = seeded_store.record(store, tmp_path, "orders with their payments", json.dumps(raw), edges, epoch)
    app = open_view("what_if", run=run)
    assert metrics(app)["Records lost"] == "1"
    assert metrics(app)["Rows are kept longer by"] == "500 ms"
    [row] = rows_of(app, f"what-if-grid-{run}")
    # Without windows there is no end of one; what the row said has the names of its own input.
    assert (row[0], row[1], row[3], row[4]) == ("5", "still lost", "4.901 s", "id=2, ts=100")
