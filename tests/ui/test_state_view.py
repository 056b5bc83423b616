"""The page State: what operators hold, what their expiry did, and what it says where there is nothing."""

from __future__ import annotations

from storage import Store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from tests.ui.seeded_store import expiring, freed, marked_up, word_count
from ui.shell import workspace


def test_operators_are_told_with_what_they_hold_and_how_it_grows(store: Store, open_view: OpenView) -> None:
    run = expiring(store, workspace.folder())
    app = open_view("state", run=run)
    table = rows_of(app, f"held-{run}")
    assert [row[:6] for row in table] == [
        ["count_words", "3 accumulators", "3", "1 kB", "3", "2"],
        ["count_counts", "2 accumulators", "2", "1 kB", "2", "1"],
    ]
    assert table[0][7].endswith("each entry goes 1 h after its last write")
    (sentences,) = [markdown.value for markdown in app.markdown if "With its TTL" in markdown.value]
    assert "**3 entries** at most so far" in sentences
    assert "Without a TTL" in sentences


def test_the_file_of_a_record_says_what_had_gone_and_what_would_have_come_out(
    store: Store, open_view: OpenView
) -> None:
    run = expiring(store, workspace.folder())
    app = open_view("state", run=run, event=5)
    app.segmented_control(key=f"state-part-{run}").set_value("What expiry did").run()
    said = [markdown.value for markdown in app.markdown]
    assert "**Event 5** met expired state" in said
    (points,) = [text for text in said if text.startswith("- **1 accumulator**")]
    assert points.splitlines() == [
        "- **1 accumulator** of its key had expired, last written at 2024-01-01 09:30:00.000.",
        "- **The TTL ran out** at 2024-01-01 10:30:00.000, 1 h later; the clock stood at 2024-01-01 10:45:00.000: "
        "**15 min too late**.",
        "- **Further down**, count_counts, frequencies received what came out instead.",
    ]
    assert rows_of(app, "expired-file-0-Came out") == [["+I", "Hello", "1"]]
    assert rows_of(app, "expired-file-0-Without a TTL, would have come out") == [
        ["-U", "Hello", "2"],
        ["+U", "Hello", "3"],
    ]
    assert [row[:3] for row in rows_of(app, f"expired-{run}-grid")] == [
        ["5", "count_words", "1 accumulator"],
        ["6", "count_counts", "1 accumulator"],
        ["7", "count_words", "1 accumulator"],
    ]


def test_a_run_without_counts_says_why(store: Store, open_view: OpenView) -> None:
    counted, stateless = (make(store, workspace.folder()) for make in (word_count, marked_up))
    assert any("did not count state yet" in info.value for info in open_view("state", run=counted).info)
    assert any("keeps state" in info.value for info in open_view("state", run=stateless).info)


def test_state_that_the_watermark_frees_within_an_epoch_is_no_empty_chart(store: Store, open_view: OpenView) -> None:
    app = open_view("state", run=freed(store, workspace.folder()))
    (said,) = [info.value for info in app.info]
    assert "held nothing at its end. State that the watermark frees is counted there only" in said
