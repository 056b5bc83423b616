"""Delta debugging: the smallest input that still shows something (Zeller and Hildebrandt, 2002)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smaller(items: Sequence[Item], pieces: int) -> Iterator[list[Item]]:
    """The items without one of so many equal pieces, for each piece from the last to the first."""
    size = -(-len(items) // pieces)
    for start in reversed(range(0, len(items), size)):
        yield [*items[:start], *items[start + size :]]


def shrunk(
    items: Sequence[Item], holds: Callable[[list[Item]], bool], told: Callable[[int], None] = lambda left: None
) -> list[Item]:
    """A part of the items for which it holds, and no longer does without any single one of them.

    holds: has to be true for all items. told: called with the number that is left, whenever there are fewer.
    """
    left, pieces = [*items], 2
    while left:
        part = next((fewer for fewer in smaller(left, pieces) if holds(fewer)), None)
        if part is not None:
            left, pieces = part, max(2, pieces - 1)
            told(len(left))
        elif pieces >= len(left):
            break
        else:
            pieces = min(len(left), pieces * 2)
    return left
