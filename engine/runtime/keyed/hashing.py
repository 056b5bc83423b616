"""Keys as numbers, for whole Arrow columns: hashes that assign keys to buckets, codes that sort equal keys together.

Two rows have the same key if all parts are equal: NULL equals NULL, NaN equals NaN, and -0.0 equals 0.0.
A hash is the same on every machine and in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.contract.columnar_kernel import Longs

Hashes = NDArray[np.uint64]

_NULL: Final = 0x5851F42D4C957F2D
_BLOCK: Final = 8
# Integers in a range of this many bits are their own codes.
_CLOSE: Final = 40
_BITS: Final = 62


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
    column = _comparable(column)
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
    numbers = _numbers(column)
    filled = numbers.fill_null(0) if numbers.null_count else numbers
    return _mix(filled.to_numpy(zero_copy_only=False).astype(np.uint64))


def _numbers(column: pa.Array) -> pa.Array:
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    return column.cast(pa.int64())


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


def _coded(column: pa.Array) -> tuple[Longs, int]:
    column = _comparable(column)
    type_ = column.type
    if not column.null_count and len(column) and (pa.types.is_integer(type_) or pa.types.is_date32(type_)):
        values = _numbers(column).to_numpy(zero_copy_only=False)
        least, most = int(values.min()), int(values.max())
        if most - least < 1 << _CLOSE:
            return values - least, (most - least).bit_length()
    if pa.types.is_float64(type_):
        # Arrow would distinguish NaNs by their bits.
        column = column.view(pa.int64())
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    codes: Longs = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary).bit_length()


def _renumbered(codes: Longs) -> tuple[Longs, int]:
    distinct, places = np.unique(codes, return_inverse=True)
    return places.astype(np.int64, copy=False), len(distinct).bit_length()


def _comparable(column: pa.Array) -> pa.Array:
    """A column whose values are equal exactly if their bytes are."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return _comparable(column.dictionary_decode())
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
