"""The rule of Retract with a TTL: which ranks change when a row is added to all rows of a partition, or removed.

    classes   1   2   3        the sort keys that are ever there, in order
    rows      b   ac  .        those that are there now, with the ranks 1, 2, 3
    numbers   1   2   1        those that are counted: the row of class 3 has expired

There are two kinds of entries, as in Flink: the rows of each sort key, which each new one of them refreshes, and the
numbers of all sort keys, which every record does. So a sort key whose rows have gone still counts among the ranks of
the rows behind it, until the rows below a change are read; then it is left out. The retraction of a row that has gone
is counted all the same. Of equal rows the first one is removed.
Source: Flink RetractableTopNFunction. Where it asks for a row past the end of a list, which ends its job, no row moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.columnar.ages import GONE, ages_of, expire, hold, remove, settle, told_in_arrays, write
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT
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
def aging_ranks(
    groups: Longs,
    kept: int,
    classes: Longs,
    sizes: Longs,
    same: Longs,
    adds: Longs,
    ends: Longs,
    kept_groups: Longs,
    kept_entries: Longs,
    kept_dues: Longs,
    own_ends: Longs,
    now: Longs,
    ttl_ms: int,
    kept_numbers: Longs,
    is_kept: Longs,
    start: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, ...]:
    """The changes, whether each row is there at the end, the ends of partitions, the numbers by class, and the entries.

    Rows are numbered: those of the state, then records. groups: of the rows. kept: the number of rows of the state.
    classes: of the rows, from 1. sizes: of each group, the number of classes. same: a number from 0, equal for equal
    rows. adds: 0 for a retraction. ends, kept_groups, ..., ttl_ms: as in `engine.ranking.best_ranks`. kept_numbers,
    is_kept: of the rows of the state, the number of its class, and whether the row itself is there. Entries are those
    of the classes of all groups, then the end of each group, then its numbers.
    """
    total, partitions, room = len(groups), len(ends), 0
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    is_there, following = [0] * total, [-1] * total
    firsts, lasts = [-1] * total, [-1] * total
    for size in sizes:
        room += size
    rows_of = Classes([-1] * room, [-1] * room, [-1] * total, [-1] * total)
    numbers, last_ranks, reached = [0] * room, list(range(0)), [0]
    ages = ages_of(ttl_ms, room + 2 * partitions)
    base, next_kept, next_entry, record = -1, 0, 0, kept
    for group in range(partitions):
        end, of_end, of_numbers = ends[group], room + group, room + partitions + group
        tree = [0] * (sizes[group] + 1)
        ranked = Ranked(tree, numbers, base, rows_of, reached)
        while next_kept < kept and groups[next_kept] == group:
            class_ = classes[next_kept]
            if numbers[base + class_] == 0 and kept_numbers[next_kept] > 0:
                numbers[base + class_] = kept_numbers[next_kept]
                count(tree, class_, kept_numbers[next_kept])
            if is_kept[next_kept]:
                follow(firsts, lasts, following, same[next_kept], next_kept)
                is_there[next_kept] = 1
                enter(rows_of, next_kept, base + class_)
            next_kept += 1
        while next_entry < len(kept_entries) and kept_groups[next_entry] == group:
            hold(ages, kept_entries[next_entry], kept_dues[next_entry], record)
            next_entry += 1
        while record < total and groups[record] == group:
            time, class_ = now[record - kept], classes[record]
            for expired in range(expire(ages, record, time)):
                entry = ages.told.entries[len(ages.told.entries) - 1 - expired]
                if entry == of_numbers:
                    for other in range(1, len(tree)):
                        _leave_out(ranked, other)
                elif entry < room:
                    while rows_of.heads[entry] >= 0:
                        gone = rows_of.heads[entry]
                        is_there[gone] = 0
                        firsts[same[gone]] = -1
                        leave(rows_of, gone, entry)
            if len(own_ends) > 0 and ages.dues[of_end] == GONE:
                end = own_ends[record - kept]
                write(ages, of_end, record, time)
            ranks = Range(start, end, update_before)
            if adds[record]:
                follow(firsts, lasts, following, same[record], record)
                is_there[record] = 1
                enter(rows_of, record, base + class_)
                count(tree, class_, 1)
                numbers[base + class_] += 1
                rank = number_up_to(tree, class_)
                if rank <= end and is_numbered:
                    reached[0] = rank
                    _move(out, record, record, rank, 0, ranked, ranks)
                elif rank <= end:
                    _push_out(out, record, rank, ranked, end)
                    put(out, record, INSERT, record, rank)
            else:
                gone, is_counted = firsts[same[record]], numbers[base + class_] > 0
                if is_counted and number_up_to(tree, class_ - 1) + 1 - is_numbered <= end:
                    if rows_of.heads[base + class_] < 0:
                        _leave_out(ranked, class_)
                        is_counted = False
                    elif gone >= 0 and is_numbered:
                        reached[0] = number_up_to(tree, class_)
                        _move(out, record, gone, _rank_of(ranked, gone, class_, end), 1, ranked, ranks)
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
                write(ages, base + class_, record, time)
            else:
                remove(ages, base + class_, record)
            if tree[0] > 0:
                write(ages, of_numbers, record, time)
            else:
                remove(ages, of_numbers, record)
            record += 1
        settle(ages, record)
        last_ranks.append(end)
        base += sizes[group]
    left = np.array(last_ranks, np.int64), np.array(numbers, np.int64)
    return in_arrays(out, is_there) + left + told_in_arrays(ages.told)


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


def _rank_of(ranked: Ranked, row: int, class_: int, end: int) -> int:
    """The rank of a row of a class, or one past the end."""
    rank = number_up_to(ranked.tree, class_ - 1) + 1
    other = ranked.classes.heads[ranked.base + class_]
    while other != row and rank <= end:
        other = ranked.classes.behind[other]
        rank += 1
    return rank


def _move(out: Changed, record: int, row: int, rank: int, up: int, ranked: Ranked, ranks: Range) -> None:
    """From a rank on, rows move down by one since a row was added there, or up since it is removed."""
    while rank <= ranks.end:
        behind = _behind(ranked, row)
        if behind < 0:
            emit(out, record, DELETE if up else INSERT, row, rank, ranks)
            break
        replace(out, record, row if up else behind, behind if up else row, rank, ranks)
        row = behind
        rank += 1


def _push_out(out: Changed, record: int, rank: int, ranked: Ranked, end: int) -> None:
    """A row was added within the range: emit the one that is past its end now."""
    reached = rank
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
    rank = _rank_of(ranked, gone, class_, end)
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
