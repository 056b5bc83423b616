"""The condition of a variable in DEFINE: a function of values of the match so far and of the current row."""

from __future__ import annotations

from dataclasses import dataclass

from engine.expressions.conditions import condition_of
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.patterns.matching import Condition, Match
from engine.patterns.values import MatchTime, RowValue, Value, reader, rows_of


@dataclass(frozen=True)
class MatchCondition:
    """A condition over values, which are columns `__r0`, `__r1`, ... of these types."""

    variable: int
    text: str
    types: tuple[str, ...]
    values: tuple[Value, ...]

    def compiled(self) -> Condition:
        """The condition as a function; NULL is false. The current row is the last one of its variable and match."""
        own = self.variable
        if len(self.values) == 1 and self._is_current(self.values[0]) and self.types == ("boolean",):
            (value,) = self.values
            assert isinstance(value, RowValue)
            place = value.place
            return lambda match, row: row[place] is True
        columns = Schema(tuple(Column(f"__r{at}", type_) for at, type_ in enumerate(self.types)))
        holds = condition_of(self.text, columns)
        reads = [(value, reader(value), not isinstance(value, MatchTime)) for value in self.values]

        def condition(match: Match, row: Row) -> bool:
            found = []
            for value, read, has_rows in reads:
                rows = rows_of(value, match, own + 1) if has_rows else ()
                variable = None if isinstance(value, MatchTime) else value.variable
                if variable is None or variable == own:
                    rows = [*rows, row]
                found.append(read(rows, row, row[0]))
            return holds(tuple(found)) is True

        return condition

    def _is_current(self, value: Value) -> bool:
        """Whether a value is read from the current row."""
        is_last = isinstance(value, RowValue) and not value.is_first and value.offset == 0
        return is_last and isinstance(value, RowValue) and value.variable in (None, self.variable)
