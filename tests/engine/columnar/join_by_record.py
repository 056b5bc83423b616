"""Joins over all rows, record by record and bundle by bundle: what the columnar kernel is compared with."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from operator import attrgetter
from typing import Any

from engine.contract.expiry import Ages
from engine.contract.kernel import Entries, Key, Output
from engine.joins.equal_keys import Matches
from engine.joins.sides import JoinKind, JoinSide
from engine.model.binary_row import row_encoder
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.model.row import Row, identity
from engine.model.timeline import MAX_WATERMARK
from tests.engine.columnar.one_row_per_key import Undescribed

Change = tuple[int, Row]
"""A kind and a row."""


class SideRow:
    """A row of one side: its number of copies and of partners. code: its sort code, once computed."""

    __slots__ = ("code", "count", "partners", "row")

    def __init__(self, row: Row, count: int, partners: int) -> None:
        self.row = row
        self.count = count
        self.partners = partners
        self.code = b""


_code = attrgetter("code")


class SideRows:
    """The rows of one side of a key, by their unique key or by their content.

    They are joined in the order of Flink's RocksDB: by the bytes of their unique key or content. Each row expires by
    itself, ttl_ms after it was last written (0: never).
    """

    def __init__(self, side: JoinSide, ttl_ms: int = 0) -> None:
        self.unique_key = side.unique_key
        self.ttl_ms = ttl_ms
        self.now_ms = 0
        places = range(len(side.types)) if side.unique_key is None else side.unique_key
        self.encode = row_encoder([side.types[place] for place in places]) if side.types else None
        self.begin(())

    def begin(self, held: Iterable[tuple[Any, tuple[Row, int, int]]], written: Mapping[Any, int] | None = None) -> None:
        """Restore the rows of a key, and when they were written."""
        self.held = {place: SideRow(*row) for place, row in held}
        self.ages = Ages(self.ttl_ms, dict(written or {})) if self.ttl_ms else None
        self.ordered: list[SideRow] | None = None

    def forget_expired(self, out: Output, kind: int) -> None:
        """Remove the rows that have expired. kind: the side."""
        self.now_ms = out.now_ms
        if self.ages is not None:
            for place in self.ages.forgotten(out, kind):
                self._remove(place)

    def wrote(self, row: Row) -> None:
        """A row was written, which refreshes it."""
        if self.ages is not None:
            self.ages.wrote(self._place(row), self.now_ms)

    def in_order(self) -> Iterable[SideRow]:
        """The rows in the order in which they are joined. The order is computed once there are two rows."""
        if self.encode is None or len(self.held) < 2:
            return self.held.values()
        if self.ordered is None:
            for held in self.held.values():
                held.code = self._encoded(held.row)
            self.ordered = sorted(self.held.values(), key=_code)
        return self.ordered

    def add(self, row: Row, partners: int) -> bool:
        """Add a row. True if it replaces the row of its unique key."""
        place = self._place(row)
        if self.ages is not None:
            self.ages.wrote(place, self.now_ms)
        held = self.held.get(place)
        if held is None:
            held = self.held[place] = SideRow(row, 1, partners)
            if self.ordered is not None:
                held.code = self._encoded(row)
                insort(self.ordered, held, key=_code)
            return False
        held.row, held.partners = row, partners
        if self.unique_key is None:
            held.count += 1
        return self.unique_key is not None

    def retract(self, row: Row) -> bool:
        """Remove one copy of a row. False if there is none."""
        place = self._place(row)
        held = self.held.get(place)
        if held is None:
            return False
        held.count -= 1
        if not held.count:
            self._remove(place)
            if self.ages is not None:
                self.ages.forget(place)
        else:
            self.wrote(row)
        return True

    def _remove(self, place: Any) -> None:
        held = self.held.pop(place)
        if self.ordered is not None:
            self.ordered.pop(self.ordered.index(held, bisect_left(self.ordered, held.code, key=_code)))

    def _encoded(self, row: Row) -> bytes:
        assert self.encode is not None
        known_by = row if self.unique_key is None else tuple([row[place] for place in self.unique_key])
        code = self.encode(known_by)
        return len(code).to_bytes(4) + code

    def _place(self, row: Row) -> Any:
        if self.unique_key is None:
            return identity(row)
        return tuple([row[place] for place in self.unique_key])


class JoinKernel(Undescribed):
    """The base of both kinds of join: the rows of both sides of one key, and their pairs.

    kind: whose rows are kept with the number of their partners, so that a partner's change writes them, too. ttls_ms:
    of both sides. State: the rows of each side, and with a TTL when they were written.
    """

    def __init__(
        self,
        kind: JoinKind,
        left: JoinSide,
        right: JoinSide,
        matches: Callable[[], Matches] | None = None,
        ttls_ms: tuple[int, int] = (0, 0),
    ) -> None:
        self.specs = (left, right)
        self.matches = matches() if matches is not None else None
        self.sides = (SideRows(left, ttls_ms[0]), SideRows(right, ttls_ms[1]))
        self.is_anti = kind is JoinKind.ANTI
        self.keeps = (kind.keeps_left, kind.keeps_right)
        self.counts = (kind.keeps_left or kind.is_left_only, kind.keeps_right)
        self.expires = any(ttls_ms)
        # A row that has expired is still counted by its partners, so its retraction is not ignored.
        self.passes_unknown = [self.expires or kind.passes_unknown(port) for port in (0, 1)]
        self.can_match = True

    def start(self, key: Key, state: Any | None) -> None:
        """Restore both sides."""
        self.can_match = None not in key
        left, right, *written = state or ((), ())
        for side, rows, ages in zip(self.sides, (left, right), written or (None, None), strict=True):
            side.begin(rows, ages)

    def finish(self) -> Any | None:
        """Both sides, as plain values."""
        if not any(side.held for side in self.sides):
            return None
        rows = (
            [(place, (held.row, held.count, held.partners)) for place, held in side.held.items()] for side in self.sides
        )
        written = [None if side.ages is None else side.ages.written for side in self.sides]
        return (*rows, *(written if self.expires else ()))

    @property
    def expires_ms(self) -> int:
        """When the last row of both sides expires."""
        live = [side for side in self.sides if side.held]
        return max((MAX_WATERMARK if side.ages is None else side.ages.last_ms for side in live), default=MAX_WATERMARK)

    def entries(self) -> Entries:
        """The rows of each side, one by one where they expire."""
        told: list[tuple[int, int, int]] = []
        for kind, side in enumerate(self.sides):
            if side.ages is not None:
                told += side.ages.each(kind)
            elif side.held:
                told.append((kind, MAX_WATERMARK, len(side.held)))
        return told

    def forget_expired(self, out: Output) -> None:
        """Remove the rows of both sides that have expired."""
        if self.expires:
            for kind, side in enumerate(self.sides):
                side.forget_expired(out, kind)

    def recounted(self, held: SideRow, port: int) -> None:
        """The number of partners of a row of this side was written. Only called where rows expire: there are many."""
        if self.counts[port]:
            self.sides[port].wrote(held.row)

    def partners(self, row: Row, port: int) -> Iterator[SideRow]:
        """The rows of the other side that match this row."""
        if not self.can_match:
            return
        matches = self.matches
        for held in self.sides[1 - port].in_order():
            if matches is None or matches(row + held.row if port == 0 else held.row + row) is True:
                yield held


class PairingJoin(JoinKernel):
    """Inner, left, right and full join: pairs, and padding for a preserved side."""

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Emit or retract the row's pairs."""
        self.forget_expired(out)
        if kind in (INSERT, UPDATE_AFTER):
            self._accumulate(kind, row, out)
        else:
            self._retract(kind, row, out)

    def replace(self, old: Change, new: Change, out: Output) -> None:
        """Retract a row and add its successor. A partner of both is not padded in between."""
        self.forget_expired(out)
        after = set(map(id, self.partners(new[1], out.port)))
        both = {id(held) for held in self.partners(old[1], out.port)} & after
        self._retract(*old, out, spared=both)
        self._accumulate(*new, out, spared=both)

    def _accumulate(self, kind: int, row: Row, out: Output, spared: Set[int] = frozenset()) -> None:
        port = out.port
        keeps, other_kept = self.keeps[port], self.keeps[1 - port]
        met = list(self.partners(row, port))
        replaces = self.can_match and self.sides[port].add(row, sum(held.count for held in met))
        if keeps and not met:
            self._pad(INSERT, row, port, out)
        for held in met:
            was_alone = other_kept and held.partners == 0
            for _ in range(held.count):
                if was_alone and id(held) not in spared:
                    self._pad(DELETE, held.row, 1 - port, out)
                self._pair(INSERT if keeps or other_kept else kind, row, held.row, port, out)
            if was_alone or not replaces:
                held.partners += 1
            if self.expires:
                self.recounted(held, 1 - port)

    def _retract(self, kind: int, row: Row, out: Output, spared: Set[int] = frozenset()) -> None:
        port = out.port
        keeps, other_kept = self.keeps[port], self.keeps[1 - port]
        if self.can_match and not self.sides[port].retract(row) and not self.passes_unknown[port]:
            return
        met = list(self.partners(row, port))
        if keeps and not met:
            self._pad(DELETE, row, port, out)
        for held in met:
            held.partners -= 1
            if self.expires:
                self.recounted(held, 1 - port)
            for _ in range(held.count):
                self._pair(DELETE if keeps else kind, row, held.row, port, out)
                if other_kept and held.partners == 0 and id(held) not in spared:
                    self._pad(INSERT, held.row, 1 - port, out)

    def _pair(self, kind: int, row: Row, other: Row, port: int, out: Output) -> None:
        out.emit(kind, row + other if port == 0 else other + row)

    def _pad(self, kind: int, row: Row, port: int, out: Output) -> None:
        nulls = (None,) * self.specs[1 - port].width
        out.emit(kind, row + nulls if port == 0 else nulls + row)


