"""A live run has the same changelog as a bounded run, for any arrival of its records and after any failure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.contract.live import Checkpoint, Control, Decision, Live
from engine.contract.recorder import EpochOutput
from engine.contract.stream import Taken
from engine.errors import PipelineError, RunFailed
from engine.model.pipeline import Pipeline
from engine.reading.files.growing import GrowingFiles
from engine.runtime import epoch, run
from engine.runtime.arrivals import live
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from tests.golden.trace import TraceRecorder, plan_of, run_pipeline

COLUMNS = {"k": "string", "v": "bigint", "ts": "bigint"}


def source(name: str, **parameters: Any) -> dict[str, Any]:
    timed = {"event_time": "ts", "watermark_delay_ms": 300, "types": COLUMNS, "monitor_interval_ms": 1}
    return {"id": name, "operator": "csv", "parameters": {"path": name, **timed, **parameters}}


def two_sources(**options: str) -> Pipeline:
    """A window, a join of two sources, a count and a Top N: firings, updates and retractions."""
    count = {"function": "COUNT", "name": "n"}
    total = {"function": "SUM", "argument": "v", "name": "total"}
    nodes = [
        source("left", arrival_column="ts"),
        source("right", watermark_every=3),
        {
            "id": "windows",
            "operator": "window_aggregate",
            "parameters": {"kind": "tumble", "size_ms": 1000, "group_by": ["k"], "aggregates": [total]},
        },
        {"id": "joined", "operator": "join", "parameters": {"kind": "left", "left_keys": ["k"], "right_keys": ["k"]}},
        {"id": "counts", "operator": "aggregate", "parameters": {"group_by": ["k"], "aggregates": [count]}},
        {
            "id": "top",
            "operator": "topn",
            "parameters": {"partition_by": [], "order_by": [{"column": "n", "descending": True}], "rank_end": 2},
        },
    ]
    edges = [
        {"source": "left", "target": "windows"},
        {"source": "left", "target": "joined", "target_port": "left"},
        {"source": "right", "target": "joined", "target_port": "right"},
        {"source": "joined", "target": "counts"},
        {"source": "counts", "target": "top"},
    ]
    arrival = {"mode": "in_turn", "ends": "together"}
    return Pipeline.from_dict({"nodes": nodes, "edges": edges, "arrival": arrival, "options": options})


def rows(seed: int, size: int) -> Iterator[str]:
    """Lines with records out of order, some of them late, one of them broken."""
    chance = random.Random(seed)
    for at in range(size):
        time = at * 40 - chance.choice([0, 0, 100, 2500])
        yield "a,b\n" if at == size // 2 else f"{chance.choice('abc')},{chance.randrange(10)},{time}\n"


class Fed(TraceRecorder):
    """A recorder of a live run that feeds the sources after every epoch, until the feed is empty.

    It keeps what a store would keep. lost: the epochs whose commit fails, once each.
    """

    def __init__(self, feed: Callable[[], bool], lost: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.control = Control()
        self.decisions: list[Decision] = []
        self.checkpoint: Checkpoint | None = None
        self._feed = feed
        self._lost = set(lost)

    def commit(self, output: EpochOutput) -> None:
        if output.epoch in self._lost:
            self._lost.remove(output.epoch)
            message = "the power is gone"
            raise OSError(message)
        super().commit(output)
        self.decisions.append(Decision.from_json(output.decision))
        self.checkpoint = Checkpoint.from_json(output.checkpoint)
        if not self._feed():
            self.control.stop(end=True)

    def begin(self, plan: Any) -> None:
        if self.plan is None:
            super().begin(plan)


def feeder(folder: Path, seed: int, files: dict[str, list[str]]) -> Callable[[], bool]:
    """A function that appends a random part of the lines to their files; a second file begins half way."""
    chance = random.Random(seed)
    left = {name: "".join(lines) for name, lines in files.items()}
    sizes = {name: len(text) for name, text in left.items()}
    current = {name: folder / name / "0.csv" for name in files}
    for file in current.values():
        file.parent.mkdir()
        file.write_text("k,v,ts\n")

    def feed() -> bool:
        # Without a complete line there would be no epoch, and so no further call.
        while any(left.values()) and not append():
            pass
        return any(left.values())

    def append() -> bool:
        has_lines = False
        for name, text in left.items():
            size = chance.randrange(0, 60 if len(text) > 30 else 31)
            part, left[name] = text[:size], text[size:]
            has_lines |= "\n" in part
            with current[name].open("a") as stream:
                stream.write(part)
            if current[name].name == "0.csv" and len(left[name]) < sizes[name] / 2 and part.endswith("\n"):
                current[name] = folder / name / "1.csv"
                current[name].write_text("k,v,ts\n")
        return has_lines

    feed()
    return feed


def run_live(
    pipeline: Pipeline, spark: SparkSession, folder: Path, state: Path, recorder: Fed, attempts: int = 1, **live: Any
) -> None:
    """Run until the feed ends; each attempt resumes where the previous one failed."""
    for attempt in range(attempts):
        how = Live(recorder.control, 1, checkpoint=recorder.checkpoint, **live)
        plan, files = plan_of(pipeline, spark, folder), LocalFiles(state / f"attempt-{attempt}")
        try:
            with in_process():
                run(plan, spark=spark, recorder=recorder, folder=folder, files=files, partitions=2, live=how)
        except RunFailed:
            assert attempt < attempts - 1
    assert recorder.finished


def listed(pipeline: Pipeline, recorder: TraceRecorder) -> Pipeline:
    """The same pipeline, bounded, with its events in the order of their arrival."""
    order = [row["source"] for row in recorder.watermarks if not row["is_end"]]
    arrival = {"mode": "listed", "order": order, "ends": "together"}
    return Pipeline.from_dict(pipeline.model_dump() | {"arrival": arrival})


@pytest.mark.parametrize("ttl", ["0 ms", "300 ms"])
def test_it_says_what_a_bounded_run_over_the_same_records_says_whatever_is_lost_on_the_way(
    ttl: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = two_sources(**{"table.exec.state.ttl": ttl, "changelog-studio.clock": "EVENT_TIME"})
    feed = feeder(tmp_path, 1, {"left": list(rows(1, 60)), "right": list(rows(51, 40))})
    recorder = Fed(feed, lost=frozenset({0, 3, 4}))
    state = tmp_path / "state"
    run_live(pipeline, spark, tmp_path, state, recorder, attempts=4)
    assert len(recorder.decisions) > 8
    assert recorder.late
    assert len(recorder.rejected) == 2

    with in_process():
        bounded = run_pipeline(
            listed(pipeline, recorder), spark, tmp_path, tmp_path / "bounded", epochs=3, partitions=2
        )
    # Rejected rows have no position: they are in the epoch that read them.
    recorder.rejected.sort(key=lambda row: (row["node"], row["file"], row["line"]))
    assert recorder.text().splitlines() == bounded.text().splitlines()

    replayed = Fed(lambda: True)
    run_live(pipeline, spark, tmp_path, tmp_path / "again", replayed, decisions=recorder.decisions)
    replayed.rejected.sort(key=lambda row: (row["node"], row["file"], row["line"]))
    assert replayed.text() == recorder.text()


def test_state_goes_by_the_time_at_which_an_epoch_was_decided(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's clock is even set back; what was lost is decided again later, what is replayed is not."""
    times = iter([1000, 2000, 900, *range(3000, 100_000, 1000)])
    monkeypatch.setattr(live, "_clock_ms", lambda: next(times))

    def texts_of(ttl: str) -> tuple[Fed, str]:
        pipeline = two_sources(**{"table.exec.state.ttl": ttl})
        place = tmp_path / ttl
        place.mkdir()
        feed = feeder(place, 1, {"left": list(rows(1, 60)), "right": list(rows(51, 40))})
        recorder = Fed(feed, lost=frozenset({0, 3, 4}))
        run_live(pipeline, spark, place, place / "state", recorder, attempts=4)
        replayed = Fed(lambda: True)
        run_live(pipeline, spark, place, place / "again", replayed, decisions=recorder.decisions)
        for each in (recorder, replayed):
            each.rejected.sort(key=lambda row: (row["node"], row["file"], row["line"]))
        assert replayed.text() == recorder.text()
        return recorder, recorder.text()

    short, expired = texts_of("2 s")
    decided = [decision.now_ms for decision in short.decisions]
    assert None not in decided
    assert decided == sorted(decided)  # type: ignore[type-var]
    _, kept = texts_of("1 d")
    assert expired != kept


