"""Entries that expire one by one, as parts of rules, and what is told of their lives.

    clock     0    4    9    12        the TTL is 10
    writes    a    b    a
    queue     a10  b14  a19            by when they expire: an entry that is written again has two places

The plain telling is `engine.contract.expiry.Ages`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from engine.columnar.codes import order_of
from engine.columnar.runs import Runs, runs_of
from engine.contract.columnar_kernel import OF_KEY, Entries, Lives, Longs, Met
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

GONE: Final = MIN_WATERMARK
"""When an entry expires that is not there."""

# The events of an entry: the key's first record finds it, a record writes it first, one removes it, one finds it
# expired, or no other record comes.
HELD: Final = 0
COMES: Final = 1
GOES: Final = 2
EXPIRED: Final = 3
STAYS: Final = 4


class Told(NamedTuple):
    """The events of entries so far, one by one, as `Aged` has them."""

    entries: list[int]
    records: list[int]
    events: list[int]
    dues: list[int]


class Ages(NamedTuple):
    """The entries of one key at a time. Numbers of entries are of all keys, records are told by number.

    dues: by entry, when it expires; MAX_WATERMARK if it was written before the clock's first time. queue, queue_dues:
    what was written, from the place head[0] on.
    """

    ttl_ms: int
    dues: list[int]
    queue: list[int]
    queue_dues: list[int]
    head: list[int]
    told: Told


def ages_of(ttl_ms: int, entries: int) -> Ages:
    """Nothing is there yet."""
    queue, queue_dues = list(range(0)), list(range(0))
    return Ages(ttl_ms, [GONE] * entries, queue, queue_dues, [0], nothing_told())


def nothing_told() -> Told:
    """No events yet."""
    return Told(list(range(0)), list(range(0)), list(range(0)), list(range(0)))


def hold(ages: Ages, entry: int, due: int, record: int) -> None:
    """An entry of the state is there, if it was not told before. They come in order of expiry. record: the first."""
    if ages.dues[entry] == GONE:
        tell(ages.told, entry, record, HELD, due)
        _put(ages, entry, due)


def write(ages: Ages, entry: int, record: int, time: int) -> None:
    """A record writes an entry, which may be new."""
    due = MAX_WATERMARK if time == MIN_WATERMARK else time + ages.ttl_ms
    if ages.dues[entry] == GONE:
        tell(ages.told, entry, record, COMES, due)
    _put(ages, entry, due)


def remove(ages: Ages, entry: int, record: int) -> None:
    """A record removes an entry, if it is there."""
    if ages.dues[entry] != GONE:
        tell(ages.told, entry, record, GOES, MAX_WATERMARK)
        ages.dues[entry] = GONE


def expire(ages: Ages, record: int, time: int) -> int:
    """Forget what a record finds expired. Returns the number of these entries, which are the last ones told."""
    queue, dues, head = ages.queue, ages.queue_dues, ages.head
    if time == MIN_WATERMARK:
        return 0
    if head[0] < len(queue) and dues[head[0]] == MAX_WATERMARK:
        # What was written before the clock's first time counts from the record that first finds it.
        for place in range(head[0], len(queue)):
            dues[place] = time + ages.ttl_ms
            if ages.dues[queue[place]] == MAX_WATERMARK:
                ages.dues[queue[place]] = time + ages.ttl_ms
    number = 0
    while head[0] < len(queue) and dues[head[0]] <= time:
        entry, due = queue[head[0]], dues[head[0]]
        head[0] += 1
        if ages.dues[entry] == due:
            tell(ages.told, entry, record, EXPIRED, due)
            ages.dues[entry] = GONE
            number += 1
    return number


def settle(ages: Ages, record: int) -> None:
    """The key has no more records."""
    for place in range(ages.head[0], len(ages.queue)):
        entry, due = ages.queue[place], ages.queue_dues[place]
        if ages.dues[entry] == due:
            tell(ages.told, entry, record, STAYS, due)
            ages.dues[entry] = GONE
    ages.queue.clear()
    ages.queue_dues.clear()
    ages.head[0] = 0


def _put(ages: Ages, entry: int, due: int) -> None:
    ages.dues[entry] = due
    ages.queue.append(entry)
    ages.queue_dues.append(due)


def tell(told: Told, entry: int, record: int, event: int, due: int) -> None:
    """An event of an entry, and when that expires, or would have."""
    told.entries.append(entry)
    told.records.append(record)
    told.events.append(event)
    told.dues.append(due)


def told_in_arrays(told: Told) -> tuple[Longs, Longs, Longs, Longs]:
    """The fields of `Aged`."""
    return (
        np.array(told.entries, np.int64),
        np.array(told.records, np.int64),
        np.array(told.events, np.int64),
        np.array(told.dues, np.int64),
    )


class Aged(NamedTuple):
    """The events of all entries, in order: the entry, the record, what it is, and when the entry expires."""

    entries: Longs
    records: Longs
    events: Longs
    dues: Longs

    def left(self, room: int) -> Longs:
        """When the entries that stay expire; GONE for the others. room: the number of entries."""
        dues = np.full(room, GONE)
        stay = self.events == STAYS
        dues[self.entries[stay]] = self.dues[stay]
        return dues

    def lives(self, now: Longs, kept: int, ttls_ms: tuple[int, ...], kinds: Longs) -> Lives:
        """The lives of the entries, and of their keys.

        now: at each record. kept: the number of the first record. ttls_ms: by kind. kinds: of the entries.
        """
        records, events, dues, kinds = self.records - kept, self.events, self.dues, kinds[self.entries]
        # The first event of an entry is that it comes, the second one that it goes, and so on.
        order = order_of(self.entries, int(self.entries.max(initial=0)).bit_length())
        begins, ends = order[::2], order[1::2]
        # What had expired by the key's first record was told before.
        there = (events[begins] != HELD) | (dues[begins] > now[records[begins]])
        begins, ends = begins[there], ends[there]
        counts = np.zeros(len(events), np.bool_)
        counts[begins] = counts[ends] = True
        of_keys = np.flatnonzero(counts)
        steps = np.where(events[of_keys] <= COMES, 1, -1)
        number = np.cumsum(steps)
        key_begins, key_ends = of_keys[(steps > 0) & (number == 1)], of_keys[(steps < 0) & (number == 0)]
        held = np.flatnonzero(counts & (events == HELD))
        last_held = held[Runs.of(records[held]).ends - 1]
        # What becomes of a key is told of several entries, of which the last to expire counts.
        runs = runs_of(records, events)
        lasts_of_keys = runs.spread(np.maximum.reduceat(dues, runs.starts)) if len(runs) else dues

        def entries(begins: Longs, ends: Longs, keys: Longs, key_ends: Longs) -> Entries:
            of = np.concatenate((kinds[begins], np.full(len(keys), OF_KEY)))
            firsts, lasts = np.concatenate((begins, keys)), np.concatenate((ends, key_ends))
            expires = np.concatenate((dues[ends], lasts_of_keys[key_ends]))
            return Entries(of, records[firsts], np.where(events[lasts] == GOES, records[lasts], -1), expires)

        met = np.flatnonzero(events == EXPIRED)
        met = met[np.lexsort((dues[met], kinds[met], records[met]))]
        runs = runs_of(records[met], kinds[met], dues[met])
        firsts = met[runs.starts]
        return Lives(
            entries(begins, ends, key_begins, key_ends),
            entries(held, held, last_held, last_held),
            Met(records[firsts], kinds[firsts], runs.lengths, dues[firsts]),
            ttls_ms,
        )
