"""ORDER BY of whole columns: one 64-bit integer per row, which compares like the keys of `engine.ranking.sort_keys`.

Integers, dates, timestamps and floats become keys directly. For text, for columns that need more than 64 bits and for
several columns that do together, the key is the rank among the given rows, so keys are comparable within one call only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.columns import longs, valid
from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import Longs
from engine.ranking.sort_keys import Nulls, SortColumn

PAST_ALL: Final = np.iinfo(np.int64).max
"""A key that no row has."""

_LOWEST: Final = np.iinfo(np.int64).min
_HIGHEST: Final = PAST_ALL - 1
_ROOM: Final = 1 << 62


def order_keys(columns: Sequence[pa.Array], order: Sequence[SortColumn], size: int) -> Longs:
    """The keys of the rows. columns: the order's columns, one per SortColumn."""
    if not order:
        return np.zeros(size, np.int64)
    keys = [_key(column, part) for column, part in zip(columns, order, strict=True)]
    return keys[0] if len(keys) == 1 else packed(keys)


def _key(column: pa.Array, part: SortColumn) -> Longs:
    values, there = in_order(column)
    if size := len(values):
        least, most = int(values.min()), int(values.max())
        if least <= _LOWEST + 1 or most >= _HIGHEST - 1:
            values = _ranks(values)
    if part.descending:
        values = ~values
    if there is None or not size:
        return values
    last = part.nulls is Nulls.LAST or (part.nulls is Nulls.LOWEST and part.descending)
    return np.where(there, values, _HIGHEST if last else _LOWEST)


def in_order(column: pa.Array) -> tuple[Longs, Flags | None]:
    """Integers in ascending order of the values, and flags of those that are not NULL."""
    type_ = column.type
    if pa.types.is_integer(type_) or pa.types.is_date32(type_):
        return longs(column)
    there = valid(column)
    if pa.types.is_boolean(type_):
        return longs(column.cast(pa.int8()))
    if pa.types.is_floating(type_):
        filled = column.fill_null(0.0) if column.null_count else column
        # 0.0 and -0.0 are equal, and all NaNs are equal, above all numbers.
        floats = filled.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        bits = np.where(np.isnan(floats), np.nan, floats).view(np.int64)
        return np.where(bits < 0, bits ^ np.int64(PAST_ALL), bits), there
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return ranks.to_numpy(zero_copy_only=False).astype(np.int64), there


def _ranks(values: Longs) -> Longs:
    ranks: Longs = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return ranks


def packed(columns: Sequence[Longs]) -> Longs:
    """Several keys combined into one, from 0."""
    keys: Longs = columns[0]
    for column in columns[1:]:
        if not len(keys):
            break
        keys, room = _from_zero(keys)
        column, span = _from_zero(column)
        if room * span >= _ROOM:
            keys, column = _ranks(keys), _ranks(column)
            span = int(column.max()) + 1
        keys = keys * span + column
    return keys


def _from_zero(values: Longs) -> tuple[Longs, int]:
    """The same order from 0, and the size of its range."""
    least, most = int(values.min()), int(values.max())
    if most - least + 1 < _ROOM:
        return values - least, most - least + 1
    ranks = _ranks(values)
    return ranks, int(ranks.max()) + 1
