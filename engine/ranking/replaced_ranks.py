"""The rule of UpdateFast: the best N rows of each partition, whose rows are only replaced by better ones.

With rank numbers, a row that moves up retracts its old rank first and emits it again last, and each rank between is
replaced once; without, a row that stays is -U/+U, one that falls out -D.
Source: Flink UpdatableTopNFunction.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.ranking.changes import Changed, in_arrays, put


class Ranks(NamedTuple):
    """The emitted ranks."""

    start: int
    end: int
    update_before: int


@rule
def replaced_ranks(
    groups: Longs,
    kept: int,
    keys: Longs,
    row_keys: Longs,
    counts: Longs,
    ends: Longs,
    start: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The changes, and the rows that are kept, in order. Rows are numbered: those of the state, then records.

    groups: of the rows, that of a row of the state or of a record. kept: the number of rows of the state. keys: in the
    order of the ranking. row_keys: a number from 0, equal for rows of one key. counts: 0 for a -U, whose +U contains
    all information. ends: of each group, the last rank.
    """
    total = len(groups)
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    left = list(range(0))
    row_of = [-1] * total
    next_kept, record = 0, kept
    for group in range(len(ends)):
        ranks = Ranks(start, ends[group], update_before)
        best = list(range(0))
        while next_kept < kept and groups[next_kept] == group:
            best.append(next_kept)
            row_of[row_keys[next_kept]] = next_kept
            next_kept += 1
        while record < total and groups[record] == group:
            old, key = row_of[row_keys[record]], keys[record]
            if counts[record] and old < 0:
                place = _place(best, keys, key, 1)
                if place < len(best) or place < ranks.end:
                    best.insert(place, record)
                    row_of[row_keys[record]] = record
                    if is_numbered:
                        _sink(out, record, best, max(place + 1, start), ranks)
                        # Rows that share the sort key of the first one past the end stay.
                        if len(best) > ranks.end:
                            for _ in range(len(best) - _place(best, keys, keys[best[ranks.end]], 1)):
                                row_of[row_keys[best.pop()]] = -1
                    else:
                        if len(best) > ranks.end:
                            last = best.pop()
                            row_of[row_keys[last]] = -1
                            _emit(out, record, DELETE, last, ranks.end, ranks)
                        _emit(out, record, INSERT, record, start, ranks)
            elif counts[record]:
                before = _place(best, keys, keys[old], 0)
                while best[before] != old:
                    before += 1
                after = before
                if key == keys[old]:
                    best[before] = record
                else:
                    best.pop(before)
                    after = _place(best, keys, key, 1)
                    best.insert(after, record)
                row_of[row_keys[record]] = record
                if not is_numbered:
                    _replace(out, record, old, record, start, ranks)
                elif after == before:
                    _replace(out, record, old, record, after + 1, ranks)
                elif after < before:
                    _rise(out, best, old, before + 1, after + 1, ranks)
                else:
                    _fall(out, best, old, before + 1, after + 1, ranks)
            record += 1
        for row in best:
            row_of[row_keys[row]] = -1
            left.append(row)
    return in_arrays(out, left)


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


def _emit(out: Changed, cause: int, kind: int, row: int, rank: int, ranks: Ranks) -> None:
    """Emit a row at a rank, if that is within the range."""
    if ranks.start <= rank <= ranks.end:
        put(out, cause, kind, row, rank)


def _replace(out: Changed, cause: int, old: int, new: int, rank: int, ranks: Ranks) -> None:
    """Emit the replacement of a rank's row."""
    if ranks.update_before:
        _emit(out, cause, UPDATE_BEFORE, old, rank, ranks)
    _emit(out, cause, UPDATE_AFTER, new, rank, ranks)


def _sink(out: Changed, cause: int, best: list[int], rank: int, ranks: Ranks) -> None:
    """A row was inserted at or above a rank: those from there on have moved down by one."""
    while rank <= min(ranks.end, len(best) - 1):
        _replace(out, cause, best[rank], best[rank - 1], rank, ranks)
        rank += 1
    if rank == len(best):
        _emit(out, cause, INSERT, best[rank - 1], rank, ranks)


def _rise(out: Changed, best: list[int], old: int, before: int, after: int, ranks: Ranks) -> None:
    """The row is now at rank `after`; those between have moved down by one."""
    cause = best[after - 1]
    for rank in range(after, min(before - 1, ranks.end) + 1):
        if ranks.update_before:
            _emit(out, cause, UPDATE_BEFORE, best[rank], rank, ranks)
            if rank == after:
                # Two rows of one key must never be in the result table at once.
                _emit(out, cause, UPDATE_BEFORE, old, before, ranks)
        _emit(out, cause, UPDATE_AFTER, best[rank - 1], rank, ranks)
    _emit(out, cause, UPDATE_AFTER, best[before - 1], before, ranks)


def _fall(out: Changed, best: list[int], old: int, before: int, after: int, ranks: Ranks) -> None:
    """The row got worse nevertheless: its aggregate has lost its state. Those between move up by one."""
    cause = best[after - 1]
    if ranks.update_before:
        _emit(out, cause, UPDATE_BEFORE, old, before, ranks)
    for rank in range(before, after):
        if ranks.update_before:
            _emit(out, cause, UPDATE_BEFORE, best[rank - 1], rank + 1, ranks)
        _emit(out, cause, UPDATE_AFTER, best[rank - 1], rank, ranks)
    _emit(out, cause, UPDATE_AFTER, best[after - 1], after, ranks)
