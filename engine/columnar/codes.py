"""Rows as numbers, for whole Arrow columns: codes that are equal for equal rows, and their order.

Two rows are equal if all columns are: NULL equals NULL, NaN equals NaN, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.contract.columnar_kernel import Longs
from engine.model.row import frozen
from engine.model.row_values import to_pylist

# Integers in a range of this many bits are their own codes.
_CLOSE: Final = 40
_BITS: Final = 62


def codes_of(columns: Sequence[pa.Array], size: int) -> tuple[Longs, int]:
    """A number for each row, equal for equal rows only; and the number of bits."""
    codes, bits = np.zeros(size, np.int64), 0
    for column in columns:
        own, own_bits = _coded(column)
        if bits + own_bits > _BITS:
            (codes, bits), (own, own_bits) = _renumbered(codes), _renumbered(own)
        codes = own if not bits else codes << own_bits | own
        bits += own_bits
    return codes, bits


def order_of(codes: Longs, bits: int) -> Longs:
    """The indexes of the rows, sorted by code; rows with equal codes keep their order."""
    size = len(codes)
    place_bits = size.bit_length()
    if bits + place_bits > _BITS:
        return np.argsort(codes, kind="stable")
    # NumPy sorts numbers many times faster than it argsorts them: the index is stored in the low bits.
    packed = codes << place_bits
    packed |= np.arange(size, dtype=np.int64)
    packed.sort()
    packed &= (1 << place_bits) - 1
    return packed


def numbers_of(column: pa.Array) -> pa.Array:
    """Integers, booleans, dates or times as BIGINT."""
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    return column.cast(pa.int64())


def comparable(column: pa.Array) -> pa.Array:
    """A column whose values are equal exactly if their bytes are."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return comparable(column.dictionary_decode())
    if pa.types.is_floating(type_):
        values = column.cast(pa.float64())
        numbers = (values.fill_null(0.0) if column.null_count else values).to_numpy(zero_copy_only=False) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        # No other value becomes NULL: from_pandas is off.
        return pa.array(numbers, pa.float64(), mask=missing, from_pandas=False)
    if pa.types.is_nested(type_):
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
    return column


def by_content(column: pa.Array) -> pa.Array:
    """The column, or a number for each of its values, where Arrow does not compare these by their content."""
    if pa.types.is_nested(column.type):
        numbers: dict[object, int] = {}
        return pa.array([numbers.setdefault(frozen(value), len(numbers)) for value in to_pylist(column)], pa.int64())
    # Arrow would distinguish NaNs by their bits.
    return comparable(column).view(pa.int64()) if pa.types.is_floating(column.type) else column


def _coded(column: pa.Array) -> tuple[Longs, int]:
    column = comparable(column)
    type_ = column.type
    if not column.null_count and len(column) and (pa.types.is_integer(type_) or pa.types.is_date32(type_)):
        values = numbers_of(column).to_numpy(zero_copy_only=False)
        least, most = int(values.min()), int(values.max())
        if most - least < 1 << _CLOSE:
            return values - least, (most - least).bit_length()
    if pa.types.is_float64(type_):
        column = column.view(pa.int64())
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    codes: Longs = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary).bit_length()


def _renumbered(codes: Longs) -> tuple[Longs, int]:
    distinct, places = np.unique(codes, return_inverse=True)
    return places.astype(np.int64, copy=False), len(distinct).bit_length()
