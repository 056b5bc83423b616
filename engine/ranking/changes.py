"""What the rules of Top N share: their output, the order of equal rows, and numbers of rows as sums over a tree.

places    1   2   3   4   5
rows      b   .   a   .   c        those that are there
tree      1   1   1   2   1        the number of rows at a place and at those below it (Fenwick)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.contract.columnar_kernel import Longs


class Changed(NamedTuple):
    """Output records in order: the row number of the record that caused each, its kind, the emitted row, its rank."""

    causes: list[int]
    kinds: list[int]
    rows: list[int]
    ranks: list[int]


def put(out: Changed, cause: int, kind: int, row: int, rank: int) -> None:
    """Emit a row at a rank."""
    out.causes.append(cause)
    out.kinds.append(kind)
    out.rows.append(row)
    out.ranks.append(rank)


def in_arrays(out: Changed, left: list[int]) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The output, and what is told of the rows that are left."""
    return (
        np.array(out.causes, np.int64),
        np.array(out.kinds, np.int64),
        np.array(out.rows, np.int64),
        np.array(out.ranks, np.int64),
        np.array(left, np.int64),
    )


def follow(firsts: list[int], lasts: list[int], following: list[int], same: int, row: int) -> None:
    """A row comes after those that equal it. firsts, lasts: of equal rows, those that were there first and last."""
    if firsts[same] < 0:
        firsts[same] = row
    else:
        following[lasts[same]] = row
    lasts[same] = row


def count(tree: list[int], place: int, by: int) -> None:
    """Count rows at a place."""
    while place < len(tree):
        tree[place] += by
        place += place & -place


def number_up_to(tree: list[int], place: int) -> int:
    """The number of rows up to a place."""
    number = 0
    while place:
        number += tree[place]
        place &= place - 1
    return number


def place_of(tree: list[int], number: int) -> int:
    """The first place up to which there are so many rows."""
    step, place = 1, 0
    while 2 * step < len(tree):
        step *= 2
    while step:
        if place + step < len(tree) and tree[place + step] < number:
            place += step
            number -= tree[place]
        step //= 2
    return place + 1
