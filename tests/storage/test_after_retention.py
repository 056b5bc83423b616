"""What is computed from the events of a run after retention has removed the first ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.contract.live import Begun
from engine.contract.recorder import EdgeInfo, RunPlan, Turn
from storage import Store
from storage.database.tables import BLOCK
from storage.model import Run
from storage.recording.retention import Keep
from tests.storage.written_runs import Epoch, columns, edge, plan, planned

A = edge("a", columns(ts="bigint*"), watermark_delay_ms=0)
B = edge("b", columns(ts="bigint*"), watermark_delay_ms=0)
WINDOW = edge("window", columns(n="bigint"))
ONE = plan(A, WINDOW, wires=[("a", "window")])


def epoch(
    number: int, events: Iterable[tuple[int, str, int]], tops: dict[str, int], late: Iterable[Any] = (), **more: Any
) -> Epoch:
    """An epoch of (seq, source, event time) without delay. tops: by source, the largest event time so far."""
    marks, records = [], dict[str, list[Any]]()
    for seq, source, time_ms in events:
        tops[source] = max(tops.get(source, time_ms), time_ms)
        marks.append((seq, source, time_ms, tops[source], False))
        records.setdefault(source, []).append((seq, b"", "+I", (time_ms,)))
    return Epoch(number, records, watermarks=marks, late=tuple(late), **more)


def run_of(store: Store, plan_: RunPlan, keep: int) -> tuple[Run, Any]:
    run = store.runs.create("live", "{}", live=Begun("."))
    recorder = store.record(run.run_id)
    recorder.begin(plan_)
    store.retention.set(run.run_id, Keep(events=keep))
    return run, recorder


def commit(recorder: Any, folder: Path, edges: tuple[EdgeInfo, ...], *epochs: Epoch) -> None:
    for each in epochs:
        recorder.commit(replace(each.write(folder, edges), checkpoint="{}"))


def test_a_chart_of_blocks_shows_no_events_that_were_removed(store: Store, tmp_path: Path) -> None:
    run, recorder = run_of(store, ONE, 8 * BLOCK)
    tops: dict[str, int] = {}
    size = 3 * BLOCK + 100
    for number in range(8):
        seqs = range(number * size + 1, (number + 1) * size + 1)
        commit(recorder, tmp_path, ONE.edges, epoch(number, ((seq, "a", seq) for seq in seqs), tops))
    kept = store.runs.get(run.run_id)
    assert kept.kept_from % BLOCK > 50
    timeline = store.timeline.timeline(run.run_id, max_points=24)
    assert not timeline.is_exact
    assert min(timeline.points["seq"].to_pylist()) == kept.kept_from
    assert sum(timeline.points["records"].to_pylist()) == kept.last_seq - kept.kept_from + 1


def test_the_epochs_that_were_removed_do_not_count_as_one(store: Store, tmp_path: Path) -> None:
    run, recorder = run_of(store, ONE, 10)
    tops: dict[str, int] = {}
    for number in range(8):
        events = [(seq, "a", seq) for seq in range(number * 5 + 1, number * 5 + 6)]
        commit(recorder, tmp_path, ONE.edges, epoch(number, events, tops))
    found = store.runs.epochs(run.run_id, last=60)
    assert [each.events for each in found] == [5] * len(found)
    assert found[0].last_seq == store.runs.get(run.run_id).kept_from + 4


def test_only_the_last_turn_of_a_source_is_kept_of_the_removed_ones(store: Store, tmp_path: Path) -> None:
    run, recorder = run_of(store, ONE, 10)
    tops: dict[str, int] = {}
    for number in range(12):
        events = [(seq, "a", seq) for seq in range(number * 5 + 1, number * 5 + 6)]
        turns = [Turn(events[0][0], "a", False), Turn(events[-1][0], "a", True)]
        commit(recorder, tmp_path, ONE.edges, epoch(number, events, tops, turns=turns))
    kept_from = store.runs.get(run.run_id).kept_from
    turns = store._database.rows(f"SELECT seq, is_idle FROM {run.tables.idle} ORDER BY rowid")
    assert turns[0] == (kept_from - 1, True)
    assert len(turns) == 1 + 2 * (60 - kept_from + 1) // 5
    assert store.replays.marks(run.run_id).idle["a"][0] == (kept_from - 1, kept_from)


def late(seq: int, time_ms: int, watermark_ms: int) -> tuple[Any, ...]:
    return ("window", "in", seq, b"", time_ms, None, None, watermark_ms, watermark_ms - time_ms - 5, "late")


def test_the_first_kept_record_is_not_blamed_for_those_that_were_late_before_it(store: Store, tmp_path: Path) -> None:
    run, recorder = run_of(store, ONE, 10)
    tops: dict[str, int] = {}
    for number in range(4):
        # The second record is from the future, and all others are late because of it.
        first = number * 5 + 1
        events = [(seq, "a", 9_000 if seq == 2 else seq) for seq in range(first, first + 5)]
        lates = [late(seq, seq, 9_000) for seq in range(max(3, first), first + 5)]
        commit(recorder, tmp_path, ONE.edges, epoch(number, events, tops, late=lates))
    assert store.runs.get(run.run_id).kept_from == 11
    assert store.future_records.find(run.run_id) == ()
    # Of the next one, the records that were removed count.
    first = 21
    events = [(seq, "a", 20_000 if seq == 23 else 10_000 + seq) for seq in range(first, first + 5)]
    lates = [late(seq, 10_000 + seq, 20_000) for seq in (24, 25)]
    commit(recorder, tmp_path, ONE.edges, epoch(4, events, tops, late=lates))
    (found,) = store.future_records.find(run.run_id)
    assert (found.seq, found.ordinal, found.late, found.jump_ms) == (23, 23, 2, 20_000 - 10_022)


@pytest.mark.parametrize("turns", [(), (Turn(1, "a", True), Turn(2, "a", False))], ids=["never idle", "once idle"])
@pytest.mark.parametrize("sources", ["a", "ab"])
def test_what_another_delay_would_keep_depends_on_the_watermark_before(
    store: Store, tmp_path: Path, sources: str, turns: tuple[Turn, ...]
) -> None:
    given = [A, B][: len(sources)]
    both = edge("both", columns(ts="bigint*"), operator="union")
    window = edge("window", columns(n="bigint"), operator="window_aggregate")
    edges = (*given, both, window)
    wires = [{"source": name, "target": "both"} for name in sources] + [{"source": "both", "target": "window"}]
    nodes = [
        {"id": "both", "operator": "union"},
        {"id": "window", "operator": "window_aggregate", "parameters": {"kind": "tumble", "size_ms": 10}},
    ]
    document = json.dumps({"nodes": nodes, "edges": wires})
    (whole, keeps), (short, lets_go) = (run_of(store, planned(document, edges), keep) for keep in (1000, 10))
    tops: dict[str, int] = {}
    for number in range(5):
        # Only the first records advance the watermarks; b sends nothing else. All records of a are late then.
        seqs = range(number * 5 + 1, number * 5 + 6)
        events = [(seq, sources[-1] if seq == 1 else "a", 1000 if seq <= 2 else seq) for seq in seqs]
        made = epoch(number, events, tops, turns=turns if number == 0 else ())
        records = {**made.records, "both": [(seq, b"", "+I", (time_ms,)) for seq, _, time_ms in events]}
        commit(keeps, tmp_path, edges, replace(made, records=records))
        commit(lets_go, tmp_path, edges, replace(made, records=records))
    kept_from = store.runs.get(short.run_id).kept_from
    assert kept_from > 10
    found = []
    for run in (whole, short):
        (operator,) = store.what_if.operators(run.run_id)
        page = store.what_if.records(run.run_id, operator, operator.with_delay(0), 0)
        found.append([(each.seq, each.needed_ms) for each in page if each.seq >= kept_from])
    assert found[0] == found[1]
    assert [seq for seq, _ in found[0]] == list(range(kept_from, 26))


def test_runs_are_compared_from_the_first_event_on_that_both_have_kept(store: Store, tmp_path: Path) -> None:
    counts = edge("counts", columns(n="bigint"), "[I,UB,UA]", ("n",))
    both = plan(A, WINDOW, counts, wires=[("a", "window")])
    (whole, keeps), (short, lets_go), (other, its) = (run_of(store, both, keep) for keep in (1000, 10, 1000))
    tops: dict[str, int] = {}
    for number in range(8):
        events = [(seq, "a", seq) for seq in range(number * 5 + 1, number * 5 + 6)]
        made = epoch(number, events, tops, late=[late(seq, seq, seq + 9) for seq, *_ in events])
        more = [(seq, b"a", "+I", (seq % 7,)) for seq, *_ in events if seq < 8 or seq > 30]
        made = replace(made, records={**made.records, "counts": more})
        for recorder in (keeps, lets_go):
            commit(recorder, tmp_path / "same", both.edges, made)
        if number == 7:
            made = replace(made, records={**made.records, "counts": [*more[:-1], (40, b"a", "+I", (9,))]})
        commit(its, tmp_path / "other", both.edges, made)
    for node in ("a", "counts"):
        assert store.run_differences.first_different_event(whole.run_id, short.run_id, node) is None
    assert store.run_differences.first_different_event(short.run_id, other.run_id, "counts") == 40
    found = store.run_differences.late(whole.run_id, short.run_id)
    assert (found.only_left, found.only_right, found.both) == (0, 0, 10)


def test_lanes_begin_with_the_kept_events(store: Store, tmp_path: Path) -> None:
    run, recorder = run_of(store, ONE, 10)
    tops: dict[str, int] = {}
    for number in range(8):
        events = [(seq, "a", seq) for seq in range(number * 5 + 1, number * 5 + 6)]
        commit(recorder, tmp_path, ONE.edges, epoch(number, events, tops))
    kept = store.runs.get(run.run_id)
    around = store.navigation.around(run.run_id, kept.kept_from, events=3)
    assert (around.from_seq, around.to_seq) == (kept.kept_from, kept.kept_from + 6)
