"""The lifetimes of rows, from the record that adds a row to the one that removes it, for a whole join side at once.

    place      0   1   2   3   4   5   6
    change     +a  +b  +a  -a  +c  -a  -a
    row a      [-----------------)         the last copy to arrive is the first to be removed
    row a              [---)
    row b          [-----------------...
    row c                      [-----...   the last record retracts a row that does not exist: it is void

A row is identified by its unique key if there is one: then the next one replaces it. Else its content identifies it,
and several copies can exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from engine.columnar.runs import Flags, Runs, last_place, running_least, running_sum, shifted
from engine.contract.columnar_kernel import Longs

_ROOM: Final = 1 << 62


class Lives(NamedTuple):
    """The added rows, as indexes of the changes. entries: groups copies of the same row by its first arrival.

    ends: the change that removes each; -1 if none does. voids: the changes that retract rows that do not exist.
    """

    rows: Longs
    ends: Longs
    entries: Longs
    voids: Longs


def lives_of_inserts(size: int) -> Lives:
    """The lifetimes of distinct rows that are never removed."""
    rows = np.arange(size, dtype=np.int64)
    return Lives(rows, np.full(size, -1, np.int64), rows, np.zeros(0, np.int64))


def lives(identities: Longs, accumulates: Flags, *, is_unique: bool) -> Lives:
    """The lifetimes of rows. identities: the row of each change. is_unique: whether a row replaces the one before."""
    order = np.argsort(identities, kind="stable")
    runs, adds = Runs.of(identities[order]), accumulates[order]
    if is_unique:
        was_there = shifted(runs, adds, False)
        levels = np.ones(len(order), np.int64)
    else:
        sums = running_sum(runs, np.where(adds, np.int64(1), np.int64(-1)))
        # Retracting a row that does not exist does not make its count negative.
        counts = sums - np.minimum(running_least(runs, sums), 0)
        before = shifted(runs, counts, 0)
        was_there = before > 0
        levels = np.where(adds, counts, before)
    is_void = ~adds & ~was_there
    entries = last_place(runs, adds & ~was_there)
    # Within a level, a row is added only after the previous one was removed.
    kept = np.flatnonzero(~is_void)
    numbers, levels = runs.numbers[kept], levels[kept]
    if (levels > 1).any():
        by_level = np.lexsort((levels, numbers))
        kept, numbers, levels = kept[by_level], numbers[by_level], levels[by_level]
    follows = (numbers[1:] == numbers[:-1]) & (levels[1:] == levels[:-1])
    ends = np.append(np.where(follows, order[kept[1:]], -1), np.full(min(1, len(kept)), -1))
    came = adds[kept]
    rows = order[kept[came]]
    by_arrival = np.argsort(rows)
    columns = rows[by_arrival], ends[came][by_arrival], order[entries[kept[came]]][by_arrival]
    return Lives(*columns, order[is_void])


def identities(groups: Longs, columns: Sequence[pa.Array]) -> Longs:
    """A number per row, the same for rows of one group that are equal in these columns, NULL to NULL."""
    labels, size = groups, int(groups.max(initial=0)) + 1
    for column in columns:
        codes = column.dictionary_encode(null_encoding="encode")
        if size >= _ROOM // (len(codes.dictionary) + 1):
            values, labels = np.unique(labels, return_inverse=True)
            size = len(values)
        labels = labels * len(codes.dictionary) + codes.indices.to_numpy()
        size *= len(codes.dictionary) + 1
    return labels
