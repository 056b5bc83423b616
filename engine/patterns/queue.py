"""Java's PriorityQueue. The order of equally old matches depends on its array, so the array is the same here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Rank = tuple[int, int]


class Queue(Generic[Item]):
    """A heap. Iteration is in the order of its array."""

    def __init__(self, rank: Callable[[Item], Rank], items: Iterable[Item] = ()) -> None:
        self.rank = rank
        self.heap: list[Item] = []
        self.add_all(items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.heap)

    def __len__(self) -> int:
        return len(self.heap)

    def peek(self) -> Item | None:
        """The first item, or None."""
        return self.heap[0] if self.heap else None

    def add_all(self, items: Iterable[Item]) -> None:
        """Add some items one by one."""
        for item in items:
            self.heap.append(item)
            self._up(len(self.heap) - 1, item)

    def poll(self) -> Item:
        """Remove and return the first item."""
        first, last = self.heap[0], self.heap.pop()
        if self.heap:
            self._down(0, last)
        return first

    def remove_all(self, goes: Callable[[Item], bool]) -> None:
        """Remove some items, and rebuild the heap from the others."""
        kept = [item for item in self.heap if not goes(item)]
        if len(kept) == len(self.heap):
            return
        self.heap = kept
        for place in range(len(kept) // 2 - 1, -1, -1):
            self._down(place, kept[place])

    def _up(self, place: int, item: Item) -> None:
        rank = self.rank(item)
        while place > 0:
            parent = (place - 1) // 2
            if rank >= self.rank(self.heap[parent]):
                break
            self.heap[place] = self.heap[parent]
            place = parent
        self.heap[place] = item

    def _down(self, place: int, item: Item) -> None:
        size, rank = len(self.heap), self.rank(item)
        while place < size // 2:
            child = 2 * place + 1
            if child + 1 < size and self.rank(self.heap[child]) > self.rank(self.heap[child + 1]):
                child += 1
            if rank <= self.rank(self.heap[child]):
                break
            self.heap[place] = self.heap[child]
            place = child
        self.heap[place] = item
