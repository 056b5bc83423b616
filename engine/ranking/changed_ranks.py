"""The rule of ROW_NUMBER: which ranks change when a row is added to all rows of a partition, or removed from them.

    classes   1   2   3        the sort keys that are ever there, in order
    rows      b   ac  .        those that are there now, with the ranks 1, 2, 3
    numbers   1   2   1        those that are counted: the row of class 3 has expired

All rows of a chunk are known, so each has a class that never changes, and a rank is a sum over a tree. Of equal rows
the first one is removed. A retraction of an unknown row is ignored.

Where rows expire, there are two kinds of entries, as in Flink: the rows of each sort key, which each new one of them
refreshes, and the numbers of all sort keys, which every record does. So a sort key whose rows have gone still counts
among the ranks of the rows behind it, until the rows below a change are read; then it is left out. The retraction of a
row that has gone is counted all the same.
Source: Flink RetractableTopNFunction, AppendOnlyTopNFunction, which iterate over the order from the top; here only the
ranks that change are visited. Where the former asks for a row past the end of a list, which ends its job, no row moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.columnar.ages import ages_in_arrays, ages_of, begin, expire, hold, remove, settle, write
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.ranking.changes import (
    Changed,
    Classes,
    Range,
    count,
    emit,
    enter,
    follow,
    in_arrays,
    leave,
    number_up_to,
    place_of,
    put,
    replace,
)


class Ranked(NamedTuple):
    """A partition. tree, numbers: of its rows, by class; base: the classes of those before it.

    reached: how many rows there are up to the class of the row that `_behind` found last.
    """

    tree: list[int]
    numbers: list[int]
    base: int
    classes: Classes
    reached: list[int]


@rule
def changed_ranks(
    groups: Longs,
    kept: int,
    classes: Longs,
    sizes: Longs,
    same: Longs,
    adds: Longs,
    ends: Longs,
    kept_numbers: Longs,
    kept_dues: Longs,
    end_dues: Longs,
    own_ends: Longs,
    now: Longs,
    ttls_ms: Longs,
    start: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, ...]:
    """The changes, whether each row is there at the end, the numbers by class, and the ends of partitions.

    Rows are numbered: those of the state, then records. groups: of the rows. kept: the number of rows of the state.
    classes: of the rows, from 1; 0 for a retraction if nothing expires. sizes: of each group, the number of classes.
    same: a number from 0, equal for equal rows. adds: 0 for a retraction. ends: of each group, the last rank; -1 if its
    next record sets it, as own_ends has it. kept_numbers: of the rows of the state, how many its class has, if that is
    all that it tells. kept_dues, end_dues: when these and the ends expire. now: of the records. What only tells of
    expiry is empty if nothing expires. Entries are by class, then of each group its numbers and its end.
    """
    total, partitions = len(groups), len(ends)
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    is_there, following = [0] * total, [-1] * total
    firsts, lasts = [-1] * (total + 1), [-1] * (total + 1)
    room, expires = 1, len(ttls_ms) > 0
    for size in sizes:
        room += size
    rows_of = Classes([-1] * room, [-1] * room, [-1] * total, [-1] * total)
    numbers, last_ranks, reached = [0] * room, list(range(0)), [0]
    ages = ages_of(ttls_ms, room + 2 * partitions if expires else 0)
    base, next_kept, record = 0, 0, kept
    for group in range(partitions):
        end, size = ends[group], sizes[group]
        of_numbers, of_end = room + group, room + partitions + group
        tree = [0] * (size + 1)
        ranked = Ranked(tree, numbers, base, rows_of, reached)
        time = MIN_WATERMARK
        if expires:
            time = now[record - kept] if record < total and groups[record] == group else MAX_WATERMARK
            if end_dues[group] > 0:
                hold(ages, of_end, 0, end_dues[group], record, time)
        while next_kept < kept and groups[next_kept] == group:
            class_ = classes[next_kept]
            is_number = expires and kept_numbers[next_kept] > 0
            if expires:
                hold(ages, of_numbers if is_number else base + class_, 0, kept_dues[next_kept], record, time)
            if is_number:
                count(tree, class_, kept_numbers[next_kept])
                numbers[base + class_] = kept_numbers[next_kept]
            else:
                follow(firsts, lasts, following, same[next_kept], next_kept)
                is_there[next_kept] = 1
                enter(rows_of, next_kept, base + class_)
                if not expires:
                    count(tree, class_, 1)
                    numbers[base + class_] += 1
            next_kept += 1
        begin(ages)
        while record < total and groups[record] == group:
            if expires:
                time = now[record - kept]
            if expires and expire(ages, record, time) > 0:
                for class_ in range(base + 1, base + size + 1):
                    if ages.firsts[class_] < 0:
                        while rows_of.heads[class_] >= 0:
                            gone = rows_of.heads[class_]
                            is_there[gone] = 0
                            firsts[same[gone]] = -1
                            leave(rows_of, gone, class_)
                if ages.firsts[of_numbers] < 0:
                    for class_ in range(1, size + 1):
                        _leave_out(ranked, class_)
                if len(own_ends) > 0 and ages.firsts[of_end] < 0:
                    end = -1
            if end < 0:
                end = own_ends[record - kept]
                write(ages, of_end, 0, record, time)
            ranks, class_ = Range(start, end, update_before), classes[record]
            gone = -1 if adds[record] else firsts[same[record]]
            if adds[record]:
                follow(firsts, lasts, following, same[record], record)
                is_there[record] = 1
                enter(rows_of, record, base + class_)
                count(tree, class_, 1)
                numbers[base + class_] += 1
                rank = number_up_to(tree, class_)
                if rank <= end and is_numbered:
                    _move_down(out, record, rank, ranked, ranks)
                elif rank <= end:
                    _push_out(out, record, rank, ranked, end, expires)
                    put(out, record, INSERT, record, rank)
                write(ages, base + class_, 0, record, time)
            elif expires or gone >= 0:
                class_ = class_ if expires else classes[gone]
                is_counted = numbers[base + class_] > 0
                if is_counted and number_up_to(tree, class_ - 1) + 1 - is_numbered <= end:
                    if rows_of.heads[base + class_] < 0:
                        _leave_out(ranked, class_)
                        is_counted = False
                    elif gone >= 0 and is_numbered:
                        _move_up(out, record, gone, class_, ranked, ranks)
                    elif gone >= 0:
                        _take_out(out, record, gone, class_, ranked, end)
                if is_counted:
                    count(tree, class_, -1)
                    numbers[base + class_] -= 1
                if gone >= 0:
                    firsts[same[record]] = following[gone]
                    is_there[gone] = 0
                    leave(rows_of, gone, base + class_)
                if rows_of.heads[base + class_] >= 0:
                    write(ages, base + class_, 0, record, time)
                else:
                    remove(ages, base + class_, record)
            if tree[0] > 0:
                write(ages, of_numbers, 0, record, time)
            else:
                remove(ages, of_numbers, record)
            record += 1
        settle(ages)
        last_ranks.append(end)
        base += size
    return (
        in_arrays(out, is_there) + (np.array(numbers, np.int64), np.array(last_ranks, np.int64)) + ages_in_arrays(ages)
    )


def _leave_out(ranked: Ranked, class_: int) -> None:
    """The rows of a class are not counted any more."""
    count(ranked.tree, class_, -ranked.numbers[ranked.base + class_])
    ranked.numbers[ranked.base + class_] = 0


def _behind(ranked: Ranked, row: int) -> int:
    """The row behind a row; -1 for none. Classes whose rows have gone are left out."""
    if ranked.classes.behind[row] >= 0:
        return ranked.classes.behind[row]
    while ranked.reached[0] < ranked.tree[0]:
        class_ = place_of(ranked.tree, ranked.reached[0] + 1)
        head = ranked.classes.heads[ranked.base + class_]
        if head >= 0:
            ranked.reached[0] += ranked.numbers[ranked.base + class_]
            return head
        _leave_out(ranked, class_)
    return -1


def _nth(ranked: Ranked, class_: int, number: int) -> int:
    """The row of a class that so many others are before; -1 if it has fewer."""
    row = ranked.classes.heads[ranked.base + class_]
    while row >= 0 and number > 0:
        row = ranked.classes.behind[row]
        number -= 1
    return row


def _move_down(out: Changed, record: int, rank: int, ranked: Ranked, ranks: Range) -> None:
    """A row was added at a rank: it and those behind it have moved down by one."""
    current = record
    ranked.reached[0] = rank
    while rank <= ranks.end:
        behind = _behind(ranked, current)
        if behind < 0:
            emit(out, record, INSERT, current, rank, ranks)
            break
        replace(out, record, behind, current, rank, ranks)
        current = behind
        rank += 1


def _move_up(out: Changed, record: int, gone: int, class_: int, ranked: Ranked, ranks: Range) -> None:
    """A row is removed: those behind it move up by one."""
    rank = number_up_to(ranked.tree, class_ - 1) + 1
    row = ranked.classes.heads[ranked.base + class_]
    while row != gone and rank <= ranks.end:
        row = ranked.classes.behind[row]
        rank += 1
    ranked.reached[0] = number_up_to(ranked.tree, class_)
    while rank <= ranks.end:
        behind = _behind(ranked, gone)
        if behind < 0:
            emit(out, record, DELETE, gone, rank, ranks)
            break
        replace(out, record, gone, behind, rank, ranks)
        gone = behind
        rank += 1


def _push_out(out: Changed, record: int, rank: int, ranked: Ranked, end: int, expires: int) -> None:
    """A row was added within the range: emit the one that is past its end now."""
    reached = rank
    if not expires and ranked.tree[0] > end:
        reached = number_up_to(ranked.tree, place_of(ranked.tree, end + 1) - 1)
    while reached < min(end + 1, ranked.tree[0]):
        class_ = place_of(ranked.tree, reached + 1)
        number = ranked.numbers[ranked.base + class_]
        if ranked.classes.heads[ranked.base + class_] < 0:
            _leave_out(ranked, class_)
        else:
            row = _nth(ranked, class_, end - reached) if reached + number > end else -1
            if row >= 0:
                put(out, record, DELETE, row, end)
            reached += number


def _take_out(out: Changed, record: int, gone: int, class_: int, ranked: Ranked, end: int) -> None:
    """A row is removed: emit it if it is within the range, and the one that moves into it."""
    rank = number_up_to(ranked.tree, class_ - 1) + 1
    row = ranked.classes.heads[ranked.base + class_]
    while row != gone and rank <= end:
        row = ranked.classes.behind[row]
        rank += 1
    if rank > end:
        return
    put(out, record, DELETE, gone, rank)
    row = ranked.classes.behind[gone]
    while row >= 0 and rank < end:
        row = ranked.classes.behind[row]
        rank += 1
    wanted = number_up_to(ranked.tree, class_) + end - rank + 1
    while row < 0 and wanted <= ranked.tree[0]:
        class_ = place_of(ranked.tree, wanted)
        if ranked.classes.heads[ranked.base + class_] < 0:
            _leave_out(ranked, class_)
            continue
        row = _nth(ranked, class_, wanted - number_up_to(ranked.tree, class_ - 1) - 1)
        break
    if row >= 0:
        put(out, record, INSERT, row, end)
