"""Arrow columns: conversion to and from NumPy integers, selecting and comparing rows, a group's single state row."""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import Longs
from engine.model.row import Row
from engine.model.row_values import to_pylist

Columns = tuple[pa.Array, ...]

_INTEGERS: Final = {pa.int8(): np.int8, pa.int16(): np.int16, pa.int32(): np.int32, pa.int64(): np.int64}


def longs(array: pa.Array) -> tuple[Longs, Flags | None]:
    """Integers or dates as 64-bit integers, 0 for NULL, and flags of the values that are not NULL (None: all)."""
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    there = valid(array)
    if there is not None:
        array = array.fill_null(0)
    values = array.to_numpy(zero_copy_only=False)
    return values.astype(np.int64, copy=False), there


def from_longs(values: Longs, type_: pa.DataType, there: Flags | None = None) -> pa.Array:
    """The inverse of `longs`; values that do not fit the type wrap around."""
    stored = pa.int32() if pa.types.is_date32(type_) else type_
    narrow = values.astype(_INTEGERS[stored], copy=False)
    array = pa.array(narrow) if there is None or there.all() else pa.array(narrow, mask=~there)
    return array.view(type_) if stored != type_ else array


def valid(array: pa.Array) -> Flags | None:
    """Flags of the values that are not NULL; None if there are no NULLs."""
    if not array.null_count:
        return None
    there: Flags = array.is_valid().to_numpy(zero_copy_only=False)
    return there


def flags(array: pa.Array) -> Flags:
    """A condition as flags; NULL counts as false."""
    met: Flags = (array.fill_null(False) if array.null_count else array).to_numpy(zero_copy_only=False)
    return met


def taken(columns: Sequence[pa.Array], places: NDArray[np.integer[Any]], *, may_miss: bool = False) -> Columns:
    """The rows of the columns at these places. may_miss: a place below zero gives a row of NULLs."""
    if not columns:
        return ()
    indices = pa.array(places, mask=places < 0) if may_miss and (places < 0).any() else pa.array(places)
    return tuple(column.take(indices) for column in columns)


def joined(*parts: Sequence[pa.Array]) -> Columns:
    """The rows of several column tuples, concatenated."""
    return tuple(pa.concat_arrays(same) for same in zip(*parts, strict=True))


def same_rows(left: Sequence[pa.Array], right: Sequence[pa.Array], size: int) -> Flags:
    """Flags of equal rows; NULL equals NULL, NaN equals nothing, as in Python."""
    same: Flags = np.ones(size, np.bool_)
    for column, other in zip(left, right, strict=True):
        if pa.types.is_nested(column.type):
            same &= np.fromiter(map(eq, to_pylist(column), to_pylist(other)), np.bool_, size)
            continue
        equal = pc.equal(column, other)
        if equal.null_count:
            equal = pc.if_else(equal.is_null(), pc.and_(column.is_null(), other.is_null()), equal)
        same &= equal.to_numpy(zero_copy_only=False)
    return same


def row_of_groups(state: pa.RecordBatch, groups: int) -> Longs:
    """The place of each group's row in a state with at most one row per group; -1 for no row."""
    rows = np.full(groups, -1, np.int64)
    rows[state.column(0).to_numpy()] = np.arange(state.num_rows)
    return rows


def rows_of(state: pa.RecordBatch) -> list[Row]:
    """The rows of a state in Python, without their groups."""
    return list(zip(*map(to_pylist, state.columns[1:]), strict=True)) or [()] * state.num_rows


def rows_of_others(state: pa.RecordBatch, touched: Longs, groups: int) -> tuple[Longs, Columns]:
    """The state rows of all groups except the touched ones: their groups and columns."""
    stays = np.ones(groups, np.bool_)
    stays[touched] = False
    row_groups: Longs = state.column(0).to_numpy()
    places = np.flatnonzero(stays[row_groups])
    if len(places) == len(row_groups):
        return row_groups, tuple(state.columns[1:])
    return row_groups[places], taken(state.columns[1:], places)


def by_group(
    groups: Longs, columns: Sequence[pa.Array], other_groups: Longs, other_columns: Sequence[pa.Array]
) -> tuple[Longs, Columns]:
    """The rows of both, in order of their groups. Within a group the first rows precede the others, in their order."""
    if not len(other_groups):
        return groups, tuple(columns)
    if not len(groups):
        return other_groups, tuple(other_columns)
    all_groups = np.concatenate((groups, other_groups))
    order = np.argsort(all_groups, kind="stable")
    return all_groups[order], taken(joined(columns, other_columns), order)
