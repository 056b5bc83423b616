"""The base of the columnar joins: the rows of both sides by number, keys that never match, and the output.

Rows are numbered: a record by its index in the chunk, the rows of the state after all records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.columnar import paths
from engine.columnar.columns import Columns, joined, taken, valid
from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import Chunk, Emitted, Kinds, Layout, Longs, Records
from engine.joins.sides import PORTS, JoinKind
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER

NOBODY: Final = -1
"""The number that stands for no row."""


class NumberedRows:
    """The rows of both sides by their number."""

    def __init__(self, chunk: Chunk) -> None:
        self.sides: list[Columns] = []
        for side, values in zip(PORTS, chunk.records.values, strict=True):
            kept = [chunk.state.column(_name(side, at)) for at in range(len(values))]
            self.sides.append(joined(values, kept) if len(chunk.state) else values)

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


def accumulating(records: Records) -> Flags:
    """Which records add a row."""
    accumulates: Flags = (records.kinds == INSERT) | (records.kinds == UPDATE_AFTER)
    return accumulates


def pair_kinds(kind: JoinKind, kinds: Kinds, accumulates: Flags, keeps: Flags) -> Kinds:
    """The kinds of what records emit with their own row. keeps: whether a record's side is kept.

    An inner join forwards kinds. Other joins add rows as +I, and remove rows of a preserved side as -D.
    """
    if kind is JoinKind.INNER:
        return kinds
    emitted_kinds = np.where(accumulates, INSERT, np.where(keeps, DELETE, kinds))
    return emitted_kinds.astype(np.int8)


def turned(accumulates: Flags) -> Kinds:
    """The kinds of rows that are removed when others are added, and added when those are removed."""
    return np.where(accumulates, DELETE, INSERT).astype(np.int8)


def emitted(
    records: Records, places: Longs, ordinals: int | NDArray[Any], kinds: Sequence[Kinds], columns: Columns
) -> Emitted:
    """What these records emit, one output each. ordinals: which of the record's outputs it is. kinds: in parts."""
    steps = paths.extended(paths.taken(records.steps, places), ordinals)
    return Emitted(records.seqs[places], steps, np.concatenate(kinds).astype(np.int8, copy=False), columns)
