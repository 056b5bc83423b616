"""Mini-batch for joins: the changes of each side are folded, then one side is joined after the other.

    by content    a row that is added and retracted in one bundle leaves no change
    by key        at most two changes are left: the old row goes, the new one comes

Source: Flink MiniBatchStreamingJoinOperator and its BufferBundles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.columnar.rules import rule
from engine.columnar.runs import Runs
from engine.contract.columnar_kernel import Longs, Records
from engine.joins.columnar_rows import identities
from engine.joins.sides import JoinKind, JoinSide
from engine.mini_batch.kernels import Folded
from engine.model.changelog import INSERT, UPDATE_AFTER


class FoldedSides:
    """The right side first (for a right join the left side), to avoid needless padding."""

    def __init__(self, kind: JoinKind, specs: tuple[JoinSide, JoinSide]) -> None:
        self._first_port = 0 if kind is JoinKind.RIGHT else 1
        self._specs = specs

    def __call__(self, records: Records, runs: Runs) -> Folded:
        """The changes that are left of each bundle, and which of them are an old row and its successor."""
        same, numbers = np.zeros(len(records), np.int64), 0
        for port, (spec, values) in enumerate(zip(self._specs, records.values, strict=True)):
            own = np.flatnonzero(records.ports == port)
            wanted = range(len(values)) if spec.unique_key is None else spec.unique_key
            columns = [values[at].take(own) for at in wanted]
            same[own] = numbers + np.unique(identities(records.groups[own], columns), return_inverse=True)[1]
            numbers += len(own)
        places, kinds, joint = changes_left(
            runs.starts,
            runs.ends,
            records.ports.astype(np.int64),
            records.kinds.astype(np.int64),
            same,
            np.array([spec.unique_key is not None for spec in self._specs], np.int64),
            numbers,
            self._first_port,
        )
        return Folded(places, kinds.astype(np.int8), joint)


class Left(NamedTuple):
    """The changes that are left. tops: by row or key the last of them, -1: none. below: the one before each change.

    emptied: whether a key had a row that came and went.
    """

    kinds: list[int]
    tops: list[int]
    below: list[int]
    emptied: list[int]


@rule
def changes_left(
    starts: Longs, ends: Longs, ports: Longs, kinds: Longs, same: Longs, is_unique: Longs, numbers: int, first_port: int
) -> tuple[Longs, Longs, Longs]:
    """The changes that are left of each bundle, their kinds, and which are joint (`engine.joins.pairs`).

    starts, ends: of the bundles. ports, kinds, same: of the records; same: below `numbers`, equal for what is one row
    of a side. is_unique: of each side, whether its rows are known by their key.
    """
    size = len(ports)
    left = Left(list(kinds), [-1] * numbers, [-1] * size, [0] * numbers)
    places, kinds_left, joint = list(range(0)), list(range(0)), list(range(0))
    for bundle in range(len(starts)):
        for turn in range(2):
            port = first_port if turn == 0 else 1 - first_port
            arrived = list(range(0))
            for record in range(starts[bundle], ends[bundle]):
                if ports[record] == port:
                    if left.tops[same[record]] < 0 and left.emptied[same[record]] == 0:
                        arrived.append(same[record])
                    _fold(left, record, same[record], is_unique[port] > 0)
            for number in arrived:
                first, change = len(places), left.tops[number]
                while change >= 0:
                    places.insert(first, change)
                    kinds_left.insert(first, left.kinds[change])
                    change = left.below[change]
                is_pair = len(places) - first == 2 and not _adds(kinds_left[first]) and _adds(kinds_left[first + 1])
                for at in range(first, len(places)):
                    joint.append(at - first + 1 if is_pair else 0)
                left.tops[number], left.emptied[number] = -1, 0
    return np.array(places, np.int64), np.array(kinds_left, np.int64), np.array(joint, np.int64)


def _fold(left: Left, record: int, number: int, is_unique: bool) -> None:
    """Fold a change with those of its row or key that are left."""
    kind, last = left.kinds[record], left.tops[number]
    last_adds = last >= 0 and _adds(left.kinds[last])
    if not is_unique:
        if last >= 0 and last_adds != _adds(kind):
            left.tops[number] = left.below[last]
            return
    else:
        if left.emptied[number] > 0 and _adds(kind):
            # The row that this one updates was not emitted.
            left.emptied[number] = 0
            kind = INSERT
        if last_adds:
            before = left.kinds[last]
            left.tops[number] = left.below[last]
            if not _adds(kind):
                if before == INSERT and left.tops[number] < 0:
                    left.emptied[number] = 1
                return
            kind = before if before == INSERT else kind
        elif last >= 0 and not _adds(kind):
            left.tops[number] = left.below[last]
        left.kinds[record] = kind
    left.below[record] = left.tops[number]
    left.tops[number] = record


def _adds(kind: int) -> bool:
    return kind in (INSERT, UPDATE_AFTER)
