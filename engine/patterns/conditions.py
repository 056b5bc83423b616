"""The condition of a variable in DEFINE: a function of values of the match so far and of the current row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.expressions.conditions import condition_of
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.model.types import Type
from engine.patterns.programs import Program, program_of
from engine.patterns.values import MatchTime, Value, reader


@dataclass(frozen=True)
class MatchCondition:
    """A condition over values, which are columns `__r0`, `__r1`, ... of these types."""

    variable: int
    text: str
    types: tuple[Type, ...]
    values: tuple[Value, ...]

    def program(self) -> Program | str:
        """The condition for compiled code; a text that says why it has to be called instead."""
        return program_of(self.text, self.types, self.values, self.variable)

    def called(self, rows: Sequence[Row]) -> Callable[[list[int], list[int], int], bool]:
        """The condition as a function: see `engine.patterns.meeting.Calls`. NULL is false.

        The current row is the last one of its variable and of the match.
        """
        columns = Schema(tuple(Column(f"__r{at}", type_) for at, type_ in enumerate(self.types)))
        holds = condition_of(self.text, columns)
        reads = [(None if isinstance(value, MatchTime) else value.variable, reader(value)) for value in self.values]

        def meets(variables: list[int], numbers: list[int], row: int) -> bool:
            current = rows[row]
            values = []
            for variable, read in reads:
                of_it = [current] if variable is None or variable == self.variable else []
                for at, number in zip(variables, numbers, strict=True):
                    if at == variable or (variable is None and at <= self.variable):
                        of_it.append(rows[number])
                values.append(read(of_it[::-1], current, current[0]))
            return holds(tuple(values)) is True

        return meets
