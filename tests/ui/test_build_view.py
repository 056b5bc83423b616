"""The builder: how it shows valid and invalid documents, and how the widgets change them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.expressions.flink_sql import flink
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.schema import Schema
from storage import Store
from storage.changelogs.model import HeavyKey
from tests.engine.planning import pipeline_of, rows
from tests.ui.conftest import OpenView
from ui.builder.editing import add_node, set_parameter
from ui.builder.history import History
from ui.components.builder import run_size

OpenDraft = Callable[..., AppTest]


@pytest.fixture
def open_draft(store: Store, open_view: OpenView) -> OpenDraft:
    """The builder with this document as its draft."""

    def open_(pipeline: Pipeline, selection: str | None = None) -> AppTest:
        store.drafts.save("k1", History(pipeline).to_json())
        return open_view("build", draft="k1", **({"selection": selection} if selection else {}))

    return open_


def kept(store: Store) -> Pipeline:
    draft = store.drafts.load("k1")
    assert draft is not None
    return History.from_json(draft.document).now


def labelled(elements: object, label: str) -> object:
    """The one widget with this label."""
    [found] = [element for element in elements if element.label == label]  # type: ignore[attr-defined]
    return found


def test_with_nothing_open_it_says_how_to_begin(open_view: OpenView) -> None:
    app = open_view("build")
    assert app.subheader[0].value == "Nothing is open"
    assert [button.label for button in app.button] == ["Go to the pipelines", "New pipeline"]


@pytest.mark.parametrize("rows", [300_000, 3_000])
def test_a_run_that_the_disk_will_not_hold_is_told_before_it_starts(
    rows: int, open_draft: OpenDraft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_size, "_AT_ONCE_S", 15.0)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(total=10**12, used=0, free=1_000_000))
    (tmp_path / "rows.csv").write_text("id\n" + "1000000\n" * rows)
    read = Node(id="rows", operator="csv", parameters={"path": str(tmp_path / "rows.csv")})
    pipeline = Pipeline(nodes=(read, Node(id="out", operator="sink")), edges=(Edge(source="rows", target="out"),))
    told = [warning.value for warning in open_draft(pipeline).warning]
    assert (["1.0 MB are free" in each for each in told] == [True]) == (rows == 300_000), told


def test_a_run_that_a_server_failed_offers_rows_in_its_place(store: Store, open_view: OpenView) -> None:
    topic = {"servers": "localhost:9", "topic": "t", "format": "json", "columns": [{"name": "a", "type": "bigint"}]}
    nodes = (Node(id="t", operator="kafka", parameters=topic), Node(id="out", operator="sink"))
    pipeline = Pipeline(name="p", nodes=nodes, edges=(Edge(source="t", target="out"),))
    store.drafts.save("k1", History(pipeline).to_json(), identity="mine")
    run = store.runs.create("p", pipeline.to_json(), identity="mine")
    store.runs.fail(run.run_id, "t: no broker at localhost:9 answers. Is it running?", "t")
    app = open_view("build", draft="k1", run=str(run.run_id), selection="out")
    assert [error.value for error in app.error] == ["**t**: No broker at localhost:9 answers. Is it running?"]
    assert f"Run {run.run_id} failed before a record left **out**." in [each.value for each in app.caption]
    labelled(app.button, "Use rows for t").click().run()
    assert kept(store).node("t").operator == "rows"
    assert not app.exception
    assert labelled(app.text_input, "Name of the node").value == "t"


def test_the_plan_of_the_selected_node_is_explained(open_draft: OpenDraft) -> None:
    app = open_draft(examples()["01-word-frequency"], "count_counts")
    app.segmented_control(key="drawer-tab").set_value("Plan").run()
    facts = " ".join(element.proto.body for element in app.get("html"))
    assert "needs -U" in facts
    assert "Replace, AccRetract" in facts
    assert "columnar: COUNT" in facts
    assert not labelled(app.button, "Run").disabled


def test_the_plan_names_the_key_that_has_one_task_work_longer(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = examples()["01-word-frequency"]
    store.drafts.save("k1", History(pipeline).to_json(), identity="mine")
    run = store.runs.create("p", pipeline.to_json(), identity="mine")
    store.runs.fail(run.run_id, "it was ended.")
    heavy = {run.run_id: (HeavyKey(("Hello",), 50_000, "count_words", 100_000),)}
    monkeypatch.setattr(store.flows, "heavy_keys", lambda run_id: heavy[run_id])
    app = open_view("build", draft="k1", run=str(run.run_id))
    app.segmented_control(key="drawer-tab").set_value("Plan").run()
    assert not app.exception
    told = [caption.value for caption in app.caption if "One task processes them" in caption.value]
    assert ["`Hello` has 50% of its 100,000 records" in each for each in told] == [True]


def test_every_operator_of_the_examples_gets_its_form(open_draft: OpenDraft) -> None:
    for pipeline in examples().values():
        for node in pipeline.nodes:
            app = open_draft(pipeline, node.id)
            assert labelled(app.text_input, "Name of the node").value == node.id


def test_what_does_not_validate_is_kept_and_said_at_its_field(store: Store, open_draft: OpenDraft) -> None:
    app = open_draft(examples()["05-window-join"], "joined")
    labelled(app.text_input, "Window size").set_value("10 parsecs").run()
    assert any("is not a duration" in text.value for text in app.markdown)
    assert labelled(app.button, "Run").disabled
    assert kept(store).node("joined").parameters["size_ms"] == "10 parsecs"
    labelled(app.text_input, "Window size").set_value("10 s").run()
    assert not labelled(app.button, "Run").disabled
    assert kept(store) == examples()["05-window-join"]


def test_a_path_in_the_home_of_an_unknown_user_is_said_at_its_field(store: Store, open_draft: OpenDraft) -> None:
    path = "~nobody-of-that-name/x.csv"
    app = open_draft(Pipeline(name="p", nodes=(Node(id="read", operator="csv", parameters={"path": path}),)), "read")
    assert not app.error
    assert labelled(app.text_input, "File").value == path
    assert any("the home of a user that does not exist" in text.value for text in app.markdown)


def test_flink_s_spelling_is_understood_and_no_error_of_the_analyzer_takes_the_canvas_away(
    store: Store, open_draft: OpenDraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def breaks(rules: TypeRules, expression: str, schema: Schema, node: str, field: str) -> str:
        asked.append(expression)
        raise RuntimeError(expression)

    document = add_node(examples()["01-word-frequency"], "filter", "words", {"condition": "true"}, "latest")[0]
    app = open_draft(document, "latest")
    monkeypatch.setattr("engine.expressions.analyzer.TypeRules.type_of", breaks)
    typed = "CAST(word AS TIMESTAMP(3)) IS NULL"
    labelled(app.text_area, "Condition").set_value(typed).run()
    assert asked[-1] == "`word`"
    assert not app.error
    assert labelled(app.text_area, "Condition").value == typed
    assert "cannot be checked" in " ".join(each.value for each in (*app.markdown, *app.caption))
    assert kept(store).node("latest").parameters["condition"] == flink(typed)


def test_an_expression_of_a_former_version_is_computed_as_ever_until_flink_sql_takes_its_place(
    store: Store, open_draft: OpenDraft
) -> None:
    document = add_node(examples()["01-word-frequency"], "filter", "words", {"condition": "1 / 2 = 0.5"}, "half")[0]
    app = open_draft(document, "half")
    assert labelled(app.text_area, "Condition").value == "1 / 2 = 0.5"
    (button,) = [each for each in app.button if each.label.startswith("Spark SQL.")]
    assert button.label == "Spark SQL. Write `CAST(1 AS DOUBLE) / 2 = 0.5`"
    button.click().run()
    assert kept(store).node("half").parameters["condition"] == flink("CAST(1 AS DOUBLE) / 2 = 0.5")
    assert not [each for each in app.button if each.label.startswith("Spark SQL.")]


def test_a_field_out_of_sight_is_named_where_its_spark_sql_is_told(store: Store, open_draft: OpenDraft) -> None:
    call = {"function": "SUM", "argument": "cnt", "name": "s", "filter": "cnt / 2 > 0.5"}
    document = add_node(examples()["01-word-frequency"], "aggregate", "count_words", {"aggregates": [call]}, "sums")[0]
    app = open_draft(document, "sums")
    (button,) = [each for each in app.button if "Spark SQL." in each.label]
    assert button.label == "Only where: Spark SQL. Write `CAST(cnt AS DOUBLE) / 2 > 0.5`"
    button.click().run()
    (aggregate,) = kept(store).node("sums").parameters["aggregates"]
    assert aggregate == {**call, "filter": flink("CAST(cnt AS DOUBLE) / 2 > 0.5")}


def test_a_spelling_of_sparks_becomes_flink_sql_by_one_press(store: Store, open_draft: OpenDraft) -> None:
    document = add_node(examples()["01-word-frequency"], "filter", "words", {"condition": "true"}, "words_only")[0]
    app = open_draft(document, "words_only")
    labelled(app.text_area, "Condition").set_value("nvl(word, '') <> ''").run()
    assert any("NVL is no function of Flink's" in each.value for each in app.markdown)
    (button,) = [each for each in app.button if each.label.startswith("Write ")]
    button.click().run()
    assert kept(store).node("words_only").parameters["condition"] == flink("COALESCE(word, '') <> ''")
    assert labelled(app.text_area, "Condition").value == "COALESCE(word, '') <> ''"


def test_a_file_s_columns_are_a_table_in_which_types_and_event_time_are_chosen(
    store: Store, open_draft: OpenDraft, tmp_path: Path
) -> None:
    lines = [
        f"{at},{'x' if at == 9 else at / 2},{'n/a' if at == 3 else f'2024-05-01 10:00:{at % 60:02}'}"
        for at in range(60)
    ]
    (tmp_path / "orders.csv").write_text("\n".join(["order id,unit price,ordered at", *lines]), encoding="utf-8")
    source = Node(id="orders", operator="csv", parameters={"path": str(tmp_path / "orders.csv")})
    app = open_draft(
        Pipeline(nodes=(source, Node(id="sink", operator="sink")), edges=(Edge(source="orders", target="sink"),)),
        "orders",
    )
    captions = [caption.value for caption in app.caption]
    assert any(said.startswith("59 of 60 are times without a zone; 1 is not") for said in captions)
    labelled(app.selectbox, "Type of unit price").set_value("DOUBLE").run()
    assert kept(store).node("orders").parameters["types"] == {"unit price": "DOUBLE"}
    labelled(app.checkbox, "ordered at is the event time").check().run()
    parameters = kept(store).node("orders").parameters
    assert parameters["types"] == {"unit price": "DOUBLE", "ordered at": "TIMESTAMP(3)"}
    assert (parameters["event_time"], parameters["watermark_delay_ms"]) == ("ordered at", 0)
    assert any(", 2 would be rejected." in caption.value for caption in app.caption)
    # A typo in the delay does not change the event time, and the proposed delay is still offered.
    labelled(app.text_input, "Watermark delay").set_value("2 parsecs").run()
    labelled(app.text_input, "Watermark delay").set_value("2 min").run()
    parameters = kept(store).node("orders").parameters
    assert (parameters["event_time"], parameters["watermark_delay_ms"]) == ("ordered at", 120_000)
    assert labelled(app.checkbox, "ordered at is the event time").value
    labelled(app.checkbox, "ordered at is the event time").uncheck().run()
    assert "event_time" not in kept(store).node("orders").parameters


def test_what_is_wrong_is_said_with_the_names_that_the_form_has(open_draft: OpenDraft) -> None:
    document = set_parameter(examples()["02-window-late-record"], "windows", "slide_ms", 5000)
    app = open_draft(document, "windows")
    said = " ".join(text.value for text in app.markdown)
    assert "Slide is not used with tumble windows, which take Window size" in said
    assert "_ms" not in said


def test_undo_and_redo_reach_the_widgets(open_draft: OpenDraft) -> None:
    app = open_draft(examples()["05-window-join"], "joined")
    labelled(app.text_input, "Window size").set_value("1 min").run()
    app.session_state["drafting"].undo()
    app.run()
    assert labelled(app.text_input, "Window size").value == "10 s"
    app.session_state["drafting"].redo()
    app.run()
    assert labelled(app.text_input, "Window size").value == "1 min"


def test_a_node_is_renamed_duplicated_and_deleted(store: Store, open_draft: OpenDraft) -> None:
    app = open_draft(examples()["01-word-frequency"], "count_words")
    labelled(app.text_input, "Name of the node").set_value("totals").run()
    labelled(app.button, "Duplicate").click().run()
    assert [node.id for node in kept(store).nodes][:3] == ["words", "totals", "totals_2"]
    labelled(app.button, "Delete").click().run()
    assert "totals_2" not in {node.id for node in kept(store).nodes}


def test_an_input_is_disconnected_and_the_missing_one_is_said(store: Store, open_draft: OpenDraft) -> None:
    app = open_draft(examples()["05-window-join"], "joined")
    labelled(app.selectbox, "Input: right").set_value("").run()
    assert [edge.target_port for edge in kept(store).inputs("joined")] == ["left"]
    assert any("'right' is not connected" in text.value for text in app.caption)


def test_a_join_without_keys_is_called_a_cross_join(open_draft: OpenDraft) -> None:
    pipeline = pipeline_of(
        "a -> j:left\nb -> j:right", a=rows("k int", rows=[]), b=rows("m int", rows=[]), j=("join", {})
    )
    [warning] = open_draft(pipeline, "j").warning
    assert warning.value.endswith("this is a cross join.")
    keyed = set_parameter(set_parameter(pipeline, "j", "left_keys", ["k"]), "j", "right_keys", ["m"])
    assert not open_draft(keyed, "j").warning


def test_an_expression_is_checked_as_one_types(open_draft: OpenDraft) -> None:
    pipeline, _ = add_node(examples()["01-word-frequency"], "filter", "count_words", {"condition": "cnt > 1"})
    app = open_draft(pipeline, "filter")
    assert not labelled(app.button, "Run").disabled
    labelled(app.text_area, "Condition").set_value("nobody > 1").run()
    assert any("unknown column 'nobody'. available: word, cnt." in text.value.lower() for text in app.markdown)


def test_an_edge_shows_what_flows_through_it_and_why(open_draft: OpenDraft) -> None:
    app = open_draft(examples()["01-word-frequency"], "count_words>count_counts:in")
    assert any("count_words → count_counts" in text.value for text in app.markdown)
    facts = " ".join(element.proto.body for element in app.get("html"))
    assert "count_counts requires this" in facts


def test_how_sources_arrive_is_a_matter_of_the_pipeline(store: Store, open_draft: OpenDraft) -> None:
    app = open_draft(examples()["05-window-join"], "joined")
    labelled(app.button, "Pipeline").click().run()
    labelled(app.selectbox, "Records of the sources arrive").set_value("in_turn").run()
    assert kept(store).arrival.mode == "in_turn"


def test_saving_makes_versions_and_says_so(store: Store, open_draft: OpenDraft) -> None:
    app = open_draft(examples()["05-window-join"], "joined")
    labelled(app.button, "Save").click().run()
    labelled(app.button, "Saved").click().run()
    assert store.pipelines.list()[0].version == 1
    # Both reach the script at once: the button is not yet drawn as one that has something to save.
    labelled(app.text_input, "Name of the pipeline").set_value("joined")
    labelled(app.button, "Saved").click().run()
    assert [(each.name, each.version) for each in store.pipelines.list()] == [("joined", 2)]
    labelled(app.text_input, "Window size").set_value("1 min").run()
    labelled(app.button, "Save").click().run()
    [summary] = store.pipelines.list()
    assert (summary.name, summary.version) == ("joined", 3)


def test_an_operator_that_does_not_exist_is_a_sentence(open_draft: OpenDraft) -> None:
    raw = examples()["01-word-frequency"].model_dump()
    raw["nodes"][1]["operator"] = "teleport"
    app = open_draft(Pipeline.model_validate(raw), "count_words")
    assert "unknown operator 'teleport'" in app.error[0].value.lower()


def test_a_list_of_columns_is_added_to_moved_and_emptied(store: Store, open_draft: OpenDraft) -> None:
    columns = [{"name": "a", "type": "string"}, {"name": "b", "type": "bigint"}]
    pipeline, _ = add_node(Pipeline(), "rows", parameters={"columns": columns})
    app = open_draft(pipeline, "rows")
    next(button for button in app.button if button.help == "Add to: Columns").click().run()
    assert [each["name"] for each in kept(store).node("rows").parameters["columns"]] == ["a", "b", "column"]
    assert set_parameter(kept(store), "rows", "columns", columns) == pipeline


def test_types_are_shown_and_kept_as_flink_writes_them(store: Store, open_draft: OpenDraft) -> None:
    # As a former version kept them: a bare `timestamp` was Spark's, an instant.
    columns = [{"name": "a", "type": "timestamp"}, {"name": "b", "type": "timestamp_ntz"}]
    pipeline, _ = add_node(Pipeline(), "rows", parameters={"columns": columns})
    app = open_draft(pipeline, "rows")
    types = [field for field in app.text_input if field.label == "Type"]
    assert [field.value for field in types] == ["TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"]
    assert kept(store) == pipeline
    for typed, is_kept in (("timestamp", "TIMESTAMP(6)"), ("decimal(10,2)", "DECIMAL(10, 2)"), ("a typo", "a typo")):
        next(field for field in app.text_input if field.label == "Type").set_value(typed).run()
        assert kept(store).node("rows").parameters["columns"][0]["type"] == is_kept


def test_mini_batch_is_switched_on_for_the_pipeline_and_what_is_wrong_with_it_is_said(
    store: Store, open_draft: OpenDraft
) -> None:
    app = open_draft(examples()["01-word-frequency"])
    labelled(app.button, "Pipeline").click().run()
    labelled(app.toggle, "Mini-batch").set_value(True).run()
    assert kept(store).options == {
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.size": "1000",
        "table.exec.mini-batch.allow-latency": "5 s",
    }
    labelled(app.text_input, "Bundle size").set_value("many").run()
    assert any("table.exec.mini-batch.size is a number of records" in text.value for text in app.markdown)
    app.session_state["drafting"].undo()
    app.run()
    assert labelled(app.text_input, "Bundle size").value == "1000"
    labelled(app.toggle, "Mini-batch").set_value(False).run()
    assert "Bundle size" not in [field.label for field in app.text_input]
