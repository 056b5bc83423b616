"""Java's PriorityQueue. The order of equally old matches depends on its array, so the array is the same here.

A heap is a list of numbers; ranks has the rank of each number, and the smallest is the first one. These functions are
parts of a rule.
"""

from __future__ import annotations


def add(heap: list[int], ranks: list[int], item: int) -> None:
    """Add an item."""
    place = len(heap)
    heap.append(item)
    while place > 0:
        parent = (place - 1) // 2
        if ranks[item] >= ranks[heap[parent]]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def poll(heap: list[int], ranks: list[int]) -> int:
    """Remove and return the first item."""
    first = heap[0]
    last = heap.pop()
    if len(heap) > 0:
        sink(heap, ranks, 0, last)
    return first


def remove_before(heap: list[int], ranks: list[int], bound: int) -> None:
    """Remove the items with a lower rank, and rebuild the heap from the others."""
    size = 0
    for item in heap:
        if ranks[item] >= bound:
            heap[size] = item
            size += 1
    if size == len(heap):
        return
    while len(heap) > size:
        heap.pop()
    for place in range(size // 2 - 1, -1, -1):
        sink(heap, ranks, place, heap[place])


def sink(heap: list[int], ranks: list[int], place: int, item: int) -> None:
    """Put an item at a place, or below it."""
    size = len(heap)
    while place < size // 2:
        child = 2 * place + 1
        if child + 1 < size and ranks[heap[child]] > ranks[heap[child + 1]]:
            child += 1
        if ranks[item] <= ranks[heap[child]]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = item
