"""Java's PriorityQueue. The order of equally old matches depends on its array, so the array is the same here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

Rank = tuple[int, int]


class Ranked(Protocol):
    """An item. rank: the smallest is the first one."""

    rank: Rank


Item = TypeVar("Item", bound=Ranked)


class Queue(Generic[Item]):
    """A heap. Iteration is in the order of its array."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.heap: list[Item] = []
        for item in items:
            self.add(item)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.heap)

    def __len__(self) -> int:
        return len(self.heap)

    def peek(self) -> Item | None:
        """The first item, or None."""
        return self.heap[0] if self.heap else None

    def add(self, item: Item) -> None:
        """Add an item."""
        heap, rank = self.heap, item.rank
        place = len(heap)
        heap.append(item)
        while place > 0:
            parent = (place - 1) // 2
            if rank >= heap[parent].rank:
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = item

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

    def _down(self, place: int, item: Item) -> None:
        size, rank = len(self.heap), item.rank
        while place < size // 2:
            child = 2 * place + 1
            if child + 1 < size and self.heap[child].rank > self.heap[child + 1].rank:
                child += 1
            if rank <= self.heap[child].rank:
                break
            self.heap[place] = self.heap[child]
            place = child
        self.heap[place] = item
