"""The effect of another delay, shown at once, on a seeded store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.model.pipeline import Arrival, Pipeline
from storage import Store
from storage.event_time import what_if
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of, traces_of
from ui.builder.history import History
from ui.runs import manager as runs
from ui.shell.state import KEY

NEEDED = 3_598_002
# The next round duration.
AN_HOUR = 3_600_000


def clicks() -> Pipeline:
    """Windows of clicks, the last of which is late."""
    arrivals = [[1, 0], [2, 5000], [3, 9000], [2, 100]]
    return pipeline_of(
        "clicks -> sums -> out",
        clicks=rows("id bigint, ts bigint", rows=arrivals, event_time="ts", watermark_delay_ms=500),
        sums=("window_aggregate", {"size_ms": 1000, "aggregates": [{"function": "COUNT", "name": "n"}]}),
        out=("sink", {"mode": "append"}),
    )


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_the_run_as_it_was_is_where_it_begins(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("what_if", run=seeded["future"])
    assert metrics(app)["Records dropped"] == "12"
    assert metrics(app)["Results wait"] == "2 s"
    app.button(key="what-if-run").click().run()
    assert [toast.value for toast in app.toast] == [
        f"Nothing differs from run {seeded['future']}: choose another delay first."
    ]
    rows = rows_of(app, f"what-if-grid-{seeded['future']}")
    assert (len(rows), rows[0][:2], rows[0][4]) == (12, ["9", "still dropped"], "59 min 58.002 s")


def test_the_smallest_delay_without_loss_is_a_click_away(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.button(key=f"what-if-{run}-per_window-lossless").click().run()
    assert app.select_slider(key=f"what-if-{run}-per_window-delay-clicks").value == NEEDED
    assert metrics(app)["Records kept"] == "20 of 20"
    assert {row[1] for row in rows_of(app, f"what-if-grid-{run}")} == {"kept"}


def test_a_share_of_the_records_gives_the_delay_that_keeps_it(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.number_input(key=f"what-if-{run}-per_window-share").set_value(70.0).run()
    assert metrics(app)["Records kept"] == "14 of 20"
    app.number_input(key=f"what-if-{run}-per_window-share").set_value(100.0).run()
    assert app.select_slider(key=f"what-if-{run}-per_window-delay-clicks").value == NEEDED
    assert any("40 % of the records are in time; 100 % need a delay of" in each.value for each in app.caption)
    # What is in time already needs no other delay, least of all none.
    app.number_input(key=f"what-if-{run}-per_window-share").set_value(30.0).run()
    assert app.select_slider(key=f"what-if-{run}-per_window-delay-clicks").value == 2000
    assert any("40 % of the records are in time; nothing needs to change" in each.value for each in app.caption)


def test_what_is_tried_is_in_the_address_and_comes_from_it(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run, delay="5000", lateness=1000, keep="99.5")
    assert app.select_slider(key=f"what-if-{run}-per_window-delay-clicks").value == 5000
    assert app.select_slider(key=f"what-if-{run}-per_window-lateness").value == 1000
    assert app.number_input(key=f"what-if-{run}-per_window-share").value == 99.5
    app.select_slider(key=f"what-if-{run}-per_window-delay-clicks").set_value(NEEDED - 1000).run()
    shown = app.session_state[KEY].values
    assert (shown["delay"], shown["lateness"], "keep" in shown) == (str(NEEDED - 1000), "1000", False)
    app.button(key=f"what-if-{run}-per_window-ran").click().run()
    assert not {"delay", "lateness", "keep"} & set(app.session_state[KEY].values)


@pytest.mark.parametrize("wrong", ["tomorrow", "1,2,3", "-5", "9" * 40])
def test_an_address_with_another_delay_is_no_error(wrong: str, seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("what_if", run=seeded["future"], delay=wrong, keep="all")
    assert not app.exception
    assert "Records dropped" in metrics(app)


def test_a_longer_allowed_lateness_keeps_records_without_waiting(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.select_slider(key=f"what-if-{run}-per_window-lateness").set_value(AN_HOUR).run()
    assert metrics(app)["Records dropped"] == "0"
    assert metrics(app)["Results wait"] == "2 s"


def test_a_shorter_delay_shows_what_it_would_lose(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("what_if", run=run)
    app.select_slider(key=f"what-if-{run}-per_window-delay-clicks").set_value(NEEDED - 5000).run()
    said = [row[1] for row in rows_of(app, f"what-if-grid-{run}")]
    assert (said.count("kept"), said.count("still dropped")) == (7, 5)


def test_the_curve_marks_the_knee_and_the_ends(seeded: dict[str, int], open_view: OpenView) -> None:
    traces = traces_of(open_view("what_if", run=seeded["future"]))
    assert set(traces) == {"records dropped", "as it ran", "best trade-off", "nothing dropped", "chosen"}
    assert traces["nothing dropped"]["y"] == [0]
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
    # The button leads to another page, which a single view cannot open.
    app.run()
    [pipeline] = started
    assert pipeline.node("clicks").parameters["watermark_delay_ms"] == NEEDED
    assert json.loads(pipeline.to_json())["nodes"][1]["parameters"]["allowed_lateness_ms"] == 0
    assert app.session_state[KEY].values["versus"] == str(run)


def test_a_run_without_such_an_operator_says_so(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("what_if", run=seeded["word_count"])
    assert "This run has none of these" in app.info[0].value
    assert "Add a window, or a watermark delay" in [button.label for button in app.button]


def test_an_interval_join_keeps_rows_for_longer_and_its_results_wait_for_nothing(
    store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    arrivals = {"orders": [[1, 0], [2, 5000]], "payments": [[1, 800], [9, 5000], [2, 100]]}
    pipeline = pipeline_of(
        "orders -> paid:left -> out\npayments -> paid:right",
        **{
            source: rows("id bigint, ts bigint", rows=given, event_time="ts", watermark_delay_ms=500)
            for source, given in arrivals.items()
        },
        paid=("interval_join", {"left_keys": ["id"], "right_keys": ["id"], "lower_ms": -1000, "upper_ms": 0}),
        out=("sink", {"mode": "append"}),
    )
    in_turn = Arrival(mode="in_turn", ends="together")
    run = run_locally(store, tmp_path, pipeline.model_copy(update={"arrival": in_turn}))
    app = open_view("what_if", run=run)
    assert metrics(app)["Records dropped"] == "1"
    assert metrics(app)["Rows are kept longer by"] == "500 ms"
    [row] = rows_of(app, f"what-if-grid-{run}")
    # Without windows the column of window ends is missing; the row's text has the names of its own input.
    assert (row[0], row[1], row[3], row[4]) == ("5", "still dropped", "4.901 s", "id=2, ts=100")


@pytest.mark.parametrize(
    ("address", "operator"),
    [
        ({}, "minutes"),
        ({"edge": "seconds"}, "seconds"),
        ({"edge": "out"}, "minutes"),
        ({"node": "seconds"}, "seconds"),
        ({"edge": "seconds", "seen": "minutes"}, "minutes"),
    ],
)
def test_it_begins_at_the_operator_whose_records_were_shown(
    address: dict[str, str], operator: str, store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    counted = {"aggregates": [{"function": "COUNT", "name": "n"}]}
    pipeline = pipeline_of(
        "rides -> minutes -> out\nrides -> seconds -> out_2",
        rides=rows("ts bigint", rows=[[0], [9000], [6000]], event_time="ts", watermark_delay_ms=0),
        minutes=("window_aggregate", {"size_ms": 60_000, **counted}),
        seconds=("window_aggregate", {"size_ms": 1000, **counted}),
        out=("sink", {"mode": "append"}),
        out_2=("sink", {"mode": "append"}),
    )
    run = run_locally(store, tmp_path, pipeline)
    assert open_view("what_if", run=run, **address).selectbox(key=f"what-if-node-{run}").value == operator


def test_at_an_interval_join_records_that_are_not_dropped_may_miss_partners(
    store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    arrivals = {"rides": [[1, 1000], [9, 9000], [2, 4000]], "payments": [[2, 4100], [9, 9000], [8, 9500]]}
    pipeline = pipeline_of(
        "rides -> paid:left -> out\npayments -> paid:right",
        **{
            source: rows("id bigint, ts bigint", rows=given, event_time="ts", watermark_delay_ms=0)
            for source, given in arrivals.items()
        },
        paid=("interval_join", {"left_keys": ["id"], "right_keys": ["id"], "lower_ms": -6000, "upper_ms": 0}),
        out=("sink", {"mode": "append"}),
    )
    run = run_locally(store, tmp_path, pipeline.model_copy(update={"arrival": Arrival(mode="in_turn")}))
    app = open_view("event_time", run=run)
    assert (
        "**1 record came behind the watermark** of paid, by at most 5 s: late or not, such a record may miss "
        "partners that were let go."
    ) in [text.value for text in app.markdown]
    assert app.button(key="behind-paid").label == "Try a delay of 5.001 s at each source"
    assert [info.value for info in app.info] == [
        "None of 6 records was late for any operator, but 1 record came behind the watermark of paid."
    ]
    assert not app.success
    # The check of the run has counted what that cost.
    checked = {**seeded_store.check_of(2), "node": "paid", "let_go": [1, 5000]}
    store.batch_checks.save(run, json.dumps({"nodes": [checked]}))
    app = open_view("event_time", run=run)
    assert (
        "**1 record came behind the watermark** of paid, by at most 5 s: **1 pair of paid was never made**, since one "
        "of the two rows had been let go."
    ) in [text.value for text in app.markdown]
    assert [info.value for info in app.info] == [
        "None of 6 records was late for any operator, but 1 pair of paid was never made."
    ]
    app.button(key="behind-paid").click()
    app.run()
    assert [app.session_state[KEY].values[name] for name in ("seen", "delay")] == ["paid", "5001,5001"]
    app = open_view("what_if", run=run)
    assert metrics(app)["Records dropped"] == "0"
    assert [warning.value for warning in app.warning] == [
        "**1 record would come behind the watermark**, and may miss partners that paid has let go."
    ]
    assert not app.success
    none = app.button(key=f"what-if-{run}-paid-lossless")
    assert none.label == "None behind the watermark: 5.001 s"
    none.click().run()
    assert not app.warning
    assert app.success


def test_each_of_two_sources_has_its_own_delay(
    store: Store, open_view: OpenView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_ones = {"vans": [[1, 0], [2, 9000], [3, 6000]], "cars": [[4, 100], [5, 9100], [6, 9200]]}
    pipeline = pipeline_of(
        "vans -> all -> sums -> out\ncars -> all",
        **{
            source: rows("id bigint, ts bigint", rows=given, event_time="ts", watermark_delay_ms=0)
            for source, given in late_ones.items()
        },
        all=("union", {}),
        sums=("window_aggregate", {"size_ms": 1000, "aggregates": [{"function": "COUNT", "name": "n"}]}),
        out=("sink", {"mode": "append"}),
    )
    by_event_time = Arrival(mode="by_event_time", ends="together")
    run = run_locally(store, tmp_path, pipeline.model_copy(update={"arrival": by_event_time}))
    app = open_view("what_if", run=run)
    # The cars are at 100 ms when the late van comes: nothing is lost yet.
    assert metrics(app)["Records dropped"] == "0"
    app = open_view("what_if", run=run, delay="0,0")
    assert [each.label for each in app.select_slider[:2]] == ["Watermark delay of vans", "Watermark delay of cars"]
    asked: list[int] = []
    needed = what_if.needed
    monkeypatch.setattr(what_if, "needed", lambda *given: asked.append(1) or needed(*given))
    app.select_slider(key=f"what-if-{run}-sums-delay-cars").set_value(500).run()
    # All numbers come from one histogram; nothing is dropped, so there is no page of records.
    assert len(asked) == 1
    assert app.session_state[KEY].values["delay"] == "0,500"
    started: list[Pipeline] = []
    monkeypatch.setattr(runs.RunManager, "start", lambda _, pipeline, **__: started.append(pipeline) or 1)
    app.button(key="what-if-run").click()
    app.run()
    assert [started[0].node(name).parameters["watermark_delay_ms"] for name in late_ones] == [0, 500]


def test_a_press_right_after_a_number_was_typed_runs_with_it(
    seeded: dict[str, int], open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Pipeline] = []
    monkeypatch.setattr(runs.RunManager, "start", lambda _, pipeline, **__: started.append(pipeline) or 1)
    run = seeded["future"]
    app = open_view("what_if", run=run)
    # Both reach the script at once.
    app.number_input(key=f"what-if-{run}-per_window-share").set_value(100.0)
    app.button(key="what-if-run").click().run()
    assert [each.node("clicks").parameters["watermark_delay_ms"] for each in started] == [NEEDED]


def test_the_draft_that_ran_gets_what_was_applied_unless_it_was_edited_since(
    store: Store, tmp_path: Path, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs.RunManager, "start", lambda *_, **__: 1)
    pipeline = clicks()
    run = run_locally(store, tmp_path, pipeline, identity="mine")

    def applied(draft: Pipeline) -> list[Any]:
        store.drafts.save("draft", History(draft).to_json(), identity="mine")
        app = open_view("what_if", run=run, delay="9000")
        app.button(key="what-if-run").click().run()
        kept = store.drafts.load("draft")
        assert kept is not None
        now = History.from_json(kept.document).now
        return [now.node("clicks").parameters["watermark_delay_ms"], *(each.value for each in app.toast)]

    assert applied(pipeline) == [9000]
    out = pipeline.node("out").model_copy(update={"parameters": {}})
    nodes = tuple(out if node.id == "out" else node for node in pipeline.nodes)
    edited = pipeline.model_copy(update={"nodes": nodes})
    assert applied(edited) == [500, "The draft in Build was edited since, and keeps its delays."]


def test_on_an_older_run_the_newest_version_keeps_its_changes(
    store: Store, tmp_path: Path, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = clicks()
    saved = store.pipelines.save(pipeline.to_json(), name="clicks")
    run = run_locally(store, tmp_path, pipeline, saved)
    out = pipeline.node("out").model_copy(update={"parameters": {}})
    nodes = tuple(out if node.id == "out" else node for node in pipeline.nodes)
    store.pipelines.save(
        pipeline.model_copy(update={"nodes": nodes}).to_json(), name="clicks", pipeline_id=saved.pipeline_id
    )
    app = open_view("what_if", run=run)
    assert "The newest, version 2, has changes in out." in app.info[0].value
    monkeypatch.setattr(runs.RunManager, "start", lambda *_, **__: 1)
    app.button(key=f"what-if-{run}-sums-lossless").click().run()
    app.button(key="what-if-run").click()
    app.run()
    head = store.pipelines.load(saved.pipeline_id)
    document = Pipeline.from_json(head.document)
    assert (head.version, document.node("out").parameters) == (3, {})
    assert document.node("clicks").parameters["watermark_delay_ms"] > 500
    assert head.note.endswith("based on version 2")
