"""Mini-batch for joins: the changes of each side are folded per key, then one side is joined after the other.

Source: Flink MiniBatchStreamingJoinOperator and its BufferBundles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.contract.kernel import Entries, Kernel, Key, Output
from engine.contract.state_in_words import Description, Names
from engine.joins.pairing import Change, PairingJoin
from engine.joins.sides import JoinKind, JoinSide
from engine.mini_batch.kernels import held_back
from engine.model.changelog import INSERT, UPDATE_AFTER
from engine.model.row import Row, identity


class FoldedSide:
    """The changes of one side within a bundle: a row that is added and retracted in the same bundle leaves no change.

    By unique key there are at most two changes, the old row and the new row; by content any number.
    """

    def __init__(self, side: JoinSide) -> None:
        self.unique_key = side.unique_key
        self.changes: dict[Any, list[Change]] = {}
        self.emptied: set[Any] = set()

    def add(self, kind: int, row: Row) -> None:
        """Add a change and fold it."""
        if self.unique_key is None:
            self._add_by_content(kind, row)
        else:
            self._add_by_key(tuple([row[place] for place in self.unique_key]), kind, row)

    def drain(self) -> Iterator[list[Change]]:
        """Return and remove the folded changes, by row or unique key, in the order of their first arrival."""
        changes, self.changes = self.changes, {}
        self.emptied.clear()
        return (left for left in changes.values() if left)

    def _add_by_content(self, kind: int, row: Row) -> None:
        left = self.changes.setdefault(identity(row), [])
        accumulates = kind in (INSERT, UPDATE_AFTER)
        if left and (left[-1][0] in (INSERT, UPDATE_AFTER)) is not accumulates:
            left.pop()
        else:
            left.append((kind, row))

    def _add_by_key(self, key: Any, kind: int, row: Row) -> None:
        left = self.changes.setdefault(key, [])
        accumulates = kind in (INSERT, UPDATE_AFTER)
        if key in self.emptied and accumulates:
            # The row that this one updates was not emitted.
            self.emptied.remove(key)
            kind = INSERT
        if left and left[-1][0] in (INSERT, UPDATE_AFTER):
            before, _ = left.pop()
            if not accumulates:
                if before == INSERT and not left:
                    self.emptied.add(key)
                return
            kind = before if before == INSERT else kind
        elif left and not accumulates:
            left.pop()
        left.append((kind, row))


class BundledJoin(Kernel):
    """A join, bundle by bundle: the right side first (for a right join the left side), to avoid needless padding."""

    def __init__(self, kernel: Callable[[], PairingJoin], kind: JoinKind, left: JoinSide, right: JoinSide) -> None:
        self.kernel = kernel()
        self.order = (0, 1) if kind is JoinKind.RIGHT else (1, 0)
        self.sides = (FoldedSide(left), FoldedSide(right))

    def start(self, key: Key, state: Any | None) -> None:
        """Begin a key."""
        self.kernel.start(key, state)

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Fold the record into its side."""
        self.sides[out.port].add(kind, row)

    def on_bundle(self, out: Output) -> None:
        """Join the folded changes of the bundle."""
        for port in self.order:
            out.port = port
            for changes in self.sides[port].drain():
                accumulates = [kind in (INSERT, UPDATE_AFTER) for kind, _ in changes]
                if accumulates == [False, True]:
                    self.kernel.replace(changes[0], changes[1], out)
                else:
                    for kind, row in changes:
                        self.kernel.on_record(kind, row, out)

    @property
    def expires_ms(self) -> int:
        """When the state of the kernel expires."""
        return self.kernel.expires_ms

    def entries(self) -> Entries:
        """The entries of the join."""
        return self.kernel.entries()

    def finish(self) -> Any | None:
        """The state of the join."""
        return self.kernel.finish()

    def describe(self, names: Names) -> Description:
        """The state of the join, and the buffered records."""
        held = (
            (port, kind, row)
            for port, side in enumerate(self.sides)
            for changes in side.changes.values()
            for kind, row in changes
        )
        return (*self.kernel.describe(names), *held_back(held, names))
