"""The file of a late record, and the groups of late records, on the page Event time."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from engine.model.pipeline import Arrival
from storage import Store
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import no_spark, run_locally
from tests.storage.test_instants import ZONE, run_in
from tests.storage.test_late_files import vans
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.inspect.late_outcomes import late_outcome
from ui.inspect.replaying import plan_of
from ui.shell.state import KEY

WINDOWS = {
    "tumble": {"kind": "tumble", "size_ms": 10},
    "hop": {"kind": "hop", "size_ms": 20, "slide_ms": 10},
    "session": {"kind": "session", "gap_ms": 6},
    "with lateness": {"kind": "tumble", "size_ms": 10, "allowed_lateness_ms": 4},
}


def test_the_file_says_what_it_missed_what_pushed_the_watermark_and_what_would_have_come_out(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("event_time", run=seeded["windows"], event=6)
    said = [markdown.value for markdown in app.markdown]
    assert "**Event 6 of clicks**, a late record" in said
    assert "**per_window**: dropped." in said
    (points,) = [text for text in said if text.startswith("- **It missed")]
    assert points.splitlines() == [
        "- **It missed the window** \\[2001-09-09 01:48:20, 01:48:30), for which nothing had arrived in time.",
        "- **Its event time** was 2001-09-09 01:48:29.000 UTC; the watermark stood at 2001-09-09 01:48:35.000, 5.001 s "
        "too far.",
        "- **Event 4 of clicks pushed the watermark past it**: a record from 2001-09-09 01:48:40.000, **11 s ahead** "
        "of it: `key=a, id=4, ts=1000000120000`.",
        "- **Kept with** a watermark delay of **10.002 s** at clicks instead of 5 s.",
        "- **1 more** was dropped for this window.",
        "- **Further down**, out never heard of it.",
    ]
    assert "Nothing." in said
    assert rows_of(app, "late-file-0-In time, would have come out") == [
        ["+I", "b", "2001-09-09 01:48:20", "2001-09-09 01:48:30", "[5, 6]"]
    ]


def test_the_file_lists_what_the_missed_window_emitted_and_what_that_caused(
    store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    pipeline = pipeline_of(
        "clicks -> per_window -> totals -> out",
        clicks=rows(
            "key string, ts bigint",
            rows=[["a", 1_000], ["b", 2_000], ["a", 30_000], ["a", 3_000], ["a", 12_000]],
            event_time="ts",
            watermark_delay_ms=0,
        ),
        per_window=(
            "window_aggregate",
            {"kind": "tumble", "size_ms": 10_000, "group_by": ["key"], "aggregates": [seeded_store.COUNT]},
        ),
        totals=(
            "aggregate",
            {"group_by": ["key"], "aggregates": [{"function": "SUM", "argument": "cnt", "name": "n"}]},
        ),
        out=("sink", {"mode": "changelog"}),
    )
    app = open_view("event_time", run=run_locally(store, tmp_path, pipeline), event=4)
    assert [row[:2] for row in rows_of(app, "late-file-0-window")] == [
        ["per_window", "+I"],
        ["totals", "+I"],
        ["out", "+I"],
    ]
    assert any("totals, out have the result without it" in each.value for each in app.markdown)
    assert any(each.value.startswith("**What the window emitted** of ") for each in app.markdown)
    for title, count in (("Came out", "1"), ("In time, would have come out", "2")):
        # The longer delay would also keep event 5, in another window.
        assert [row[:1] + row[-1:] for row in rows_of(app, f"late-file-0-{title}")] == [["+I", count]]


@pytest.mark.parametrize("mode", ["by_column", "by_event_time", "one_after_the_other"])
def test_without_a_late_record_it_says_whether_the_order_of_arrival_allows_one(
    mode: str, store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    given = {"rows": [["a", 30_000], ["b", 2_000]], "event_time": "ts", "watermark_delay_ms": 60_000}
    pipeline = pipeline_of(
        "clicks -> per_window -> out",
        clicks=rows("key string, ts bigint", **given, arrival_column="ts"),
        per_window=("window_aggregate", {**WINDOWS["tumble"], "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    pipeline = pipeline.model_copy(update={"arrival": Arrival.model_validate({"mode": mode})})
    app = open_view("event_time", run=run_locally(store, tmp_path, pipeline))
    assert any(each.value == "None of 2 records was late for any operator." for each in app.success)
    told = [each for each in app.caption if "sorted by their event times, so none came late" in each.value]
    assert len(told) == (mode == "by_column")


def test_without_a_late_event_it_says_how_to_open_a_file(seeded: dict[str, int], open_view: OpenView) -> None:
    for event in (None, 1):
        app = open_view("event_time", run=seeded["windows"], event=event)
        assert any(caption.value.startswith("Pick a record: its file says") for caption in app.caption)


def test_closing_the_file_clears_the_event(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("event_time", run=seeded["windows"], event=6)
    app.button(key="late-file-close").click().run()
    assert not any("a late record" in markdown.value for markdown in app.markdown)


def test_the_delay_to_try_is_that_of_the_records_own_source(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    sent = {"vans": (0, [[1, 0], [2, 9000], [3, 6000]]), "cars": (500, [[4, 9000], [5, 9100], [6, 9200]])}
    pipeline = pipeline_of(
        "vans -> all -> sums -> out\ncars -> all",
        **{
            source: rows("id bigint, ts bigint", rows=given, event_time="ts", watermark_delay_ms=delay_ms)
            for source, (delay_ms, given) in sent.items()
        },
        all=("union", {}),
        sums=("window_aggregate", {"kind": "tumble", "size_ms": 1000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "append"}),
    )
    run = run_locally(store, tmp_path, pipeline.model_copy(update={"arrival": Arrival(mode="in_turn")}))
    app = open_view("event_time", run=run, event=5)
    said = [markdown.value for markdown in app.markdown]
    assert any(each.endswith(" A watermark delay of **2.002 s** at vans would have kept it.") for each in said)
    button = app.button(key="late-file-0-what-if")
    assert button.label == "Try a delay of 2.002 s at vans"
    button.click()
    app.run()
    assert app.session_state[KEY].values["delay"] == "2002,500"
    [record] = rows_of(open_view("what_if", run=run, delay="2002,500"), f"what-if-grid-{run}")
    assert record[:2] == ["5", "kept"]
    [record] = rows_of(open_view("what_if", run=run, delay="2001,500"), f"what-if-grid-{run}")
    assert record[:2] == ["5", "still dropped"]
    app = open_view("event_time", run=run, part="Which ones?")
    app.selectbox(key=f"groups-source-{run}").set_value("cars").run()
    assert [each.value for each in app.success] == ["No record of cars was dropped."]


def test_which_ones_says_the_most_telling_values(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    run = vans(store, tmp_path)
    app = open_view("event_time", run=run)
    app.segmented_control(key=f"part-{run}").set_value("Which ones?").run()
    said = [markdown.value for markdown in app.markdown]
    assert (
        "**100% of the dropped** records have kind = van and city = Leipzig; of all records of trips it is 5.0%."
        in said
    )
    first, second = rows_of(app, f"groups-grid-{run}")[:2]
    assert first == ["kind and city", "van, Leipzig", "7", "100.0%", "5.0%", "20.0 × the average"]
    assert second[:2] == ["kind", "van"]


@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("seed", range(3))
def test_what_would_have_come_out_is_what_a_run_with_that_delay_emits(
    store: Store, tmp_path: Path, kind: str, seed: int
) -> None:
    generator = random.Random(seed)
    sent = [[generator.choice("ab"), max(0, n * 3 - generator.choice((0, 0, 5, 30)))] for n in range(40)]

    def ran(delay_ms: int) -> int:
        pipeline = pipeline_of(
            "clicks -> per_window -> out",
            clicks=rows("key string, ts bigint", rows=sent, event_time="ts", watermark_delay_ms=delay_ms),
            per_window=(
                "window_aggregate",
                {**WINDOWS[kind], "group_by": ["key"], "aggregates": [seeded_store.COUNT]},
            ),
            out=("sink", {"mode": "changelog"}),
        )
        return run_locally(store, tmp_path, pipeline)

    def emitted(run_id: int, key: str) -> Counter[str]:
        page = store.changelog.page(run_id, "per_window", limit=1000)
        return Counter(repr((record.kind, record.values)) for record in page.records if record.values[0] == key)

    run_id = ran(2)
    plan = plan_of(store.runs.stored(run_id).entry)
    late = store.late.page(run_id).records
    assert late
    for record in late[:4]:
        outcome = late_outcome(store, run_id, plan, record, 2, no_spark)
        assert outcome is not None
        assert record.needed_delay_ms is not None
        (key,) = (str(value) for _, value in outcome.key)
        then = emitted(run_id, key)
        then.subtract(map(repr, outcome.emitted))
        then.update(map(repr, outcome.otherwise))
        assert +then == emitted(ran(record.needed_delay_ms), key)


def test_in_a_time_zone_the_page_has_its_times_and_names_it(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    app = open_view("event_time", run=run_in(store, tmp_path, ZONE), event=3)
    (points,) = [text.value for text in app.markdown if text.value.startswith("- **It missed")]
    assert points.splitlines()[:2] == [
        "- **It missed the window** \\[2024-11-03 00:00:00, 01:00:00), for which nothing had arrived in time.",
        "- **Its event time** was 2024-11-03 00:10:00.000 America/New_York; the watermark stood at "
        "2024-11-03 01:30:00.500-05:00, 1 h 30 min 0.501 s too far.",
    ]
    assert rows_of(app, "late-file-record")[0][1] == "2024-11-03 00:10:00-04:00"
