"""The rule of ROW_NUMBER: which ranks change when a row is added to all rows of a partition, or removed from them.

    places    1   2   3   4   5        of all rows that are ever there, in order of the sort key, then of arrival
    rows      b   .   a   .   c        those that are there now, with the ranks 1, 2, 3
    tree      1   1   1   2   1        the number of rows at a place and at those below it (Fenwick)

All rows of a chunk are known, so each has a place that never changes, and a rank is a sum over the tree. Of equal rows
the first one is removed. A retraction of an unknown row is ignored.
Source: Flink RetractableTopNFunction, AppendOnlyTopNFunction, which iterate over the order from the top; here only the
ranks that change are visited.
"""

from __future__ import annotations

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.ranking.changes import Changed, count, follow, in_arrays, number_up_to, place_of, put


@rule
def changed_ranks(
    groups: Longs,
    kept: int,
    places: Longs,
    in_order: Longs,
    sizes: Longs,
    same: Longs,
    ends: Longs,
    start: int,
    is_numbered: int,
    update_before: int,
) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The changes, and of each row whether it is there at the end. Rows are numbered: those of the state, then records.

    groups: of the rows, that of a row of the state or of a record. kept: the number of rows of the state. places: of
    the rows, from 1; 0 for a retraction. in_order: the rows that have a place, by group and place. sizes: of each
    group, the number of places. same: a number from 0, equal for equal rows. ends: of each group, the last rank.
    """
    total = len(groups)
    out = Changed(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    is_there, following = [0] * total, [-1] * total
    firsts, lasts = [-1] * (total + 1), [-1] * (total + 1)
    base, next_kept, record = 0, 0, kept
    for group in range(len(ends)):
        end, size = ends[group], sizes[group]
        tree = [0] * (size + 1)
        there = 0
        while next_kept < kept and groups[next_kept] == group:
            tree[places[next_kept]] = 1
            follow(firsts, lasts, following, same[next_kept], next_kept)
            is_there[next_kept] = 1
            next_kept += 1
            there += 1
        for place in range(1, size + 1):
            above = place + (place & -place)
            if above <= size:
                tree[above] += tree[place]
        while record < total and groups[record] == group:
            if places[record]:
                follow(firsts, lasts, following, same[record], record)
                is_there[record] = 1
                there += 1
                count(tree, places[record], 1)
                rank = number_up_to(tree, places[record])
                if rank <= end and is_numbered:
                    rank = max(rank, start)
                    if rank <= there:
                        current = in_order[base + place_of(tree, rank) - 1]
                        while rank <= end:
                            if rank == there:
                                put(out, record, INSERT, current, rank)
                                break
                            behind = in_order[base + place_of(tree, rank + 1) - 1]
                            if update_before:
                                put(out, record, UPDATE_BEFORE, behind, rank)
                            put(out, record, UPDATE_AFTER, current, rank)
                            current = behind
                            rank += 1
                elif rank <= end:
                    if there > end:
                        put(out, record, DELETE, in_order[base + place_of(tree, end + 1) - 1], end)
                    put(out, record, INSERT, record, rank)
            elif firsts[same[record]] >= 0:
                gone = firsts[same[record]]
                firsts[same[record]] = following[gone]
                is_there[gone] = 0
                there -= 1
                rank = number_up_to(tree, places[gone])
                count(tree, places[gone], -1)
                if rank <= end and is_numbered:
                    if rank < start:
                        # The row that was at the first rank is at the one before now.
                        rank = start
                        gone = in_order[base + place_of(tree, rank - 1) - 1] if rank - 1 <= there else -1
                    while gone >= 0 and rank <= end:
                        if rank > there:
                            put(out, record, DELETE, gone, rank)
                            break
                        behind = in_order[base + place_of(tree, rank) - 1]
                        if update_before:
                            put(out, record, UPDATE_BEFORE, gone, rank)
                        put(out, record, UPDATE_AFTER, behind, rank)
                        gone = behind
                        rank += 1
                elif rank <= end:
                    put(out, record, DELETE, gone, rank)
                    if there >= end:
                        put(out, record, INSERT, in_order[base + place_of(tree, end) - 1], end)
            record += 1
        base += size
    return in_arrays(out, is_there)
