"""Digits in numbers and times, as comparisons: what they find is what DuckDB finds in the texts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

import duckdb
import pytest

from storage.changelogs.digits import date_contains, number_contains, time_contains

NUMBERS: Final[dict[str, tuple[str, Sequence[int]]]] = {
    "few digits": ("BIGINT", range(2000)),
    "both signs": ("BIGINT", range(-1200, 1200)),
    "negative ones": ("INTEGER", range(-3000, -700)),
    "one of them": ("BIGINT", [0]),
    "times in ms, which begin alike": ("BIGINT", range(1_700_000_123_000, 1_700_000_125_000)),
    "all lengths": (
        "BIGINT",
        [sign * (10**size + more) for size in range(18) for more in (-1, 0, 7) for sign in (-1, 1)],
    ),
    "of any size": ("BIGINT", [random.Random(1).randrange(1 << 62) for _ in range(300)]),
    "the ends of BIGINT": ("BIGINT", [-(1 << 63), (1 << 63) - 1, 0]),
    "the ends of INTEGER": ("INTEGER", [-(1 << 31), (1 << 31) - 1, 7]),
    "a small type": ("TINYINT", range(-128, 128)),
}
TEXTS: Final = ("0", "00", "1", "7", "10", "12", "000", "001", "123", "700", "0001", "9999", "17000", "98765", "1" * 20)


def found_in(type_: str, values: Sequence[int], condition: str) -> list[int]:
    """The values for which a condition on c.x is true."""
    of_type = "make_timestamp(x::BIGINT)" if type_ == "TIMESTAMP" else f"x::{type_}"
    asked = f"SELECT x FROM (SELECT {of_type} AS x FROM (SELECT unnest($values) AS x)) c WHERE {condition} ORDER BY x"
    return [row[0] for row in duckdb.execute(asked, {"values": list(values)}).fetchall()]


@pytest.mark.parametrize("text", [*TEXTS, "-", "-1", "-12", "-0", "1-", ".5", "1e5"])
@pytest.mark.parametrize(("type_", "values"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_contain_what_their_texts_do(type_: str, values: Sequence[int], text: str) -> None:
    condition = number_contains("c.x", text, min(values), max(values))
    if condition is not None:
        assert found_in(type_, values, condition) == found_in(type_, values, f"contains(c.x::VARCHAR, '{text}')")


DAY: Final = 1_714_521_600_000_000
TIMES: Final[dict[str, Sequence[int]]] = {
    "whole seconds": [DAY + at * 1_000_000 for at in range(500)],
    "milliseconds": [DAY + at * 1_000 for at in range(2_000)],
    "microseconds": [DAY + 123_000 + at for at in range(2_000)],
    "several years": [at * 31_556_952_000_000 for at in range(120)],
}


PARTS: Final = ("02", "024", "2024", "197", "2024-05", "-0", "4-05-", "00:0", ":", ":07", "12:30", "1-", "-:", "77")


@pytest.mark.parametrize("text", [*PARTS, *TEXTS])
@pytest.mark.parametrize("values", TIMES.values(), ids=TIMES)
def test_times_contain_what_their_texts_do(values: Sequence[int], text: str) -> None:
    condition = time_contains("c.x", text, min(values), max(values))
    if condition is not None:
        of_text = found_in("TIMESTAMP", values, f"contains(c.x::VARCHAR, '{text}')")
        assert found_in("TIMESTAMP", values, condition) == of_text


@pytest.mark.parametrize("text", [*PARTS, *TEXTS])
@pytest.mark.parametrize("days", [range(19_000, 20_000), [-800, 0, 800], range(11_016, 11_017)], ids=len)
def test_dates_contain_what_their_texts_do(days: Sequence[int], text: str) -> None:
    condition = date_contains("(DATE '1970-01-01' + c.x::INTEGER)", text, days[0], days[-1])
    assert condition is not None
    of_text = found_in("BIGINT", days, f"contains((DATE '1970-01-01' + c.x::INTEGER)::VARCHAR, '{text}')")
    assert found_in("BIGINT", days, condition) == of_text


Known = Callable[[str, str, int, int], str | None]


@pytest.mark.parametrize(
    ("known", "text", "low", "high"),
    [
        pytest.param(number_contains, "1", -(1 << 63), 0, id="a number without its positive one"),
        pytest.param(number_contains, "12345", 0, 1 << 62, id="as many remainders as the text costs"),
        pytest.param(time_contains, "01 12:30", DAY, DAY, id="the end of a date and the begin of a time"),
        pytest.param(time_contains, "30.5", DAY, DAY, id="a second and its fraction"),
        pytest.param(date_contains, "12", 0, 1 << 20, id="too many days"),
        pytest.param(date_contains, "12", 5_000_000, 5_000_001, id="days beyond the years of Python"),
        pytest.param(time_contains, "123", -1, DAY, id="before 1970"),
        pytest.param(time_contains, "123", DAY, 1 << 62, id="beyond the years of Python"),
    ],
)
def test_texts_are_searched_where_comparisons_do_not_tell(known: Known, text: str, low: int, high: int) -> None:
    assert known("c.x", text, low, high) is None
