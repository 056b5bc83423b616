"""The choice of one key when the input has several: Flink takes the first in a hash set of bit sets of columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_SEED: Final = 1234
_WORD: Final = 1 << 64
_BUCKETS: Final = 16


def bit_set_bucket(places: Iterable[int]) -> int:
    """The bucket of a key in a Java hash map of initial size. Source: java.util.BitSet.hashCode, HashMap.hash."""
    bits, mixed, number = sum(1 << place for place in set(places)), _SEED, 0
    while bits:
        number += 1
        mixed ^= (bits % _WORD) * number % _WORD
        bits //= _WORD
    hashed = (mixed >> 32 ^ mixed) & 0xFFFFFFFF
    return (hashed ^ hashed >> 16) % _BUCKETS
