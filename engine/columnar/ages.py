"""Entries that expire one by one, as parts of rules, and what is told of their lives.

    clock     0    4    9    12        the TTL is 10
    writes    a    b    a
    queue     a10  b14  a19            by when they expire: an entry that is written again has two places

The plain telling is `engine.contract.expiry.Ages`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from engine.columnar.runs import Runs, runs_of
from engine.contract.columnar_kernel import OF_KEY, Entries, Lives, Longs, Met
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

GONE: Final = MIN_WATERMARK
"""When an entry expires that is not there."""

# The events of an entry: the key's first record finds it, a record writes it first, one removes it, one finds it
# expired, or no other record comes.
_HELD = 0
_COMES = 1
_GOES = 2
_EXPIRED = 3
_STAYS = 4


class Ages(NamedTuple):
    """The entries of one key at a time. Numbers of entries are of all keys, records are told by number.

    dues: by entry, when it expires; MAX_WATERMARK if it was written before the clock's first time. queue, queue_dues:
    what was written, from the place head[0] on. entries, records, events, event_dues: one by one.
    """

    ttl_ms: int
    dues: list[int]
    queue: list[int]
    queue_dues: list[int]
    head: list[int]
    entries: list[int]
    records: list[int]
    events: list[int]
    event_dues: list[int]


def ages_of(ttl_ms: int, entries: int) -> Ages:
    """Nothing is there yet."""
    queue, queue_dues = list(range(0)), list(range(0))
    told = list(range(0)), list(range(0)), list(range(0)), list(range(0))
    return Ages(ttl_ms, [GONE] * entries, queue, queue_dues, [0], *told)


def hold(ages: Ages, entry: int, due: int, record: int) -> None:
    """An entry of the state is there, if it was not told before. They come in order of expiry. record: the first."""
    if ages.dues[entry] == GONE:
        _tell(ages, entry, record, _HELD, due)
        _put(ages, entry, due)


def write(ages: Ages, entry: int, record: int, time: int) -> None:
    """A record writes an entry, which may be new."""
    due = MAX_WATERMARK if time == MIN_WATERMARK else time + ages.ttl_ms
    if ages.dues[entry] == GONE:
        _tell(ages, entry, record, _COMES, due)
    _put(ages, entry, due)


def remove(ages: Ages, entry: int, record: int) -> None:
    """A record removes an entry, if it is there."""
    if ages.dues[entry] != GONE:
        _tell(ages, entry, record, _GOES, MAX_WATERMARK)
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
            _tell(ages, entry, record, _EXPIRED, due)
            ages.dues[entry] = GONE
            number += 1
    return number


def settle(ages: Ages, record: int) -> None:
    """The key has no more records."""
    for place in range(ages.head[0], len(ages.queue)):
        entry, due = ages.queue[place], ages.queue_dues[place]
        if ages.dues[entry] == due:
            _tell(ages, entry, record, _STAYS, due)
            ages.dues[entry] = GONE
    ages.queue.clear()
    ages.queue_dues.clear()
    ages.head[0] = 0


def _put(ages: Ages, entry: int, due: int) -> None:
    ages.dues[entry] = due
    ages.queue.append(entry)
    ages.queue_dues.append(due)


def _tell(ages: Ages, entry: int, record: int, event: int, due: int) -> None:
    ages.entries.append(entry)
    ages.records.append(record)
    ages.events.append(event)
    ages.event_dues.append(due)


def ages_in_arrays(ages: Ages) -> tuple[Longs, Longs, Longs, Longs]:
    """The fields of `Aged`."""
    return (
        np.array(ages.entries, np.int64),
        np.array(ages.records, np.int64),
        np.array(ages.events, np.int64),
        np.array(ages.event_dues, np.int64),
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
        stay = self.events == _STAYS
        dues[self.entries[stay]] = self.dues[stay]
        return dues

    def lives(self, now: Longs, kept: int, ttl_ms: int) -> Lives:
        """The lives of the entries, and of their keys. now: at each record. kept: the number of the first record."""
        records, events, dues = self.records - kept, self.events, self.dues
        # The first event of an entry is that it comes, the second one that it goes, and so on.
        order = np.argsort(self.entries, kind="stable")
        begins, ends = order[::2], order[1::2]
        # What had expired by the key's first record was told before.
        there = (events[begins] != _HELD) | (dues[begins] > now[records[begins]])
        begins, ends = begins[there], ends[there]
        of_keys = np.sort(np.concatenate((begins, ends)))
        steps = np.where(events[of_keys] <= _COMES, 1, -1)
        number = np.cumsum(steps)
        key_begins, key_ends = of_keys[(steps > 0) & (number == 1)], of_keys[(steps < 0) & (number == 0)]
        held = np.sort(begins[events[begins] == _HELD])
        last_held = held[Runs.of(records[held]).ends - 1]

        def entries(begins: Longs, ends: Longs, keys: Longs, key_ends: Longs) -> Entries:
            kinds = np.repeat([0, OF_KEY], [len(begins), len(keys)])
            firsts, lasts = np.concatenate((begins, keys)), np.concatenate((ends, key_ends))
            return Entries(kinds, records[firsts], np.where(events[lasts] == _GOES, records[lasts], -1), dues[lasts])

        met = np.flatnonzero(events == _EXPIRED)
        runs = runs_of(records[met], dues[met])
        firsts = met[runs.starts]
        return Lives(
            entries(begins, ends, key_begins, key_ends),
            entries(held, held, last_held, last_held),
            Met(records[firsts], np.zeros(len(firsts), np.int64), runs.lengths, dues[firsts]),
            (ttl_ms,),
        )