@pytest.mark.parametrize(
    ("ttl", "missing", "message"),
    [
        ("1 h", "now_ms", "was begun by an older version, which kept states with a TTL in .* it cannot go on"),
        ("1 h", "layout", "was begun by an older version, which kept states with a TTL in .* it cannot go on"),
        ("0 ms", "layout", "joined: the run was begun by an older version, which kept its rows in .* it cannot go on"),
    ],
)
def test_a_live_run_whose_state_has_an_older_form_cannot_go_on(
    ttl: str, missing: str, message: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = two_sources(**{"table.exec.state.ttl": ttl})
    recorder = Fed(feeder(tmp_path, 1, {"left": list(rows(1, 20)), "right": list(rows(51, 20))}), frozenset({2}))
    with pytest.raises(AssertionError):
        run_live(pipeline, spark, tmp_path, tmp_path / "state", recorder)
    checkpoint = recorder.checkpoint
    assert checkpoint is not None
    old = {name: value for name, value in checkpoint.before.items() if name != missing}
    recorder.checkpoint = replace(checkpoint, before=old)
    with pytest.raises(PipelineError, match=message):
        run_live(pipeline, spark, tmp_path, tmp_path / "on", recorder)


def test_a_source_that_ends_and_says_its_watermarks_itself_stands_beside_one_that_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
    listed_rows = [["a", 1, 100], ["b", 2, 900], {"watermark": 1500}, ["c", 3, 2000]]
    typed = {"columns": columns, "rows": listed_rows, "event_time": "ts", "watermark_delay_ms": None}
    total = {"function": "SUM", "argument": "v", "name": "total"}
    window = {"kind": "tumble", "size_ms": 1000, "group_by": ["k"], "aggregates": [total]}
    nodes = [
        source("left"),
        {"id": "typed", "operator": "rows", "parameters": typed},
        {"id": "both", "operator": "union", "parameters": {}},
        {"id": "windows", "operator": "window_aggregate", "parameters": window},
    ]
    edges = [
        {"source": "left", "target": "both"},
        {"source": "typed", "target": "both"},
        {"source": "both", "target": "windows"},
    ]
    pipeline = Pipeline.from_dict({"nodes": nodes, "edges": edges, "arrival": {"mode": "in_turn"}})
    recorder = Fed(feeder(tmp_path, 9, {"left": list(rows(9, 40))}), lost=frozenset({0, 2}))
    run_live(pipeline, spark, tmp_path, tmp_path / "state", recorder, attempts=3)
    assert recorder.decisions[0].ended == ["typed"]
    same = listed(pipeline, recorder)
    same = same.model_copy(update={"arrival": same.arrival.model_copy(update={"ends": "at_its_last_record"})})
    with in_process():
        bounded = run_pipeline(same, spark, tmp_path, tmp_path / "bounded", epochs=2, partitions=2)
    assert recorder.text().splitlines() == bounded.text().splitlines()


def test_small_epochs_run_here_unless_much_state_is_read_or_merged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[bool] = []
    handed_out = epoch.run_each

    def noted(session: SparkSession, works: Any, *, here: bool) -> Any:
        places.append(here)
        return handed_out(session, works, here=here)

    def changelog(name: str) -> list[str]:
        folder = tmp_path / name
        folder.mkdir()
        places.clear()
        recorder = Fed(feeder(folder, 1, {"left": list(rows(1, 30)), "right": list(rows(51, 20))}))
        run_live(two_sources(), spark, folder, folder / "state", recorder)
        return recorder.text().splitlines()

    monkeypatch.setattr(epoch, "run_each", noted)
    here = changelog("here")
    # A join is the workers': few records may find many partners.
    assert set(places) == {True, False}
    were_here = places.count(True)
    monkeypatch.setattr(epoch, "_SMALL", 0)
    assert changelog("there") == here
    assert places.count(True) < were_here


def test_a_generator_without_end_makes_each_record_once(spark: SparkSession, tmp_path: Path) -> None:
    endless = {"id": "made", "operator": "generator", "parameters": {"rows": None, "rate": 1_000_000, "disorder": 0.2}}
    edges = [{"source": "made", "target": "out"}]
    pipeline = Pipeline.from_dict({"nodes": [endless, {"id": "out", "operator": "sink"}], "edges": edges})
    calls = iter([True, False])
    recorder = Fed(lambda: next(calls, False))
    run_live(pipeline, spark, tmp_path, tmp_path / "state", recorder, records=50)
    ids = [record.row[0] for record in recorder.records["made"]]
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) >= 100


