"""The rows of one side of a join while records pair with them: a part of the rule in `engine.joins.pairs`."""

from __future__ import annotations

from typing import Final

# So many new rows are inserted one by one; more are sorted with the others.
_FEW: Final = 8


def settle(rows: list[int], sorted_to: list[int], counts: list[int], gone: list[int], side: int) -> None:
    """Sort the rows of a side that have come since it was sorted, and leave out those that are gone."""
    if gone[side]:
        staying, first = 0, sorted_to[side]
        for at, row in enumerate(rows):
            if at == first:
                sorted_to[side] = staying
            if counts[row]:
                rows[staying] = row
                staying += 1
        sorted_to[side] = min(sorted_to[side], staying)
        while len(rows) > staying:
            rows.pop()
        gone[side] = 0
    if len(rows) - sorted_to[side] > _FEW:
        rows.sort()
    else:
        for at in range(max(1, sorted_to[side]), len(rows)):
            row, place = rows[at], at
            while place and rows[place - 1] > row:
                rows[place] = rows[place - 1]
                place -= 1
            rows[place] = row
    sorted_to[side] = len(rows)


def number_of(rows: list[int], counts: list[int]) -> int:
    """How many rows there are, with their copies."""
    number = 0
    for row in rows:
        number += counts[row]
    return number
