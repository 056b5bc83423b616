"""Messages of the canvas become edits: each once, in order; an impossible edit is refused, with fixes that work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import PipelineError
from engine.examples import examples
from engine.model.pipeline import Edge, Node, Pipeline
from storage import Store
from tests.ui.gesture_cases import CASES, CATALOG, answer, drawn, sketched
from ui.builder.checking import checked
from ui.builder.drafting import Drafting
from ui.builder.editing import connect, set_arrival, set_parameter
from ui.builder.fixes import fixes
from ui.builder.gestures import Dialogue
from ui.builder.history import History
from ui.builder.importing import imported
from ui.builder.messages import Open
from ui.builder.picture import catalog, document

WORDS = {"columns": [{"name": "word", "type": "string"}], "rows": [["Hello"]]}
CLICKS = {"columns": [{"name": "id", "type": "bigint"}, {"name": "ts", "type": "bigint"}], "rows": [[1, 1000]]}
MAX = {"group_by": ["id"], "aggregates": [{"function": "MAX", "argument": "ts", "name": "ts"}]}


@pytest.fixture
def draft(store: Store) -> Callable[[Pipeline], Drafting]:
    return lambda pipeline: Drafting("k1", History(pipeline))


def say(dialogue: Dialogue, drafting: Drafting, *messages: dict[str, Any], session: str = "s", first: int = 1) -> None:
    numbered = [{**message, "n": at} for at, message in enumerate(messages, start=first)]
    dialogue.hear(drafting, {"session": session, "messages": numbered})


def keys(drafting: Drafting) -> list[str]:
    return sorted(f"{edge.source}>{edge.target}:{edge.target_port}" for edge in drafting.pipeline.edges)


def test_a_message_is_taken_once_however_often_it_is_sent(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(Pipeline()), Dialogue()
    add = {"kind": "add", "operator": "rows", "place": [100, 40]}
    say(dialogue, drafting, add)
    say(dialogue, drafting, add, add)
    assert [node.id for node in drafting.pipeline.nodes] == ["rows", "rows_2"]
    say(dialogue, drafting, {"kind": "undo"}, session="another", first=1)
    assert [node.id for node in drafting.pipeline.nodes] == ["rows"]


def test_messages_behind_one_that_fails_are_still_taken(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(examples()["01-word-frequency"]), Dialogue()
    bad = {"kind": "connect", "source": "words", "target": "nobody", "port": "in"}
    good = {"kind": "delete", "nodes": ["frequencies"]}
    with pytest.raises(PipelineError, match="nobody"):
        say(dialogue, drafting, bad, good)
    say(dialogue, drafting, bad, good)
    assert "frequencies" not in {node.id for node in drafting.pipeline.nodes}


def test_a_node_that_nobody_touched_is_configured_by_its_first_edge(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(Pipeline(nodes=(Node(id="words", operator="rows", parameters=WORDS),))), Dialogue()
    say(
        dialogue,
        drafting,
        {"kind": "add", "operator": "aggregate", "place": [300, 0]},
        {"kind": "connect", "source": "words", "target": "aggregate", "port": "in"},
    )
    assert drafting.pipeline.node("aggregate").parameters["group_by"] == ["word"]
    assert not checked(drafting.pipeline).problems


def test_a_node_that_is_added_behind_another_works_at_once(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(Pipeline(nodes=(Node(id="words", operator="rows", parameters=WORDS),))), Dialogue()
    say(
        dialogue,
        drafting,
        {"kind": "add", "id": "totals", "operator": "aggregate", "after": "words"},
        {"kind": "add", "operator": "sink", "after": "totals"},
    )
    assert keys(drafting) == ["totals>sink:in", "words>totals:in"]
    assert drafting.pipeline.node("totals").parameters["group_by"] == ["word"]
    assert drafting.selection == "sink"
    assert not checked(drafting.pipeline).problems


def test_what_a_browser_tells_again_after_the_app_was_restarted_is_not_taken_again(
    draft: Callable[..., Drafting],
) -> None:
    drafting = draft(Pipeline())
    add = {"kind": "add", "operator": "rows", "place": [100, 40]}
    say(Dialogue(), drafting, add)
    resumed = Drafting("k1", History.from_json(drafting.history.to_json()))
    say(Dialogue(), resumed, add, {"kind": "add", "operator": "filter", "after": "rows"})
    assert [node.id for node in resumed.pipeline.nodes] == ["rows", "filter"]


def test_an_edge_from_a_port_for_late_records_is_drawn_told_and_deleted(draft: Callable[..., Drafting]) -> None:
    nodes = [Node(id="w", operator="rows", parameters=WORDS), Node(id="sink", operator="sink")]
    drafting, dialogue = draft(Pipeline(nodes=tuple(nodes))), Dialogue()
    late = Edge(source="w", source_port="late", target="sink")
    drafting.edit(drafting.pipeline.model_copy(update={"edges": (late,)}))
    assert document(drafting.pipeline)["edges"] == [{"source": "w", "out": "late", "target": "sink", "port": "in"}]
    say(dialogue, drafting, {"kind": "delete", "edges": ["w.late>sink:in"]})
    assert drafting.pipeline.edges == ()
    copies = [{"id": "a", "operator": "rows"}, {"id": "b", "operator": "sink"}]
    paste = {"kind": "paste", "nodes": copies, "edges": [{"source": "a", "out": "late", "target": "b", "port": "in"}]}
    say(dialogue, drafting, paste, first=2)
    assert drafting.pipeline.edges[0].source_port == "late"


def test_moves_are_one_step_and_leave_a_saved_pipeline_saved(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(examples()["01-word-frequency"]), Dialogue()
    drafting.saved_as = drafting.pipeline
    moves = [{"kind": "move", "places": {"words": [x, 5]}} for x in (10, 20, 30)]
    say(dialogue, drafting, *moves)
    assert drafting.pipeline.node("words").place.x == 30
    assert drafting.is_saved
    assert len(drafting.history.past) == 1


def test_what_is_pasted_gets_free_names_and_keeps_its_edges(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(examples()["01-word-frequency"]), Dialogue()
    node = {"operator": "rows", "parameters": WORDS, "place": [0, 200]}
    pasted = {
        "kind": "paste",
        "nodes": [{"id": "words", **node}, {"id": "sink", "operator": "sink"}],
        "edges": [{"source": "words", "target": "sink", "port": "in"}],
    }
    say(dialogue, drafting, pasted)
    assert drafting.pipeline.node("words_2").parameters == WORDS
    assert "words_2>sink:in" in keys(drafting)


def test_a_connection_that_flink_would_reject_is_refused_and_mended(draft: Callable[..., Drafting]) -> None:
    source = Node(id="clicks", operator="rows", parameters={**CLICKS, "event_time": "ts"})
    totals = Node(id="totals", operator="aggregate", parameters=MAX)
    latest = Node(id="latest", operator="deduplicate", parameters={"keys": ["id"], "keep": "last"})
    start = Pipeline(nodes=(source, totals, latest), edges=(Edge(source="clicks", target="totals"),))
    drafting, dialogue = draft(start), Dialogue()
    say(dialogue, drafting, {"kind": "connect", "source": "totals", "target": "latest", "port": "in"})
    assert drafting.pipeline == start
    assert dialogue.refusal is not None
    assert dialogue.refusal.sentence.startswith("totals cannot be connected to latest. Rowtime deduplication needs")
    assert dialogue.refusal.fixes[0].label == "Put latest before totals"
    say(dialogue, drafting, {"kind": "fix", "node": "", "label": "Put latest before totals"}, first=2)
    assert keys(drafting) == ["clicks>latest:in", "latest>totals:in"]
    assert dialogue.refusal is None


def _two_sources(**right: Any) -> Pipeline:
    left = Node(id="left", operator="rows", parameters={**CLICKS, "event_time": "ts"})
    other = Node(id="right", operator="rows", parameters={**CLICKS, **right})
    union = Node(id="both", operator="union", parameters={})
    return Pipeline(nodes=(left, other, union), edges=(Edge(source="left", target="both"),))


@pytest.mark.parametrize("unit", ["epoch_ms", "epoch_s"])
def test_sources_that_meet_arrive_by_their_event_times(unit: str, draft: Callable[..., Drafting]) -> None:
    before = _two_sources(event_time="ts", event_time_unit=unit)
    drafting, dialogue = draft(before), Dialogue()
    say(dialogue, drafting, {"kind": "connect", "source": "right", "target": "both", "port": "in"})
    assert drafting.pipeline == set_arrival(connect(before, "right", "both", "in"), mode="by_event_time")
    assert drafting.notices[0].startswith("the sources now arrive by event time, since both sees several of them.")
    drafting.undo()
    assert drafting.pipeline == before


def test_sources_that_met_arrive_by_event_time_once_a_form_gave_the_last_one_its_time(
    draft: Callable[..., Drafting],
) -> None:
    met = connect(_two_sources(), "right", "both", "in")
    drafting = draft(met)
    drafting.edit(set_parameter(met, "right", "event_time", "ts"))
    assert drafting.pipeline.arrival.mode == "by_event_time"
    # Whoever chooses another order afterwards keeps it, whatever else is edited.
    drafting.edit(set_arrival(drafting.pipeline, mode="one_after_the_other"))
    drafting.edit(set_parameter(drafting.pipeline, "right", "watermark_delay_ms", 5))
    assert drafting.pipeline.arrival.mode == "one_after_the_other"


def test_a_script_keeps_its_order_of_arrival_which_is_told(draft: Callable[..., Drafting]) -> None:
    columns = "id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
    with_ = "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    tables = [f"CREATE TABLE {name} ({columns}) {with_};" for name in "ab"]
    query = "SELECT id FROM a UNION ALL SELECT id FROM b;"
    opened = imported("\n".join([*tables, query]).encode(), "two.sql")
    assert opened.pipeline.arrival.mode == "one_after_the_other"
    assert opened.notices[-1].startswith("the sources of ")
    assert "arrive one after the other" in opened.notices[-1]
    drafting = draft(Pipeline())
    drafting.edit(opened.pipeline)
    assert drafting.pipeline == opened.pipeline


@pytest.mark.parametrize(
    "right",
    [
        {},
        {"event_time": "ts", "arrival_column": "id"},
    ],
    ids=["a source without an event time", "an order that was chosen"],
)
def test_other_sources_keep_their_order_of_arrival(draft: Callable[..., Drafting], right: dict[str, Any]) -> None:
    drafting, dialogue = draft(_two_sources(**right)), Dialogue()
    say(dialogue, drafting, {"kind": "connect", "source": "right", "target": "both", "port": "in"})
    assert drafting.pipeline.arrival.mode == "one_after_the_other"
    assert drafting.notices == ()


def test_every_fix_that_is_offered_works(draft: Callable[..., Drafting]) -> None:
    """Break each example at each node in turn: every offered fix makes that node valid."""
    draft(Pipeline())
    offered = 0
    for example in examples().values():
        for node in example.nodes:
            bare = node.model_copy(update={"parameters": {}})
            cut = tuple(edge for edge in example.edges if edge.target != node.id)
            nodes = tuple(bare if each is node else each for each in example.nodes)
            emptied = example.model_copy(update={"nodes": nodes})
            for broken in (emptied, example.model_copy(update={"edges": cut})):
                found = checked(broken)
                for problem in found.problems:
                    for fix in fixes(broken, problem, found):
                        offered += 1
                        assert not [each for each in checked(fix.document).problems if each.node == problem.node]
    assert offered > 20


def test_what_a_callback_cannot_do_is_kept_for_the_page(draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(examples()["01-word-frequency"]), Dialogue()
    say(dialogue, drafting, {"kind": "open", "late": "words"})
    assert [(type(wish), wish.late) for wish in dialogue.wishes if isinstance(wish, Open)] == [(Open, "words")]


# --- the immediate result of a gesture: tests/browser/test_gesture_cases.py tests the canvas with the same cases


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_the_document_that_is_saved(case: dict[str, Any], draft: Callable[..., Drafting]) -> None:
    drafting, dialogue = draft(drawn(case)), Dialogue()
    say(dialogue, drafting, case["gesture"])
    if "refused" in case:
        assert dialogue.refusal is not None
        assert {"refused": dialogue.refusal.sentence} == answer(case)
        assert drafting.pipeline == drawn(case)
    else:
        assert {"result": sketched(drafting.pipeline)} == answer(case)


def test_the_catalog_of_the_cases_is_that_of_the_operators() -> None:
    known = {entry["operator"]: entry for entry in catalog()}
    for name, entry in CATALOG.items():
        assert entry == {field: known[name][field] for field in entry}


def test_a_statement_that_could_not_be_read_has_ports_on_the_canvas_and_no_place_in_the_palette() -> None:
    hidden = [entry for entry in catalog() if entry.get("hidden")]
    assert [(entry["operator"], entry["title"], entry["ports"], entry["many"]) for entry in hidden] == [
        ("unread", "Unread statement", ["in"], True)
    ]


class _Url:
    """A session's state in which a click interrupts the run when the URL is written."""

    def __init__(self) -> None:
        self.selection: str | None = None
        self.run = None
        self.values: dict[str, object] = {}

    def hold(self, **values: object) -> None:
        self.values |= values
        self.selection = str(values["selection"])

    def write_url(self) -> None:
        raise InterruptedError


def test_a_click_that_interrupts_a_run_is_not_taken_back_by_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.builder.drafting.state", url := _Url())
    drafting = Drafting("k1", History(examples()["05-window-join"]))
    for clicked in ("left", "right", "joined"):
        drafting.selection, drafting.is_picked = clicked, True
        with pytest.raises(InterruptedError):
            drafting.publish()
        assert (drafting.selection, url.values["selection"], url.values["edge"]) == (clicked, clicked, clicked)
    # A selection that the user makes in the URL, by going back, is still adopted.
    url.selection = "left"
    with pytest.raises(InterruptedError):
        drafting.publish()
    assert drafting.selection == "left"
