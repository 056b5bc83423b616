"""Rounding to the digits of a DECIMAL result, as Flink does."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

DECIMALS: Final = Context(prec=38 * 3, rounding=ROUND_HALF_UP)
"""More digits than a result has, so that it is rounded once."""


def rounded(value: Decimal, scale: int) -> Any:
    """A DECIMAL(38, scale), or None where it is no number or has more digits than that."""
    if not value.is_finite():
        return None
    return fitting(value.quantize(Decimal(1).scaleb(-scale), context=DECIMALS), scale)


def fitting(value: Any, scale: int) -> Any:
    """A value of so many digits after the point, or None where it has more than 38 digits."""
    return value if abs(value) < 10 ** (38 - scale) else None
