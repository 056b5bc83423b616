"""The event time page on a seeded store."""

from __future__ import annotations

import json
from pathlib import Path

from engine.model.pipeline import Pipeline
from storage import Store
from storage.wanted import SortOrder
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import current_rows, html_of, rows_of, traces_of
from ui.shell.state import KEY


def test_without_event_time_it_says_how_to_declare_one(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("event_time", run=seeded["word_count"])
    assert "set **Event time**" in app.info[0].value


def test_a_run_that_never_began_says_so(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("event_time", run=seeded["failed"])
    assert "before its first epoch" in app.info[0].value


def test_records_are_in_time_or_late_each_with_a_mark_of_its_own(seeded: dict[str, int], open_view: OpenView) -> None:
    traces = traces_of(open_view("event_time", run=seeded["windows"]))
    assert traces["in time"]["x"] == [1, 2, 3, 4]
    assert traces["dropped"]["x"] == [5, 6]
    assert traces["in time"]["marker"]["symbol"] != traces["dropped"]["marker"]["symbol"]


def test_hovering_a_record_says_what_it_is_and_its_window(seeded: dict[str, int], open_view: OpenView) -> None:
    traces = traces_of(open_view("event_time", run=seeded["windows"]))
    assert traces["in time"]["text"][0] == (
        "<b>event 1</b> of clicks<br>2001-09-09 01:47:30.000<br>key=a, id=1, ts=1000000050000"
        "<br>in per_window [2001-09-09 01:47:30, 01:47:40)"
    )
    assert traces["dropped"]["text"][0].endswith("per_window [2001-09-09 01:48:20, 01:48:30): dropped")


def test_the_text_of_a_record_is_no_html_in_the_chart(store: Store, open_view: OpenView, tmp_path: Path) -> None:
    traces = traces_of(open_view("event_time", run=seeded_store.marked_up(store, tmp_path)))
    assert "note=&lt;b&gt;`x`&lt;/b&gt;" in traces["in time"]["text"][0]


def test_the_watermark_is_a_step_line_that_leaves_at_the_end_of_its_source(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    line = traces_of(open_view("event_time", run=seeded["windows"]))["watermark"]
    assert line["line"]["shape"] == "hv"
    assert line["x"] == [1, 2, 3, 4, 7, 7]
    assert line["text"][-1] == "end of input"


def test_a_window_is_a_band_with_the_event_that_fired_it(seeded: dict[str, int], open_view: OpenView) -> None:
    traces = traces_of(open_view("event_time", run=seeded["windows"]))
    assert traces["window fires"]["x"] == [3, 4, 7]
    assert traces["window"]["y"][0] == "2001-09-09T01:47:30.000"
    assert traces["window"]["y"][2] == "2001-09-09T01:47:40.000"


def test_several_sources_have_a_line_each_and_a_combined_one(seeded: dict[str, int], open_view: OpenView) -> None:
    traces = traces_of(open_view("event_time", run=seeded["two_sources"]))
    assert {"watermark of orders", "watermark of payments", "combined watermark", "out of order"} <= set(traces)


def test_the_late_ledger_says_what_would_have_kept_them(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["windows"]
    app = open_view("event_time", run=run, event=6)
    said = [markdown.value for markdown in app.markdown]
    assert said[0] == (
        "**2 of 6 records were late**: **2 were dropped** by per_window. A watermark delay of **10.002 s** would have "
        "kept all that were dropped."
    )
    assert rows_of(app, f"late-{run}-grid")[0] == [
        "dropped",
        "5.001 s",
        "[01:48:20, 01:48:30)",
        "key=b, id=5, ts=1000000100001",
        "10.002 s",
        "5",
        "per_window",
        "01:48:20.001",
        "01:48:35.000",
        "the window had closed before the record arrived",
    ]
    assert [row[5] for row in current_rows(app, f"late-{run}-grid")] == ["6"]
    app.session_state[f"late-{run}-order"] = SortOrder("event", descending=True)
    assert [row[5] for row in rows_of(app.run(), f"late-{run}-grid")] == ["6", "5"]
    assert '<th scope="col" class="number" aria-sort="descending">' in html_of(app, f"late-{run}-grid")


def test_no_late_record_is_good_news(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("event_time", run=seeded["two_sources"])
    assert app.success[0].value == "None of 40 records was late for any operator."


def test_rejected_rows_are_listed_with_file_line_and_reason(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("event_time", run=run)
    assert rows_of(app, f"rejected-{run}-grid")[0] == [
        "column 'ts': \"yesterday\" is not a BIGINT",
        "22",
        "21,yesterday",
        "clicks.csv",
        "clicks",
    ]


def test_columns_that_lost_digits_are_told(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    clicks = edge("clicks", columns(word="string"), watermark_delay_ms=0)
    epoch = Epoch(0, {"clicks": [(1, b"", "+I", ("w",))]}, cut={"clicks": {"sent_at": 1203}})
    run_id = recorded(store, tmp_path, plan(clicks), epoch)
    said = [each.value for each in open_view("event_time", run=run_id).info]
    assert any("1,203 values had digits beyond microseconds, which were cut off" in each for each in said), said


def test_a_range_of_events_is_drawn_alone(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["two_sources"]
    app = open_view("event_time", run=run)
    app.slider(key=f"range-{run}").set_value((10, 14)).run()
    assert sorted(seq for name in ("in time", "out of order") for seq in traces_of(app)[name]["x"]) == [*range(10, 15)]
    app.button(key=f"range-{run}-whole").click().run()
    assert len(traces_of(app)["in time"]["x"]) > 20


def test_a_run_without_records_says_so(store: Store, open_view: OpenView) -> None:
    run = store.runs.create("nothing", Pipeline().to_json())
    store.runs.finish(run.run_id)
    assert open_view("event_time", run=run.run_id).info


def test_a_record_from_the_future_is_named_with_what_it_made_late(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["future"]
    app = open_view("event_time", run=run)
    said = app.warning[0].value
    assert said.startswith(
        "**Event 8 came from the future:** record 8 of clicks (clicks.csv), at 2001-09-09 02:46:48.000"
    )
    assert "by **1 h 1 s** at once, and the other records did not catch up" in said
    assert "**12 records** after it would not have been late without it" in said
    app.button(key="future-8").click().run()
    assert app.session_state[KEY].values["event"] == "8"
    assert current_rows(app, f"records-{run}-grid")[0][0] == "8"


def test_the_source_that_holds_the_watermark_back_is_named(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("event_time", run=seeded["two_sources"])
    [said] = [markdown.value for markdown in app.markdown if "held the combined watermark back" in markdown.value]
    assert said.startswith("- **payments** held the combined watermark back during")


def test_the_records_of_a_range_are_listed_with_their_state(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["windows"]
    app = open_view("event_time", run=run)
    app.segmented_control(key=f"part-{run}").set_value("Records of the range").run()
    rows = rows_of(app, f"records-{run}-grid")
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5", "6", "7"]
    assert rows[4][1:5] == ["clicks", "2001-09-09 01:48:20.001", "dropped", "19.999 s"]
    assert rows[6][-1] == "end of the source"
    app.selectbox(key="records-state").set_value("dropped").run()
    assert [row[0] for row in rows_of(app, f"records-{run}-grid")] == ["5", "6"]


def test_sources_and_operators_are_there_in_figures(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["windows"]
    app = open_view("event_time", run=run)
    app.segmented_control(key=f"part-{run}").set_value("Sources and operators").run()
    assert rows_of(app, "sources-grid")[0][:6] == ["clicks", "6", "0", "2", "0", "19.999 s"]
    assert rows_of(app, "operators-grid") == [
        ["per_window", "Window aggregate", "clicks", "3", "2", "0", "5.001 s"],
    ]


def test_an_operator_sees_its_own_windows_and_sources(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["two_sources"]
    app = open_view("event_time", run=run)
    app.selectbox(key=f"seen-by-{run}").set_value("both").run()
    assert "combined watermark" in traces_of(app)
    app.multiselect(key=f"sources-{run}-both").set_value(["orders"]).run()
    assert "watermark of payments" not in traces_of(app)


def test_the_lead_is_below_zero_where_a_record_was_late(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["windows"]
    app = open_view("event_time", run=run)
    app.segmented_control(key=f"part-{run}").set_value("Lead over the watermark").run()
    _, lead = app.get("plotly_chart")
    traces = {trace["name"]: trace for trace in json.loads(lead.proto.spec)["data"]}
    assert "dropped" in traces


def test_a_large_range_is_a_map_of_leads_with_the_late_records_marked(
    store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    sent = [["a", n * 1000 - (50_000 if n == 4000 else 0)] for n in range(4200)]
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows("key string, ts bigint", rows=sent, event_time="ts", watermark_delay_ms=0),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 10_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    app = open_view("event_time", run=run_locally(store, tmp_path, pipeline))
    dropped = traces_of(app)["dropped"]
    assert dropped["text"] == ["<b>events 4,000 to 4,042</b><br>30 s to 1 min behind<br>1 record<br>1 dropped"]
    assert dropped["customdata"] == [[4000, 4042]]
    parts = next(each for each in app.segmented_control if each.label == "Show")
    assert "Lead over the watermark" not in parts.options
    next(each for each in app.segmented_control if each.label == "Chart").set_value("Event time").run()
    assert "dropped" in traces_of(app)
    assert "watermark" in traces_of(app)


def test_ordinary_jumps_within_the_delay_are_no_alarm(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    times = [*range(0, 11_000, 1000), 11_900, 8000]
    pipeline = pipeline_of(
        "clicks -> sums -> out",
        clicks=rows("ts bigint", rows=[[time] for time in times], event_time="ts", watermark_delay_ms=2000),
        sums=("window_aggregate", {"size_ms": 1000, "aggregates": [{"function": "COUNT", "name": "n"}]}),
        out=("sink", {"mode": "append"}),
    )
    run = run_locally(store, tmp_path, pipeline)
    assert store.future_records.find(run)[0].jump_ms == 1900
    app = open_view("event_time", run=run)
    assert not app.warning
    assert app.markdown[0].value.startswith("**1 of 13 records was late**")


def test_who_sees_it_and_which_events_are_in_the_url(seeded: dict[str, int], open_view: OpenView) -> None:
    run = seeded["windows"]
    app = open_view("event_time", run=run, seen="per_window", range="2-5")
    assert app.selectbox(key=f"seen-by-{run}").value == "per_window"
    assert app.slider(key=f"range-{run}").value == (2, 5)
    app.selectbox(key=f"seen-by-{run}").set_value(None).run()
    app.slider(key=f"range-{run}").set_value((3, 6)).run()
    values = app.session_state[KEY].values
    assert ("seen" in values, values["range"]) == (False, "3-6")
    app.button(key=f"range-{run}-whole").click().run()
    assert "range" not in app.session_state[KEY].values


def test_while_a_run_goes_on_nothing_late_is_no_all_clear(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    clicks = edge("clicks", columns(ts="bigint*"), watermark_delay_ms=0)
    its_plan = plan(clicks)
    run = store.runs.create("a run", its_plan.pipeline_json)
    recorder = store.record(run.run_id)
    recorder.begin(its_plan)
    records = {"clicks": [(seq, b"", "+I", (seq,)) for seq in (1, 2, 3)]}
    marks = [(seq, "clicks", seq, seq, False) for seq in (1, 2, 3)]
    recorder.commit(Epoch(0, records, watermarks=marks).write(tmp_path, its_plan.edges))
    app = open_view("event_time", run=run.run_id)
    assert not app.success
    assert [info.value for info in app.info] == ["So far, up to event 3: none of 3 records was late for any operator."]
    assert any("Up to event 3: the run goes on" in caption.value for caption in app.caption)
    recorder.finish()
    app = open_view("event_time", run=run.run_id)
    assert [said.value for said in app.success] == ["None of 3 records was late for any operator."]
