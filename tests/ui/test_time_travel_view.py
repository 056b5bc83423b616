"""The time travel page on a seeded store."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.contract.live import Begun
from engine.contract.state_in_words import StateTable
from engine.model.changelog import RowKind
from engine.replay import Going
from storage import Store
from storage.recording.retention import Keep, KeepOfEdge
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import computed, keep, run_locally
from tests.storage.written_runs import Epoch
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of, traces_of
from ui.components.changelog import table_as_of
from ui.components.changelog.table_as_of import usual_order
from ui.components.time_travel.key_state import going_sentences, left_of, state_grid
from ui.runs.variants import in_mini_batch


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.shell.engine_gate.EngineGate.warm_up", lambda self: None)


@pytest.fixture
def example(store: Store, tmp_path: Path) -> int:
    return seeded_store.example(store, tmp_path)


def said(app: AppTest) -> str:
    return " ".join(each.value for each in (*app.markdown, *app.caption, *app.warning))


def canvas(app: AppTest) -> dict[str, object]:
    """The data of the canvas."""
    [found] = [
        json.loads(element.proto.json)
        for element in app.get("bidi_component")
        if '"event"' in element.proto.json and '"document"' in element.proto.json
    ]
    data: dict[str, object] = found
    return data


def test_without_runs_it_says_what_to_do(open_view: OpenView) -> None:
    assert open_view("time_travel").subheader[0].value == "Nothing has run yet"


def test_the_canvas_lights_the_edges_with_their_records(example: int, open_view: OpenView) -> None:
    app = open_view("time_travel", run=example, event=3)
    data = canvas(app)
    assert data["event"] == 3
    edges: dict[str, dict[str, list[dict[str, str]]]] = data["edges"]  # type: ignore[assignment]
    assert [(each["kind"], each["text"]) for each in edges["count_words>count_counts:in"]["records"]] == [
        ("-U", "Hello, 1"),
        ("+U", "Hello, 2"),
    ]
    nodes: dict[str, dict[str, object]] = data["nodes"]  # type: ignore[assignment]
    assert all(node["isLit"] for node in nodes.values())
    assert "Event 3: **words** sent +I `word=Hello`; it caused 8 records, 3 of them retractions." in said(app)


def test_before_the_first_event_nothing_is_lit(example: int, open_view: OpenView) -> None:
    app = open_view("time_travel", run=example, event=0)
    nodes: dict[str, dict[str, object]] = canvas(app)["nodes"]  # type: ignore[assignment]
    assert not any(node["isLit"] for node in nodes.values())
    assert "Before the first event" in said(app)


def test_a_record_that_made_nobody_say_anything_lights_its_own_edge(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("time_travel", run=seeded["windows"], event=6)
    nodes: dict[str, dict[str, object]] = canvas(app)["nodes"]  # type: ignore[assignment]
    assert [name for name, node in nodes.items() if node["isLit"]] == ["clicks", "per_window"]
    assert "no operator emitted anything." in said(app)


def test_the_lanes_have_a_marble_per_record_by_kind(example: int, open_view: OpenView) -> None:
    traces = traces_of(open_view("time_travel", run=example, event=3))
    assert traces["+I"]["y"].count("words") == 3
    assert traces["-U"]["y"] == ["count_words", "count_counts", "count_counts", "frequencies", "frequencies"]
    assert sorted(traces["+U"]["customdata"]) == [2, 2, 3, 3, 3]
    places = dict(zip(zip(traces["-U"]["y"], traces["-U"]["customdata"], strict=True), traces["-U"]["x"], strict=True))
    # A record that the sink passes on has the same place as the sink's input record.
    assert places["count_counts", 3] == places["frequencies", 3]
    assert 2.5 < places["count_words", 3] < places["count_counts", 3] < 3.5


def test_the_state_is_that_of_the_keys_that_the_event_touched(example: int, open_view: OpenView) -> None:
    app = open_view("time_travel", run=example, event=3)
    assert rows_of(app, "state-count_counts cnt = 1 Accumulators") == [["number of rows", "1"], ["number of cnt", "1"]]
    assert rows_of(app, "state-count_counts cnt = 1 Result") == [["1", "1"]]
    assert rows_of(app, "state-count_counts cnt = 2 Result") == [["2", "1"]]
    assert app.selectbox(key="state-node").options[0] == "follow the event: count_counts"


@pytest.mark.parametrize(
    ("limits", "counted"),
    [({}, "2 keys"), ({"_KEYS_SHOWN": 1}, "at least 1 key"), ({"_AROUND": 1}, "at least 1 key")],
)
def test_keys_are_counted_exactly_or_at_least(
    limits: dict[str, int], counted: str, example: int, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.components.time_travel.operator_state._DRAWN", 0)
    for name, limit in limits.items():
        monkeypatch.setattr(f"ui.inspect.replaying.{name}", limit)
    app = open_view("time_travel", run=example, event=3)
    assert f"The event touched {counted} of count_counts; choose one to see it." in said(app)


def test_a_key_is_typed_only_where_it_has_columns(store: Store, open_view: OpenView, tmp_path: Path) -> None:
    pipeline = pipeline_of(
        "words -> by_word -> total -> out",
        words=rows("word string", rows=[["Hello"]]),
        by_word=("aggregate", {"group_by": ["word"], "aggregates": [seeded_store.COUNT]}),
        total=("aggregate", {"group_by": [], "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    app = open_view("time_travel", run=run_locally(store, tmp_path, pipeline), event=1)
    assert app.selectbox(key="state-key").help == "Choose a key."
    app.selectbox(key="state-node").set_value("by_word").run()
    assert app.selectbox(key="state-key").help == "Choose a key, or type one."


def test_an_operator_and_a_key_are_chosen_and_stay(example: int, open_view: OpenView) -> None:
    app = open_view("time_travel", run=example, event=3)
    app.selectbox(key="state-node").set_value("count_words").run()
    assert rows_of(app, "state-count_words word = Hello Result") == [["Hello", "2"]]
    app.selectbox(key="state-key").set_value('["World"]').run()
    assert rows_of(app, "state-count_words word = World Result") == [["World", "1"]]
    assert app.query_params["key"] == '["World"]'
    app.slider(key="event-slider").set_value(1).run()
    assert "No record of this key has arrived yet." in said(app)


def test_the_player_goes_event_by_event_and_jumps(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("time_travel", run=seeded["windows"], event=1)
    app.button(key="event-next").click().run()
    assert app.query_params["event"] == "2"
    app.button(key="event-next-window").click().run()
    assert app.query_params["event"] == "3"
    app.button(key="event-next-late-record").click().run()
    assert app.query_params["event"] == "5"
    assert "**late**: an operator dropped it" in said(app)
    nodes: dict[str, dict[str, object]] = canvas(app)["nodes"]  # type: ignore[assignment]
    died = nodes["per_window"]
    assert (died["isLit"], died["hint"]) == (True, "the watermark was 5.001 s past it")
    assert died["run"] == {"state": "late", "in": None, "out": None, "dropped": 1, "used": 0, "rejected": 0}
    assert "run" not in nodes["out"]
    assert app.button(key="late-link").label == "Event 5 was late: open its file"
    app.button(key="event-next-retraction").click().run()
    assert app.query_params["event"] == "5"
    assert "None after event 5." in said(app)
    app.button(key="event-previous").click().run()
    assert app.query_params["event"] == "4"
    assert "fired windows of per\\_window" in said(app) or "fired windows of per_window" in said(app)


def test_a_run_whose_pipeline_cannot_be_planned_says_why(store: Store, open_view: OpenView, tmp_path: Path) -> None:
    pipeline = seeded_store.words_counted()
    run_plan, epoch = computed(pipeline, tmp_path)
    source, *others = pipeline.nodes
    without_columns = pipeline.model_copy(update={"nodes": (source.model_copy(update={"parameters": {}}), *others)})
    run = keep(store, without_columns, replace(run_plan, pipeline_json=without_columns.to_json()), epoch)
    app = open_view("time_travel", run=run, event=3)
    assert "The state of this run cannot be shown" in said(app)
    assert "a source needs at least one" in said(app)
    assert rows_of(app, f"as-of-{run}-out-grid") == [["1", "1"], ["2", "1"]]


def test_changes_of_the_state_are_marked() -> None:
    before = StateTable("Rows", ("rank", "name", "sold"), ((1, "a", 9), (2, "b", 5), (3, "c", 4)), 3)
    now = StateTable("Rows", ("rank", "name", "sold"), ((1, "a", 9), (2, "d", 7), (3, "b", 5), (4, "c", 4)), 4)
    rows = state_grid(now, before).rows
    assert [row.tone for row in rows] == ["", "updated", "updated", "good"]
    assert [cell.is_changed for cell in rows[1].cells] == [False, True, True]
    fewer = state_grid(StateTable("Rows", ("rank", "name", "sold"), ((1, "a", 9),), 1), before).rows
    assert [(row.is_gone, row.cells[1].text) for row in fewer] == [(False, "a"), (True, "b"), (True, "c")]
    assert [row.tone for row in state_grid(now, None).rows] == ["good"] * 4


@pytest.fixture
def shortened(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> int:
    """A live run of one word, twelve times, and of its counts, with the records from event 10 on.

    Its parameter is the size of the bundles in mini-batch.
    """
    pipeline = pipeline_of(
        "words -> count_words -> count_counts -> out",
        words=rows("word string", rows=[["Hello"]] * 12),
        count_words=("aggregate", {"group_by": ["word"], "aggregates": [seeded_store.COUNT]}),
        count_counts=("aggregate", {"group_by": ["cnt"], "aggregates": [seeded_store.COUNT | {"name": "words"}]}),
        out=("sink", {"mode": "changelog"}),
    )
    if (size := getattr(request, "param", None)) is not None:
        pipeline = in_mini_batch(pipeline, size)
    run_plan, epoch = computed(pipeline, tmp_path)
    run = store.runs.create("live", pipeline.to_json(), engine="local[2]", live=Begun(str(tmp_path)))
    recorder = store.record(run.run_id)
    recorder.begin(run_plan)
    store.retention.set(run.run_id, Keep(events=3))
    for number, first in enumerate(range(1, 13, 3)):
        of_epoch = range(first, first + 3)
        part = Epoch(
            number,
            {name: [each for each in records if each[0] in of_epoch] for name, records in epoch.records.items()},
            watermarks=[each for each in epoch.watermarks if each[0] in of_epoch],
        )
        recorder.commit(replace(part.write(tmp_path / "files", run_plan.edges), checkpoint="{}"))
    recorder.finish()
    assert store.runs.get(run.run_id).kept_from == 10
    return run.run_id


def test_a_state_whose_records_were_deleted_is_not_computed_from_the_rest(shortened: int, open_view: OpenView) -> None:
    app = open_view("time_travel", run=shortened, event=12)
    app.selectbox(key="state-node").set_value("count_words").run()
    assert [each.value for each in app.info] == [
        "count_words: the records of words before event 10 were deleted. Its state is computed from them, too."
    ]


def test_a_state_of_an_updating_input_is_computed_from_the_rows_that_were_kept(
    shortened: int, open_view: OpenView
) -> None:
    app = open_view("time_travel", run=shortened, event=10)
    app.selectbox(key="state-node").set_value("count_counts").run()
    app.selectbox(key="state-key").set_value("[10]").run()
    assert rows_of(app, "state-count_counts cnt = 10 Result") == [["10", "1"]]


def test_a_large_table_is_sorted_by_key_only_if_that_is_asked_for(
    example: int, store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge = store.runs.edge(example, "count_words")
    assert usual_order(edge) == "key"
    inserts = edge.counts[RowKind.INSERT]
    monkeypatch.setattr(table_as_of, "SORTED_BY_KEY", inserts)
    assert usual_order(edge) == "key"
    monkeypatch.setattr(table_as_of, "SORTED_BY_KEY", inserts - 1)
    assert usual_order(edge) == "newest"
    key = f"as-of-{example}-count_words-order"
    app = open_view("time_travel", run=example, event=3, edge="count_words")
    assert app.session_state[key] == "newest"
    app = open_view("time_travel", run=example, event=3, edge="count_words", order="key")
    assert app.session_state[key] == "key"


def test_the_player_begins_with_the_first_event_that_was_kept(shortened: int, open_view: OpenView) -> None:
    app = open_view("time_travel", run=shortened, event=3)
    assert (app.slider(key="event-slider").min, app.slider(key="event-slider").value) == (10, 10)
    assert app.number_input(key="event-number").min == 10
    assert app.button(key="event-first").disabled
    app.slider(key="event-slider").set_value(12).run()
    app.button(key="event-play").click().run()
    assert app.slider(key="event-slider").value == 10
    app.button(key="event-play").click().run()
    app.button(key="event-last").click().run()
    app.button(key="event-first").click().run()
    assert app.slider(key="event-slider").value == 10


def test_an_edge_that_keeps_less_shows_no_table_and_no_state_before_what_it_keeps(
    store: Store, shortened: int, open_view: OpenView
) -> None:
    edge = store.runs.edge(shortened, "count_words")
    store.retention.set_edge(edge, KeepOfEdge(records=1))
    store._database.rows("UPDATE run_edge_retention SET kept_from = 12")
    app = open_view("time_travel", run=shortened, event=10, edge="count_words")
    app.selectbox(key="state-node").set_value("count_counts").run()
    assert [each.value for each in app.info] == [
        "The records of count_words before event 12 were deleted, and with them the tables before it. Go to that event "
        "or to a later one.",
        "count_counts: the records of count_words before event 12 were deleted. Go to that event or to a later one.",
    ]
    app = open_view("changelog", run=shortened, event=10, edge="count_words")
    # The last event has no other beside it.
    assert (app.slider(key="event-slider").min, app.slider(key="event-slider").value) == (11, 11)
    assert not app.info


@pytest.mark.parametrize("shortened", [2], indirect=True)
def test_bundles_whose_records_were_deleted_are_not_computed_from_the_rows_that_were_kept(
    shortened: int, open_view: OpenView
) -> None:
    app = open_view("time_travel", run=shortened, event=12)
    app.selectbox(key="state-node").set_value("count_counts").run()
    assert [each.value for each in app.info] == [
        "count_counts: the records of count_words before event 10 were deleted. Its state is computed from them, too."
    ]


def test_a_state_fades_with_its_age_and_says_when_it_goes(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    run = seeded_store.expiring(store, tmp_path)
    app = open_view("time_travel", run=run, event=4, edge="count_words")
    assert (
        "**1 accumulator** left, until 2024-01-01 11:20:00.000 UTC: it goes in 1 h, unless it is written before."
        in said(app)
    )
    second = (
        Going("left rows", 2, 5_000, 10_000),
        Going("left rows", 1, 9_000, 10_000),
        Going("right rows", 1, 999, 500),
    )
    assert list(going_sentences(second, 1_000)) == [
        "**3 left rows** left, until 1970-01-01 00:00:05.000 UTC to 1970-01-01 00:00:09.000 UTC: it goes in 4 s to "
        "8 s, unless it is written before.",
        "**1 right row** expired, by 1970-01-01 00:00:00.999 UTC: the next record of this key finds nothing of that.",
    ]
    assert (left_of(second, 1_000), left_of(second, 9_000), left_of((), 0)) == (0.8, 0.0, 1.0)
