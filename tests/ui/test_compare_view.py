"""Two runs side by side, on a seeded store."""

from __future__ import annotations

from pathlib import Path

from storage import Store
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.shell.state import KEY


def test_two_equal_runs_are_the_same_in_everything(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    left, right = seeded_store.windows(store, tmp_path), seeded_store.windows(store, tmp_path)
    app = open_view("compare", run=left, versus=right)
    assert [row[:2] for row in rows_of(app, "compare-parts")] == [
        [part, "the same"] for part in ("Final table", "Changelog", "Plan", "Counters", "Event time", "Late records")
    ]
    assert app.success[0].value == "The same 3 rows in both."


def test_what_another_delay_changed_is_found_part_by_part(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    left = seeded_store.windows(store, tmp_path)
    right = seeded_store.windows(store, tmp_path, delay=12_000)
    app = open_view("compare", run=left, versus=right)
    said = {row[0]: row[1:] for row in rows_of(app, "compare-parts")}
    assert said["Final table"] == ["different", "1 row different, 3 the same (3 and 4 rows)"]
    assert said["Changelog"] == ["different", "they diverge at event 7"]
    assert said["Late records"] == ["different", "2 only in run 1, 0 only in run 2, 0 in both"]
    assert rows_of(app, "compare-table") == [
        ["only in run 2", "b", "2001-09-09 01:48:20", "2001-09-09 01:48:30", "[5, 6]"]
    ]
    app.segmented_control(key="compare-part").set_value("Plan").run()
    assert ["clicks", "watermark_delay_ms", "5000", "12000"] in rows_of(app, "compare-plan")
    app.segmented_control(key="compare-part").set_value("Late records").run()
    assert rows_of(app, "compare-late")[0][-2:] == ["late by 5.001 s", "in time"]
    app.segmented_control(key="compare-part").set_value("Changelog").run()
    assert rows_of(app, "compare-records")[0][0] == "7"
    app.segmented_control(key="compare-part").set_value("Event time").run()
    assert app.get("plotly_chart")
    app.segmented_control(key="compare-part").set_value("Counters").run()
    assert rows_of(app, "compare-counters")[0][:2] == ["clicks", "run 1"] or "per_window" in str(
        rows_of(app, "compare-counters")[0]
    )


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
