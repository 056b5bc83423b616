"""The base of the columnar joins: the rows of both sides by number, keys that never match, and the output.

Rows are numbered: a record by its index in the chunk, the rows of the state after all records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from engine.columnar import paths
from engine.columnar.codes import by_content
from engine.columnar.columns import Columns, joined, taken, valid
from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import Chunk, Emitted, Kinds, Layout, Longs, Records
from engine.joins.sides import PORTS

NOBODY: Final = -1
"""The number that stands for no row."""
_ROOM: Final = 1 << 62


class NumberedRows:
    """The rows of both sides by their number."""

    def __init__(self, chunk: Chunk) -> None:
        self.sides: list[Columns] = []
        for side, values in zip(PORTS, chunk.records.values, strict=True):
            state_columns = [chunk.state.column(_name(side, at)) for at in range(len(values))]
            self.sides.append(joined(values, state_columns) if len(chunk.state) else values)

    def take(self, port: int, numbers: Longs, wanted: Iterable[int] | None = None) -> Columns:
        """The columns of these rows of a side, or some of them; NULL for no row."""
        columns = self.sides[port]
        return taken(columns if wanted is None else [columns[at] for at in wanted], numbers, may_miss=True)


def side_fields(layout: Layout, port: int) -> list[pa.Field]:
    """The columns of a side in the state, where `NumberedRows` finds them."""
    return [pa.field(_name(PORTS[port], at), type_) for at, type_ in enumerate(layout.values[port])]


def _name(side: str, at: int) -> str:
    return f"{side}_{at}"


def can_match(chunk: Chunk) -> Flags:
    """By key, whether it can match the other side: not if a part of it is NULL."""
    matchable = np.ones(chunk.groups, np.bool_)
    for column in chunk.keys:
        there = valid(column)
        if there is not None:
            matchable &= there
    return matchable


def identities(groups: Longs, columns: Sequence[pa.Array]) -> Longs:
    """A number per row, the same for rows of one group that are equal in these columns, NULL to NULL and NaN to NaN."""
    labels, size = groups, int(groups.max(initial=0)) + 1
    for column in columns:
        codes = by_content(column).dictionary_encode(null_encoding="encode")
        if size >= _ROOM // (len(codes.dictionary) + 1):
            values, labels = np.unique(labels, return_inverse=True)
            size = len(values)
        labels = labels * len(codes.dictionary) + codes.indices.to_numpy()
        size *= len(codes.dictionary) + 1
    return labels


def emitted(records: Records, places: Longs, ordinals: Longs, kinds: Kinds, columns: Columns) -> Emitted:
    """What these records emit, one output each. ordinals: which of the record's outputs it is."""
    steps = paths.extended(paths.taken(records.steps, places), ordinals)
    return Emitted(records.seqs[places], steps, kinds, columns)
