"""Pages of a run that keeps a part of its records say so, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage import Store
from tests.storage.local_runs import run_locally
from tests.ui.conftest import OpenView
from tests.ui.seeded_store import words_counted

KEEP = "changelog-studio.keep"


def kept(store: Store, folder: Path, **options: str) -> int:
    named = {f"{KEEP}.{name}": value for name, value in options.items()}
    return run_locally(store, folder, words_counted().model_copy(update={"options": named}))


@pytest.mark.parametrize(
    "view",
    [
        "changelog",
        "time_travel",
        "retractions",
        "why_retraction",
        "event_time",
        "state",
        "what_if",
        "compare",
        "sql",
        "run",
    ],
)
def test_each_page_tells_what_is_kept(store: Store, tmp_path: Path, open_view: OpenView, view: str) -> None:
    run_locally(store, tmp_path, words_counted())
    run = kept(store, tmp_path, edges="out", keys="1000")
    app = open_view(view, run=run)
    assert not app.exception
    told = [caption.value for caption in app.caption if "keeps a part of its records" in caption.value]
    assert told, [caption.value for caption in app.caption]
    assert "**no records** of words, inner; **all records** of outer, out" in told[0]


@pytest.mark.parametrize("view", ["changelog", "time_travel", "retractions", "why_retraction"])
def test_an_output_that_was_not_kept_says_what_to_do(
    store: Store, tmp_path: Path, open_view: OpenView, view: str
) -> None:
    app = open_view(view, run=kept(store, tmp_path, edges="out"), edge="inner")
    assert not app.exception
    assert [info.value for info in app.info] == [
        "This run has not kept the records of inner: 4 records came out of it. Open another output above. To keep "
        "others, change *Keep only the records of* or *Keep one key in* in the options of the pipeline, and run it "
        "again."
    ]


def test_without_a_choice_the_last_output_with_records_is_open(
    store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    app = open_view("changelog", run=kept(store, tmp_path, edges="inner"))
    assert not app.info
    assert any("Table after event" in markdown.value for markdown in app.markdown)


def test_the_state_of_an_operator_needs_its_input(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    app = open_view("time_travel", run=kept(store, tmp_path, edges="out"), edge="out", event=3)
    assert not app.exception


def test_the_batch_check_says_which_records_it_lacks(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    app = open_view("run", run=kept(store, tmp_path, edges="out"))
    sentence = "needs all records, and this run has not kept those of words, inner."
    assert any(sentence in caption.value for caption in app.caption)
