"""All rows of a partition in groups of equal sort keys, with the rank of each group.

Groups are kept in blocks of bounded size, each with its width, so adding, removing and looking up by rank visit
only a small part of all groups. The width of a group is its number of rows for RANK, and one for DENSE_RANK.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from engine.model.row import Row, identity
from engine.ranking.sort_keys import SortKey

BLOCK: Final = 256


class RankChange(NamedTuple):
    """An added or removed row. shift: by how many the ranks of all later groups change."""

    rank: int
    shift: int
    row: Row


class _Block:
    """Some groups in order: their keys, their rows by arrival, and their total width."""

    __slots__ = ("groups", "keys", "width")

    def __init__(self, keys: list[SortKey], groups: list[dict[int, Row]], width: int) -> None:
        self.keys = keys
        self.groups = groups
        self.width = width


class TiedRows:
    """Rows by sort key, those of one key in order of arrival. Ranks count from 1."""

    def __init__(self, *, dense: bool) -> None:
        self._dense = dense
        self._blocks: list[_Block] = []
        self._arrivals: dict[Any, deque[tuple[SortKey, int]]] = {}
        self._next = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[SortKey, Row]], *, dense: bool) -> TiedRows:
        """Build from rows, each with its key."""
        made = cls(dense=dense)
        for key, row in pairs:
            made.add(key, row)
        return made

    def __iter__(self) -> Iterator[Row]:
        for block in self._blocks:
            for group in block.groups:
                yield from group.values()

    def ranked(self) -> Iterator[tuple[int, Row]]:
        """All rows in order, each with its rank."""
        rank = 1
        for block in self._blocks:
            for group in block.groups:
                for row in group.values():
                    yield rank, row
                rank += 1 if self._dense else len(group)

    def add(self, key: SortKey, row: Row) -> RankChange:
        """Insert a row after those of the same key."""
        arrival = self._next
        self._next += 1
        self._arrivals.setdefault(identity(row), deque()).append((key, arrival))
        if not self._blocks:
            self._blocks.append(_Block([], [], 0))
        at = min(self._block(key), len(self._blocks) - 1)
        block = self._blocks[at]
        place = bisect_left(block.keys, key)
        is_new = place == len(block.keys) or block.keys[place] != key
        if is_new:
            block.keys.insert(place, key)
            block.groups.insert(place, {})
        block.groups[place][arrival] = row
        shift = 1 if is_new or not self._dense else 0
        block.width += shift
        rank = self._rank(at, place)
        if len(block.keys) > 2 * BLOCK:
            self._split(at)
        return RankChange(rank, shift, row)

    def remove(self, row: Row) -> RankChange | None:
        """Remove the first row with this content. Returns None if there is none."""
        arrivals = self._arrivals.get(identity(row))
        if arrivals is None:
            return None
        key, arrival = arrivals.popleft()
        if not arrivals:
            del self._arrivals[identity(row)]
        at = self._block(key)
        block = self._blocks[at]
        place = bisect_left(block.keys, key)
        rank = self._rank(at, place)
        group = block.groups[place]
        stored = group.pop(arrival)
        shift = 1 if not group or not self._dense else 0
        block.width -= shift
        if not group:
            del block.keys[place], block.groups[place]
            if not block.keys:
                del self._blocks[at]
        return RankChange(rank, shift, stored)

    def behind(self, key: SortKey) -> Iterator[tuple[int, Collection[Row]]]:
        """The groups after a key, each with its rank."""
        start = self._block(key)
        rank = sum(block.width for block in self._blocks[:start]) + 1
        for at in range(start, len(self._blocks)):
            block = self._blocks[at]
            place = bisect_right(block.keys, key) if at == start else 0
            rank += self._widths(block.groups[:place])
            for group in islice(block.groups, place, None):
                yield rank, group.values()
                rank += 1 if self._dense else len(group)

    def at(self, rank: int, behind: SortKey) -> Collection[Row]:
        """The rows with exactly this rank, if they come after a key; else none."""
        first = 1
        for block in self._blocks:
            if first + block.width > rank:
                for key, group in zip(block.keys, block.groups, strict=True):
                    if first >= rank:
                        return group.values() if first == rank and key > behind else ()
                    first += 1 if self._dense else len(group)
                return ()
            first += block.width
        return ()

    def cut(self, last: int) -> None:
        """Remove the rows whose rank is past the last."""
        while self._blocks:
            block = self._blocks[-1]
            rank = self._rank(len(self._blocks) - 1, len(block.keys) - 1)
            if rank <= last:
                return
            for row in block.groups[-1].values():
                arrivals = self._arrivals[identity(row)]
                arrivals.pop()
                if not arrivals:
                    del self._arrivals[identity(row)]
            block.width -= self._widths([block.groups.pop()])
            block.keys.pop()
            if not block.keys:
                self._blocks.pop()

    def _block(self, key: SortKey) -> int:
        """The first block that ends at the key or after it; one past the last if none does."""
        return bisect_left(self._blocks, key, key=lambda block: block.keys[-1] if block.keys else key)

    def _rank(self, at: int, place: int) -> int:
        before = sum(block.width for block in self._blocks[:at])
        return before + self._widths(self._blocks[at].groups[:place]) + 1

    def _widths(self, groups: list[dict[int, Row]]) -> int:
        return len(groups) if self._dense else sum(map(len, groups))

    def _split(self, at: int) -> None:
        block = self._blocks[at]
        groups = block.groups[:BLOCK]
        width = self._widths(groups)
        first = _Block(block.keys[:BLOCK], groups, width)
        rest = _Block(block.keys[BLOCK:], block.groups[BLOCK:], block.width - width)
        self._blocks[at : at + 1] = [first, rest]
