"""INTERVAL literals as durations in ms."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

_MS: Final = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000, "WEEK": 604_800_000}
_WHOLE: Final = re.compile(r"\d{1,18}", re.ASCII)
_SECONDS: Final = re.compile(r"\d{1,18}(\.\d{1,6})?", re.ASCII)
_ORDER: Final = ("DAY", "HOUR", "MINUTE", "SECOND")


def interval_ms(expression: Expr) -> int:
    """The duration in ms of an INTERVAL literal of weeks, days, hours, minutes or seconds. Raises SqlRejected."""
    bare = expression.unnest()
    if isinstance(bare, exp.Neg):
        return -interval_ms(bare.this)
    if not isinstance(bare, exp.Interval) or bare.this is None:
        message = f"an interval is needed, such as INTERVAL '10' SECOND, not {expression.sql()}."
        raise SqlRejected(message, expression)
    if isinstance(bare.this, exp.Neg):
        # INTERVAL -'2' SECOND
        return -interval_ms(exp.Interval(this=bare.this.this.copy(), unit=bare.args.get("unit")))
    text = bare.this.name.strip()
    unsigned = text[1:] if text.startswith(("+", "-")) else text
    names = _units(bare.args.get("unit"))
    parts = re.split(r"[ :]", unsigned)
    if names is None or len(parts) != len(names):
        message = (
            f"the interval {expression.sql()} has no fixed length. Use DAY, HOUR, MINUTE or SECOND, as in "
            "INTERVAL '1' HOUR or INTERVAL '1:30' MINUTE TO SECOND."
        )
        raise SqlRejected(message, expression)
    if not all(
        (_SECONDS if name == "SECOND" else _WHOLE).fullmatch(part) for part, name in zip(parts, names, strict=True)
    ):
        message = f"{text!r} is not a number of {' and '.join(names).lower()}s."
        if "." in text:
            message += (
                " Only seconds have a fraction, with a digit before the point and up to six behind it: '0.5' SECOND."
            )
        raise SqlRejected(message, expression)
    duration_ms = sum(round(float(part) * _MS[name]) for part, name in zip(parts, names, strict=True))
    return -duration_ms if text.startswith("-") else duration_ms


def has_fixed_length(interval: exp.Interval) -> bool:
    """Whether an interval consists of weeks, days, hours, minutes or seconds."""
    return _units(interval.args.get("unit")) is not None


def _units(unit: Expr | None) -> tuple[str, ...] | None:
    """The units of an interval: DAY, or for DAY TO SECOND all units in between; None if a unit has no fixed length."""
    if isinstance(unit, exp.IntervalSpan):
        first, last = _name(unit.this), _name(unit.expression)
        if first in _ORDER and last in _ORDER:
            return _ORDER[_ORDER.index(first) : _ORDER.index(last) + 1]
        return None
    name = _name(unit)
    return (name,) if name in _MS else None


def _name(unit: Expr | None) -> str:
    return "" if unit is None else unit.name.upper().removesuffix("S")
