"""The combined watermark is the lowest of the sources that go on; as SQL it says so before every event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from engine.contract.recorder import Turn
from engine.model.combined_watermark import Above, combined_watermark, meeting
from engine.model.timeline import MAX_WATERMARK
from storage import Store
from storage.event_time.watermarks import Move, combined_before, lines_of
from storage.model import EventRange
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

#                a            a            b            a             b
CASES = {
    "it starts when every source has a watermark, and follows the lowest": (
        [(1, "a", 5), (2, "a", 9), (3, "b", 4), (4, "a", 20), (5, "b", 12)],
        [(3, 4), (5, 12)],
    ),
    "a source that has ended holds nothing back": (
        [(1, "a", 5), (2, "b", 1), (3, "b", MAX_WATERMARK), (4, "a", 8), (5, "a", MAX_WATERMARK)],
        [(2, 1), (3, 5), (4, 8), (5, MAX_WATERMARK)],
    ),
    "moves count by their event, whatever their order": ([(7, "b", 3), (2, "a", 1)], [(7, 1)]),
}


@pytest.mark.parametrize(("moves", "expected"), CASES.values(), ids=CASES)
def test_the_combined_watermark(moves: Sequence[Move], expected: list[tuple[int, int]]) -> None:
    line = combined_watermark(lines_of(moves), meeting(["a", "b"]))
    assert list(zip(line.seqs.tolist(), line.marks.tolist(), strict=True)) == expected
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE events (seq BIGINT, source VARCHAR, watermark_ms BIGINT)")
        rows = {seq: (seq, "c", None) for seq in range(1, 10)} | {move[0]: move for move in moves}
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", list(rows.values()))
        found = connection.execute(combined_before("events", {"a": 0, "b": 0})).fetchall()
    after, before = None, []
    for seq in range(1, 10):
        before.append((seq, after))
        after = dict(expected).get(seq, after)
    assert found == before


def run_of(
    store: Store, folder: Path, moves: Sequence[Move], turns: Sequence[Turn] = (), *, is_union: bool = False
) -> int:
    """A run of the sources a and b, which meet, and of one without an event time."""
    timed = [edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in "ab"]
    untimed = edge("rates", columns(v="bigint"), watermark_delay_ms=0)
    both = edge("both", columns(ts="bigint*"))
    wires = [("a", "both"), ("b", "both"), ("rates", "both")]
    planned = plan(*timed, untimed, both, wires=wires)
    above: Above = meeting(["a", "b"], is_union=is_union, held_ms=3)
    nodes = [replace(node, above=above) if node.id == "both" else node for node in planned.explanation.nodes]
    planned = replace(planned, explanation=replace(planned.explanation, nodes=tuple(nodes)))
    marks = [
        (seq, source, None if mark == MAX_WATERMARK else mark, mark, mark == MAX_WATERMARK)
        for seq, source, mark in moves
    ]
    records = {"rates": [(max(seq for seq, *_ in moves), b"", "+I", (1,))]}
    return recorded(store, folder, planned, Epoch(records=records, watermarks=marks, turns=turns))


def last_combined(store: Store, run: int) -> int | None:
    """The combined watermark at the end of the timeline; it has none from the end of all sources on."""
    marks = store.timeline.timeline(run).combined["watermark_ms"].to_pylist()
    return marks[-1] if marks else None


CURRENT: dict[str, tuple[list[Move], list[Turn], int | None]] = {
    "the lowest counts": ([(1, "a", 5), (2, "b", 9)], [], 5),
    "a source without a watermark holds it back": ([(1, "a", 5)], [], None),
    "one that has ended does not": ([(1, "a", 5), (2, "b", MAX_WATERMARK)], [], 5),
    "all have ended": ([(1, "a", MAX_WATERMARK), (2, "b", MAX_WATERMARK)], [], MAX_WATERMARK),
    "an idle source does not": ([(1, "a", 5), (2, "b", 9)], [Turn(2, "a", True)], 9),
    "an idle source without a watermark does not": ([(1, "a", 5), (2, "a", 9)], [Turn(1, "b", True)], 9),
    "the highest counts if all are idle": (
        [(1, "a", 5), (2, "b", 9)],
        [Turn(2, "a", True), Turn(2, "b", True)],
        9,
    ),
    "it never falls": ([(1, "a", 5), (2, "b", 9), (3, "a", 6)], [Turn(2, "a", True), Turn(3, "a", False)], 9),
}


@pytest.mark.parametrize(("moves", "turns", "expected"), CURRENT.values(), ids=CURRENT)
def test_the_current_watermark_follows_the_rule_of_the_engine(
    store: Store, tmp_path: Path, moves: Sequence[Move], turns: Sequence[Turn], expected: int | None
) -> None:
    run = run_of(store, tmp_path, moves, turns)
    assert store.current_watermarks.of(run) == expected
    assert last_combined(store, run) == (None if expected == MAX_WATERMARK else expected)


@pytest.mark.parametrize(("is_union", "expected"), [(True, 30), (False, 9)])
def test_the_current_watermark_waits_for_a_source_that_comes_back_unless_it_is_below_a_union(
    store: Store, tmp_path: Path, is_union: bool, expected: int
) -> None:
    moves = [(1, "a", 5), (2, "b", 9), (3, "a", 6), (4, "b", 30)]
    turns = [Turn(2, "a", True), Turn(3, "a", False)]
    run = run_of(store, tmp_path, moves, turns, is_union=is_union)
    assert store.current_watermarks.of(run) == expected
    assert last_combined(store, run) == expected


def test_two_sources_with_an_event_time_are_combined_where_only_one_has_a_watermark(
    store: Store, tmp_path: Path
) -> None:
    run = run_of(store, tmp_path, [(1, "a", 5), (2, "a", 9), (3, "b", 4)])
    timeline = store.timeline.timeline(run, EventRange(to_seq=2))
    assert (timeline.timed, timeline.is_combined) == (("a", "b"), True)
    assert timeline.watermark.to_pylist() == []
    assert not store.timeline.timeline(run, sources=["a", "rates"]).is_combined
