"""Rounding to the digits of a DECIMAL result, as Flink does."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

DECIMALS: Final = Context(prec=38 * 3, rounding=ROUND_HALF_UP)
"""More digits than any result has, so that a result is rounded only once."""


def rounded(value: Decimal, scale: int) -> Any:
    """A DECIMAL(38, scale), or None if the value is not a number or has more digits."""
    if not value.is_finite():
        return None
    return fitting(value.quantize(Decimal(1).scaleb(-scale), context=DECIMALS), scale)


def fitting(value: Any, scale: int) -> Any:
    """A value with `scale` digits after the decimal point, or None if it has more than 38 digits."""
    return value if abs(value) < 10 ** (38 - scale) else None
