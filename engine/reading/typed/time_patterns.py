"""Times that are written otherwise than ISO 8601: the pattern with which TO_TIMESTAMP reads them.

30.11.2026 14:05:09          dd.MM.yyyy HH:mm:ss
1/31/2026 9:30               M/d/yyyy H:mm               as no month is 31; if all texts could be either, none
2026-11-30 14:05:09,123      yyyy-MM-dd HH:mm:ss,SSS
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import product
from typing import Final

# Padded before unpadded, which read the padded ones, too.
_DATES: Final = tuple(
    date.replace("-", separator)
    for separator in ".-/"
    for date in ("dd-MM-yyyy", "d-M-yyyy", "MM-dd-yyyy", "M-d-yyyy", "yyyy-MM-dd", "yyyy-M-d")
)
_BETWEEN: Final = (" ", ", ", "'T'")
_TIMES: Final = ("HH:mm:ss", "H:mm:ss", "HH:mm", "H:mm", "HH:mm:ss.SSS", "HH:mm:ss,SSS")
_PART: Final = re.compile(r"yyyy|([dMHms])\1?|SSS|'T'|[^\w']")
_FIELDS: Final = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "milli"}
_TRIED: Final = 20


def pattern_of(texts: Sequence[str], least: int) -> str | None:
    """The pattern of at least so many of the texts; None if there is none, or if day and month can be either."""
    likely = [
        pattern
        for pattern in map("".join, product(_DATES, _BETWEEN, _TIMES))
        if any(milliseconds(text, pattern) is not None for text in texts[:_TRIED])
    ]
    counts = {pattern: sum(milliseconds(text, pattern) is not None for text in texts) for pattern in likely}
    most = max(counts.values(), default=0)
    if most < max(least, 1):
        return None
    best = [pattern for pattern, count in counts.items() if count == most]
    return best[0] if len({pattern.index("d") < pattern.index("M") for pattern in best}) == 1 else None


def milliseconds(text: str, pattern: str) -> int | None:
    """The time of a text in ms since 1970, read in UTC; None if the pattern does not read it."""
    found = _expression(pattern).fullmatch(text)
    if found is None:
        return None
    parts = {name: int(digits) for name, digits in found.groupdict().items()}
    milli = parts.pop("milli", 0)
    try:
        moment = datetime(**parts, tzinfo=UTC)  # type: ignore[arg-type]
    except ValueError:
        return None
    return round(moment.timestamp()) * 1000 + milli


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    def part(found: re.Match[str]) -> str:
        letters = found[0]
        if letters[0] not in _FIELDS:
            return re.escape(letters.strip("'"))
        digits = f"{{{len(letters)}}}" if len(letters) > 1 else "{1,2}"
        return rf"(?P<{_FIELDS[letters[0]]}>\d{digits})"

    return re.compile(_PART.sub(part, pattern), re.ASCII)
