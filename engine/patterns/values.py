"""Reads the values of measures and conditions from the rows of a match.

A kernel's row is its time in ms, then the values that Spark has computed: one per expression over a row. An expression
that is not NULL over NULLs has a second value, its result without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.model.row import Row

Rows = Sequence[Row]


@dataclass(frozen=True)
class RowValue:
    """A value of one row. variable: its rows are counted; None: all. missing: the place of the value without a row."""

    variable: int | None
    place: int
    is_first: bool = False
    offset: int = 0
    missing: int | None = None


@dataclass(frozen=True)
class AggregateValue:
    """The result of a call over the rows of a variable, or of all."""

    variable: int | None
    call: AggregateCall


@dataclass(frozen=True)
class MatchTime:
    """The time at which the match is complete, in microseconds."""


Value = RowValue | AggregateValue | MatchTime
Read = Callable[[Rows, Row, int], Any]
"""Reads a value: the arguments are its rows, any row of the match, and the time in ms."""


def reader(value: Value) -> Read:
    """The function that reads a value."""
    match value:
        case RowValue():
            return _of_row(value)
        case AggregateValue():
            return _aggregated(value.call)
        case MatchTime():
            return lambda rows, any_row, time_ms: time_ms * 1000


def _of_row(value: RowValue) -> Read:
    place, offset, is_first, missing = value.place, value.offset, value.is_first, value.missing

    def read(rows: Rows, any_row: Row, time_ms: int) -> Any:
        if len(rows) <= offset:
            return None if missing is None else any_row[missing]
        return rows[offset if is_first else -1 - offset][place]

    return read


def _aggregated(call: AggregateCall) -> Read:
    compiled = compile_calls([call], retracting=False)

    def read(rows: Rows, any_row: Row, time_ms: int) -> Any:
        acc = compiled.create()
        for number, row in enumerate(rows, start=1):
            compiled.clock[0] = number
            compiled.accumulate(acc, row)
        return compiled.result(acc)[0]

    return read
