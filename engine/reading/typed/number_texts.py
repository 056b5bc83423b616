"""Numbers that SQL does not read as they are written, and the Flink SQL that does.

22,5            a decimal comma
1.234,50        a decimal comma, and points between thousands
1,234.50        commas between thousands
1,234           could be either: none, unless another number of the column decides
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class Writing(NamedTuple):
    """A way of writing numbers. words: what users call it; text: of numbers; number: Flink SQL of a quoted column."""

    words: str
    text: re.Pattern[str]
    number: str

    def count(self, texts: Sequence[str]) -> int:
        """How many of the texts are written so."""
        return sum(map(bool, map(self.text.fullmatch, texts)))


def _writing(words: str, thousands: str, point: str, number: str) -> Writing:
    whole = rf"(\d{{1,3}}({thousands}\d{{3}})+|\d+)" if thousands else r"\d+"
    return Writing(words, re.compile(rf"[+-]?{whole}({point}\d+)?", re.ASCII), f"TRY_CAST({number} AS DOUBLE)")


# Those that need less to be replaced come first.
_WRITINGS: Final = (
    _writing("numbers with a decimal comma", "", ",", "REPLACE({}, ',', '.')"),
    _writing("numbers with a decimal comma", r"\.", ",", "REPLACE(REPLACE({}, '.', ''), ',', '.')"),
    _writing("numbers with commas between thousands", ",", r"\.", "REPLACE({}, ',', '')"),
)


def writing_of(texts: Sequence[str], least: int) -> Writing | None:
    """How at least so many of the texts are written as numbers; None if they are not, or if a comma can mean both."""
    counts = {writing: writing.count(texts) for writing in _WRITINGS}
    most = max(counts.values())
    best = [writing for writing in _WRITINGS if counts[writing] == most]
    return best[0] if most >= max(least, 1) and len({writing.words for writing in best}) == 1 else None
