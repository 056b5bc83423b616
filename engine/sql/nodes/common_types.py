"""The common type of numbers of several types, as Flink finds it for set operations and comparisons of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.model.schema import FLOATS, INTEGER_DIGITS, INTEGERS, decimal_digits

_MOST_DIGITS: Final = 38


def common_type(types: Iterable[str]) -> str | None:
    """The common type; None if there is none."""
    distinct = set(types)
    if len(distinct) == 1:
        return distinct.pop()
    decimals = {type_ for type_ in distinct if type_.startswith("decimal")}
    if not distinct <= {*INTEGERS, *FLOATS, *decimals}:
        return None
    if distinct & set(FLOATS):
        return "float" if "double" not in distinct and not decimals else "double"
    return _decimal(distinct) if decimals else max(distinct, key=INTEGERS.index)


def _decimal(types: set[str]) -> str:
    """Digits enough for all; of too many, those behind the point are given up."""
    sizes = [(INTEGER_DIGITS[type_], 0) if type_ in INTEGER_DIGITS else decimal_digits(type_) for type_ in types]
    whole = max(digits - places for digits, places in sizes)
    scale = min(max(places for _, places in sizes), _MOST_DIGITS - whole)
    return f"decimal({whole + scale},{scale})"
