"""Times that are written otherwise than ISO 8601: the pattern with which TO_TIMESTAMP reads them.

30.11.2026 14:05:09          dd.MM.yyyy HH:mm:ss
1/31/2026 9:30               M/d/yyyy H:mm               as no month is 31; if all texts could be either, none
2026-11-30 14:05:09,123      yyyy-MM-dd HH:mm:ss,SSS
30 Nov 2026 02:05 PM         dd MMM yyyy hh:mm a
30/Nov/2026:14:05:09         dd/MMM/yyyy:HH:mm:ss        as web servers write
30.11.2026                   dd.MM.yyyy
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import chain, product
from typing import Final

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORDS: Final = {name: number for number, name in enumerate(_MONTHS, 1)} | {"AM": 0, "PM": 12}
_TWO, _ONE_OR_TWO = r"\d{2}", r"\d{1,2}"
# By the letters of a pattern: the part of a time, and how it is written.
_PARTS: Final = {
    "yyyy": ("year", r"\d{4}"),
    "MMM": ("month", "|".join(_MONTHS)),
    "MM": ("month", _TWO),
    "M": ("month", _ONE_OR_TWO),
    "dd": ("day", _TWO),
    "d": ("day", _ONE_OR_TWO),
    "HH": ("hour", _TWO),
    "H": ("hour", _ONE_OR_TWO),
    "hh": ("hour", _TWO),
    "h": ("hour", _ONE_OR_TWO),
    "mm": ("minute", _TWO),
    "ss": ("second", _TWO),
    "SSS": ("milli", r"\d{3}"),
    "a": ("half", "AM|PM"),
}
_LETTERS: Final = re.compile("|".join(sorted(_PARTS, key=len, reverse=True)))
# Padded before unpadded, which read the padded ones, too.
_NUMBERS: Final = ("dd-MM-yyyy", "d-M-yyyy", "MM-dd-yyyy", "M-d-yyyy", "yyyy-MM-dd", "yyyy-M-d")
_DATES: Final = (
    *(date.replace("-", separator) for separator in ".-/" for date in _NUMBERS),
    *(date.replace("-", separator) for separator in " -/" for date in ("dd-MMM-yyyy", "d-MMM-yyyy")),
)
_BETWEEN: Final = (" ", ", ", "'T'", ":")
_CLOCKS: Final = ("HH:mm:ss", "H:mm:ss", "HH:mm", "H:mm")
_TIMES: Final = (
    *_CLOCKS,
    *("HH:mm:ss.SSS", "HH:mm:ss,SSS"),
    *(f"{clock.replace('H', 'h')} a" for clock in _CLOCKS),
)
_TRIED: Final = 20


def pattern_of(texts: Sequence[str], least: int) -> str | None:
    """The pattern of at least so many of the texts; None if there is none, or if day and month can be either."""
    likely = dict.fromkeys(pattern for text in texts[:_TRIED] for pattern in _patterns_of(text))
    counts = {pattern: sum(milliseconds(text, pattern) is not None for text in texts) for pattern in likely}
    most = max(counts.values(), default=0)
    if most < max(least, 1):
        return None
    # In the order of the lists, not of the texts.
    patterns = chain(map("".join, product(_DATES, _BETWEEN, _TIMES)), _DATES)
    best = [pattern for pattern in patterns if counts.get(pattern) == most]
    return best[0] if len({pattern.index("d") < pattern.index("M") for pattern in best}) == 1 else None


def _patterns_of(text: str) -> Iterator[str]:
    for date in _DATES:
        if found := _expression(date).match(text):
            if found.end() == len(text):
                yield date
            for between, time in product(_BETWEEN, _TIMES):
                mark, rest = between.strip("'"), text[found.end() :]
                if rest.startswith(mark) and _expression(time).fullmatch(rest[len(mark) :]):
                    yield date + between + time


def milliseconds(text: str, pattern: str) -> int | None:
    """The time of a text in ms since 1970, read in UTC; None if the pattern does not read it."""
    found = _expression(pattern).fullmatch(text)
    if found is None:
        return None
    parts = {part: _WORDS[value] if value in _WORDS else int(value) for part, value in found.groupdict().items()}
    milli, half = parts.pop("milli", 0), parts.pop("half", None)
    if half is not None:
        if not 1 <= parts["hour"] <= 12:
            return None
        parts["hour"] = parts["hour"] % 12 + half
    try:
        moment = datetime(**parts, tzinfo=UTC)
    except ValueError:
        return None
    return round(moment.timestamp()) * 1000 + milli


def shape_of(pattern: str) -> str:
    """A regular expression, of Java as of Python, that finds times of a pattern."""
    plain = pattern.replace("'", "").replace(".", "[.]")
    words = {"MMM": "[A-Z][a-z]{2}", "a": "[AP]M"}
    return _LETTERS.sub(lambda found: words.get(found[0], _PARTS[found[0]][1].replace(r"\d", "[0-9]")), plain)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    plain = re.escape(pattern.replace("'", ""))
    return re.compile(_LETTERS.sub(lambda found: f"(?P<{_PARTS[found[0]][0]}>{_PARTS[found[0]][1]})", plain), re.ASCII)
