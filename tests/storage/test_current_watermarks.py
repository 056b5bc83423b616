"""The current watermark is continued from the last question, and stays right when the events before it have gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.contract.live import Begun
from engine.contract.recorder import RunPlan, Turn
from engine.model.combined_watermark import meeting
from storage import Store
from storage.model import EventRange, Run
from storage.recording.retention import Keep
from tests.storage.written_runs import Epoch, columns, edge, plan

NAMES = "abc"
SOURCES = tuple(edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in NAMES)
EDGES = (*SOURCES, edge("both", columns(ts="bigint*")))
SIZE = 10


def planned(*, is_union: bool) -> RunPlan:
    """Three sources of which two meet first."""
    made = plan(*EDGES, wires=[(name, "both") for name in NAMES])
    above = meeting([meeting(["a", "b"], is_union=is_union), "c"], held_ms=7)
    nodes = [replace(node, above=above) if node.id == "both" else node for node in made.explanation.nodes]
    return replace(made, explanation=replace(made.explanation, nodes=tuple(nodes)))


def begun(store: Store, *, is_union: bool = True) -> tuple[Run, Any]:
    run = store.runs.create("live", "{}", live=Begun("."))
    recorder = store.record(run.run_id)
    recorder.begin(planned(is_union=is_union))
    return run, recorder


def epochs(count: int, seed: int, folder: Path) -> Iterator[Any]:
    """Sources that become idle, and come back behind the others."""
    chance, tops, idle = Random(seed), dict.fromkeys(NAMES, 0), set[str]()
    for number in range(count):
        marks, turns = [], []
        records: dict[str, Any] = {name: [] for name in NAMES}
        for seq in range(number * SIZE + 1, (number + 1) * SIZE + 1):
            name = chance.choice(NAMES)
            if chance.random() < 0.15 and name not in idle:
                idle.add(name)
                turns.append(Turn(seq, name, True))
                marks.append((seq, name, None, tops[name], False))
                continue
            if name in idle:
                idle.discard(name)
                turns.append(Turn(seq, name, False))
            time_ms = seq * 10 - chance.randrange(200)
            tops[name] = max(tops[name], time_ms)
            marks.append((seq, name, time_ms, tops[name], False))
            records[name].append((seq, b"", "+I", (time_ms,)))
        output = Epoch(number, records, watermarks=marks, turns=turns).write(folder, EDGES)
        yield replace(output, checkpoint="{}", last_seq=(number + 1) * SIZE)


@pytest.mark.parametrize(("is_union", "seed"), [(True, 6), (False, 1)])
def test_it_is_what_the_whole_run_says_although_the_older_events_have_gone(
    store: Store, tmp_path: Path, is_union: bool, seed: int
) -> None:
    (whole, keeps), (short, lets_go) = (begun(store, is_union=is_union) for _ in range(2))
    store.retention.set(short.run_id, Keep(events=20))
    answers = []
    for number, output in enumerate(epochs(8, seed, tmp_path)):
        keeps.commit(output)
        lets_go.commit(output)
        if number in (3, 4):
            # Nobody asks while events that the last answer does not know are removed.
            continue
        answers.append(store.current_watermarks.of(whole.run_id))
        assert store.current_watermarks.of(short.run_id) == answers[-1]
    assert len(set(answers)) > 3
    kept_from = store.runs.get(short.run_id).kept_from
    assert kept_from > 50
    for node in (None, "both"):
        ours, theirs = (
            store.timeline.timeline(run.run_id, EventRange(kept_from), node=node).combined.to_pylist()
            for run in (short, whole)
        )
        assert ours == theirs
    assert store.timeline.timeline(whole.run_id).combined["watermark_ms"].to_pylist()[-1] == answers[-1]


def test_only_new_events_are_read(store: Store, tmp_path: Path) -> None:
    (whole, keeps), (other, its) = begun(store), begun(store)
    for number, output in enumerate(epochs(6, 5, tmp_path)):
        keeps.commit(output)
        its.commit(output)
        if number > 2:
            assert store.current_watermarks.of(other.run_id) == store.current_watermarks.of(whole.run_id)
            with store._database.transaction() as cursor:
                cursor.execute(f"DELETE FROM {other.tables.events}")
                cursor.execute(f"DELETE FROM {other.tables.idle} WHERE seq > 1 AND seq < {number * SIZE}")


def test_a_store_that_is_opened_again_answers_the_same(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        run, recorder = begun(store)
        store.retention.set(run.run_id, Keep(events=20))
        for output in epochs(5, 1, tmp_path / "first"):
            recorder.commit(output)
        answer = store.current_watermarks.of(run.run_id)
        assert answer is not None
    with Store.open(tmp_path / "s.duckdb") as store:
        assert store.current_watermarks.of(run.run_id) == answer
