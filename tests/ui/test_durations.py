"""Durations, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.forms.durations import durations_to, format_duration, parse_duration
from ui.shell import words


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("10 s", 10_000),
        ("10s", 10_000),
        ("500 ms", 500),
        ("500", 500),
        ("1 h 30 min", 5_400_000),
        ("1.5 s", 1500),
        ("1.001 s", 1001),
        ("8.2 min", 492_000),
        ("4.1 h", 14_760_000),
        ("2 days", 172_800_000),
        (" 5 Minutes ", 300_000),
        ("1 min, 5 s", 65_000),
        ("-1 s", -1000),
        ("0", 0),
    ],
)
def test_a_length_of_time_is_read(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ten seconds",
        "10 parsecs",
        "s",
        "10 s later",
        "0.5 ms",
        "1:30",
        f"1.{'0' * 40}1 s",
        "9" * 20,
        "9" * 400,
        f"{'9' * 5000} h",
    ],
)
def test_what_is_no_length_of_time_is_not_guessed_at(text: str) -> None:
    assert parse_duration(text) is None


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_what_is_shown_reads_back_as_the_same(ms: int) -> None:
    assert parse_duration(format_duration(ms)) == ms
    assert parse_duration(words.duration(ms)) == ms


def test_there_are_few_round_ones_to_choose_from_whatever_the_longest_is() -> None:
    assert durations_to(3, 2) == [0, 1, 2, 3]
    assert durations_to(4_000_000, 2000)[:4] == [0, 2000, 30_000, 60_000]
    for top in (0, 1, 999, 60_000, 10**9, 10**12, 10**15):
        assert len(durations_to(top, 7)) <= 203
        assert durations_to(top, 7)[-1] >= top
