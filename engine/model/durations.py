"""Durations and instants in ms as people read them, and durations in Flink SQL."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = ((86_400_000, "d", "DAY"), (3_600_000, "h", "HOUR"), (60_000, "min", "MINUTE"), (1_000, "s", "SECOND"))
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - it is shown without a zone
_LATEST_MS: Final = 60_000_000_000_000


def ms_of(time: datetime) -> int:
    """The ms since 1970 that a calendar and a clock show as this time, whatever its offset is."""
    return (time.replace(tzinfo=None) - _EPOCH) // timedelta(milliseconds=1)


def moment(ms: int | None) -> datetime | int | None:
    """The instant, in UTC; the number itself where no calendar has it, as for a watermark at the end of its source."""
    return _EPOCH + timedelta(milliseconds=ms) if ms is not None and abs(ms) < _LATEST_MS else ms


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
