"""The best N rows of many groups at a time, and the changes caused by each row that enters them.

    rows of group     a: 5 7 9 1 8      round 1: a 5, b 3      a row enters if fewer than N rows of its group
    b: 3 2            N = 2             round 2: a 7, b 2      are as good or better
                                        then 9 and 8 are dropped: they are worse than a's second row
                                        round 3: a 1

One round processes the i-th rows of all groups. Between rounds, rows that can no longer enter are dropped, since a
group's last rank only ever gets better. The remaining rows of a few long groups are processed row by row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Longs
from engine.ranking.columnar_order_keys import PAST_ALL

# A round costs some 50 us before its first row, a single row about one.
_FEW_GROUPS: Final = 48
_FIRST_BLOCK: Final = 256


class Entered(NamedTuple):
    """Rows that entered the best rows. rows: their indexes; places: from 0; after: by place, the row there now, and
    at N the row that fell out; -1 if there is none.
    """

    rows: Longs
    places: Longs
    after: Longs


class BestRows:
    """The best rows by group: `keys` and `rows`, one array row per rank, one column per group."""

    def __init__(self, end: int, groups: int) -> None:
        self.end = end
        self.keys = np.full((end, groups), PAST_ALL, np.int64)
        self.rows = np.full((end, groups), -1, np.int64)

    def take(self, groups: Longs, keys: Longs, rows: Longs) -> Iterator[Entered]:
        """Insert rows. groups: sorted; within a group the rows are in order of arrival."""
        rounds = self.end
        while len(rows):
            runs = Runs.of(groups)
            if len(runs) < _FEW_GROUPS:
                for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
                    yield from self._row_by_row(int(groups[start]), keys[start:end], rows[start:end])
                return
            waits = np.ones(len(rows), np.bool_)
            for number in range(rounds):
                at = runs.starts[runs.lengths > number] + number
                if not len(at):
                    break
                waits[at] = False
                entered = self._round(groups[at], keys[at], rows[at])
                if len(entered.rows):
                    yield entered
            waits &= keys < self.keys[-1][groups]
            groups, keys, rows = groups[waits], keys[waits], rows[waits]
            rounds = max(2, rounds * 3 // 2)

    def _round(self, groups: Longs, keys: Longs, rows: Longs) -> Entered:
        """Insert one row into each of these groups."""
        enters = keys < self.keys[-1][groups]
        if not enters.all():
            groups, keys, rows = groups[enters], keys[enters], rows[enters]
        before = self.keys.take(groups, axis=1)
        stays = before <= keys
        places = np.count_nonzero(stays, axis=0)
        self.keys[:, groups] = _inserted(before, stays, places, keys)[:-1]
        after = _inserted(self.rows.take(groups, axis=1), stays, places, rows)
        self.rows[:, groups] = after[:-1]
        return Entered(rows, places, after)

    def _row_by_row(self, group: int, keys: Longs, rows: Longs) -> Iterator[Entered]:
        """Insert the rows of one group in blocks; rows of a block that cannot enter are dropped first."""
        best = [key for key in self.keys[:, group].tolist() if key != PAST_ALL]
        held = self.rows[: len(best), group].tolist()
        start, size = 0, _FIRST_BLOCK
        while start < len(rows):
            block = slice(start, start + size)
            start, size = start + size, size * 2
            last = best[-1] if len(best) == self.end else PAST_ALL
            enters = np.flatnonzero(keys[block] < last)
            entered, places, after = [], [], []
            for key, row in zip(keys[block][enters].tolist(), rows[block][enters].tolist(), strict=True):
                place = bisect_right(best, key)
                if place >= self.end:
                    continue
                best.insert(place, key)
                held.insert(place, row)
                entered.append(row)
                places.append(place)
                after += held
                if len(best) > self.end:
                    best.pop()
                    held.pop()
                else:
                    after += [-1] * (self.end + 1 - len(held))
            if entered:
                lines = np.array(after, np.int64).reshape(len(entered), self.end + 1)
                yield Entered(np.array(entered, np.int64), np.array(places, np.int64), lines.T)
        self.keys[: len(best), group] = best
        self.rows[: len(held), group] = held


def _inserted(before: Longs, stays: np.ndarray, places: Longs, values: Longs) -> Longs:
    """One value per column inserted at its place; lines below move down by one. stays: the lines above the place."""
    after = np.empty((len(before) + 1, len(values)), np.int64)
    after[1:] = before
    np.copyto(after[:-1], before, where=stays)
    after[places, np.arange(len(values))] = values
    return after
