"""The run page on a seeded store."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.contract.live import Checkpoint, Live
from engine.contract.recorder import LiveProgress, SourceProgress, Turn
from engine.model.pipeline import Node, Pipeline
from storage import Store
from storage.model import RunStatus
from storage.recording.retention import Keep, KeepOfEdge, can_keep_less
from tests.engine.planning import pipeline_of, rows
from tests.storage.beside import beside
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded
from tests.ui import seeded_store
from tests.ui.conftest import OpenView
from tests.ui.drawn import current_rows, rows_of
from ui.components.runs import run_list
from ui.runs import manager as runs
from ui.runs.job import Job
from ui.runs.manager import RunManager


def test_without_runs_it_says_what_to_do(open_view: OpenView) -> None:
    app = open_view("run")
    assert app.subheader[0].value == "No runs yet"
    assert "example" in app.button[0].label


def test_a_finished_run_shows_what_went_in_and_out_of_every_operator(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("run", run=seeded["windows"])
    assert "finished" in app.markdown[0].value
    assert "7 events" in app.caption[-1].value
    assert "2 dropped" in app.caption[-1].value
    assert rows_of(app, "operators") == [
        ["● done", "clicks", "Rows", "", "6", "", "2"],
        ["● done", "per_window", "Window aggregate", "6", "3", "2", ""],
        ["● done", "out", "Sink", "3", "3", "", ""],
    ]


def test_a_failure_is_shown_at_its_node(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("run", run=seeded["failed"])
    assert app.error[0].value.startswith("**ratio**: Division by zero")
    assert rows_of(app, "operators")[1:] == [
        ["✕ failed", "ratio", "Project", "", ""],
        ["division by zero in `a / b`. Guard it with NULLIF."],
        ["◌ stopped", "out", "Sink", "", ""],
    ]
    assert all(button.disabled for button in app.button if button.label.startswith(("Open the", "Look")))


def test_all_runs_are_listed_newest_first_and_the_open_one_is_highlighted(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("run", run=seeded["windows"])
    assert [row[1] for row in rows_of(app, "runs")] == [
        "broken",
        "a record from the future",
        "orders and payments",
        "windows of ten seconds",
        "word count",
    ]
    assert [row[1] for row in current_rows(app, "runs")] == ["windows of ten seconds"]


def test_a_key_that_has_half_of_the_records_is_named(store: Store, tmp_path: Path, open_view: OpenView) -> None:
    words = edge("words", columns(word="string"), watermark_delay_ms=0)
    inner = edge("inner", columns(word="string", cnt="bigint"), "[I,UA]", ["word"])
    records = [(seq, b"", "+I", ("w",)) for seq in range(1, 4001)]
    times = [(json.dumps(["*hot*"]), 9_000_000, 2000), (json.dumps(["cold"]), 1_000_000, 20)]
    epoch = Epoch(0, {"words": records}, key_times={"inner": times})
    given = replace(plan(words, inner), pipeline_json=seeded_store.words_counted().to_json())
    run_id = recorded(store, tmp_path, given, epoch)
    [said] = [each.value for each in open_view("run", run=run_id).caption if "the key" in each.value]
    assert "**inner**: the key `*hot*` has 50% of its 4,000 records in. One task processes them" in said


def test_a_run_that_is_gone_is_said_and_the_newest_shown(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("run", run=999)
    assert "no run 999" in app.warning[0].value
    assert app.subheader[0].value == "broken"


def test_a_run_is_deleted_only_after_a_question(seeded: dict[str, int], open_view: OpenView, store: Store) -> None:
    app = open_view("run", run=seeded["failed"])
    app.button(key="run-delete").click().run()
    assert store.runs.get(seeded["failed"])
    app.button(key="run-delete-sure").click().run()
    assert not app.exception
    assert seeded["failed"] not in [run.run_id for run in store.runs.list()]


def test_a_run_is_renamed(seeded: dict[str, int], open_view: OpenView, store: Store) -> None:
    app = open_view("run", run=seeded["windows"])
    app.text_input(key="run-name").set_value("first try").run()
    assert store.runs.get(seeded["windows"]).name == "first try"
    assert app.subheader[0].value == "first try"


def test_a_run_of_a_killed_studio_is_marked_as_interrupted(store: Store, open_view: OpenView) -> None:
    run = store.runs.create("cut short", Pipeline().to_json())
    store.runs.ends.interrupt_abandoned()
    app = open_view("run", run=run.run_id)
    assert "interrupted" in app.markdown[0].value
    assert "killed" in app.warning[0].value


def test_while_sources_are_read_it_says_how_many_rows_and_bytes(store: Store, open_view: OpenView) -> None:
    begun = threading.Event()

    def hold(job: Job, _store: Store) -> None:
        node = job.progress.nodes["numbers"]
        node.state, node.rows_read, node.bytes_read, node.bytes_there = "running", 1234, 2_500_000, 140_000_000
        begun.set()
        job.cancel.wait(20)

    manager = RunManager(store, execute=hold)
    runs.use(manager)
    run_id = manager.start(Pipeline(nodes=(Node(id="numbers", operator="csv"),)))
    assert begun.wait(10)
    app = open_view("run", run=run_id)
    assert rows_of(app, "operators-live") == [["◐ running", "numbers", "CSV", "", "1,234"]]
    assert "1,234 rows read · 2.5 of 140.0 MB" in [caption.value for caption in app.caption]
    app.button(key="run-cancel").click().run()
    assert manager.wait(run_id, 10)


def test_a_running_run_shows_its_operators_and_can_be_cancelled(store: Store, open_view: OpenView) -> None:
    begun = threading.Event()

    def hold(job: Job, _store: Store) -> None:
        node = job.progress.nodes["numbers"]
        node.state, node.records_out, node.seconds = "running", 1234, 2.0
        job.progress.phase = "running numbers"
        begun.set()
        job.cancel.wait(20)

    manager = RunManager(store, execute=hold)
    runs.use(manager)
    run_id = manager.start(Pipeline(nodes=(Node(id="numbers", operator="rows"),)), epochs=3)
    assert begun.wait(10)
    app = open_view("run", run=run_id)
    assert rows_of(app, "operators-live") == [["◐ running", "numbers", "Rows", "", "1,234", "2.0 s"]]
    assert "running" in app.markdown[0].value
    # The list is not updated while a user may click it: it leaves out figures that would be outdated at once.
    assert rows_of(app, "runs")[0][2] == "running"
    assert set(rows_of(app, "runs")[0][6:]) == {""}
    before = run_list.listed()
    store.runs.create("another one", Pipeline().to_json())
    assert run_list.listed() != before
    assert "1,234 changelog records so far" in [caption.value for caption in app.caption]
    app.button(key="run-cancel").click().run()
    assert manager.wait(run_id, 10)
    assert store.runs.get(run_id).status is RunStatus.FINISHED


def test_how_much_of_a_live_run_is_kept_and_what_is_told_is_chosen_on_its_page(
    store: Store, open_view: OpenView
) -> None:
    begun = threading.Event()

    def hold(job: Job, _store: Store) -> None:
        sources = {"numbers": SourceProgress(is_idle=True), "others": SourceProgress(is_waiting=True)}
        job.progress.live = LiveProgress("waiting", 0.1, 0, sources)
        begun.set()
        job.cancel.wait(20)

    manager = RunManager(store, execute=hold)
    runs.use(manager)
    run_id = manager.start(Pipeline(nodes=(Node(id="numbers", operator="rows"),)), live=Live())
    assert begun.wait(10)
    app = open_view("run", run=run_id)
    captions = [caption.value for caption in app.caption]
    assert "**numbers** is idle: it does not hold back the watermark until records arrive" in captions
    assert "**others** waits for the watermarks of its alignment group" in captions
    app.number_input(key=f"keep-events-{run_id}").set_value(5000).run()
    app.number_input(key=f"keep-hours-{run_id}").set_value(1.5).run()
    app.number_input(key=f"condition-late_share-{run_id}").set_value(2.5).run()
    assert store.retention.of(run_id) == Keep(5000, 1.5)
    assert store.conditions.of(run_id) == {"late_share": 2.5}
    app.number_input(key=f"condition-late_share-{run_id}").set_value(None).run()
    app.number_input(key=f"keep-hours-{run_id}").set_value(None).run()
    assert store.conditions.of(run_id) == {}
    assert store.retention.of(run_id) == Keep(5000, None)
    assert not app.exception
    manager.cancel(run_id)
    assert manager.wait(run_id, 10)


def test_an_epoch_that_is_over_before_the_page_looks_leaves_the_buttons_of_a_paused_run(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = RunManager(store, execute=lambda job, _store: job.cancel.wait(20))
    runs.use(manager)
    run_id = manager.start(Pipeline(nodes=(Node(id="numbers", operator="rows"),)), live=Live())
    control = manager.control(run_id)
    assert control is not None
    control.step()
    listed = run_list.listed

    def look_after_the_epoch() -> object:
        # This happens after the heading, which says "Pause", and before the part that follows the run.
        control.stepped()
        return listed()

    monkeypatch.setattr(run_list, "listed", look_after_the_epoch)
    app = open_view("run", run=run_id)
    labels = [button.label for button in app.button if str(button.key).startswith("live-")]
    assert labels[:2] == ["Continue", "One epoch"]
    manager.cancel(run_id)
    assert manager.wait(run_id, 10)


def test_a_run_that_nobody_here_started_is_not_waited_for(store: Store, open_view: OpenView) -> None:
    run = store.runs.create("elsewhere", Pipeline().to_json())
    app = open_view("run", run=run.run_id)
    assert "started by another process" in app.caption[0].value


def test_a_run_says_from_where_on_its_history_is_kept(
    seeded: dict[str, int], open_view: OpenView, store: Store
) -> None:
    run_id = seeded["windows"]
    store.retention.set(run_id, Keep(events=2))
    with beside(store) as database:
        database.rows("UPDATE run_retention SET kept_from = 3")
    app = open_view("run", run=run_id)
    assert any("History is kept from event 3 on" in caption.value for caption in app.caption)
    assert not [button for button in app.button if button.key == "batch-check"]


def test_an_edge_without_its_first_records_is_not_checked_against_the_batch_answer(
    seeded: dict[str, int], open_view: OpenView, store: Store
) -> None:
    run_id = seeded["windows"]
    edge = store.runs.edge(run_id, "per_window")
    assert can_keep_less(edge)
    assert edge.is_insert_only
    assert [button for button in open_view("run", run=run_id).button if button.key == "batch-check"]
    store.retention.set_edge(edge, KeepOfEdge(records=1))
    with beside(store) as database:
        database.rows("UPDATE run_edge_retention SET kept_from = 3")
    app = open_view("run", run=run_id)
    assert any("The first records of per_window, out were deleted" in caption.value for caption in app.caption)
    assert not [button for button in app.button if button.key == "batch-check"]


def test_a_change_is_tried_on_the_records_of_a_run(seeded: dict[str, int], open_view: OpenView, store: Store) -> None:
    app = open_view("run", run=seeded["windows"])
    app.button(key="try-change").click().run()
    (draft,) = store.drafts.list()
    nodes = json.loads(draft.document)
    assert '"recording"' in json.dumps(nodes)
    assert '"recorded"' in json.dumps(nodes)


def test_a_run_that_another_session_deletes_while_it_is_shown_is_said_by_the_page(
    open_view: OpenView, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.runs.create("elsewhere", Pipeline().to_json())
    look = run_list.listed

    def look_after_the_deletion() -> object:
        # This happens after the page has read the run, and before the part that follows it does.
        listed = look()
        store.runs.fail(run.run_id, "it was cancelled.", cancelled=True)
        store.runs.delete(run.run_id)
        monkeypatch.setattr(run_list, "listed", look)
        return listed

    monkeypatch.setattr(run_list, "listed", look_after_the_deletion)
    app = open_view("run", run=run.run_id)
    assert [warning.value for warning in app.warning] == [f"There is no run {run.run_id}; it may have been deleted."]
    assert not app.error


def test_the_watermark_of_a_live_run_whose_sources_are_all_idle_is_the_highest(
    store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    begun = threading.Event()
    sources = tuple(edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in "ab")
    epoch = Epoch(
        records={"a": [(1, b"", "+I", (1000,))], "b": [(2, b"", "+I", (9000,))]},
        watermarks=[(1, "a", 1000, 1000, False), (2, "b", 9000, 9000, False)],
        turns=[Turn(2, "a", True), Turn(2, "b", True)],
    )

    def hold(job: Job, own: Store) -> None:
        recorder = own.record(job.run_id)
        recorder.begin(plan(*sources))
        recorder.commit(epoch.write(tmp_path, sources))
        idle = {name: SourceProgress(is_idle=True) for name in "ab"}
        job.progress.live = LiveProgress("waiting", 0.1, 0, idle)
        begun.set()
        job.cancel.wait(20)

    manager = RunManager(store, execute=hold)
    runs.use(manager)
    run_id = manager.start(Pipeline(), live=Live())
    assert begun.wait(10)
    app = open_view("run", run=run_id)
    assert {each.label: each.value for each in app.metric}["Watermark"] == "1970-01-01 00:00:09.000"
    manager.cancel(run_id)
    assert manager.wait(run_id, 10)


def test_a_run_without_statements_that_could_not_be_read_says_so_and_is_not_called_equal(
    store: Store, open_view: OpenView, tmp_path: Path
) -> None:
    unread = {"sql": "SELECT SUMM(k) FROM t", "reason": "line 3, column 8: there is no function `summ`.", "line": 3}
    pipeline = pipeline_of(
        "t -> per_k -> below", t=rows("k int", rows=[[1]]), per_k=("unread", unread), below=("sink", {})
    )
    saved = store.pipelines.save(pipeline.to_json(), name="pasted")
    build = open_view("build", pipeline=saved.pipeline_id)
    assert [button.label for button in build.button if button.key == "run"] == ["Run without 2 nodes"]
    run_id = seeded_store.run_locally(store, tmp_path, pipeline, saved)
    app = open_view("run", run=run_id)
    assert not app.success
    assert any("Only sources ran" in caption.value for caption in app.caption)
    [warning] = app.warning
    assert warning.value.startswith("**This run is without 2 nodes**")
    assert "- **per_k**: Line 3, column 8" in warning.value
    assert "- **below**: It needs per_k." in warning.value
    build = open_view("build", pipeline=saved.pipeline_id, run=run_id)
    assert any(caption.value.startswith(":orange[without 2 nodes]") for caption in build.caption)


@pytest.mark.parametrize(
    ("pending", "away", "said"),
    [
        (({"epoch": 3, "after": 2, "files": [], "records": 1204}), "", "1,204 records, up to epoch 3."),
        (({"epoch": 0, "after": -1, "files": ["x"], "records": 0}), "", "nothing so far."),
        (
            ({"epoch": 3, "after": 2, "files": ["x"], "records": 8}),
            "the bucket does not answer.",
            "8 records, up to epoch 2. the bucket does not answer. The run waits for it.",
        ),
    ],
)
def test_what_a_sink_has_written_is_told_while_the_run_goes_on_and_after_it(
    store: Store, open_view: OpenView, tmp_path: Path, pending: dict[str, object], away: str, said: str
) -> None:
    begun = threading.Event()
    outbox = {"out": {**pending, "place": "s3://results/totals"}}
    source = edge("numbers", columns(k="string"))

    def hold(job: Job, kept: Store) -> None:
        recorder = kept.record(job.run_id)
        recorder.begin(plan(source))
        checkpoint = Checkpoint(0, {}, {}, [], {}, {}, outbox={"out": {}}).to_json()
        epoch = Epoch(0, {"numbers": [(1, b"", "+I", ("a",))]}).write(tmp_path, (source,))
        recorder.commit(replace(epoch, checkpoint=checkpoint))
        assert job.live is not None
        job.live.delivered(outbox)
        job.progress.live = LiveProgress("waiting", 0.1, 0, {})
        job.progress.away = {"out": away} if away else {}
        begun.set()
        job.cancel.wait(20)

    manager = RunManager(store, execute=hold)
    runs.use(manager)
    run_id = manager.start(Pipeline(nodes=(Node(id="numbers", operator="rows"),)), live=Live())
    assert begun.wait(10)
    app = open_view("run", run=run_id)
    told = [each.value for each in (app.warning if away else app.caption)]
    assert any(f"**out** writes to `s3://results/totals`: {said}".replace("\\", "") in each for each in told), told
    manager.cancel(run_id)
    assert manager.wait(run_id, 10)
    app = open_view("run", run=run_id)
    is_there = not pending["files"]
    told = [each.value for each in (app.caption if is_there else app.warning)]
    (line,) = (each for each in told if "**out** wrote to `s3://results/totals`" in each)
    assert ("is not there yet: it is written when the run is resumed" in line) is not is_there
