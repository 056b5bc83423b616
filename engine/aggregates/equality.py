"""Whether results differ, as the code that Flink generates compares them.

A NaN differs from itself. So does an array with a NULL. Plain results are compared at once.
Source: Flink EqualiserCodeGenerator, ScalarOperatorGens.generateArrayComparison.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from engine.model.row import Row
from engine.model.types import FLOATS, Array, Type


def _is_odd(type_: Type) -> bool:
    return isinstance(type_, Array) or type_ in FLOATS


def comparison(types: Iterable[Type]) -> Callable[[Row, Row], bool]:
    """Whether a row of results with these types differs from another one."""
    return _differs if any(type_.has(_is_odd) for type_ in types) else operator.ne


def _differs(before: Row, after: Row) -> bool:
    return any(map(_is_other, before, after))


def _is_other(before: Any, after: Any) -> bool:
    if isinstance(before, list) and isinstance(after, list):
        return len(before) != len(after) or any(
            a is None or _is_other(a, b) for a, b in zip(before, after, strict=True)
        )
    if isinstance(before, tuple) and isinstance(after, tuple):
        return len(before) != len(after) or any(map(_is_other, before, after))
    different: bool = before != after
    return different
