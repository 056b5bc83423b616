"""The combined watermark is the lowest of the sources that go on."""

from __future__ import annotations

from engine.model.timeline import MAX_WATERMARK
from storage.event_time.watermarks import Move, combined


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
