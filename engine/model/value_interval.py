"""The numbers that a value may be, as far as a plan tells: from a least to a largest one, both included.

Whether an end belongs to it is not kept, since only its sign is ever asked for.
Source: Flink ValueInterval, ColumnIntervalUtil.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final


@dataclass(frozen=True)
class ValueInterval:
    """From lower to upper; None: without an end there. Empty if lower is above upper, as for NULL."""

    lower: Decimal | None = None
    upper: Decimal | None = None

    @property
    def is_empty(self) -> bool:
        """True if there is no such number."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper

    def __and__(self, other: ValueInterval) -> ValueInterval:
        """The numbers of both."""
        lower = max((end for end in (self.lower, other.lower) if end is not None), default=None)
        upper = min((end for end in (self.upper, other.upper) if end is not None), default=None)
        return ValueInterval(lower, upper)

    def __or__(self, other: ValueInterval) -> ValueInterval:
        """The numbers of either, and those between them."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        lower = None if self.lower is None or other.lower is None else min(self.lower, other.lower)
        upper = None if self.upper is None or other.upper is None else max(self.upper, other.upper)
        return ValueInterval(lower, upper)

    def __neg__(self) -> ValueInterval:
        return ValueInterval(_negated(self.upper), _negated(self.lower))

    def __add__(self, other: ValueInterval) -> ValueInterval:
        return ValueInterval(_sum(self.lower, other.lower), _sum(self.upper, other.upper))

    def __sub__(self, other: ValueInterval) -> ValueInterval:
        return self + -other

    def __mul__(self, other: ValueInterval) -> ValueInterval:
        """The products; Flink knows them of two intervals that have both ends only."""
        if self.lower is None or self.upper is None or other.lower is None or other.upper is None:
            return ANY_VALUE
        products = [
            bound * other_bound for bound in (self.lower, self.upper) for other_bound in (other.lower, other.upper)
        ]
        return ValueInterval(min(products), max(products))


ANY_VALUE: Final = ValueInterval()
NO_VALUE: Final = ValueInterval(Decimal(1), Decimal(0))


def _negated(end: Decimal | None) -> Decimal | None:
    return None if end is None else -end


def _sum(one: Decimal | None, two: Decimal | None) -> Decimal | None:
    return None if one is None or two is None else one + two
