"""The rule of RANK and DENSE_RANK: the ranks that change when a row is added to a partition, or removed.

    classes   1   2   3        the sort keys that are ever there, in order
    rows      ab  .   c        those that are there now: a and b share rank 1
    RANK      1       3        1 + the rows of the classes before
    DENSE     1       2        1 + the classes before that have rows

First the rows that leave the range (-D), then those whose rank changes (-U/+U), then those that enter (+I). Of equal
rows the first one is removed. A retraction of an unknown row is ignored.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.ranking.changes import Changed, Classes, count, enter, follow, in_arrays, leave, number_up_to, place_of, put


class Tied(NamedTuple):
    """A partition. tree: by class, by how much it moves the ranks behind it. classes: the rows of each, from 1."""

    tree: list[int]
    classes: Classes


class Range(NamedTuple):
    """The emitted ranks. is_numbered: whether a row that moves within them is emitted."""

    start: int
    end: int
    is_numbered: int
    update_before: int


@rule
def tied_ranks(
    groups: Longs,
    kept: int,
    classes: Longs,
    sizes: Longs,
    same: Longs,
    adds: Longs,
    ends: Longs,
    start: int,
    is_dense: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The changes, and of each row whether it is there at the end. Rows are numbered: those of the state, then records.

    groups: of the rows, that of a row of the state or of a record. kept: the number of rows of the state. classes: of
    the rows, from 1. sizes: of each group, the number of classes. same: a number from 0, equal for equal rows. adds:
    0 for a retraction. ends: of each group, the last rank.
    """
    total = len(groups)
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    is_there, following = [0] * total, [-1] * total
    firsts, lasts = [-1] * total, [-1] * total
    before, behind = [-1] * total, [-1] * total
    next_kept, record = 0, kept
    for group in range(len(ends)):
        size = sizes[group] + 1
        tied = Tied([0] * size, Classes([-1] * size, [-1] * size, before, behind))
        ranks = Range(start, ends[group], is_numbered, update_before)
        while next_kept < kept and groups[next_kept] == group:
            follow(firsts, lasts, following, same[next_kept], next_kept)
            is_there[next_kept] = 1
            _enter(tied, next_kept, classes[next_kept], is_dense)
            next_kept += 1
        while record < total and groups[record] == group:
            if adds[record]:
                class_ = classes[record]
                follow(firsts, lasts, following, same[record], record)
                is_there[record] = 1
                by = _enter(tied, record, class_, is_dense)
                rank = number_up_to(tied.tree, class_ - 1) + 1
                if by and rank <= ranks.end:
                    _shift(out, record, tied, class_, 1, ranks)
                if ranks.start <= rank <= ranks.end:
                    put(out, record, INSERT, record, rank)
            elif firsts[same[record]] >= 0:
                gone = firsts[same[record]]
                firsts[same[record]] = following[gone]
                class_ = classes[gone]
                is_there[gone] = 0
                by = _leave(tied, gone, class_, is_dense)
                rank = number_up_to(tied.tree, class_ - 1) + 1
                if ranks.start <= rank <= ranks.end:
                    put(out, record, DELETE, gone, rank)
                if by and rank <= ranks.end:
                    _shift(out, record, tied, class_, -1, ranks)
            record += 1
    return in_arrays(out, is_there)


def _enter(tied: Tied, row: int, class_: int, is_dense: int) -> int:
    """Add a row behind those of its class. Returns by how much the ranks of all later classes change."""
    by = int(not is_dense or tied.classes.heads[class_] < 0)
    enter(tied.classes, row, class_)
    count(tied.tree, class_, by)
    return by


def _leave(tied: Tied, row: int, class_: int, is_dense: int) -> int:
    """Remove a row from its class. Returns by how much the ranks of all later classes change."""
    leave(tied.classes, row, class_)
    by = int(not is_dense or tied.classes.heads[class_] < 0)
    count(tied.tree, class_, -by)
    return by


def _shift(out: Changed, record: int, tied: Tied, class_: int, by: int, ranks: Range) -> None:
    """Emit the rank changes of all rows behind a class, by 1 or -1."""
    start, end = ranks.start, ranks.end
    if by > 0:
        _put_all(out, record, tied, DELETE, end + 1, class_, end)
    else:
        _put_all(out, record, tied, DELETE, start - 1, class_, start)
    if ranks.is_numbered:
        last = tied.tree[0]
        rank = number_up_to(tied.tree, class_) + 1
        while rank <= min(end, last):
            at = place_of(tied.tree, rank)
            if rank >= start and start <= rank - by <= end:
                row = tied.classes.heads[at]
                while row >= 0:
                    if ranks.update_before:
                        put(out, record, UPDATE_BEFORE, row, rank - by)
                    put(out, record, UPDATE_AFTER, row, rank)
                    row = tied.classes.behind[row]
            rank = number_up_to(tied.tree, at) + 1
    if by < 0:
        _put_all(out, record, tied, INSERT, end, class_, end)
    else:
        _put_all(out, record, tied, INSERT, start, class_, start)


def _put_all(out: Changed, record: int, tied: Tied, kind: int, rank: int, class_: int, shown: int) -> None:
    """Emit the rows with exactly this rank, if they come behind a class. shown: the rank that they are given."""
    if rank <= number_up_to(tied.tree, class_) or rank > tied.tree[0]:
        return
    at = place_of(tied.tree, rank)
    if number_up_to(tied.tree, at - 1) + 1 == rank:
        row = tied.classes.heads[at]
        while row >= 0:
            put(out, record, kind, row, shown)
            row = tied.classes.behind[row]
