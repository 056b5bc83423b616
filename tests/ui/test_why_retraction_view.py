"""The page that explains why retraction is needed, on a seeded store."""

from __future__ import annotations

import json
from pathlib import Path

from storage import Store
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import html_of, rows_of
from ui.runs.variants import without_retraction
from ui.shell.state import KEY


def test_without_the_other_run_there_is_a_button_for_it(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("why_retraction", run=seeded["word_count"])
    assert app.button(key="retraction-off").label == "Run it with retraction switched off"
    assert rows_of(app, "with-retraction") == [["1", "1"], ["2", "1"]]


def test_wrong_cells_of_the_table_without_retraction_are_marked(
    store: Store, seeded: dict[str, int], tmp_path: Path, open_view: OpenView
) -> None:
    # The frequency 1 stays counted twice.
    run_locally(store, tmp_path, without_retraction(seeded_store.words_counted()))
    app = open_view("why_retraction", run=seeded["word_count"])
    assert rows_of(app, "without-retraction") == [["1", "1 → 2"], ["2", "1"]]
    assert html_of(app, "without-retraction").count("changed") == 1
    (said,) = [markdown.value for markdown in app.markdown if "1 row wrong" in markdown.value]
    assert said.endswith("one is too large, since values that no longer hold were counted beside the new ones.")


def test_a_missing_row_is_shown_and_every_wrong_row_has_its_reason(
    store: Store, tmp_path: Path, open_view: OpenView
) -> None:
    """Of the best two, a leaves again with retraction; without, it stays and keeps d out."""
    pipeline = pipeline_of(
        "sales -> latest -> top -> out",
        sales=rows(
            "id string, city string, amount bigint",
            rows=[["a", "A", 9], ["b", "B", 5], ["c", "C", 7], ["a", "A", 1], ["d", "D", 6]],
        ),
        latest=("deduplicate", {"keys": ["id"], "keep": "last", "order": "arrival"}),
        top=("topn", {"order_by": [{"column": "amount", "descending": True}], "rank_end": 2}),
        out=("sink", {"mode": "changelog"}),
    )
    run_id = run_locally(store, tmp_path, pipeline)
    run_locally(store, tmp_path, without_retraction(pipeline))
    app = open_view("why_retraction", run=run_id)
    drawn = rows_of(app, "without-retraction")
    assert rows_of(app, "with-retraction") == [["c", "C", "7"], ["d", "D", "6"]]
    assert drawn == [["a", "A", "9"], ["b", "B", "5"], ["c", "C", "7"], ["Missing here:"], ["d", "D", "6"]]
    assert html_of(app, "without-retraction").count("gone") == 1
    (said,) = [markdown.value for markdown in app.markdown if "wrong" in markdown.value]
    assert said.removeprefix(":red[**3 rows wrong**]: ") == (
        "2 are not in the right table, since nothing removed what no longer holds; one is missing, since rows that no "
        "longer hold took the place."
    )


def test_an_edge_with_the_same_final_table_says_only_that(
    store: Store, seeded: dict[str, int], tmp_path: Path, open_view: OpenView
) -> None:
    run_locally(store, tmp_path, without_retraction(seeded_store.words_counted()))
    app = open_view("why_retraction", run=seeded["word_count"], edge="inner")
    assert "The final table of inner is the same without retraction: here it makes no difference." in [
        caption.value for caption in app.caption
    ]


def test_the_batch_answer_stands_beside_once_it_is_checked(
    store: Store, seeded: dict[str, int], open_view: OpenView
) -> None:
    node = seeded_store.check_of(2)
    store.batch_checks.save(seeded["word_count"], json.dumps({"nodes": [node]}))
    app = open_view("why_retraction", run=seeded["word_count"])
    assert "2 rows of out compared" in app.success[0].value
    assert rows_of(app, "batch-answer") == [["1", "1"], ["2", "1"]]


def test_a_difference_is_shown_row_by_row(store: Store, seeded: dict[str, int], open_view: OpenView) -> None:
    node = seeded_store.check_of(1, 1, 1, [[["1", "1"], 1, 0], [["1", "2"], 0, 1]])
    store.batch_checks.save(seeded["word_count"], json.dumps({"nodes": [node]}))
    app = open_view("run", run=seeded["word_count"])
    assert "differs from Spark's batch answer" in app.error[0].value
    assert rows_of(app, "check-out") == [
        ["only in the batch answer", "1", "1"],
        ["only in the stream's table", "1", "2"],
    ]


def test_pairs_that_no_stream_could_have_made_are_told_beside_the_equal_tables(
    store: Store, seeded: dict[str, int], open_view: OpenView
) -> None:
    node = {**seeded_store.check_of(2), "let_go": [16, 8000]}
    store.batch_checks.save(seeded["word_count"], json.dumps({"nodes": [node]}))
    app = open_view("run", run=seeded["word_count"])
    assert "Equal to Spark's batch answer" in app.success[0].value
    assert app.warning[0].value == (
        "16 pairs of out were not made: the watermark had let a row go before its partner came, by 8 s at most."
    )
    app.button(key="let-go-out").click()
    # The button leads to another page, which a single view cannot open.
    app.run()
    assert app.session_state[KEY].values["seen"] == "out"


def test_through_one_writer_nothing_is_lost_and_through_several_something_is(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("why_retraction", run=seeded["word_count"])
    app.slider(key="disorder-writers").set_value(1).run()
    assert [message.value for message in app.success] == ["Nothing is lost, and all 2 keys are correct."] * 2
    app.slider(key="disorder-writers").set_value(2).run()
    app.number_input(key="disorder-seed").set_value(2).run()
    assert app.error[0].value == "Of 2 keys, 1 is missing."
    assert [message.value for message in app.success] == ["Nothing is lost, and all 2 keys are correct."]
    assert rows_of(app, "disorder-False") == [["should be", "1", "1"], ["is", "no row", ""]]
