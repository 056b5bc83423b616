"""Whether results differ, as the code that Flink generates compares them.

A NaN differs from itself. So does an array with a NULL. Plain results are compared at once.
Source: Flink EqualiserCodeGenerator, ScalarOperatorGens.generateArrayComparison.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from engine.model.row import Row

_ODD: Final = re.compile(r"\b(array|float|double)\b")


def comparison(types: Iterable[str]) -> Callable[[Row, Row], bool]:
    """Whether a row of results with these types differs from another one."""
    return _differs if any(map(_ODD.search, types)) else operator.ne


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