def test_bundles_that_are_open_stay_open_until_their_records_have_come(spark: SparkSession, tmp_path: Path) -> None:
    count = {"function": "COUNT", "name": "n"}
    nodes = [
        source("left"),
        {"id": "counts", "operator": "aggregate", "parameters": {"group_by": ["k"], "aggregates": [count]}},
    ]
    options = {
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.size": "4",
        "table.exec.mini-batch.allow-latency": "500 ms",
    }
    edges = [{"source": "left", "target": "counts"}]
    pipeline = Pipeline.from_dict({"nodes": nodes, "edges": edges, "options": options})
    recorder = Fed(feeder(tmp_path, 5, {"left": list(rows(5, 6))}), lost=frozenset({1}))
    run_live(pipeline, spark, tmp_path, tmp_path / "state", recorder, attempts=2)
    assert len(recorder.decisions) > 1
    with in_process():
        bounded = run_pipeline(pipeline, spark, tmp_path, tmp_path / "bounded")
    assert recorder.text().splitlines() == bounded.text().splitlines()


def test_a_source_that_begins_later_ends_the_open_bundle(spark: SparkSession, tmp_path: Path) -> None:
    count = {"function": "COUNT", "name": "n"}
    nodes = [
        source("left"),
        source("right"),
        {"id": "all", "operator": "union"},
        {"id": "counts", "operator": "aggregate", "parameters": {"group_by": ["k"], "aggregates": [count]}},
    ]
    options = {
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.size": "100",
        "table.exec.mini-batch.allow-latency": "500 ms",
    }
    edges = [("left", "all"), ("right", "all"), ("all", "counts")]
    arrival = {"mode": "in_turn", "ends": "together"}
    pipeline = Pipeline.from_dict(
        {
            "nodes": nodes,
            "edges": [{"source": one, "target": other} for one, other in edges],
            "arrival": arrival,
            "options": options,
        }
    )
    lines = iter([("left", "a,1,0\na,1,1\n"), ("right", "a,1,2\n")])

    def feed() -> bool:
        name, text = next(lines, ("", ""))
        if name:
            (tmp_path / name / "0.csv").write_text(f"k,v,ts\n{text}")
        return bool(name)

    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.csv").write_text("k,v,ts\n")
    feed()
    recorder = Fed(feed)
    run_live(pipeline, spark, tmp_path, tmp_path / "state", recorder)
    assert recorder.changelog("counts") == ["+I(a, 2)", "-U(a, 2)", "+U(a, 3)"]
    with in_process():
        bounded = run_pipeline(listed(pipeline, recorder), spark, tmp_path, tmp_path / "bounded", epochs=2)
    assert recorder.text().splitlines() == bounded.text().splitlines()


