"""The common type of numbers of several types, as Flink finds it for set operations and comparisons of rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from engine.model.types import (
    DOUBLE,
    FLOAT,
    FLOATS,
    INTEGER_DIGITS,
    INTEGERS,
    MOST_DIGITS,
    Decimal,
    Type,
    with_digits_of_both,
)


def common_type(types: Iterable[Type]) -> Type | None:
    """The common type; None if there is none."""
    given = list(types)
    if all(type_.is_held_as(given[0]) for type_ in given):
        return reduce(with_digits_of_both, given)
    distinct = set(given)
    decimals = {type_ for type_ in distinct if isinstance(type_, Decimal)}
    if not distinct <= {*INTEGERS, *FLOATS, *decimals}:
        return None
    if distinct & set(FLOATS):
        return FLOAT if DOUBLE not in distinct and not decimals else DOUBLE
    return _decimal(distinct) if decimals else max(distinct, key=INTEGERS.index)


def _decimal(types: set[Type]) -> Type:
    """Digits enough for all; of too many, those behind the point are given up."""
    sizes = [type_ if isinstance(type_, Decimal) else Decimal(INTEGER_DIGITS[type_], 0) for type_ in types]
    whole = max(size.whole_digits for size in sizes)
    scale = min(max(size.scale for size in sizes), MOST_DIGITS - whole)
    return Decimal(whole + scale, scale)
