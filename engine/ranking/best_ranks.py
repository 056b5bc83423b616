"""The rule of AppendFast and UpdateFast: the best N rows of each partition, and no others.

UpdateFast: a row is replaced by the next one of its key, which is better. With rank numbers, a row that moves up
retracts its old rank first and emits it again last, and each rank between is replaced once; without, a row that stays
is -U/+U, one that falls out -D. Rows that share the sort key of the one past the end stay. Each row is an entry, which
its update refreshes, and that of a row before it among equal ones. Flink writes at a checkpoint; here at once.
AppendFast: no row is replaced. With a TTL the rows of one sort key are an entry, which each new one refreshes; with
ranks those stay that share the sort key of the last one, and move up when better ones expire.
On a tie the earlier arrival ranks first.
Source: Flink UpdatableTopNFunction, AppendOnlyTopNFunction, AppendOnlyFirstNFunction.
"""

from __future__ import annotations

import numpy as np

from engine.columnar.ages import GONE, Ages, ages_in_arrays, ages_of, expire, hold, remove, settle, write
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.timeline import MIN_WATERMARK
from engine.ranking.changes import Changed, Range, emit, in_arrays, replace


@rule
def best_ranks(
    groups: Longs,
    kept: int,
    keys: Longs,
    entries: Longs,
    counts: Longs,
    ends: Longs,
    kept_groups: Longs,
    kept_entries: Longs,
    kept_dues: Longs,
    own_ends: Longs,
    now: Longs,
    ttl_ms: int,
    room: int,
    start: int,
    by_key: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, ...]:
    """The changes, the rows that are kept, in order, the ends of partitions, and what is told of entries.

    Rows are numbered: those of the state, then records. groups: of the rows. kept: the number of rows of the state.
    keys: in the order of the ranking. entries: a number from 0 and below `room`, equal for rows of one key (by_key), or
    for those of one sort key of a partition. counts: 0 for a -U, whose +U tells all. ends: of each group, the last
    rank, of which own_ends has what each record would set it to, if it is one of its columns. kept_...: the
    entries of the state by group and time at which they expire. now: of the records. What only tells of expiry is empty
    if nothing expires (ttl_ms 0). Behind those of rows there is an entry for the end of each group.
    """
    total, expires = len(groups), ttl_ms > 0
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    left, last_ranks = list(range(0)), list(range(0))
    ages = ages_of(ttl_ms, room + len(ends) if expires else 0)
    row_of = [-1] * room
    next_kept, next_entry, record, time = 0, 0, kept, MIN_WATERMARK
    for group in range(len(ends)):
        ranks = Range(start, ends[group], update_before)
        best = list(range(0))
        while next_kept < kept and groups[next_kept] == group:
            best.append(next_kept)
            row_of[entries[next_kept]] = next_kept
            next_kept += 1
        while next_entry < len(kept_entries) and kept_groups[next_entry] == group:
            hold(ages, kept_entries[next_entry], kept_dues[next_entry], record)
            next_entry += 1
        while record < total and groups[record] == group:
            if not counts[record]:
                record += 1
                continue
            if expires:
                time = now[record - kept]
                if expire(ages, record, time) > 0:
                    _forget(best, entries, row_of, ages)
                if len(own_ends) > 0 and ages.dues[room + group] == GONE:
                    ranks = Range(start, own_ends[record - kept], update_before)
                    write(ages, room + group, record, time)
            key, entry = keys[record], entries[record]
            old = row_of[entry] if by_key else -1
            if old < 0:
                place = _place(best, keys, key, 1)
                if place == len(best) and place >= ranks.end:
                    record += 1
                    continue
                best.insert(place, record)
                row_of[entry] = record
                if expires:
                    write(ages, entry, record, time)
                if is_numbered:
                    _sink(out, record, best, max(place + 1, start), ranks)
                    # Rows that share the sort key of the first one past the end stay; of the last one, if rows expire.
                    reach = ranks.end if by_key else ranks.end - 1
                    while len(best) > ranks.end:
                        if (by_key or expires) and keys[best[len(best) - 1]] == keys[best[reach]]:
                            break
                        _drop(best, entries, row_of, ages, record)
                else:
                    if len(best) > ranks.end:
                        last = _drop(best, entries, row_of, ages, record)
                        if expires and ages.dues[entries[last]] != GONE:
                            write(ages, entries[last], record, time)
                        emit(out, record, DELETE, last, ranks.end, ranks)
                    emit(out, record, INSERT, record, start, ranks)
            else:
                before = _place(best, keys, keys[old], 0)
                while best[before] != old:
                    before += 1
                after = before
                if key == keys[old]:
                    best[before] = record
                else:
                    best.pop(before)
                    if expires:
                        place = before
                        while place < len(best) and keys[best[place]] == keys[old]:
                            write(ages, entries[best[place]], record, time)
                            place += 1
                    after = _place(best, keys, key, 1)
                    best.insert(after, record)
                row_of[entry] = record
                if expires:
                    write(ages, entry, record, time)
                if not is_numbered:
                    replace(out, record, old, record, start, ranks)
                elif after == before:
                    replace(out, record, old, record, after + 1, ranks)
                elif after < before:
                    _rise(out, best, old, before + 1, after + 1, ranks)
                else:
                    _fall(out, best, old, before + 1, after + 1, ranks)
            record += 1
        for row in best:
            row_of[entries[row]] = -1
            left.append(row)
        last_ranks.append(ranks.end)
        if expires:
            settle(ages, record)
    return in_arrays(out, left) + (np.array(last_ranks, np.int64),) + ages_in_arrays(ages)


