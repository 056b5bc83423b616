"""Random choices that are a function of a seed, a column and a record's number: the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar
from zlib import crc32

_Item = TypeVar("_Item")


class Chooser:
    """Choices for one value. Of Python's generator only `random` stays the same in all its versions."""

    def __init__(self) -> None:
        self._random = Random(0)

    def begin(self, seed: int, purpose: str, number: int) -> None:
        """Begin the choices for another value."""
        self._random.seed((((seed << 32) | crc32(purpose.encode())) << 64) | number)

    def share(self) -> float:
        """A number from 0 up to, but not including, 1."""
        return self._random.random()

    def between(self, low: int, end: int) -> int:
        """A whole number from `low` up to, but not including, `end`; `low` if there is none."""
        return low + int(self.share() * max(1, end - low))

    def one_of(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.between(0, len(items))]