class SemiAntiJoin(JoinKernel):
    """Semi and anti join: left rows with a partner, or without one."""

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """A left row is emitted depending on its partners; a right row may change this for left rows."""
        self.forget_expired(out)
        port = out.port
        accumulates = kind in (INSERT, UPDATE_AFTER)
        is_unknown = not accumulates and self.can_match and not self.sides[port].retract(row)
        if is_unknown and not self.passes_unknown[port]:
            return
        met = list(self.partners(row, port))
        if port == 0:
            if (not met) is self.is_anti:
                out.emit(kind, row)
            if accumulates and self.can_match:
                self.sides[0].add(row, sum(held.count for held in met))
        elif accumulates:
            replaces = self.can_match and self.sides[1].add(row, 0)
            for held in met:
                if held.partners == 0:
                    self._emit(DELETE if self.is_anti else kind, held, out)
                if held.partners == 0 or not replaces:
                    held.partners += 1
                if self.expires:
                    self.recounted(held, 0)
        else:
            for held in met:
                held.partners -= 1
                if self.expires:
                    self.recounted(held, 0)
                if held.partners == 0:
                    self._emit(INSERT if self.is_anti else kind, held, out)

    def _emit(self, kind: int, held: SideRow, out: Output) -> None:
        for _ in range(held.count):
            out.emit(kind, held.row)


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


class BundledJoin(Undescribed):
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
