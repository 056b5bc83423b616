"""The page State: what operators hold, what their expiry did, and what it says where there is nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import pytest
from streamlit.testing.v1 import AppTest

from storage import Store
from storage.event_time.held_states import HeldPoint, HeldState
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of, traces_of
from tests.ui.seeded_store import expiring, freed, marked_up, word_count
from ui.components.held.held_table import growth_sentences
from ui.runs.ttl_trials import Found, FoundResult, FoundTrial, Trials
from ui.shell import workspace

HOUR = 3_600_000


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


def test_bytes_are_told_at_every_point_of_a_run(store: Store) -> None:
    held, _ = store.held_states.of_run(expiring(store, workspace.folder()))
    # An entry takes 35 bytes, as measured at the end of the run.
    assert {point.size - 35 * point.total for point in held.points} == {0}


def _point(seq: int, clock_ms: int | None) -> HeldPoint:
    return HeldPoint(seq, clock_ms, {"rows": seq}, seq, 0, 0)


def test_a_clock_that_stands_still_is_told_with_its_reason() -> None:
    def told(*clocks_ms: int | None) -> list[str]:
        points = tuple(_point(at + 1, clock_ms) for at, clock_ms in enumerate(clocks_ms))
        return list(growth_sentences(HeldState("joined", ("rows",), points)))

    (never,) = told(None, None, None, None)
    assert "no source has an event time" in never
    (early,) = told(0, HOUR, HOUR, HOUR, HOUR, HOUR)
    assert "stood still after event 2**, at 1970-01-01 01:00:00.000" in early


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
        "- **1 accumulator** of its key had expired, last written at 2024-01-01 09:30:00.000 UTC.",
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


def test_state_that_comes_and_goes_between_two_counts_is_no_empty_chart(store: Store, open_view: OpenView) -> None:
    app = open_view("state", run=freed(store, workspace.folder()))
    (said,) = [info.value for info in app.info]
    assert "counted after 1 event of this run" in said
    assert "held nothing then. What came and went in between is not told" in said


def what_if(open_view: OpenView, run: int) -> AppTest:
    app = open_view("state", run=run)
    return app.segmented_control(key=f"state-part-{run}").set_value("What if").run()


def test_what_other_ttls_made_of_the_run_is_told_with_the_smallest_that_suffices(
    store: Store, open_view: OpenView
) -> None:
    run = expiring(store, workspace.folder())
    came = (FoundResult("frequencies", "+I", ("cnt", "freq"), ("1", "2")),)
    trials = (
        FoundTrial(0, 5, 5000, 0, 0, 0, None, (), (), True),
        FoundTrial(HOUR, 3, 3000, 4, 8, 2, 5, came, (), False),
        FoundTrial(6 * HOUR, 4, 4000, 1, 8, 0, None, (), (), True),
        FoundTrial(24 * HOUR, 4, 4000, 1, 8, 0, None, (), (), True),
    )
    store.ttl_trials.save(run, json.dumps(asdict(Found(trials[:3], 6 * HOUR))))
    (cut,) = [each.value for each in what_if(open_view, run).markdown if "smallest TTL" in each.value]
    assert "is 6 h**, of those tried so far, with" in cut
    store.ttl_trials.save(run, json.dumps(asdict(Found(trials, 6 * HOUR, is_whole=True))))
    app = what_if(open_view, run)
    assert rows_of(app, f"ttl-table-{run}") == [
        ["none", "5", "5 kB", "0", "0", "", ""],
        ["1 h", "3", "3 kB", "4", "2", "25.00 %", "event 5"],
        ["6 h", "4", "4 kB", "1", "0", "0.00 %", ""],
        ["1 d", "4", "4 kB", "1", "0", "0.00 %", ""],
    ]
    (told,) = [each.value for each in app.markdown if "smallest TTL" in each.value]
    assert told.startswith(
        "**The smallest TTL that changes nothing for 99.9 % of the events is 6 h** (of the round ones)"
    )
    assert told.endswith("with 80 % of the state that no TTL needs; 1 h changes the results of 25 % of the events.")
    traces = traces_of(app)
    assert traces["tried TTLs"]["text"] == ["1 h", "6 h to 1 d", ""]
    assert traces["smallest sufficient TTL"]["x"] == [4]
    app.session_state[f"ttl-picked-{run}"] = HOUR
    app.run()
    assert any("**event 5** is the first with other results" in each.value for each in app.markdown)
    assert rows_of(app, "ttl-With 1 h-frequencies") == [["+I", "1", "2"]]
    assert "Nothing." in [each.value for each in app.markdown]


def test_the_chosen_ttls_are_tried_and_no_text_that_is_no_duration(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = expiring(store, workspace.folder())
    started: list[tuple[int, Sequence[int]]] = []
    monkeypatch.setattr(Trials, "start", lambda _, of, ttls_ms: started.append((of.run_id, ttls_ms)))
    app = what_if(open_view, run)
    app.button(key="ttls-run").click().run()
    assert started == [(run, [HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR])]
    app.multiselect(key=f"ttls-{run}").set_value(["1 h", "soon"]).run()
    assert app.button(key="ttls-run").disabled
    assert any(each.value.startswith("soon: no duration") for each in app.caption)
