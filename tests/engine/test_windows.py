"""Windows: assignment at the edges, before 1970, and in Flink SQL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.durations import duration, interval
from engine.model.windowing import Windowing, WindowKind
from tests.engine.assigners import cumulating, hopping, tumbling

SECOND = 1000


@pytest.mark.parametrize(
    ("time_ms", "start"),
    [
        (1000000050000, 1000000050000),
        (1000000054000, 1000000050000),
        (1000000079900, 1000000070000),
        (1000000120000, 1000000120000),
        (1000000111000, 1000000110000),
        (1000000089000, 1000000080000),
    ],
)
def test_window_starts_are_those_of_the_document(time_ms: int, start: int) -> None:
    assert tumbling(10 * SECOND)(time_ms) == ((start, start + 10 * SECOND),)


@pytest.mark.parametrize(("time_ms", "start"), [(-1, -10_000), (-10_000, -10_000), (-10_001, -20_000), (0, 0)])
def test_a_time_before_1970_falls_into_the_window_around_it(time_ms: int, start: int) -> None:
    assert tumbling(10_000)(time_ms) == ((start, start + 10_000),)


def test_an_offset_moves_the_windows() -> None:
    assert list(tumbling(10_000, 3_000)(2_999)) == [(-7_000, 3_000)]
    assert list(tumbling(10_000, 3_000)(3_000)) == [(3_000, 13_000)]


def test_hop_starts_may_be_negative() -> None:
    assert list(hopping(10_000, 5_000)(1_000)) == [(-5_000, 5_000), (0, 10_000)]


def test_cumulate_repeats_the_start() -> None:
    assert list(cumulating(15_000, 5_000)(7_000)) == [(0, 10_000), (0, 15_000)]
    assert list(cumulating(15_000, 5_000)(-1)) == [(-15_000, 0)]


@given(st.integers(-(10**13), 10**13), st.integers(1, 10**6), st.integers(1, 12), st.integers(-(10**6), 10**6))
def test_every_window_holds_its_timestamp_and_none_is_missed(time_ms: int, slide: int, times: int, offset: int) -> None:
    size = slide * times
    hops = list(hopping(size, slide, offset)(time_ms))
    assert len(hops) == times
    assert all(start <= time_ms < end and end - start == size and (start - offset) % slide == 0 for start, end in hops)
    ((start, end),) = tumbling(size, offset)(time_ms)
    grown = list(cumulating(size, slide, offset)(time_ms))
    assert all(begin == start and time_ms < until <= end for begin, until in grown)
    assert len(grown) == times - (time_ms - start) // slide
    assert hops == sorted(hops)
    assert grown == sorted(grown)


@given(st.integers(-(10**13), 10**13), st.integers(1, 10**4), st.integers(1, 10**5), st.integers(-(10**5), 10**5))
def test_hops_of_any_length_are_all_that_hold_the_timestamp(time_ms: int, slide: int, size: int, offset: int) -> None:
    starts = range(time_ms - size + 1, time_ms + 1)
    expected = [(start, start + size) for start in starts if (start - offset) % slide == 0]
    assert list(hopping(size, slide, offset)(time_ms)) == expected


def test_windows_are_written_as_flink_writes_them() -> None:
    tumble = Windowing(WindowKind.TUMBLE, 10_000, offset_ms=1_500)
    assert tumble.table_function("`t`", "`rt`") == (
        "TABLE(TUMBLE(TABLE `t`, DESCRIPTOR(`rt`), INTERVAL '10' SECOND, INTERVAL '0 00:00:01.500' DAY TO SECOND(3)))"
    )
    session = Windowing(WindowKind.SESSION, 60_000)
    assert session.table_function("`t`", "`rt`", ["`k`"]) == (
        "TABLE(SESSION(TABLE `t` PARTITION BY (`k`), DESCRIPTOR(`rt`), INTERVAL '1' MINUTE))"
    )
    assert interval(-3_600_000) == "INTERVAL -'1' HOUR"
    assert interval(100_000) == "INTERVAL '0 00:01:40.000' DAY TO SECOND(3)"
    assert interval(150 * 86_400_000) == "INTERVAL '150 00:00:00.000' DAY(3) TO SECOND(3)"
    assert duration(1_500) == "1500 ms"


@pytest.mark.parametrize("offset_ms", [1000, -1000, 2500])
def test_an_offset_of_tumbling_windows_is_shorter_than_they_are(offset_ms: int) -> None:
    with pytest.raises(ValueError, match=f"but got {offset_ms} ms and 1000 ms. Use {offset_ms % 1000} ms, which gives"):
        Windowing(WindowKind.TUMBLE, 1000, offset_ms=offset_ms)
