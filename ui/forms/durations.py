"""Durations as people write them: `10 s`, `1 h 30 min`, `250 ms`, or a plain number of milliseconds."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from typing import Final

_UNITS: Final = {
    "ms": 1,
    "millisecond": 1,
    "milliseconds": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "seconds": 1000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "minutes": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "hours": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "days": 86_400_000,
}
_SHORT: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
_CHOICES: Final = 200
# Durations are 64-bit integers in the engine.
_LONGEST_MS: Final = (1 << 63) - 1
# Round steps, from a millisecond to a day.
_STEPS_MS: Final = (
    *(digit * scale for scale in (1, 10, 100) for digit in (1, 2, 5)),
    *(1000 * seconds for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 86_400)),
)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)?", re.IGNORECASE)


def parse_duration(text: str) -> int | None:
    """The milliseconds of a duration as text, or None if the text is no duration."""
    rest = text.strip()
    sign = -1 if rest.startswith("-") else 1
    rest = rest.lstrip("-+ ").lower()
    total, at = Decimal(0), 0
    # Enough digits for an exact sum: a factor adds at most 8 to those of the text.
    with localcontext(prec=len(rest) + 20):
        while at < len(rest):
            match = _PART.match(rest, at)
            if match is None or (match[2] or "ms") not in _UNITS:
                return None
            total += Decimal(match[1]) * _UNITS[match[2] or "ms"]
            at = match.end()
            while at < len(rest) and rest[at] in " ,":
                at += 1
        if not rest or total > _LONGEST_MS or total != int(total):
            return None
    return sign * int(total)


def format_duration(ms: int) -> str:
    """A duration as text: `10 s`, `1 h 30 min`, `2 s 500 ms`; `parse_duration` returns the same number."""
    if ms == 0:
        return "0 s"
    parts, rest = [], abs(ms)
    for unit, size in _SHORT:
        whole, rest = divmod(rest, size)
        if whole:
            parts.append(f"{whole} {unit}")
    return ("-" if ms < 0 else "") + " ".join(parts)


def durations_to(top_ms: int, *exact_ms: int) -> list[int]:
    """Durations to choose from: in round steps from 0 to at least top_ms, and in addition these exact ones."""
    days = -(-top_ms // (_CHOICES * _STEPS_MS[-1]))
    step = next((step for step in _STEPS_MS if top_ms <= step * _CHOICES), days * _STEPS_MS[-1])
    return sorted({*range(0, top_ms + step, step), *exact_ms})
