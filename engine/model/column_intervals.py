"""The numbers that the columns of an output may hold, as Flink's planner infers them.

Filters and projections that follow each other are one node of Flink's (Calc): what it computes is computed from the
columns before its filters, and its filters say nothing of what it computes.
Source: Flink FlinkRelMdColumnInterval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.model.value_interval import ANY_VALUE, ValueInterval


@dataclass(frozen=True)
class ColumnInterval:
    """The numbers that a column may hold. before: without the filters of this Calc. is_computed: by this Calc."""

    value: ValueInterval
    before: ValueInterval
    is_computed: bool = False

    @classmethod
    def computed(cls, value: ValueInterval) -> ColumnInterval:
        """Of a column whose numbers are not narrowed by filters in the same Calc."""
        return cls(value, value, is_computed=True)


Intervals = Mapping[str, ColumnInterval]
"""By column; a column that is not there may hold any number."""

UNKNOWN: Final = ColumnInterval(ANY_VALUE, ANY_VALUE)


def above_calc(intervals: Intervals) -> Intervals:
    """Of the columns of an operator that is no Calc and passes them on."""
    return {name: ColumnInterval(interval.value, interval.value) for name, interval in intervals.items()}


def united(inputs: Sequence[Intervals]) -> Intervals:
    """Of the rows of several inputs."""
    first, *others = inputs
    united = dict(first)
    for other in others:
        united = {name: _either(united[name], other[name]) for name in united.keys() & other.keys()}
    return above_calc(united)


def _either(one: ColumnInterval, other: ColumnInterval) -> ColumnInterval:
    return replace(one, value=one.value | other.value)
