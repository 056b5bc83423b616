"""Durations in ms as text: for people, and in Flink SQL."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ((86_400_000, "d", "DAY"), (3_600_000, "h", "HOUR"), (60_000, "min", "MINUTE"), (1_000, "s", "SECOND"))


def duration(ms: int) -> str:
    """A duration for people: 10 s, 1 h, 1500 ms."""
    for unit_ms, name, _ in _UNITS:
        if ms and ms % unit_ms == 0:
            return f"{ms // unit_ms} {name}"
    return f"{ms} ms"


def interval(ms: int) -> str:
    """A duration in Flink SQL: INTERVAL '10' SECOND, or days to milliseconds if no single unit fits."""
    sign = "-" if ms < 0 else ""
    length = abs(ms)
    if not length:
        return "INTERVAL '0' SECOND"
    for unit_ms, _, name in _UNITS:
        # Without a precision, a unit takes two digits, and Flink does not support all precisions.
        if length % unit_ms == 0 and length // unit_ms < 100:
            return f"INTERVAL {sign}'{length // unit_ms}' {name}"
    (days, rest), digits = divmod(length, 86_400_000), ""
    if days > 99:
        digits = f"({len(str(days))})"
    hours, minutes, seconds = rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60
    clock = f"{days} {hours:02d}:{minutes:02d}:{seconds:02d}.{rest % 1000:03d}"
    return f"INTERVAL {sign}'{clock}' DAY{digits} TO SECOND(3)"
