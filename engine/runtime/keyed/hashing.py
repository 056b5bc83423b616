"""Hashes of keys, for whole Arrow columns, that assign them to buckets.

Keys are equal as rows are in `engine.columnar.codes`, and then have the same hash. A hash is the same on every machine
and in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.columnar.codes import comparable, numbers_of

Hashes = NDArray[np.uint64]

_NULL: Final = 0x5851F42D4C957F2D
_BLOCK: Final = 8


def hashes_of(columns: Sequence[pa.Array], size: int) -> Hashes:
    """A hash of each row. Timestamps are BIGINT microseconds."""
    if not columns:
        return np.zeros(size, np.uint64)
    hashes = _hashed(columns[0])
    for column in columns[1:]:
        hashes *= np.uint64(31)
        hashes += _hashed(column)
        _mix(hashes)
    return hashes


def bucket_of(hashes: Hashes, buckets: int) -> Hashes:
    """The bucket of each key."""
    return hashes % np.uint64(buckets)


def _mix(values: Hashes) -> Hashes:
    """The finaliser of SplitMix64, in place (Steele, Lea, Flood: Fast splittable pseudorandom number generators)."""
    other = values >> np.uint64(30)
    for factor, shift in ((0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
        values ^= other
        values *= np.uint64(factor)
        np.right_shift(values, np.uint64(shift), out=other)
    values ^= other
    return values


def _hashed(column: pa.Array) -> Hashes:
    column = comparable(column)
    if not column.null_count:
        return _hashed_values(column)
    hashes = _hashed_values(column)
    hashes[column.is_null().to_numpy(zero_copy_only=False)] = np.uint64(_NULL)
    return hashes


def _hashed_values(column: pa.Array) -> Hashes:
    """Hashes of all values; for NULL, an arbitrary one."""
    type_ = column.type
    if pa.types.is_null(type_):
        return np.zeros(len(column), np.uint64)
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return _hashed_bytes(column)
    if pa.types.is_decimal128(type_):
        words = _words(column, 2)
        return _mix(words[0::2] + _mix(words[1::2].copy()))
    if pa.types.is_float64(type_):
        return _mix(_words(column, 1).copy())
    numbers = numbers_of(column)
    filled = numbers.fill_null(0) if numbers.null_count else numbers
    return _mix(filled.to_numpy(zero_copy_only=False).astype(np.uint64))


def _words(column: pa.Array, each: int) -> Hashes:
    """The bytes of fixed-width values, in words of 64 bits."""
    words = np.frombuffer(column.buffers()[1], np.uint64)
    return words[column.offset * each : (column.offset + len(column)) * each]


def _hashed_bytes(column: pa.Array) -> Hashes:
    """Hashes of texts, eight bytes per pass; each pass covers the texts that are long enough."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    data = column.buffers()[2]
    bytes_ = np.zeros(int(offsets[-1]) + _BLOCK, np.uint8)
    if data is not None:
        bytes_[:-_BLOCK] = np.frombuffer(data, np.uint8)[: int(offsets[-1])]
    # Eight bytes from any offset: the words overlap.
    words: Hashes = np.ndarray((int(offsets[-1]) + 1,), np.uint64, bytes_, strides=(1,))
    hashes = _mix(lengths.astype(np.uint64))
    places = np.flatnonzero(lengths)
    done = 0
    while len(places):
        left = np.minimum(lengths[places] - done, _BLOCK).astype(np.uint64)
        block = words[starts[places] + done] & (np.uint64(0xFFFFFFFFFFFFFFFF) >> (np.uint64(64) - left * np.uint64(8)))
        hashes[places] = _mix(hashes[places] * np.uint64(31) + block)
        done += _BLOCK
        places = places[lengths[places] > done]
    return hashes
