"""For whom sources wait: by a clock that the test moves. And the watermark of several, some of them idle."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline, combined_watermark
from engine.runtime.arrivals.clocks import Reached
from engine.runtime.arrivals.ingest import Before, SourceBefore
from engine.runtime.arrivals.waiting import Waiting
from engine.script import script_of, sql_of
from engine.sources.generator import Generator
from tests.engine.planning import KnownTypes, plan_of


def made(**parameters: object) -> Source:
    return Generator.model_validate(parameters)


def before(idle: str = "", **marks: int) -> Before:
    known = {name: SourceBefore(reached=Reached(mark_ms=mark), is_idle=name == idle) for name, mark in marks.items()}
    return Before(1, known)


def test_a_source_without_records_for_the_timeout_becomes_idle_once() -> None:
    waiting = Waiting({"a": made(), "b": made(idle_timeout_ms=0)}, timeout_ms=100)
    at = before(a=5, b=5)
    assert waiting.newly_idle(at, (), (), (), 1000) == []
    assert waiting.newly_idle(at, (), (), ("a",), 1099) == []
    assert waiting.newly_idle(at, (), (), (), 1198) == []
    assert waiting.newly_idle(at, (), (), (), 1199) == ["a"]
    # It is idle already; then it has ended.
    assert waiting.newly_idle(before("a", a=5, b=5), (), (), (), 1400) == []
    assert waiting.newly_idle(at, ("a",), (), (), 1900) == []


def test_neither_a_paused_run_nor_one_that_waits_for_its_group_makes_a_source_idle() -> None:
    waiting = Waiting({"a": made()}, timeout_ms=100)
    at = before(a=5)
    waiting.newly_idle(at, (), (), (), 0)
    waiting.hold()
    assert waiting.newly_idle(at, (), (), (), 500) == []
    assert waiting.newly_idle(at, (), ("a",), (), 700) == []
    assert waiting.newly_idle(at, (), (), (), 799) == []
    assert waiting.newly_idle(at, (), (), (), 800) == ["a"]


def test_a_source_waits_for_the_slowest_of_its_group_as_it_was_last_told() -> None:
    group = {"alignment_group": "g", "alignment_drift_ms": 10, "alignment_interval_ms": 100}
    waiting = Waiting({"a": made(**group), "b": made(**group), "c": made()})
    assert waiting.held(before(a=20, b=10, c=99), (), 0) == frozenset()
    assert waiting.held(before(a=21, b=15, c=99), (), 99) == {"a"}
    assert waiting.held(before(a=21, b=15, c=99), (), 100) == frozenset()
    # One that is idle or has ended holds nobody; one that has no watermark yet holds all.
    assert waiting.held(before("b", a=90, b=15, c=99), (), 200) == frozenset()
    assert waiting.held(before(a=90, b=15, c=99), ("b",), 300) == frozenset()
    assert waiting.held(before(a=90, b=MIN_WATERMARK, c=99), (), 400) == {"a"}


def test_a_group_needs_its_drift() -> None:
    plan = plan_of("made", made=("generator", {"alignment_group": "g"}))
    with pytest.raises(PipelineError, match="made: alignment_drift_ms: a source in an alignment group needs the drift"):
        Waiting.of(plan)


@pytest.mark.parametrize("turns", [{"low": 5, "high": 6}, {"low": 6, "high": 5}], ids=["low first", "high first"])
def test_where_all_are_idle_the_highest_counts_in_whatever_order_they_became_so(turns: dict[str, int]) -> None:
    # As Flink 2.3's StatusWatermarkValve and IndexedCombinedWatermarkStatus answered for inputs at 10 and 50.
    lines = {"low": Timeline.of([(1, 10)]), "high": Timeline.of([(2, 50)])}
    line = combined_watermark(lines, {"low": 0, "high": 0}, {name: [(turn, 9)] for name, turn in turns.items()})
    assert [line.at(seq) for seq in (2, 4, 6, 9)] == [10, 10, 50, 50]


def test_the_combined_watermark_is_the_lowest_that_counts_and_never_falls() -> None:
    chance = Random(5)
    for _ in range(200):
        names, size = "abc"[: chance.randrange(1, 4)], 12
        lines = {}
        for name in names:
            steps = [(seq, chance.randrange(50)) for seq in range(1, size) if chance.random() < 0.5]
            lines[name] = Timeline.of(steps, chance.choice([MIN_WATERMARK, 3]))
        idle = {}
        for name in names:
            cuts = sorted(chance.sample(range(1, size + 1), 2))
            idle[name] = [tuple(cuts)] if chance.random() < 0.7 else []
        holdbacks = {name: chance.choice([0, 2]) for name in names}
        line = combined_watermark(lines, holdbacks, idle)
        top = MIN_WATERMARK
        for seq in range(size):
            marks = {
                name: mark if mark in (MIN_WATERMARK, MAX_WATERMARK) else mark - holdbacks[name]
                for name in names
                for mark in [lines[name].at(seq)]
            }
            counting = [
                mark for name, mark in marks.items() if not any(first <= seq < until for first, until in idle[name])
            ]
            top = max(top, min(counting, default=max(marks.values())))
            assert line.at(seq) == top
        # Cut in two, with what it was before: the same.
        at = chance.randrange(1, size)
        rest = combined_watermark(lines, holdbacks, idle, line.at(at))
        assert [rest.at(seq) for seq in range(at, size)] == [line.at(seq) for seq in range(at, size)]


def test_for_whom_a_source_waits_is_said_in_sql_by_flinks_names(tmp_path: Path) -> None:
    said = {
        "idle_timeout_ms": 5000,
        "alignment_group": "all of them",
        "alignment_drift_ms": 20_000,
        "alignment_interval_ms": 500,
    }
    (tmp_path / "a.csv").write_text("1,2024-01-01 00:00:00\n")
    table = """
        SET 'table.exec.source.idle-timeout' = '10 s';
        CREATE TABLE a (v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
          'connector' = 'filesystem', 'format' = 'csv', 'path' = 'a.csv',
          'scan.watermark.idle-timeout' = '5 s', 'scan.watermark.alignment.group' = 'all of them',
          'scan.watermark.alignment.max-drift' = '20 s', 'scan.watermark.alignment.update-interval' = '500 ms');
        SELECT v, ts FROM a;
    """
    read = script_of(table, KnownTypes(), tmp_path)
    assert read.warnings == ()
    assert read.pipeline.options == {"table.exec.source.idle-timeout": "10 s"}
    assert said.items() <= read.pipeline.node("a").parameters.items()
    written = sql_of(read.pipeline, KnownTypes(), tmp_path).text
    back = script_of(written, KnownTypes(), tmp_path).pipeline
    assert said.items() <= back.node("a").parameters.items()
    assert back.options == read.pipeline.options
