"""The rule of UpdateFast, and of AppendFast with a TTL: the best N rows of each partition, and no others.

UpdateFast: a row is replaced by the next one of its key, which is better. With rank numbers, a row that moves up
retracts its old rank first and emits it again last, and each rank between is replaced once; without, a row that stays
is -U/+U, one that falls out -D. Rows that share the sort key of the one past the end stay. Each row is an entry, which
its update refreshes, and that of a row before it among equal ones. Flink writes at a checkpoint; here at once.
AppendFast: no row is replaced. The rows of one sort key are an entry, which each new one refreshes; with ranks those
stay that share the sort key of the last one, and move up when better ones expire.
On a tie the earlier arrival ranks first.
Source: Flink UpdatableTopNFunction, AppendOnlyTopNFunction, AppendOnlyFirstNFunction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.columnar.ages import Ages, ages_in_arrays, ages_of, begin, expire, hold, remove, settle, write
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK
from engine.ranking.changes import Changed, Range, emit, in_arrays, replace


class Best(NamedTuple):
    """A partition. rows: the best ones in order. of_key: by entry, the row of a key; -1 for none."""

    rows: list[int]
    keys: Longs
    entries: Longs
    of_key: list[int]
    ages: Ages


@rule
def best_ranks(
    groups: Longs,
    kept: int,
    keys: Longs,
    entries: Longs,
    counts: Longs,
    ends: Longs,
    kept_dues: Longs,
    end_dues: Longs,
    own_ends: Longs,
    now: Longs,
    ttls_ms: Longs,
    room: int,
    start: int,
    by_key: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, ...]:
    """The changes, the rows that are kept, in order, and the ends of partitions.

    Rows are numbered: those of the state, then records. groups: of the rows. kept: the number of rows of the state.
    keys: in the order of the ranking. entries: a number from 0 and below `room`, equal for rows of one key (by_key), or
    of one sort key of a partition. counts: 0 for a -U, whose +U contains all information. ends: of each group, the last
    rank; -1 if its next record sets it, as own_ends has it. kept_dues, end_dues: when rows of the state and ends
    expire. now: of the records. What only tells of expiry is empty if nothing expires. Entries are these, and two of
    each group, the second one its end.
    """
    total, expires = len(groups), len(ttls_ms) > 0
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    left, last_ranks = list(range(0)), list(range(0))
    ages = ages_of(ttls_ms, room + 2 * len(ends) if expires else 0)
    best = Best(list(range(0)), keys, entries, [-1] * room, ages)
    next_kept, record = 0, kept
    for group in range(len(ends)):
        end, of_end = ends[group], room + len(ends) + group
        time = MIN_WATERMARK
        if expires:
            time = now[record - kept] if record < total and groups[record] == group else MAX_WATERMARK
            if end_dues[group] > 0:
                hold(ages, of_end, 0, end_dues[group], record, time)
        while next_kept < kept and groups[next_kept] == group:
            best.rows.append(next_kept)
            best.of_key[entries[next_kept]] = next_kept
            if expires:
                hold(ages, entries[next_kept], 0, kept_dues[next_kept], record, time)
            next_kept += 1
        begin(ages)
        while record < total and groups[record] == group:
            if not counts[record]:
                record += 1
                continue
            if expires:
                time = now[record - kept]
                if expire(ages, record, time) > 0:
                    _forget(best)
                    if len(own_ends) > 0 and ages.firsts[of_end] < 0:
                        end = -1
            if end < 0:
                end = own_ends[record - kept]
                write(ages, of_end, 0, record, time)
            ranks = Range(start, end, update_before)
            old = best.of_key[entries[record]] if by_key else -1
            if old >= 0:
                _move(out, best, record, old, time, is_numbered, ranks)
            else:
                _insert(out, best, record, time, by_key, is_numbered, ranks)
            record += 1
        for row in best.rows:
            best.of_key[entries[row]] = -1
            left.append(row)
        best.rows.clear()
        settle(ages)
        last_ranks.append(end)
    return in_arrays(out, left) + (np.array(last_ranks, np.int64),) + ages_in_arrays(ages)


def _forget(best: Best) -> None:
    """Leave out the rows that have expired."""
    staying = 0
    for row in best.rows:
        if best.ages.firsts[best.entries[row]] >= 0:
            best.rows[staying] = row
            staying += 1
        else:
            best.of_key[best.entries[row]] = -1
    while len(best.rows) > staying:
        best.rows.pop()


def _place(best: Best, key: int, behind: int) -> int:
    """The first place for a sort key, or the one behind all rows with an equal one."""
    low, high = 0, len(best.rows)
    while low < high:
        middle = (low + high) // 2
        other = best.keys[best.rows[middle]]
        if other < key or (behind and other == key):
            low = middle + 1
        else:
            high = middle
    return low


def _insert(out: Changed, best: Best, record: int, time: int, by_key: int, is_numbered: int, ranks: Range) -> None:
    """Insert a new row behind those with an equal sort key, unless its rank is past the end."""
    rows, place = best.rows, _place(best, best.keys[record], 1)
    if place == len(rows) and place >= ranks.end:
        return
    rows.insert(place, record)
    best.of_key[best.entries[record]] = record
    write(best.ages, best.entries[record], 0, record, time)
    if not is_numbered:
        if len(rows) > ranks.end:
            last = _drop(best, record, by_key)
            if not by_key and best.ages.firsts[best.entries[last]] >= 0:
                write(best.ages, best.entries[last], 0, record, time)
            emit(out, record, DELETE, last, ranks.end, ranks)
        emit(out, record, INSERT, record, ranks.start, ranks)
        return
    rank = max(place + 1, ranks.start)
    while rank <= min(ranks.end, len(rows) - 1):
        replace(out, record, rows[rank], rows[rank - 1], rank, ranks)
        rank += 1
    if rank == len(rows):
        emit(out, record, INSERT, rows[rank - 1], rank, ranks)
    reach = ranks.end if by_key else ranks.end - 1
    while len(rows) > ranks.end and best.keys[rows[len(rows) - 1]] != best.keys[rows[reach]]:
        _drop(best, record, by_key)


def _drop(best: Best, record: int, by_key: int) -> int:
    """Remove the last row. Its entry goes with it, unless other rows share it."""
    last = best.rows.pop()
    entry = best.entries[last]
    if by_key or not len(best.rows) or best.entries[best.rows[len(best.rows) - 1]] != entry:
        best.of_key[entry] = -1
        remove(best.ages, entry, record)
    return last


def _move(out: Changed, best: Best, record: int, old: int, time: int, is_numbered: int, ranks: Range) -> None:
    """A row takes the place of the one of its key, or another one."""
    rows, key = best.rows, best.keys[record]
    before = _place(best, best.keys[old], 0)
    while rows[before] != old:
        before += 1
    after = before
    if key == best.keys[old]:
        rows[before] = record
    else:
        rows.pop(before)
        place = before
        while place < len(rows) and best.keys[rows[place]] == best.keys[old]:
            write(best.ages, best.entries[rows[place]], 0, record, time)
            place += 1
        after = _place(best, key, 1)
        rows.insert(after, record)
    best.of_key[best.entries[record]] = record
    write(best.ages, best.entries[record], 0, record, time)
    if not is_numbered:
        replace(out, record, old, record, ranks.start, ranks)
    elif after == before:
        replace(out, record, old, record, after + 1, ranks)
    elif after < before:
        _rise(out, rows, old, before + 1, after + 1, ranks)
    else:
        _fall(out, rows, old, before + 1, after + 1, ranks)


def _rise(out: Changed, rows: list[int], old: int, before: int, after: int, ranks: Range) -> None:
    """The row is now at rank `after`; those between have moved down by one."""
    cause = rows[after - 1]
    for rank in range(after, min(before - 1, ranks.end) + 1):
        if ranks.update_before:
            emit(out, cause, UPDATE_BEFORE, rows[rank], rank, ranks)
            if rank == after:
                # Two rows of one key must never be in the result table at once.
                emit(out, cause, UPDATE_BEFORE, old, before, ranks)
        emit(out, cause, UPDATE_AFTER, rows[rank - 1], rank, ranks)
    emit(out, cause, UPDATE_AFTER, rows[before - 1], before, ranks)


def _fall(out: Changed, rows: list[int], old: int, before: int, after: int, ranks: Range) -> None:
    """The row got worse nevertheless: its aggregate has lost its state. Those between move up by one."""
    cause = rows[after - 1]
    if ranks.update_before:
        emit(out, cause, UPDATE_BEFORE, old, before, ranks)
    for rank in range(before, after):
        if ranks.update_before:
            emit(out, cause, UPDATE_BEFORE, rows[rank - 1], rank + 1, ranks)
        emit(out, cause, UPDATE_AFTER, rows[rank - 1], rank, ranks)
    emit(out, cause, UPDATE_AFTER, rows[after - 1], after, ranks)