def test_a_run_that_is_stopped_leaves_nothing_but_what_it_needs_to_go_on(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = two_sources()
    feed = feeder(tmp_path, 3, {"left": list(rows(3, 30)), "right": list(rows(4, 30))})
    recorder = Fed(feed)

    def stop() -> bool:
        recorder.control.stop()
        return feed()

    recorder._feed = stop
    state = tmp_path / "state"
    (state / "attempt-lost" / "edges").mkdir(parents=True)
    (state / "attempt-lost" / "edges" / "half.parquet").write_bytes(b"PAR1")
    plan, files = plan_of(pipeline, spark, tmp_path), LocalFiles(state / "attempt-0")
    with in_process():
        run(
            plan,
            spark=spark,
            recorder=recorder,
            folder=tmp_path,
            files=files,
            live=Live(recorder.control, 1),
        )
    assert not recorder.finished
    assert recorder.checkpoint is not None
    named = {file["path"] for files in recorder.checkpoint.states.values() for file in files}
    assert named == {str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()}


def test_a_step_runs_one_epoch_of_as_many_records_as_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "0.csv").write_text("k,v,ts\n" + "a,1,1\n" * 5)
    pipeline = Pipeline.from_dict(
        {"nodes": [source("left"), {"id": "out", "operator": "sink"}], "edges": [{"source": "left", "target": "out"}]}
    )
    sizes: list[int] = []
    control = Control(paused=True)
    control.step()

    class Stepping(TraceRecorder):
        held = 0

        def commit(self, output: EpochOutput) -> None:
            super().commit(output)
            sizes.append(len(self.records["left"]))

        def pause(self, *, paused: bool) -> None:
            self.held += paused
            if self.held == 1:
                control.step()
            elif self.held == 2:
                control.stop()

    plan, files = plan_of(pipeline, spark, tmp_path), LocalFiles(tmp_path / "state" / "attempt")
    with in_process():
        run(plan, spark=spark, recorder=Stepping(), folder=tmp_path, files=files, live=Live(control, records=2))
    # The header counts as one, too.
    assert sizes == [1, 3, 5]


