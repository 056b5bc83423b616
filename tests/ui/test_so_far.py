"""What is said of a run that did not read all of its input: never that all is well, always up to where it holds."""

from __future__ import annotations

from pathlib import Path

from storage import Store
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of


def test_no_page_gives_an_all_clear_for_a_run_that_was_stopped(
    store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    # With this delay, no record is late.
    whole, stopped = (seeded_store.windows(store, tmp_path, delay=12_000) for _ in range(2))
    store.runs.stop(stopped)
    scope = "Up to event 7"
    app = open_view("what_if", run=whole)
    assert [each.value for each in app.success] == ["No record is dropped, neither in the run nor with these settings."]
    app = open_view("what_if", run=stopped)
    assert not app.success
    assert [each.value for each in app.info] == [
        f"{scope}: no record is dropped, neither in the run nor with these settings."
    ]
    app = open_view("compare", run=whole, versus=stopped)
    assert not app.success
    assert {row[0]: row[1] for row in rows_of(app, "compare-parts")} == {
        "Final table": "the same so far",
        "Changelog": "the same so far",
        "Plan": "the same",
        "Counters": "the same so far",
        "Event time": "the same so far",
        "Late records": "the same so far",
    }
    app = open_view("run", run=stopped)
    assert any(" · up to event 7 · " in caption.value for caption in app.caption)


def test_writers_that_lose_nothing_so_far_are_no_all_clear(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    run = seeded_store.word_count(store, tmp_path)
    store.runs.stop(run)
    app = open_view("why_retraction", run=run)
    app.slider(key="disorder-writers").set_value(1).run()
    assert not app.success
    assert [each.value for each in app.info if "lost" in each.value] == [
        "Up to event 3: nothing is lost, and all 2 keys are correct."
    ] * 2
