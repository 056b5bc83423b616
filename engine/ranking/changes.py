"""What the rules of Top N share: their output, the order of equal rows, and numbers of rows as sums over a tree.

classes   1   2   3   4   5        the sort keys that are ever there, in order
rows      b   .   a   .   cd       those that are there now
tree      1   1   1   2   2        the number of rows of a class and of those below it (Fenwick); at 0, of all
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.contract.columnar_kernel import Longs
from engine.model.changelog import UPDATE_AFTER, UPDATE_BEFORE


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


class Range(NamedTuple):
    """The emitted ranks."""

    start: int
    end: int
    update_before: int


def emit(out: Changed, cause: int, kind: int, row: int, rank: int, ranks: Range) -> None:
    """Emit a row at a rank, if that is within the range."""
    if ranks.start <= rank <= ranks.end:
        put(out, cause, kind, row, rank)


def replace(out: Changed, cause: int, old: int, new: int, rank: int, ranks: Range) -> None:
    """Emit the replacement of a rank's row."""
    if ranks.update_before:
        emit(out, cause, UPDATE_BEFORE, old, rank, ranks)
    emit(out, cause, UPDATE_AFTER, new, rank, ranks)


def in_arrays(out: Changed, left: list[int]) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The output, and what is told of the rows that are left."""
    return (
        np.array(out.causes, np.int64),
        np.array(out.kinds, np.int64),
        np.array(out.rows, np.int64),
        np.array(out.ranks, np.int64),
        np.array(left, np.int64),
    )


class Classes(NamedTuple):
    """The rows of the classes of equal sort keys, which are numbered over all partitions.

    heads, tails: the first and the last row of a class. before, behind: the neighbours of each row in its class, in
    order of arrival; -1 for none.
    """

    heads: list[int]
    tails: list[int]
    before: list[int]
    behind: list[int]


def enter(classes: Classes, row: int, class_: int) -> None:
    """Add a row behind those of its class."""
    last = classes.tails[class_]
    classes.tails[class_] = row
    if last < 0:
        classes.heads[class_] = row
    else:
        classes.behind[last] = row
        classes.before[row] = last


def leave(classes: Classes, row: int, class_: int) -> None:
    """Remove a row from its class."""
    before, behind = classes.before[row], classes.behind[row]
    if before < 0:
        classes.heads[class_] = behind
    else:
        classes.behind[before] = behind
    if behind < 0:
        classes.tails[class_] = before
    else:
        classes.before[behind] = before


def follow(firsts: list[int], lasts: list[int], following: list[int], same: int, row: int) -> None:
    """A row comes after those that equal it. firsts, lasts: of equal rows, those that were there first and last."""
    if firsts[same] < 0:
        firsts[same] = row
    else:
        following[lasts[same]] = row
    lasts[same] = row


def count(tree: list[int], place: int, by: int) -> None:
    """Count rows at a place."""
    tree[0] += by
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