def test_events_that_are_listed_cannot_be_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    feeder(tmp_path, 1, {"left": ["a,1,1\n"], "right": ["a,1,1\n"]})
    pipeline = Pipeline.from_dict(two_sources().model_dump() | {"arrival": {"mode": "listed", "order": ["left"]}})
    plan, files = plan_of(pipeline, spark, tmp_path), LocalFiles(tmp_path / "state" / "attempt")
    with pytest.raises(PipelineError, match="so nothing can list them"):
        run(plan, spark=spark, recorder=TraceRecorder(), folder=tmp_path, files=files, live=Live())


def test_a_run_that_is_stopped_before_a_source_has_begun_takes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeder(tmp_path, 1, {"left": ["a,1,1\n"], "right": ["a,1,1\n"]})
    recorder = Fed(lambda: False)
    poll = GrowingFiles.poll

    def slow(self: GrowingFiles, position: Any, *args: Any, is_stopping: Callable[[], bool], **how: Any) -> Taken:
        if self.node == "left":
            return poll(self, position, *args, **how)
        # As a source whose first poll takes long.
        recorder.control.stop()
        assert is_stopping()
        return Taken(None, None)

    monkeypatch.setattr(GrowingFiles, "poll", slow)
    plan, files = plan_of(two_sources(), spark, tmp_path), LocalFiles(tmp_path / "state" / "attempt")
    run(plan, spark=spark, recorder=recorder, folder=tmp_path, files=files, live=Live(recorder.control))
    assert recorder.decisions == []
    assert not recorder.finished
