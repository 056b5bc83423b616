"""Idle timeouts and alignment groups of sources, with a clock that the test advances."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract.source import Source
from engine.errors import PipelineError
from engine.model.timeline import MIN_WATERMARK
from engine.runtime.arrivals.idleness import Idleness
from engine.runtime.arrivals.state import ArrivalState, SourceState
from engine.runtime.arrivals.watermark_rule import WatermarkState
from engine.script import script_of, sql_of
from engine.sources.generator import Generator
from tests.engine.planning import KnownTypes, plan_of


def made(**parameters: object) -> Source:
    return Generator.model_validate(parameters)


def before(idle: str = "", **marks: int) -> ArrivalState:
    known = {
        name: SourceState(reached=WatermarkState(mark_ms=mark), is_idle=name == idle) for name, mark in marks.items()
    }
    return ArrivalState(1, known)


def test_a_source_without_records_for_the_timeout_becomes_idle_once() -> None:
    waiting = Idleness({"a": made(), "b": made(idle_timeout_ms=0)}, timeout_ms=100)
    at = before(a=5, b=5)
    assert waiting.newly_idle(at, (), (), (), 1000) == []
    assert waiting.newly_idle(at, (), (), ("a",), 1099) == []
    assert waiting.newly_idle(at, (), (), (), 1198) == []
    assert waiting.newly_idle(at, (), (), (), 1199) == ["a"]
    # First a is already idle; then it has ended.
    assert waiting.newly_idle(before("a", a=5, b=5), (), (), (), 1400) == []
    assert waiting.newly_idle(at, ("a",), (), (), 1900) == []


def test_neither_a_paused_run_nor_one_that_waits_for_its_group_makes_a_source_idle() -> None:
    waiting = Idleness({"a": made()}, timeout_ms=100)
    at = before(a=5)
    waiting.newly_idle(at, (), (), (), 0)
    waiting.hold()
    assert waiting.newly_idle(at, (), (), (), 500) == []
    assert waiting.newly_idle(at, (), ("a",), (), 700) == []
    assert waiting.newly_idle(at, (), (), (), 799) == []
    assert waiting.newly_idle(at, (), (), (), 800) == ["a"]


def test_a_source_waits_for_the_slowest_of_its_group_as_it_was_last_told() -> None:
    group = {"alignment_group": "g", "alignment_drift_ms": 10, "alignment_interval_ms": 100}
    waiting = Idleness({"a": made(**group), "b": made(**group), "c": made()})
    assert waiting.held(before(a=20, b=10, c=99), (), 0) == frozenset()
    assert waiting.held(before(a=21, b=15, c=99), (), 99) == {"a"}
    assert waiting.held(before(a=21, b=15, c=99), (), 100) == frozenset()
    # An idle or ended source holds no other source; a source without a watermark holds all others.
    assert waiting.held(before("b", a=90, b=15, c=99), (), 200) == frozenset()
    assert waiting.held(before(a=90, b=15, c=99), ("b",), 300) == frozenset()
    assert waiting.held(before(a=90, b=MIN_WATERMARK, c=99), (), 400) == {"a"}


def test_a_group_needs_its_drift() -> None:
    plan = plan_of("made", made=("generator", {"alignment_group": "g"}))
    with pytest.raises(PipelineError, match="made: alignment_drift_ms: a source in an alignment group needs the drift"):
        Idleness.of(plan)


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
