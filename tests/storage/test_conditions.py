"""Conditions of live runs: met once, with the event behind it, and over once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.contract.recorder import Held, Turn
from storage import Store
from storage.library.conditions import DROPPED_SHARE, KINDS, LAG, LATE_SHARE, STANDS, STATE
from tests.storage.test_retention import begun
from tests.storage.written_runs import Epoch, columns, edge

TIMED = edge("source", columns(k="string", ts="bigint*"), watermark_delay_ms=0)


def late(seq: int) -> tuple[Any, ...]:
    """Event 4 is used although it is late."""
    outcome = (False, "padded") if seq == 4 else (True, "")
    return ("windows", "in", seq, b"", seq * 10, None, None, seq * 10 + 5, 5, "late", *outcome)


def commit(recorder: Any, folder: Path, number: int, seqs: range, *lates: int) -> None:
    rows = [(seq, b"", "+I", ("a", seq * 10)) for seq in seqs]
    marks = [(seq, "source", seq * 10, seq * 10, False) for seq in seqs]
    epoch = Epoch(number, {"source": rows}, watermarks=marks, late=[late(seq) for seq in lates])
    recorder.commit(replace(epoch.write(folder, (TIMED,)), checkpoint="{}"))


def test_each_is_met_with_the_event_behind_it_and_over_later(store: Store, tmp_path: Path) -> None:
    run, recorder = begun(store, (TIMED,))
    number = run.run_id
    of_time = tuple(kind for kind in KINDS if kind != STATE)
    for kind, bound in zip(of_time, (10, 20, 5, 60), strict=True):
        store.conditions.set(number, kind, bound)
    store.conditions.look(number, 1_000)
    assert store.conditions.warnings(number) == ()

    commit(recorder, tmp_path, 0, range(1, 11), 4, 7, 9)
    store.conditions.look(number, 1_000)
    warned = {(each.kind, each.bound, each.value, each.seq, each.over_at) for each in store.conditions.warnings(number)}
    assert warned == {(DROPPED_SHARE, 10, 20, 9, None), (LATE_SHARE, 20, 30, 9, None)}

    # It stands at event 10; nothing comes, and nothing is said twice.
    for now_ms in (5_900, 6_100, 7_000, 61_000):
        store.conditions.look(number, now_ms)
    warnings = {each.kind: each for each in store.conditions.warnings(number)}
    assert set(warnings) == set(of_time)
    assert len(store.conditions.warnings(number)) == 4
    assert (warnings[STANDS].value, warnings[STANDS].seq) == (pytest.approx(5.1), 10)
    assert (warnings[LAG].value, warnings[LAG].seq) == (pytest.approx(60.9), 10)

    commit(recorder, tmp_path, 1, range(11, 41))
    store.conditions.look(number, 60_200)
    assert all(each.over_at is not None for each in store.conditions.warnings(number))


def test_an_idle_source_lets_no_watermark_stand_and_what_is_not_asked_is_not_told(store: Store, tmp_path: Path) -> None:
    run, recorder = begun(store, (TIMED,))
    store.conditions.set(run.run_id, STANDS, 1)
    commit(recorder, tmp_path, 0, range(1, 3))
    for now_ms in (0, 5_000):
        store.conditions.look(run.run_id, now_ms, idle=["source"])
    assert store.conditions.warnings(run.run_id) == ()
    for now_ms in (6_000, 9_000):
        store.conditions.look(run.run_id, now_ms)
    assert [each.over_at for each in store.conditions.warnings(run.run_id)] == [None]
    store.conditions.set(run.run_id, STANDS, None)
    assert store.conditions.of(run.run_id) == {}
    assert store.conditions.warnings(run.run_id)[0].over_at is not None
    recorder.stop()
    store.runs.delete(run.run_id)
    assert store.conditions.warnings(run.run_id) == ()


def test_a_watermark_does_not_stand_still_while_its_run_rests(store: Store, tmp_path: Path) -> None:
    run, recorder = begun(store, (TIMED,))
    store.conditions.set(run.run_id, STANDS, 5)
    commit(recorder, tmp_path, 0, range(1, 3))
    store.conditions.look(run.run_id, 1_000)
    # Paused, or stopped and resumed.
    store.conditions.rest(run.run_id)
    store.conditions.look(run.run_id, 3_600_000)
    assert store.conditions.warnings(run.run_id) == ()
    store.conditions.look(run.run_id, 3_606_000)
    assert [each.value for each in store.conditions.warnings(run.run_id)] == [6]


def test_the_watermark_that_lags_is_that_of_the_engine(store: Store, tmp_path: Path) -> None:
    other = edge("other", columns(k="string", ts="bigint*"), watermark_delay_ms=0)
    run, recorder = begun(store, (TIMED, other))
    store.conditions.set(run.run_id, LAG, 1)
    marks = [(1, "source", 5, 5, False), (2, "other", 9, 9, False), (3, "source", 6, 6, False)]
    records = {"source": [(1, b"", "+I", ("a", 5)), (3, b"", "+I", ("a", 6))], "other": [(2, b"", "+I", ("a", 9))]}
    turns = [Turn(2, "source", True), Turn(3, "source", False)]
    epoch = Epoch(0, records, watermarks=marks, turns=turns)
    recorder.commit(replace(epoch.write(tmp_path, (TIMED, other)), checkpoint="{}"))
    # The watermark does not fall when a source comes back behind it.
    store.conditions.look(run.run_id, 5_009)
    assert [each.value for each in store.conditions.warnings(run.run_id)] == [5]
    recorder.finish()


def test_a_warning_is_over_with_its_run(store: Store, tmp_path: Path) -> None:
    warned = []
    for way in ("finished", "failed", "abandoned", "goes on"):
        run, recorder = begun(store, (TIMED,))
        store.conditions.set(run.run_id, LAG, 1)
        commit(recorder, tmp_path / way, 0, range(1, 3))
        store.conditions.look(run.run_id, 60_000)
        if way == "finished":
            recorder.finish()
        elif way == "failed":
            store.runs.fail(run.run_id, "a sentence")
        elif way == "abandoned":
            store.runs.ends.interrupt_abandoned()
        # Another look does not raise it again.
        store.conditions.look(run.run_id, 61_000)
        warned.append([each.over_at is not None for each in store.conditions.warnings(run.run_id)])
    assert warned == [[True], [True], [True], [False]]


def test_state_is_met_when_it_has_grown_and_over_when_it_has_gone(store: Store, tmp_path: Path) -> None:
    run, recorder = begun(store, (TIMED,))
    number = run.run_id
    store.conditions.set(number, STATE, 5)

    def grown(at: int, entries: int) -> None:
        seqs = range(at * 10 + 1, at * 10 + 11)
        rows = [(seq, b"", "+I", ("a", seq * 10)) for seq in seqs]
        marks = [(seq, "source", seq * 10, seq * 10, False) for seq in seqs]
        # Counts are those of a kind, and of the keys.
        held = Held("source", ("rows",), (seqs[-1],), ((entries,), (1,)), ((0,), (0,)), size=40, of_entries=4)
        epoch = Epoch(at, {"source": rows}, watermarks=marks).write(tmp_path, (TIMED,))
        recorder.commit(replace(epoch, held=(held,), checkpoint="{}"))
        store.conditions.look(number, 1_000)

    grown(0, 5)
    assert store.conditions.warnings(number) == ()
    grown(1, 2)
    (warned,) = store.conditions.warnings(number)
    assert (warned.kind, warned.value, warned.bound, warned.seq, warned.over_at) == (STATE, 7, 5, 20, None)
    grown(2, -3)
    (warned,) = store.conditions.warnings(number)
    assert warned.over_at is not None
