"""What the keys of a task hold, counted at some points of an epoch: by kind the entries, and what has expired.

    records of a key    r1      r2              r3
    points                  |       |       |       |
    its entries             1       2       2       3       kept as differences: +1 at the first point, +1 at the second

A count is what the operator's own kernel tells (`Kernel.entries`), or the rows of a columnar kernel's state. A plain
kernel is asked before the first record after a point. A columnar one whose state the watermark frees tells how long
each entry is there (`Stays`); of the others the difference over a chunk is known, and the entries that came are placed
at the first records of their key, those that went at its last ones.

An entry that expires after the epoch goes at a time that is known already (`later`), rounded up, unless its key comes
again before: then that is taken back.
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from engine.columnar.runs import Flags, Runs, in_order, running_most, shifted
from engine.contract.columnar_kernel import BEFORE, OF_KEY, STAYS, Chunk, Entries, Lives, Longs, Records, Stays
from engine.contract.expired import Expired
from engine.contract.frames import GROUP
from engine.contract.kernel import Entries as Told
from engine.contract.kernel import Kernel, Key
from engine.contract.recorder import Held
from engine.contract.step import Keyed
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.runtime.reports import Report

KindsOf = Callable[[pa.RecordBatch], Longs]

HELD: Final = "held"
LARGEST: Final = 10
"""The keys with the most entries that a task reports."""
_POINTS: Final = 48
_SAMPLED: Final = 64


@dataclass(frozen=True)
class Points:
    """The events after which the state of a step is counted. kinds: of its entries.

    step_ms: to which the times of later expiries are rounded up. by_port: an input's rows are a kind.
    after_seq: the event before the epoch.
    """

    seqs: tuple[int, ...]
    kinds: tuple[str, ...]
    step_ms: int = 1
    by_port: bool = False
    after_seq: int = 0

    @classmethod
    def of(cls, after_seq: int, last_seq: int, step: Keyed, ttls_ms: Sequence[int], *, is_curve: bool) -> Points:
        """The points of an epoch: its end, or also some in between. ttls_ms: of the step, if state expires."""
        size = last_seq - after_seq
        count = max(1, min(_POINTS, size)) if is_curve else 1
        # The last event that belongs to each point; `places` is the reverse.
        seqs = tuple(after_seq + size * (at + 1) // count for at in range(count))
        step_ms = max(1, max(ttls_ms, default=0) // _POINTS)
        return cls(seqs, step.holds, step_ms, after_seq=after_seq, by_port=len(step.holds) == len(step.inputs) > 1)

    def places(self, seqs: Longs) -> Longs:
        """The point of each of these events, by division: a search takes five times as long."""
        size, count = max(1, self.seqs[-1] - self.after_seq), len(self.seqs)
        places: Longs = -((self.after_seq - seqs) * count // size) - 1
        return np.clip(places, 0, count - 1)


class Account:
    """The count of one task. now: the recorded clock, if state expires. kinds_of: as of `OfKinds`, if the kernel is."""

    def __init__(self, points: Points, now: Timeline | None = None, kinds_of: KindsOf | None = None) -> None:
        self._points = points
        self._kinds_of = kinds_of
        self._seqs = points.seqs
        self._last = len(points.seqs) - 1
        self._times = [] if now is None else [now.at(seq) for seq in points.seqs]
        self._now = now
        self.now_ms = self._times[-1] if self._times else MIN_WATERMARK
        """The recorded clock after the epoch."""
        shape = (len(points.kinds) + 1, len(points.seqs))
        self._entries = np.zeros(shape, np.int64)
        self._expired = np.zeros(shape, np.int64)
        # Of a plain kernel, one by one: in lists, where that takes a third of the time.
        self._entry_counts: list[list[int]] = self._entries.tolist()
        self._expired_counts: list[list[int]] = self._expired.tolist()
        self._later: Counter[tuple[int, int]] = Counter()
        self._bytes = self._of_bytes = 0
        self._largest: list[tuple[int, str]] = []
        self._closed = 0
        self._place = -1
        self._first_seq = 0
        self._met = 0
        self._before: Told = ()
        self.until = MIN_WATERMARK
        """The next record of the key after this event is to be told by `crossed`, before the kernel receives it."""

    def begin(self, kernel: Kernel, *, had_state: bool) -> None:
        """Begin a key, whose kernel has its state from earlier epochs."""
        self._before = _with_keys(kernel.entries(), len(self._points.kinds)) if had_state else ()
        self._place = -1
        self.until = MIN_WATERMARK

    def crossed(self, seq: int, kernel: Kernel) -> None:
        """The next record comes after a point."""
        place = min(bisect_left(self._seqs, seq), self._last)
        now_ms = MIN_WATERMARK if self._now is None else self._now.at(seq)
        if self._place < 0:
            self._first_seq = seq
            self._take_back(place, now_ms)
        elif place > self._place:
            for kind, expires_ms, number in _with_keys(kernel.entries(), len(self._points.kinds)):
                self._entry_counts[kind][self._place] += number
                until = place if expires_ms > now_ms else max(self._place, min(place, self._place_at(expires_ms)))
                self._entry_counts[kind][until] -= number
        self._place = place
        self.until = self._seqs[place]

    def _take_back(self, place: int, now_ms: int) -> None:
        """What the key held before, and when it was to expire, is told anew from here on."""
        for kind, expires_ms, number in self._before:
            if expires_ms > now_ms:
                self._entry_counts[kind][place] -= number
                if expires_ms != MAX_WATERMARK:
                    self._later[kind, self._rounded(expires_ms)] -= number

    def close(self, kernel: Kernel, key: Key, seq: int, size: int | None) -> None:
        """The key has no more records in this epoch. seq: of its last output. size: of its state in bytes, if known."""
        if self._place < 0:
            self.crossed(seq, kernel)
        told = _with_keys(kernel.entries(), len(self._points.kinds))
        for kind, expires_ms, number in told:
            self._entry_counts[kind][self._place] += number
            if expires_ms == MAX_WATERMARK:
                continue
            gone = max(self._place, self._place_at(expires_ms))
            if gone <= self._last:
                self._entry_counts[kind][gone] -= number
                self._expired_counts[kind][gone] += number
            else:
                self._later[kind, self._rounded(expires_ms)] += number
        if told:
            # The last one is the key itself.
            total = sum(number for _, _, number in told[:-1])
            if size is not None:
                self._bytes, self._of_bytes = self._bytes + size, self._of_bytes + total
            if len(self._largest) < LARGEST or total > self._largest[0][0]:
                self._note(total, key)

    @property
    def wants_size(self) -> bool:
        """Whether the next key's state is one of those that are measured."""
        self._closed += 1
        return self._closed % _SAMPLED == 1

    def met(self, expired: Sequence[Expired]) -> None:
        """Records of the current key have met expired entries, all of them in order.

        What the key's first record met had expired before, and was told by its earlier epoch.
        """
        for expiry in expired[self._met :]:
            if expiry.seq > self._first_seq:
                place = min(bisect_left(self._seqs, expiry.seq), self._place_at(expiry.expired_ms), self._last)
                self._expired_counts[expiry.kind][place] += expiry.entries
        self._met = len(expired)

    def written(self) -> None:
        """The list of what records met is empty again."""
        self._met = 0

    def chunk(self, chunk: Chunk, after: pa.RecordBatch, stays: Stays | None = None) -> None:
        """Count the keys of a columnar kernel's chunk. after: their state then. stays: what is known of its entries."""
        kinds, size, records = len(self._points.kinds), chunk.groups, chunk.records
        had, has = (_counts(state, size, kinds, self._kinds_of) for state in (chunk.state, after))
        own = [records.ports == kind if self._points.by_port else None for kind in range(kinds)]
        totals = has.sum(axis=0)
        all_changes = [*(has - had), (totals > 0) * 1 - (had.sum(axis=0) > 0)]
        if stays is not None:
            all_changes = [change - told for change, told in zip(all_changes, self._stayed(stays, size), strict=True)]
        placed: list[tuple[Longs, Longs]] = []
        for kind, (changes, of_kind) in enumerate(zip(all_changes, (*own, None), strict=True)):
            # Where a key has one entry, both change alike.
            twin = next((row for before, row in placed if of_kind is None and np.array_equal(before, changes)), None)
            row = self._placed(changes, records, of_kind) if twin is None else twin
            self._entries[kind] += row
            if of_kind is None:
                placed.append((changes, row))
        self._measured(chunk, after, totals)
        if stays is not None and not len(after):
            self._bytes += stays.sample.nbytes - stays.sample.column(GROUP).nbytes
            self._of_bytes += len(stays.sample)

    def _stayed(self, stays: Stays, size: int) -> list[Longs]:
        """Count entries whose times are known, and their keys. Returns what that changes in each key, by kind."""
        last, kinds = self._last, len(self._points.kinds)
        comes = np.where(stays.comes == BEFORE, -1, self._points.places(stays.comes))
        goes = np.where(stays.goes == STAYS, last + 1, self._points.places(stays.goes))
        told = []
        for kind in range(kinds):
            own = stays.kinds == kind
            told.append(self._between(kind, stays.groups[own], comes[own], goes[own], size))
        # A key is there from its first entry to its last one, and again with the next one.
        order, _ = in_order(stays.groups, comes)
        groups = stays.groups
        if order is not None:
            groups, comes, goes = groups[order], comes[order], goes[order]
        runs = Runs.of(groups)
        until = running_most(runs, goes)
        begins = comes > shifted(runs, until, np.full(len(runs), -2))
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(groups))[: len(starts)] - 1
        told.append(self._between(kinds, groups[starts], comes[starts], until[ends], size))
        return told

    def _between(self, kind: int, groups: Longs, comes: Longs, goes: Longs, size: int) -> Longs:
        """Count entries from point to point: -1 before the epoch, one after the last for its end."""
        is_new, is_freed = comes >= 0, goes <= self._last
        points = len(self._seqs)
        self._entries[kind] += np.bincount(comes[is_new], minlength=points)
        self._entries[kind] -= np.bincount(goes[is_freed], minlength=points)
        changes: Longs = np.bincount(groups[is_new], minlength=size) - np.bincount(groups[is_freed], minlength=size)
        return changes

    def _measured(self, chunk: Chunk, after: pa.RecordBatch, totals: Longs) -> None:
        """Note the bytes of a state, and the largest keys. totals: the entries of each key."""
        self._bytes += after.nbytes - after.column(GROUP).nbytes
        self._of_bytes += int(totals.sum())
        most = min(LARGEST, chunk.groups)
        for group in np.argpartition(totals, -most)[-most:].tolist():
            if totals[group] and (len(self._largest) < LARGEST or totals[group] > self._largest[0][0]):
                self._note(int(totals[group]), [key[group].as_py() for key in chunk.keys])

    def lives(self, chunk: Chunk, lives: Lives, after: pa.RecordBatch, *, is_rest: bool) -> None:
        """Count the keys of a columnar kernel's chunk whose state expires. is_rest: its key was begun."""
        # What an earlier epoch told is later than this one; what an earlier slice told may be not.
        self._tell(chunk.records, lives.had, -1, is_here=is_rest)
        self._tell(chunk.records, lives.held, 1, is_here=True)
        self._measured(chunk, after, np.bincount(after.column(GROUP).to_numpy(), minlength=chunk.groups))

    def _tell(self, records: Records, entries: Entries, sign: int, *, is_here: bool) -> None:
        """Count entries from the points of their first records on, and where they go."""
        last, kinds = self._last, len(self._points.kinds)
        for kind in (*range(kinds), OF_KEY):
            own = np.flatnonzero(entries.kinds == kind)
            firsts, ends, expires_ms = (column[own] for column in entries[1:])
            places = self._points.places(records.seqs[firsts])
            is_removed = ends >= 0
            gone = np.maximum(np.searchsorted(self._times, expires_ms), places)
            within = (gone <= last) & is_here & ~is_removed
            went = np.bincount(gone[within], minlength=last + 1) * sign
            removed = np.bincount(self._points.places(records.seqs[ends[is_removed]]), minlength=last + 1) * sign
            self._entries[kind] += np.bincount(places, minlength=last + 1) * sign - went - removed
            self._expired[kind] += went
            is_later = ~within & ~is_removed & (expires_ms != MAX_WATERMARK)
            times, numbers = np.unique(expires_ms[is_later], return_counts=True)
            for time_ms, number in zip(times.tolist(), numbers.tolist(), strict=True):
                self._later[kind % (kinds + 1), self._rounded(time_ms)] += sign * number

    def _placed(self, changes: Longs, records: Records, own: Flags | None) -> Longs:
        """The changes of keys, at the points of the records that caused them. own: the records to look at."""
        if not changes.any():
            return np.zeros(len(self._seqs), np.int64)
        groups, seqs = (column if own is None else column[own] for column in (records.groups, records.seqs))
        runs, size = Runs.of(groups), len(changes)
        places = self._points.places(seqs)
        change = changes[groups]
        row = np.zeros(len(self._seqs), np.int64)
        left = changes.copy()
        if (changes > 0).any():
            came = runs.ordinals < change
            row += np.bincount(places[came], minlength=len(row))
            left -= np.bincount(groups[came], minlength=size)
        if (changes < 0).any():
            went = runs.spread(runs.lengths) - runs.ordinals <= -change
            row -= np.bincount(places[went], minlength=len(row))
            left += np.bincount(groups[went], minlength=size)
        if left.any():
            # A record may add several entries, and a timer needs no record.
            last_places = np.full(size, self._last)
            last_places[groups[runs.starts]] = places[runs.ends - 1]
            np.add.at(row, last_places, left)
        return row

    def report(self) -> Report:
        """The counts, one list for each kind and one for the keys."""
        return {
            "what": HELD,
            "entries": (self._entries + self._entry_counts).tolist(),
            "expired": (self._expired + self._expired_counts).tolist(),
            "later": [[kind, time_ms, number] for (kind, time_ms), number in self._later.items() if number],
            "bytes": [self._bytes, self._of_bytes],
            "largest": [[number, key] for number, key in self._largest],
        }

    def _note(self, total: int, key: Sequence[Any]) -> None:
        heapq.heappush(self._largest, (total, json.dumps(key, default=str, ensure_ascii=False)))
        if len(self._largest) > LARGEST:
            heapq.heappop(self._largest)

    def _place_at(self, time_ms: int) -> int:
        """The first point at which the clock has reached a time; one after the last if none has."""
        return bisect_left(self._times, time_ms)

    def _rounded(self, time_ms: int) -> int:
        step = self._points.step_ms
        return -(-time_ms // step) * step


def held_of(node: str, points: Points, reports: Sequence[Report]) -> Held:
    """The counts of all tasks of a node together."""

    def total(what: str) -> tuple[tuple[int, ...], ...]:
        whole = sum((np.array(report[what]) for report in reports), np.zeros((len(points.kinds) + 1, 1), np.int64))
        return tuple(map(tuple, whole.tolist()))

    later: Counter[tuple[int, int]] = Counter()
    for report in reports:
        for kind, time_ms, number in report["later"]:
            later[kind, time_ms] += number
    size, of_entries = (sum(report["bytes"][at] for report in reports) for at in (0, 1))
    largest = heapq.nlargest(LARGEST, (tuple(entry) for report in reports for entry in report["largest"]))
    changes = tuple((*at, number) for at, number in sorted(later.items()) if number)
    return Held(
        node, points.kinds, points.seqs, total("entries"), total("expired"), changes, size, of_entries, tuple(largest)
    )


def _with_keys(entries: Told, kind: int) -> Told:
    """The entries, and the key as one more of this kind, which goes with the last of them."""
    return (*entries, (kind, max(expires_ms for _, expires_ms, _ in entries), 1)) if entries else ()


def _counts(state: pa.RecordBatch, groups: int, kinds: int, kinds_of: KindsOf | None) -> Longs:
    """The entries of each kind (a row each) and key (a column each) in a columnar kernel's state."""
    of_rows, names = state.column(GROUP).to_numpy(), state.schema.names
    told = next((name for name in ("port", "scope") if name in names), None) if kinds > 1 else None
    own: Longs = np.zeros(len(of_rows), np.int64)
    if kinds_of is not None:
        own = kinds_of(state)
    elif told is not None:
        own = np.minimum(state.column(told).to_numpy(), kinds - 1).astype(np.int64)
    places = (of_rows + own * groups)[own >= 0]
    counts: Longs = np.bincount(places, minlength=groups * kinds).reshape(kinds, groups)
    return counts