def _forget(best: list[int], entries: Longs, row_of: list[int], ages: Ages) -> None:
    """Leave out the rows that have expired."""
    staying = 0
    for row in best:
        if ages.dues[entries[row]] != GONE:
            best[staying] = row
            staying += 1
        else:
            row_of[entries[row]] = -1
    while len(best) > staying:
        best.pop()


def _place(best: list[int], keys: Longs, key: int, behind: int) -> int:
    """The first place for a sort key, or the one behind all rows with an equal one."""
    low, high = 0, len(best)
    while low < high:
        middle = (low + high) // 2
        other = keys[best[middle]]
        if other < key or (behind and other == key):
            low = middle + 1
        else:
            high = middle
    return low


def _drop(best: list[int], entries: Longs, row_of: list[int], ages: Ages, record: int) -> int:
    """Remove the last row. Its entry goes with it, unless other rows share it."""
    last = best.pop()
    if not len(best) or entries[best[len(best) - 1]] != entries[last]:
        row_of[entries[last]] = -1
        if ages.ttl_ms > 0:
            remove(ages, entries[last], record)
    return last


def _sink(out: Changed, cause: int, best: list[int], rank: int, ranks: Range) -> None:
    """A row was inserted at or above a rank: those from there on have moved down by one."""
    while rank <= min(ranks.end, len(best) - 1):
        replace(out, cause, best[rank], best[rank - 1], rank, ranks)
        rank += 1
    if rank == len(best):
        emit(out, cause, INSERT, best[rank - 1], rank, ranks)


def _rise(out: Changed, best: list[int], old: int, before: int, after: int, ranks: Range) -> None:
    """The row is now at rank `after`; those between have moved down by one."""
    cause = best[after - 1]
    for rank in range(after, min(before - 1, ranks.end) + 1):
        if ranks.update_before:
            emit(out, cause, UPDATE_BEFORE, best[rank], rank, ranks)
            if rank == after:
                # Two rows of one key must never be in the result table at once.
                emit(out, cause, UPDATE_BEFORE, old, before, ranks)
        emit(out, cause, UPDATE_AFTER, best[rank - 1], rank, ranks)
    emit(out, cause, UPDATE_AFTER, best[before - 1], before, ranks)


def _fall(out: Changed, best: list[int], old: int, before: int, after: int, ranks: Range) -> None:
    """The row got worse nevertheless: its aggregate has lost its state. Those between move up by one."""
    cause = best[after - 1]
    if ranks.update_before:
        emit(out, cause, UPDATE_BEFORE, old, before, ranks)
    for rank in range(before, after):
        if ranks.update_before:
            emit(out, cause, UPDATE_BEFORE, best[rank - 1], rank + 1, ranks)
        emit(out, cause, UPDATE_AFTER, best[rank - 1], rank, ranks)
    emit(out, cause, UPDATE_AFTER, best[after - 1], after, ranks)
