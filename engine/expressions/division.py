"""Division of Python's numbers as Spark SQL divides."""

from __future__ import annotations

from math import fmod
from typing import Any


def quotient(a: Any, b: Any) -> Any:
    """The quotient; NULL if the divisor is 0."""
    return None if b == 0 else a / b


def whole_quotient(a: Any, b: Any) -> Any:
    """The quotient rounded towards zero; NULL if the divisor is 0."""
    return None if b == 0 else int(abs(a) // abs(b)) * (-1 if (a < 0) != (b < 0) else 1)


def remainder(a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend; NULL if the divisor is 0."""
    if b == 0:
        return None
    if isinstance(a, float):
        return fmod(a, b)
    return abs(a) % abs(b) * (-1 if a < 0 else 1)
