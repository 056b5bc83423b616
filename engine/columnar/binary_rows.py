"""The order of Flink's RocksDB for many rows at a time: as in `engine.model.binary_row`, without writing the bytes.

Rows are compared by length, then by the word of NULL marks, then by a word per column, then by strings longer than a
word. Words are little-endian and compared byte by byte, so that a number's least significant byte decides first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.columnar.columns import flags, longs, valid
from engine.columnar.runs import Flags
from engine.contract.columnar_kernel import Longs
from engine.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    Decimal,
    Timestamp,
    Type,
)

Words = NDArray[np.uint64]

_BYTES: Final[dict[Type, int]] = {BOOLEAN: 1, TINYINT: 1, SMALLINT: 2, INT: 4, DATE: 4, BIGINT: 8}
_TEXTS: Final = (STRING, BINARY)
_COMPACT_DIGITS: Final = 18
_INLINE: Final = 7


def has_order(types: Sequence[Type]) -> bool:
    """Whether rows of these types can be sorted, and identified by their values.

    Not floating point, since 0.0 and -0.0 are equal with different codes, nor types that need more than a word.
    """
    return all(
        type_ in _BYTES or type_ in _TEXTS or isinstance(type_, Timestamp) or _is_narrow(type_) for type_ in types
    )


def sort_keys(columns: Sequence[pa.Array], types: Sequence[Type]) -> list[NDArray[Any]]:
    """Sort keys per row, the most significant key first. Empty without columns."""
    if not columns:
        return []
    size = len(columns[0])
    marks = np.zeros(((len(columns) + 8 + 63) // 64, size), np.uint64)
    place = np.full(size, 8 * (len(marks) + len(columns)), np.int64)
    words: list[NDArray[Any]] = []
    texts: list[NDArray[Any]] = []
    for at, (column, type_) in enumerate(zip(columns, types, strict=True)):
        there = valid(column)
        if there is not None:
            marks[(at + 8) // 64] |= (~there).astype(np.uint64) << np.uint64((at + 8) % 64)
        if type_ in _TEXTS:
            word, is_long = _text(column, place)
            if is_long.any():
                texts.append(_ranks(column, is_long))
                place = place + np.where(is_long, -(-_sizes(column) // 8) * 8, 0)
        else:
            word = _number(column, type_).byteswap()
        words.append(word if there is None else np.where(there, word, np.uint64(0)))
    return [key for key in (place, *marks.byteswap(), *words, *texts) if (key != key[:1]).any()]


def _number(column: pa.Array, type_: Type) -> Words:
    if _is_narrow(type_):
        # A compact decimal only uses the lower half of the 128 bits.
        halves = np.frombuffer(column.buffers()[1], np.uint64)[2 * column.offset :]
        lower: Words = halves[: 2 * len(column) : 2]
        return lower
    if type_ == BOOLEAN:
        return flags(column).astype(np.uint64)
    values, _ = longs(column)
    if isinstance(type_, Timestamp):
        values = values // 1000
    narrow: Words = values.view(np.uint64) & np.uint64((1 << 8 * _BYTES.get(type_, 8)) - 1)
    return narrow


def _text(column: pa.Array, place: Longs) -> tuple[Words, Flags]:
    """The words of strings, and which strings are stored after the columns. place: the offset for these."""
    sizes = _sizes(column)
    offsets, data = _offsets(column), np.frombuffer(column.buffers()[2] or b"", np.uint8)
    word = (sizes | 0x80).astype(np.uint64)
    for at in range(min(_INLINE, int(sizes.max(initial=0)))):
        reaches = np.flatnonzero(sizes > at)
        word[reaches] |= data[offsets[reaches] + at].astype(np.uint64) << np.uint64(56 - 8 * at)
    is_long = sizes > _INLINE
    behind = (sizes | place << 32).view(np.uint64).byteswap()
    return np.where(is_long, behind, word), is_long


def _ranks(column: pa.Array, is_long: Flags) -> Longs:
    ranks = np.zeros(len(is_long), np.int64)
    texts = column.filter(pa.array(is_long)).cast(pa.binary())
    ranks[is_long] = pc.rank(texts, tiebreaker="dense").to_numpy()
    return ranks


def _sizes(column: pa.Array) -> Longs:
    sizes = np.diff(_offsets(column)).astype(np.int64)
    there = valid(column)
    return sizes if there is None else np.where(there, sizes, 0)


def _offsets(column: pa.Array) -> NDArray[np.int32]:
    offsets: NDArray[np.int32] = np.frombuffer(column.buffers()[1] or bytes(4), np.int32)
    return offsets[column.offset : column.offset + len(column) + 1]


def _is_narrow(type_: Type) -> bool:
    return isinstance(type_, Decimal) and type_.precision <= _COMPACT_DIGITS
