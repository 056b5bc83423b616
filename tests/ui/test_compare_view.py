"""Two runs side by side, on a seeded store."""

from __future__ import annotations

from pathlib import Path

from engine.model.pipeline import Pipeline
from storage import Store
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of, traces_of
from ui.components.event_time.lead_chart import leads
from ui.components.event_time.watermark_pair_chart import watermark_pair_chart
from ui.shell.state import KEY


def test_two_equal_runs_are_the_same_in_everything(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    left, right = seeded_store.windows(store, tmp_path), seeded_store.windows(store, tmp_path)
    app = open_view("compare", run=right, versus=left)
    assert [row[:2] for row in rows_of(app, "compare-parts")] == [
        [part, "the same"] for part in ("Final table", "Changelog", "Plan", "Counters", "Event time", "Late records")
    ]
    assert app.success[0].value == "The same 3 rows in both."


def test_what_another_delay_changed_is_found_part_by_part(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    left = seeded_store.windows(store, tmp_path)
    right = seeded_store.windows(store, tmp_path, delay=12_000)
    app = open_view("compare", run=right, versus=left)
    said = {row[0]: row[1:] for row in rows_of(app, "compare-parts")}
    assert said["Final table"] == ["different", "1 row different, 3 the same (3 and 4 rows)"]
    assert said["Changelog"] == ["different", "they diverge at event 7"]
    assert said["Late records"] == ["different", "2 only in run 1, 0 only in run 2, 0 in both"]
    assert rows_of(app, "compare-table") == [
        ["only in run 2", "b", "2001-09-09 01:48:20", "2001-09-09 01:48:30", "[5, 6]"]
    ]
    app.segmented_control(key="compare-part").set_value("Plan").run()
    assert ["clicks", "Watermark delay", "5 s", "12 s"] in rows_of(app, "compare-plan")
    app.segmented_control(key="compare-part").set_value("Late records").run()
    assert rows_of(app, "compare-late")[0][-2:] == ["dropped, late by 5.001 s", "in time"]
    app.segmented_control(key="compare-part").set_value("Changelog").run()
    assert rows_of(app, "compare-records")[0][0] == "7"
    app.segmented_control(key="compare-part").set_value("Event time").run()
    assert app.get("plotly_chart")
    app.segmented_control(key="compare-part").set_value("Counters").run()
    assert rows_of(app, "compare-counters")[0][:2] == ["clicks", "run 1"] or "per_window" in str(
        rows_of(app, "compare-counters")[0]
    )


def test_late_records_of_both_are_the_same_whatever_their_events_are(
    open_view: OpenView, store: Store, tmp_path: Path
) -> None:
    """A record more at the beginning moves all events by one; of two equal late records one is late in one run only."""

    def run_of(*times: int) -> int:
        pipeline = pipeline_of(
            "clicks -> per_window -> out",
            clicks=rows(
                "key string, ts bigint",
                rows=[["a", seeded_store.BASE + time] for time in times],
                event_time="ts",
                watermark_delay_ms=0,
            ),
            per_window=("window_aggregate", {"kind": "tumble", "size_ms": 10_000, "group_by": ["key"]}),
            out=("sink", {"mode": "append"}),
        )
        return seeded_store.run_locally(store, tmp_path, pipeline)

    left, right = run_of(50_000, 120_000, 1_000, 2_000, 2_000), run_of(40_000, 50_000, 120_000, 2_000, 1_000)
    found = store.run_differences.late(left, right)
    assert (found.only_left, found.only_right, found.both, found.other_outcome) == (1, 0, 2, 0)
    assert [(row.left_seq, row.right_seq) for row in found.rows] == [(5, None)]
    app = open_view("compare", run=right, versus=left)
    said = {row[0]: row[1:] for row in rows_of(app, "compare-parts")}
    assert said["Late records"] == ["different", "1 only in run 1, 0 only in run 2, 2 in both"]


def counted(*words: str) -> Pipeline:
    return pipeline_of(
        "words -> count_words -> out",
        words=rows("word string", rows=[[word] for word in words]),
        count_words=("aggregate", {"group_by": ["word"], "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "upsert"}),
    )


def test_a_row_with_other_values_is_one_line_with_both(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    left = run_locally(store, tmp_path, counted("Hello", "World", "Bye"))
    right = run_locally(store, tmp_path, counted("Hello", "World", "World"))
    app = open_view("compare", run=right, versus=left)
    assert rows_of(app, "compare-table") == [["only in run 1", "Bye", "1"], ["run 1 → run 2", "World", "1 → 2"]]


def test_the_run_before_of_the_same_name_is_compared_with_at_first(
    store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    first = seeded_store.windows(store, tmp_path)
    seeded_store.word_count(store, tmp_path)
    last = seeded_store.windows(store, tmp_path)
    app = open_view("compare", run=last)
    assert app.session_state[KEY].values["versus"] == str(first)
    app.button(key="compare-swap").click().run()
    assert (app.session_state[KEY].values["run"], app.session_state[KEY].values["versus"]) == (str(first), str(last))


def test_runs_of_different_pipelines_are_compared_as_far_as_they_go(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("compare", run=seeded["word_count"], versus=seeded["failed"])
    assert rows_of(app, "compare-parts")[0][1] == "different"


def test_a_run_alone_has_nothing_to_be_compared_with(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    app = open_view("compare", run=seeded_store.windows(store, tmp_path))
    assert app.info[0].value.startswith("There is only this run")
    assert {"Change the pipeline", "Run it again"} <= {button.label for button in app.button}


def timed_and_untimed(store: Store, folder: Path) -> int:
    """Clicks with an event time, joined with rates without one."""
    pipeline = pipeline_of(
        "clicks -> both:left -> out\nrates -> both:right",
        clicks=rows("k bigint, ts bigint", rows=[[1, 1000 * at] for at in range(1, 6)], event_time="ts"),
        rates=rows("k bigint, rate bigint", rows=[[1, at] for at in range(5)]),
        both=("join", {"left_keys": ["k"], "right_keys": ["k"]}),
        out=("sink", {"mode": "append"}),
    )
    return run_locally(store, folder, pipeline)


def test_a_source_without_an_event_time_hides_no_watermark(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    left, right = timed_and_untimed(store, tmp_path), timed_and_untimed(store, tmp_path)
    app = open_view("compare", run=right, versus=left)
    app.segmented_control(key="compare-part").set_value("Event time").run()
    lines = traces_of(app)
    assert set(lines) == {f"run {left}", f"run {right}"}
    assert [mark[-12:] for mark in lines[f"run {left}"]["y"]] == [
        f"00:00:0{second}.000" for second in (1, 2, 3, 4, 5, 5)
    ]


def test_a_chart_of_all_sources_draws_the_only_watermark(store: Store, tmp_path: Path) -> None:
    timeline = store.timeline.timeline(timed_and_untimed(store, tmp_path))
    assert timeline.sources == ("clicks", "rates")
    assert [lag for _, _, lag in leads(timeline)] == [1000] * 4
    chart = watermark_pair_chart(timeline, timeline, ("one", "other"))
    assert len(chart.data[0].x) == 6
