"""The combined watermark is the lowest of the sources that go on."""

from __future__ import annotations

import duckdb
import pytest

from engine.model.timeline import MAX_WATERMARK, Idle
from storage.event_time.watermarks import Move, combined, combined_before


def test_it_starts_when_every_source_has_a_watermark_and_follows_the_lowest() -> None:
    #                       a       a        b       a        b
    moves: list[Move] = [(1, "a", 5), (2, "a", 9), (3, "b", 4), (4, "a", 20), (5, "b", 12)]
    assert list(combined(["a", "b"], moves)) == [(3, 4), (5, 12)]


def test_a_source_that_has_ended_holds_nothing_back() -> None:
    moves: list[Move] = [(1, "a", 5), (2, "b", 1), (3, "b", MAX_WATERMARK), (4, "a", 8), (5, "a", MAX_WATERMARK)]
    assert list(combined(["a", "b"], moves)) == [(2, 1), (3, 5), (4, 8), (5, MAX_WATERMARK)]


def test_moves_count_by_their_event_whatever_their_order() -> None:
    assert list(combined(["a", "b"], [(7, "b", 3), (2, "a", 1)])) == [(7, 1)]


def test_without_a_watermark_of_every_source_there_is_none() -> None:
    assert list(combined(["a", "b"], [(1, "a", 5), (2, "a", 9)])) == []


@pytest.mark.parametrize("idle", [{"a": [(3, 6)], "b": [(5, 6)]}, {"a": [(5, 6)], "b": [(3, 6)]}])
def test_where_all_sources_are_idle_the_highest_counts(idle: Idle) -> None:
    moves: list[Move] = [(1, "a", 10), (2, "b", 50), (6, "a", 20), (7, "b", 60), (8, "a", 70)]
    line = dict(combined(["a", "b"], moves, idle))
    assert line == {2: 10, idle["a"][0][0]: 50, 8: 60}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE events (seq BIGINT, source VARCHAR, watermark_ms BIGINT)")
        rows = {seq: (seq, "c", None) for seq in range(1, 10)} | {move[0]: move for move in moves}
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", list(rows.values()))
        found = connection.execute(combined_before("events", {"a": 0, "b": 0}, idle)).fetchall()
    after, before = None, []
    for seq in range(1, 10):
        before.append((seq, after))
        after = line.get(seq, after)
    assert found == before
