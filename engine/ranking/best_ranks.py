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

from typing import Final

import numpy as np

from engine.columnar.ages import GONE, Ages, ages_of, expire, hold, remove, settle, told_in_arrays, write
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.timeline import MIN_WATERMARK
from engine.ranking.changes import Changed, Range, emit, in_arrays, replace
from engine.ranking.row_blocks import RowBlocks, add_last, enter_at, next_place, place_for, place_of, take_at

_BLOCK: Final = 512


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
        # With rank numbers all rows are one block: those that an insertion moves are emitted anyway.
        best = RowBlocks([list(range(0))], keys, total if is_numbered else _BLOCK)
        number = 0
        while next_kept < kept and groups[next_kept] == group:
            add_last(best, next_kept)
            number += 1
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
                    number -= _forget(best, entries, row_of, ages)
                if len(own_ends) > 0 and ages.dues[room + group] == GONE:
                    ranks = Range(start, own_ends[record - kept], update_before)
                    write(ages, room + group, record, time)
            key, entry = keys[record], entries[record]
            old = row_of[entry] if by_key else -1
            if old < 0:
                if number >= ranks.end and (number == 0 or keys[best.blocks[-1][-1]] <= key):
                    record += 1
                    continue
                at, place = place_for(best, key, 1)
                enter_at(best, at, place, record)
                number += 1
                row_of[entry] = record
                if expires:
                    write(ages, entry, record, time)
                if is_numbered:
                    rows = best.blocks[0]
                    _sink(out, record, rows, max(place + 1, start), ranks)
                    # Rows that share the sort key of the first one past the end stay; of the last one, if rows expire.
                    reach = ranks.end if by_key else ranks.end - 1
                    while number > ranks.end:
                        if (by_key or expires) and keys[rows[-1]] == keys[rows[reach]]:
                            break
                        _drop(best, entries, row_of, ages, record)
                        number -= 1
                else:
                    if number > ranks.end:
                        last = _drop(best, entries, row_of, ages, record)
                        number -= 1
                        if expires and ages.dues[entries[last]] != GONE:
                            write(ages, entries[last], record, time)
                        emit(out, record, DELETE, last, ranks.end, ranks)
                    emit(out, record, INSERT, record, start, ranks)
            else:
                at, before = place_of(best, old)
                after = before
                if key == keys[old]:
                    best.blocks[at][before] = record
                else:
                    if expires:
                        _refresh(best, at, before, entries, ages, record, time)
                    take_at(best, at, before)
                    at, after = place_for(best, key, 1)
                    enter_at(best, at, after, record)
                row_of[entry] = record
                if expires:
                    write(ages, entry, record, time)
                if not is_numbered:
                    replace(out, record, old, record, start, ranks)
                elif after == before:
                    replace(out, record, old, record, after + 1, ranks)
                elif after < before:
                    _rise(out, best.blocks[0], old, before + 1, after + 1, ranks)
                else:
                    _fall(out, best.blocks[0], old, before + 1, after + 1, ranks)
            record += 1
        for block in best.blocks:
            for row in block:
                row_of[entries[row]] = -1
                left.append(row)
        last_ranks.append(ranks.end)
        if expires:
            settle(ages, record)
    return in_arrays(out, left) + (np.array(last_ranks, np.int64),) + told_in_arrays(ages.told)


def _forget(best: RowBlocks, entries: Longs, row_of: list[int], ages: Ages) -> int:
    """Leave out the rows that have expired. Returns their number."""
    number = 0
    for at in range(len(best.blocks) - 1, -1, -1):
        for place in range(len(best.blocks[at]) - 1, -1, -1):
            entry = entries[best.blocks[at][place]]
            if ages.dues[entry] == GONE:
                row_of[entry] = -1
                take_at(best, at, place)
                number += 1
    return number


def _refresh(best: RowBlocks, at: int, place: int, entries: Longs, ages: Ages, record: int, time: int) -> None:
    """A record writes the rows behind a place that share its sort key."""
    key = best.keys[best.blocks[at][place]]
    at, place = next_place(best, at, place)
    while place < len(best.blocks[at]) and best.keys[best.blocks[at][place]] == key:
        write(ages, entries[best.blocks[at][place]], record, time)
        at, place = next_place(best, at, place)


def _drop(best: RowBlocks, entries: Longs, row_of: list[int], ages: Ages, record: int) -> int:
    """Remove the last row. Its entry goes with it, unless other rows share it."""
    last = take_at(best, len(best.blocks) - 1, len(best.blocks[-1]) - 1)
    if not len(best.blocks[-1]) or entries[best.blocks[-1][-1]] != entries[last]:
        row_of[entries[last]] = -1
        if ages.ttl_ms > 0:
            remove(ages, entries[last], record)
    return last


def _sink(out: Changed, cause: int, rows: list[int], rank: int, ranks: Range) -> None:
    """A row was inserted at or above a rank: those from there on have moved down by one."""
    while rank <= min(ranks.end, len(rows) - 1):
        replace(out, cause, rows[rank], rows[rank - 1], rank, ranks)
        rank += 1
    if rank == len(rows):
        emit(out, cause, INSERT, rows[rank - 1], rank, ranks)


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
