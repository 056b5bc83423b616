"""The retractions page on a seeded store."""

from __future__ import annotations

import json
from pathlib import Path

from streamlit.testing.v1 import AppTest

from engine.model.changelog import RowKind
from storage import Store
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import current_rows, rows_of
from ui.shell.theme import KIND_COLORS


def test_without_runs_it_says_what_to_do(open_view: OpenView) -> None:
    assert open_view("retractions").subheader[0].value == "Nothing has run yet"


def test_a_run_that_never_began_says_so(seeded: dict[str, int], open_view: OpenView) -> None:
    assert "before its first epoch" in open_view("retractions", run=seeded["failed"]).info[0].value


def test_an_events_cascade_says_why_each_record_was_emitted(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("retractions", run=seeded["word_count"], event=3)
    assert app.markdown[0].value == (
        "**Event 3 caused 8 records**, 3 of them retractions; 3 records left the pipeline."
    )
    assert [row[:3] for row in rows_of(app, "retraction-cascade")] == [
        ["words", "+I", "the event: a new row"],
        ["inner", "-U", "cnt 1 → 2: the old value is retracted"],
        ["outer", "-U", "words 2 → 1: the old value is retracted"],
        ["out", "-U", "written"],
        ["outer", "+U", "words 2 → 1: the new value is emitted"],
        ["out", "+U", "written"],
        ["inner", "+U", "cnt 1 → 2: the new value is emitted"],
        ["outer", "+I", "the first result of its key"],
        ["out", "+I", "written"],
    ]


def test_the_last_record_of_the_event_is_traced_to_its_sources(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("retractions", run=seeded["word_count"], event=3)
    assert rows_of(app, "retraction-lineage") == [
        ["out", "3", "+I", "the record", "cnt=2, words=1"],
        ["outer", "3", "+I", "from this event", "cnt=2, words=1"],
        ["inner", "3", "+U", "from this event", "word=Hello, cnt=2"],
        ["words", "3", "+I", "from this event", "word=Hello"],
        ["words", "1", "+I", "in the state since event 1", "word=Hello"],
    ]
    assert current_rows(app, "retraction-cascade")[0][0] == "out"


def test_the_traced_record_is_shown_as_code_whatever_its_text_is(
    store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    app = open_view("retractions", run=seeded_store.marked_up(store, tmp_path), event=1)
    shown = [text.value for text in app.markdown if text.value.startswith("**Where this record comes from**")]
    assert shown == [
        "**Where this record comes from**: out emits `note=<b>x</b>, ts=1000000000000`, because of event 1"
    ]


def test_the_operators_of_a_cascade_say_how_they_work_and_what_computes_them(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    [how] = open_view("retractions", run=seeded["word_count"], event=3).expander
    assert [text.value for text in how.markdown] == [
        "**inner** · without retraction: words only inserts, so rows are only added to their group and no group is "
        "ever deleted.",
        "**outer** · with retraction: inner emits +I -U +U, so rows are also retracted from their group; a group "
        "without rows is deleted.",
        "**out** · changelog: every record is written with its kind.",
    ]
    assert [text.value for text in how.caption] == [
        "Kernel: columnar: COUNT.",
        "Kernel: columnar: COUNT.",
        "Kernel: a view of outer.",
    ]


def test_an_event_without_a_record_says_so(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("retractions", run=seeded["windows"], event=0)
    assert "nothing has happened" in app.caption[0].value


def test_the_flow_chart_has_a_band_per_wire_and_kind_in_its_colour(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("retractions", run=seeded["word_count"])
    app.segmented_control(key="retraction-part").set_value("The whole run").run()
    [chart] = app.get("plotly_chart")
    link = json.loads(chart.proto.spec)["data"][0]["link"]
    assert link["value"] == [3, 2, 1, 1, 2, 2, 2, 2, 2, 2]
    red, green, blue = (int(KIND_COLORS[RowKind.INSERT][at : at + 2], 16) for at in (1, 3, 5))
    assert link["color"][0].startswith(f"rgba({red},{green},{blue}")


def test_the_whole_run_names_who_starts_retractions_and_for_which_keys(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("retractions", run=seeded["word_count"], edge="outer")
    app.segmented_control(key="retraction-part").set_value("The whole run").run()
    assert rows_of(app, "amplification")[0] == [
        "inner",
        "Aggregate",
        "3",
        "4",
        "1.33",
        "0",
        "1",
        "retractions begin here",
    ]
    assert rows_of(app, "retracted-keys") == [["1", "2", "5"]]


def test_an_edge_that_takes_nothing_back_says_so(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("retractions", run=seeded["windows"])
    app.segmented_control(key="retraction-part").set_value("The whole run").run()
    assert "has no retractions" in app.info[0].value


def test_mini_batch_compares_with_the_run_that_there_is_already(
    store: Store, seeded: dict[str, int], open_view: OpenView
) -> None:
    from engine.model.pipeline import Pipeline
    from ui.runs.variants import in_mini_batch

    base = Pipeline.from_json(store.runs.get(seeded["word_count"]).document)
    variant = in_mini_batch(base, 2)
    assert store.runs.newest_of(variant.to_json()) is None
    app = open_view("retractions", run=seeded["word_count"])
    app.segmented_control(key="retraction-part").set_value("Mini-batch").run()
    assert [button.label for button in app.button if button.key == "mini-batch-run"] == ["Run it in bundles of 2"]


def page_whose_variant_is_gone() -> None:
    import streamlit as st

    from ui.components.runs.background_run import going_on

    if "drawn" not in st.session_state:
        st.session_state["drawn"] = True
        going_on(12)
    st.text("drawn again")


def test_a_variant_that_another_session_deletes_is_offered_again(store: Store) -> None:
    app = AppTest.from_function(page_whose_variant_is_gone).run()
    assert not app.exception
    assert not app.error
    assert [text.value for text in app.text] == ["drawn again"]
