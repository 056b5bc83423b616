"""Rows as Flink's bytes, by which its hash maps and its RocksDB state order rows.

A word per 63 columns with a bit for each that is NULL, then eight bytes per column, little-endian; a text of more
than seven bytes follows these, padded to words; its column has its offset and length.
Source: Flink BinaryRowData, AbstractBinaryWriter, MurmurHashUtils.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, time
from decimal import Context
from typing import Any, Final

from engine.model import types
from engine.model.row import Row
from engine.model.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, Decimal, Type, decimal_scale

Write = Callable[[Any, int], tuple[bytes, bytes]]
"""A value's eight bytes and its variable-length part, which begins at this offset."""

# Python's own decimal context rounds to 28 digits.
_EXACT: Final = Context(prec=100)
_WORD: Final = 8
_EMPTY: Final = bytes(_WORD)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_INLINE: Final = 7
_COMPACT_DIGITS: Final = 18
_NUMBERS: Final[dict[Type, str]] = {
    BOOLEAN: "<?7x",
    TINYINT: "<b7x",
    SMALLINT: "<h6x",
    INT: "<i4x",
    BIGINT: "<q",
    FLOAT: "<f4x",
    DOUBLE: "<d",
}
_LONG: Final = _NUMBERS[BIGINT]
_INT: Final = _NUMBERS[INT]
_PLACE: Final = "<ii"


def row_encoder(types: Sequence[Type]) -> Callable[[Row], bytes] | None:
    """Writes rows of these types; None where one of them is a list, a map or the like."""
    candidates = [_writer(type_) for type_ in types]
    writers = [write for write in candidates if write is not None]
    if len(writers) < len(candidates):
        return None
    marks = (len(writers) + 8 + 63) // 64 * _WORD
    start = marks + _WORD * len(writers)
    wide = [_is_wide_decimal(type_) for type_ in types]

    def encode(row: Row) -> bytes:
        nulls, words, behind = 0, [], b""
        for at, value in enumerate(row):
            if value is None:
                nulls |= 1 << (at + 8)
                word, more = (struct.pack(_PLACE, 0, start + len(behind)), bytes(16)) if wide[at] else (_EMPTY, b"")
            else:
                word, more = writers[at](value, start + len(behind))
            words.append(word)
            behind += more
        return nulls.to_bytes(marks, "little") + b"".join(words) + behind

    return encode


def hash_of(row: bytes) -> int:
    """The hash by which a Java HashMap chooses the bucket: the row's Murmur hash, its halves combined."""
    mixed = 42
    for (word,) in struct.iter_unpack("<I", row):
        word = word * 0xCC9E2D51 & 0xFFFFFFFF
        word = (word << 15 | word >> 17) & 0xFFFFFFFF
        mixed ^= word * 0x1B873593 & 0xFFFFFFFF
        mixed = (mixed << 13 | mixed >> 19) & 0xFFFFFFFF
        mixed = (mixed * 5 + 0xE6546B64) & 0xFFFFFFFF
    mixed ^= len(row)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return mixed ^ mixed >> 16


def _writer(type_: Type) -> Write | None:
    if type_ in _NUMBERS:
        form = _NUMBERS[type_]
        return lambda value, place: (struct.pack(form, value), b"")
    match type_:
        case types.STRING:
            return lambda value, place: _bytes(value.encode(), place)
        case types.BINARY:
            return _bytes
        case types.DATE:
            return lambda value, place: (struct.pack(_INT, value.toordinal() - _EPOCH), b"")
        case types.Time():
            return lambda value, place: (struct.pack(_INT, _milliseconds(value)), b"")
        case types.Timestamp():
            # Kernels have microseconds, the usual TIMESTAMP(3) has milliseconds.
            return lambda value, place: (struct.pack(_LONG, value // 1000), b"")
        case _ if (scale := decimal_scale(type_)) is not None:
            return _decimal(scale, is_wide=_is_wide_decimal(type_))
        case _:
            return None


def _milliseconds(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _bytes(value: bytes, place: int) -> tuple[bytes, bytes]:
    size = len(value)
    if size <= _INLINE:
        return value.ljust(_INLINE, b"\0") + bytes([0x80 | size]), b""
    return struct.pack(_PLACE, size, place), value.ljust(-(-size // _WORD) * _WORD, b"\0")


def _decimal(scale: int, *, is_wide: bool) -> Write:
    def narrow(value: Any, place: int) -> tuple[bytes, bytes]:
        return struct.pack(_LONG, int(value.scaleb(scale, _EXACT))), b""

    def wide(value: Any, place: int) -> tuple[bytes, bytes]:
        unscaled = int(value.scaleb(scale, _EXACT))
        size = (unscaled if unscaled >= 0 else -unscaled - 1).bit_length() // 8 + 1
        return struct.pack(_PLACE, size, place), unscaled.to_bytes(size, "big", signed=True).ljust(16, b"\0")

    return wide if is_wide else narrow


def _is_wide_decimal(type_: Type) -> bool:
    return isinstance(type_, Decimal) and type_.precision > _COMPACT_DIGITS
