"""A sorted list with duplicates in blocks: plain nested lists, so that state stays plain Python.

Inserting into one long list moves half of it on average; here at most one block of some hundred values
is moved. The smallest value is `blocks[0][0]`, the largest `blocks[-1][-1]`; no block is ever empty.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import itemgetter
from typing import Any, Final

Blocks = list[list[Any]]

_LIMIT: Final = 512
_last = itemgetter(-1)


def insert(blocks: Blocks, value: Any) -> None:
    """Add a value."""
    if not blocks:
        blocks.append([value])
        return
    at = min(bisect_left(blocks, value, key=_last), len(blocks) - 1)
    block = blocks[at]
    insort(block, value)
    if len(block) > _LIMIT:
        half = _LIMIT // 2
        blocks.insert(at + 1, block[half:])
        del block[half:]


def remove(blocks: Blocks, value: Any) -> None:
    """Remove one copy of a value. Raises KeyError if there is none."""
    at = bisect_left(blocks, value, key=_last)
    if at < len(blocks):
        block = blocks[at]
        place = bisect_left(block, value)
        if block[place] == value:
            del block[place]
            if not block:
                del blocks[at]
            return
    raise KeyError(value)
