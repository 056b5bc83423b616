"""How results are read from an accumulator: integer division, wrapping, rounding and variances as in Flink."""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from engine.aggregates.accumulator_parts import Acc
from engine.aggregates.functions import Function
from engine.model.schema import INTEGER_BITS, decimal_scale

Read = Callable[[Acc], Any]

_DECIMALS: Final = Context(prec=38 * 3, rounding=ROUND_HALF_UP)


def total(slot: int, type_: str) -> Read:
    """SUM, from the slots sum and count. It keeps its type and wraps in it; a DECIMAL out of range is NULL."""
    count = slot + 1
    if type_ in INTEGER_BITS:
        half = 1 << (INTEGER_BITS[type_] - 1)
        least, most, span = -half, half - 1, half * 2

        def wrapping(acc: Acc) -> Any:
            if not acc[count]:
                return None
            value = acc[slot]
            return value if least <= value <= most else (value + half) % span - half

        return wrapping
    scale = decimal_scale(type_)
    if scale is not None:
        return lambda acc: _fitting(acc[slot], scale) if acc[count] else None
    return lambda acc: acc[slot] if acc[count] else None


def average(slot: int, type_: str, *, reduced: bool) -> Read:
    """AVG, from the slots sum and count. Integers divide toward zero; reduced: the sum wraps in its own type."""
    count = slot + 1
    if type_ in INTEGER_BITS:
        sum_of = total(slot, type_ if reduced else "bigint")

        def truncating(acc: Acc) -> Any:
            number = acc[count]
            if not number:
                return None
            value = sum_of(acc)
            quotient = abs(value) // abs(number)
            return quotient if (value < 0) == (number < 0) else -quotient

        return truncating
    scale = decimal_scale(type_)
    if scale is not None:
        digits = max(6, scale)
        divide = _DECIMALS.divide
        return lambda acc: _rounded(divide(acc[slot], Decimal(acc[count])), digits) if acc[count] else None
    if type_ == "float":
        return lambda acc: c_float(acc[slot] / acc[count]).value if acc[count] else None
    return lambda acc: acc[slot] / acc[count] if acc[count] else None


def joined(slot: int, separator: str) -> Read:
    """LISTAGG, from the slot with the list; NULL where it is empty."""
    join = separator.join
    return lambda acc: join(acc[slot]) if acc[slot] else None


def pairs(slot: int) -> Read:
    """COLLECT, from the slot with the counts: (value, how often), by first arrival."""
    return lambda acc: list(acc[slot].items())


def deviation(slot: int, function: Function, type_: str) -> tuple[Read, Callable[[Any], Any]]:
    """A variance or standard deviation from Welford's slots number, mean, m2: what is compared, and the result."""
    m2_slot = slot + 2
    sample = function in (Function.VAR_SAMP, Function.STDDEV_SAMP)
    root = function in (Function.STDDEV_POP, Function.STDDEV_SAMP)
    cast = _cast(type_)

    def read(acc: Acc) -> Any:
        number, m2 = acc[slot], acc[m2_slot]
        # Rounding can leave a little less than nothing after a retraction; Flink gives NULL then.
        return (number, m2 if number > 0 and m2 >= 0 else None)

    def present(found: Any) -> Any:
        number, m2 = found
        divisor = number - 1 if sample else number
        if m2 is None or not divisor:
            return None
        variance = m2 / divisor
        return cast(math.pow(variance, 0.5) if root else variance)

    return read, present


def _cast(type_: str) -> Callable[[float], Any]:
    scale = decimal_scale(type_)
    if scale is not None:
        digits = max(6, scale)
        return lambda value: _rounded(Decimal(repr(value)), digits)
    if type_ in INTEGER_BITS:
        most = (1 << (INTEGER_BITS[type_] - 1)) - 1
        return lambda value: 0 if math.isnan(value) else int(min(value, most))
    if type_ == "float":
        return lambda value: c_float(value).value
    return lambda value: value


def _rounded(value: Decimal, scale: int) -> Any:
    if not value.is_finite():
        return None
    return _fitting(value.quantize(Decimal(1).scaleb(-scale), context=_DECIMALS), scale)


def _fitting(value: Any, scale: int) -> Any:
    """A DECIMAL(38, scale), or None where it has more digits than that."""
    return value if abs(value) < 10 ** (38 - scale) else None
