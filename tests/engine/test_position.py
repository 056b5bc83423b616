"""Positions: the path of a timer has the rank, the time and the event of its firing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.model.position import Firing, ordinal, origin_of, readable, timer


@given(st.integers(0, 10**6), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(1, 1 << 62), st.integers(0, 300))
def test_the_path_of_a_timer_is_read_back(rank: int, time_ms: int, seq: int, nth: int) -> None:
    assert origin_of(timer(rank, time_ms, seq, b"\x00") + ordinal(nth)) == Firing(rank, time_ms, seq)


def test_what_a_record_caused_by_itself_has_no_timer() -> None:
    assert origin_of(b"\x00\x01") is None


def test_a_path_is_read_as_people_count() -> None:
    assert readable(b"") == ""
    assert readable(ordinal(0) + ordinal(1)) == "1.2"
    assert readable(ordinal(299)) == "300"
    assert readable(timer(3, 1_000, 300, b"") + ordinal(0) + ordinal(4)) == "timer 1.5"
