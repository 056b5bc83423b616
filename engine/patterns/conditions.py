"""The condition of a variable in DEFINE: a function of values of the match so far and of the current row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.expressions.conditions import condition_of
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.model.types import BOOLEAN, Type
from engine.patterns.matching import Condition, Step
from engine.patterns.values import MatchTime, RowValue, Value, reader


@dataclass(frozen=True)
class MatchCondition:
    """A condition over values, which are columns `__r0`, `__r1`, ... of these types."""

    variable: int
    text: str
    types: tuple[Type, ...]
    values: tuple[Value, ...]

    def compiled(self) -> Condition:
        """The condition as a function; NULL is false. The current row is the last one of its variable and match."""
        if len(self.values) == 1 and self._is_current(self.values[0]) and self.types == (BOOLEAN,):
            (value,) = self.values
            assert isinstance(value, RowValue)
            place = value.place
            return lambda last, row: row[place] is True
        columns = Schema(tuple(Column(f"__r{at}", type_) for at, type_ in enumerate(self.types)))
        holds = condition_of(self.text, columns)
        reads = [self._read(value) for value in self.values]
        if len(reads) == 2:
            one, other = reads
            return lambda last, row: holds((one(last, row), other(last, row))) is True
        return lambda last, row: holds(tuple([read(last, row) for read in reads])) is True

    def _read(self, value: Value) -> Callable[[Step | None, Row], Any]:
        """The function that reads a value, from the last step of the match so far and the current row."""
        if self._is_current(value):
            assert isinstance(value, RowValue)
            return partial(_of_current, value.place)
        own = self.variable
        variable = None if isinstance(value, MatchTime) else value.variable
        if isinstance(value, RowValue) and variable is not None and not value.is_first and not value.offset:
            return partial(_of_last, variable, value.place, value.missing)
        of_rows = reader(value)

        def read(last: Step | None, row: Row) -> Any:
            rows = [row] if variable is None or variable == own else []
            while last is not None:
                if last.variable == variable or (variable is None and last.variable <= own):
                    rows.append(last.event.row)
                last = last.before
            return of_rows(rows[::-1], row, row[0])

        return read

    def _is_current(self, value: Value) -> bool:
        """Whether a value is read from the current row."""
        is_last = isinstance(value, RowValue) and not value.is_first and value.offset == 0
        return is_last and isinstance(value, RowValue) and value.variable in (None, self.variable)


def _of_current(place: int, last: Step | None, row: Row) -> Any:
    return row[place]


def _of_last(variable: int, place: int, missing: int | None, last: Step | None, row: Row) -> Any:
    """A value of the last row of another variable."""
    while last is not None:
        if last.variable == variable:
            return last.event.row[place]
        last = last.before
    return None if missing is None else row[missing]
