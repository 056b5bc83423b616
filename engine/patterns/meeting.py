"""Whether a row meets the condition of a variable: a part of the rule of MATCH_RECOGNIZE.

A condition is a program for a stack of values, six integers per instruction:

    price > LAST(A.price)       CURRENT price, VALUE A price, COMPARE >

A value that is not there is NULL, and logic is three-valued, as in SQL. `engine.patterns.programs` writes programs.
What does not fit into integers is a CALL of a function, with which the rule is interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from engine.contract.columnar_kernel import Longs

Calls = Sequence[Callable[[list[int], list[int], int], bool]]
"""By variable: whether a row meets the condition. The arguments are the variables and the rows of its match so far,
from the last one backwards, and the row."""

WIDTH: Final = 6
CURRENT: Final = 0
"""Pushes a value of the row: its place."""
VALUE: Final = 1
"""Pushes a value of a row of the match: variable (-1: any), place, whether from the first row, offset, and the place of
the value without a row (-1: NULL)."""
CONSTANT: Final = 2
NULL: Final = 3
NOT: Final = 4
IS_NULL: Final = 5
CALL: Final = 6
COMPARE: Final = 7
"""Replaces two values by whether the first one is less, equal, greater: three flags."""
AND: Final = 8
OR: Final = 9
SAME: Final = 10
"""IS NOT DISTINCT FROM."""
ADD: Final = 11
SUBTRACT: Final = 12
MULTIPLY: Final = 13


class Steps(NamedTuple):
    """The steps of all matches: the one before it (-1: none), its variable, its row, the row's place in the order."""

    befores: list[int]
    variables: list[int]
    rows: list[int]
    places: list[int]


class Conditions(NamedTuple):
    """The conditions of a chunk. starts: where the program of each variable begins.

    cells, known: a value of each row, place by place, and whether it is not NULL. rows: how many there are. values,
    there: two stacks, deep enough.
    """

    program: Longs
    starts: Longs
    cells: Longs
    known: Longs
    rows: int
    values: list[int]
    there: list[int]


def meets(variable: int, last: int, row: int, conditions: Conditions, steps: Steps, calls: Calls | None) -> int:
    """1 if a row meets the condition of a variable, else 0; NULL is false. last: the last step so far, -1: none."""
    program, values, there = conditions.program, conditions.values, conditions.there
    top = -1
    for at in range(conditions.starts[variable], conditions.starts[variable + 1], WIDTH):
        code = program[at]
        if code <= NULL:
            top += 1
            cell = -1
            if code == CURRENT:
                cell = program[at + 1] * conditions.rows + row
            elif code == VALUE:
                of = row_of(program[at + 1], variable, program[at + 3], program[at + 4], last, row, steps)
                if of >= 0:
                    cell = program[at + 2] * conditions.rows + of
                elif program[at + 5] >= 0:
                    cell = program[at + 5] * conditions.rows + row
            values[top] = conditions.cells[cell] if cell >= 0 else program[at + 1]
            there[top] = conditions.known[cell] if cell >= 0 else int(code == CONSTANT)
        elif code == NOT:
            values[top] = 1 - values[top]
        elif code == IS_NULL:
            values[top] = 1 - there[top]
            there[top] = 1
        elif code == CALL:
            if calls is not None:
                match_variables, match_rows = list(range(0)), list(range(0))
                step = last
                while step >= 0:
                    match_variables.append(steps.variables[step])
                    match_rows.append(steps.rows[step])
                    step = steps.befores[step]
                return int(calls[variable](match_variables, match_rows, row))
        else:
            top -= 1
            operand, other = values[top], values[top + 1]
            both = there[top] & there[top + 1]
            if code == COMPARE:
                values[top] = program[at + 1 if operand < other else at + 2 if operand == other else at + 3]
            elif code == AND:
                # False decides, even beside NULL.
                decides = (there[top] & (1 - operand)) | (there[top + 1] & (1 - other))
                values[top] = 1 - decides
                both |= decides
            elif code == OR:
                values[top] = (there[top] & operand) | (there[top + 1] & other)
                both |= values[top]
            elif code == SAME:
                values[top] = int(there[top] == there[top + 1] and (both == 0 or operand == other))
                both = 1
            elif code == ADD:
                values[top] = operand + other
            elif code == SUBTRACT:
                values[top] = operand - other
            else:
                values[top] = operand * other
            there[top] = both
    return values[0] & there[0] if top == 0 else 1


def row_of(variable: int, own: int, is_first: int, offset: int, last: int, row: int, steps: Steps) -> int:
    """The row that a value refers to, -1 if there is none. own: the variable to which `row` would be mapped."""
    is_own = variable < 0 or variable == own
    wanted = offset
    if is_first:
        count, step = int(is_own), last
        while step >= 0:
            if steps.variables[step] == variable or (variable < 0 and steps.variables[step] <= own):
                count += 1
            step = steps.befores[step]
        wanted = count - 1 - offset
        if wanted < 0:
            return -1
    if is_own:
        if wanted == 0:
            return row
        wanted -= 1
    step = last
    while step >= 0:
        if steps.variables[step] == variable or (variable < 0 and steps.variables[step] <= own):
            if wanted == 0:
                return steps.rows[step]
            wanted -= 1
        step = steps.befores[step]
    return -1
