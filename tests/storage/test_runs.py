"""The list of runs, their edges and counters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.contract.explanation import NodeExplanation, PlanExplanation
from engine.model.changelog import RowKind
from storage import Store
from storage.errors import RunIsRunning, UnknownEdge, UnknownRun
from storage.model import RunStatus
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

WORDS = edge("words", columns(word="string"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(word="string", n="bigint"), "[I,UB,UA]", ["word"])
PLAN = plan(WORDS, TOTALS, wires=[("words", "totals")])
HELLO_TWICE = Epoch(
    records={
        "words": [(1, b"", "+I", ("Hello",)), (2, b"", "+I", ("Hello",))],
        "totals": [
            (1, b"\0", "+I", ("Hello", 1)),
            (2, b"\0", "-U", ("Hello", 1)),
            (2, b"\1", "+U", ("Hello", 2)),
        ],
    },
    late=[("totals", "in", 2, b"", 5, 0, 8, 10, 3, "window closed")],
    rejected=[("words", "words.csv", 3, "x", "no number")],
)


def test_a_run_knows_what_ran_and_how_it_ended(store: Store, tmp_path: Path) -> None:
    run = store.runs.get(recorded(store, tmp_path, PLAN, HELLO_TWICE))
    assert run.status is RunStatus.FINISHED
    assert run.document == PLAN.pipeline_json
    assert run.explanation == PLAN.explanation
    assert (run.records, run.dropped, run.rejected, run.epochs_done, run.last_seq) == (5, 1, 1, 1, 2)
    assert run.finished_at is not None
    assert run.started_at <= run.finished_at


def test_titles_say_of_the_newest_runs_what_the_list_says(store: Store, tmp_path: Path) -> None:
    ids = [recorded(store, tmp_path, PLAN, HELLO_TWICE), store.runs.create("goes on", "{}").run_id]
    said = [(run.run_id, run.name, run.status, run.started_at) for run in store.runs.list()]
    assert [(each.run_id, each.name, each.status, each.started_at) for each in store.runs.titles(limit=9)] == said
    assert [each.run_id for each in store.runs.titles(limit=1)] == ids[1:]


def test_counters_say_what_went_in_and_out_of_each_node(store: Store, tmp_path: Path) -> None:
    words, totals = store.runs.counters(recorded(store, tmp_path, PLAN, HELLO_TWICE))
    assert (words.records_in, words.records_out, words.rejected) == (None, 2, 1)
    assert (totals.records_in, totals.records_out, totals.dropped) == (2, 3, 1)
    assert totals.counts[RowKind.UPDATE_AFTER] == 1


def test_a_failed_run_keeps_the_sentence_and_the_node(store: Store) -> None:
    run = store.runs.create("broken", "not even JSON")
    store.record(run.run_id).fail("totals: overflow.", "totals")
    failed = store.runs.get(run.run_id)
    assert (failed.status, failed.error, failed.error_node) == (RunStatus.FAILED, "totals: overflow.", "totals")
    assert store.runs.counters(run.run_id) == ()
    assert store.late.page(run.run_id).total == 0
    assert store.timeline.timeline(run.run_id).points.num_rows == 0


def test_a_cancelled_run_keeps_what_was_committed(store: Store, tmp_path: Path) -> None:
    run = store.runs.create("stopped", PLAN.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(PLAN)
    recording.commit(HELLO_TWICE.write(tmp_path, PLAN.edges))
    recording.fail("the run was cancelled.", cancelled=True)
    assert store.runs.list(status=RunStatus.CANCELLED)[0].records == 5


def test_a_run_that_begins_again_stores_what_its_second_attempt_says(store: Store, tmp_path: Path) -> None:
    run_id = store.runs.create("again", PLAN.pipeline_json).run_id
    recording = store.record(run_id)
    recording.begin(PLAN)
    recording.commit(HELLO_TWICE.write(tmp_path, PLAN.edges))
    store.runs.begin_again(run_id)
    begun = store.runs.get(run_id)
    assert (begun.status, begun.records, begun.dropped, begun.rejected) == (RunStatus.RUNNING, 0, 0, 0)
    other = Epoch(records={"words": [(1, b"", "+I", ("Other",))], "totals": [(1, b"\0", "+I", ("Other", 1))]})
    again = store.record(run_id)
    again.begin(PLAN)
    again.commit(other.write(tmp_path, PLAN.edges))
    again.finish()
    assert store.runs.get(run_id).records == 2
    assert [record.values for record in store.changelog.page(run_id, "words").records] == [("Other",)]


def test_runs_are_listed_newest_first_renamed_and_deleted(store: Store, tmp_path: Path) -> None:
    first = recorded(store, tmp_path, PLAN, HELLO_TWICE)
    second = recorded(store, tmp_path, PLAN, HELLO_TWICE)
    store.runs.rename(second, "better")
    assert [(run.run_id, run.name) for run in store.runs.list()] == [(second, "better"), (first, "a run")]
    store.runs.delete(first)
    assert [run.run_id for run in store.runs.list()] == [second]
    with pytest.raises(UnknownRun, match=f"no run {first}"):
        store.changelog.page(first, "words")
    assert store.changelog.page(second, "words").total == 2


def test_a_run_is_found_by_its_document_unless_it_came_to_nothing(store: Store) -> None:
    assert store.runs.newest_of("{}") is None
    finished, failed, other, running = (store.runs.create("a run", text).run_id for text in ("{}", "{}", "[]", "{}"))
    store.runs.finish(finished)
    store.runs.fail(failed, "cut short.")
    store.runs.finish(other)
    assert [found.run_id for text in ("{}", "[]") if (found := store.runs.newest_of(text))] == [running, other]
    store.runs.fail(running, "cut short.")
    newest = store.runs.newest_of("{}")
    assert newest is not None
    assert newest.run_id == finished


def test_a_running_run_is_not_deleted(store: Store) -> None:
    run = store.runs.create("busy", "{}")
    with pytest.raises(RunIsRunning, match="Cancel or stop it first"):
        store.runs.delete(run.run_id)


def test_a_run_that_is_resumed_while_it_is_to_be_deleted_is_not_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = store.runs.create("busy", "{}").run_id
    store.runs.stop(run_id)
    stopped = store.runs.get(run_id)
    with monkeypatch.context() as patched:
        # Its status was read before another session resumed it.
        store.runs.pause(run_id, paused=False)
        patched.setattr(store.runs, "get", lambda _: stopped)
        with pytest.raises(RunIsRunning):
            store.runs.delete(run_id)
    assert store.runs.get(run_id).goes_on


def test_an_unknown_edge_lists_those_that_exist(store: Store, tmp_path: Path) -> None:
    run_id = recorded(store, tmp_path, PLAN, HELLO_TWICE)
    with pytest.raises(UnknownEdge, match=r"unknown edge 'nope'. Available: words, totals\."):
        store.changelog.page(run_id, "nope")


def test_what_holds_a_watermark_back_is_above_a_node_not_the_node_itself(store: Store, tmp_path: Path) -> None:
    below = edge("below", columns(word="string"))
    planned = plan(WORDS, TOTALS, below, wires=[("words", "totals"), ("totals", "below")])
    # As the plan says it: of an output, which an interval join holds back by its interval.
    held = {"words": 0, "totals": 500, "below": 500}
    nodes = tuple(NodeExplanation(name, sources={"words": by_ms}) for name, by_ms in held.items())
    run_id = recorded(store, tmp_path, replace(planned, explanation=PlanExplanation(nodes)), HELLO_TWICE)
    run = store.runs.stored(run_id)
    assert (run.holdbacks("words"), run.holdbacks("totals"), run.holdbacks("below")) == (
        {"words": 0},
        {"words": 0},
        {"words": 500},
    )


def test_runs_are_found_by_the_identity_of_their_pipeline(store: Store) -> None:
    mine = store.runs.create("a", '{"planned": 1}', identity="mine", composed='{"typed": 1}').run_id
    theirs = store.runs.create("a", '{"planned": 1}', identity="theirs").run_id
    store.runs.create("a variant", '{"planned": 1}')
    assert [title.run_id for title in store.runs.titles(limit=9, identity="mine")] == [mine]
    assert store.runs.belongs(theirs, "theirs")
    assert not store.runs.belongs(theirs, "mine")
    # What was planned may have types and columns that its user never typed.
    assert (store.runs.composed(mine), store.runs.composed(theirs)) == ('{"typed": 1}', '{"planned": 1}')
    with pytest.raises(UnknownRun):
        store.runs.composed(99)
