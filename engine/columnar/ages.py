"""Entries that expire one by one, as parts of rules: those of one key at a time, and what is told of their lives.

    clock     0    4    9    12        the TTL is 10
    records   w    w    -    r         an entry is written at 0 and at 4, and removed by the record at 12
    life      [---------------)        from its first record to the one that removes or finds it gone

The plain telling is `engine.contract.expiry.Ages`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.columnar.runs import runs_of
from engine.contract.columnar_kernel import OF_KEY, Entries, Lives, Longs, Met
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

# The places in `Ages.key`.
_FIRST = 0
_NUMBER = 1
_SOONEST = 2
_AGELESS = 3


class Ages(NamedTuple):
    """The entries by number, and what is told of them so far. Records are told by number.

    firsts: the record that each came with, -1 for one that is not there. kinds: of each. dues: when each expires;
    MAX_WATERMARK for one that was written before the clock's first time. ttls_ms: of each kind, 0 if it stays. there:
    the entries of the key, and some that are gone. key: the first record of the key's life, the number of its entries,
    when the soonest of them expires at the earliest, and whether one has no age. held, had, met: rows of `Aged`.
    """

    firsts: list[int]
    kinds: list[int]
    dues: list[int]
    ttls_ms: Longs
    there: list[int]
    key: list[int]
    held: list[int]
    had: list[int]
    met: list[int]


def ages_of(ttls_ms: Longs, entries: int) -> Ages:
    """Nothing is there yet."""
    key = [-1, 0, MAX_WATERMARK, 0]
    of_entries = [-1] * entries, [0] * entries, [0] * entries
    return Ages(*of_entries, ttls_ms, list(range(0)), key, list(range(0)), list(range(0)), list(range(0)))


def hold(ages: Ages, entry: int, kind: int, due: int, first: int, time: int) -> None:
    """An entry of the state is there. first, time: the key's next record, and its clock; MAX_WATERMARK without one."""
    ages.dues[entry], ages.kinds[entry] = due, kind
    if ages.firsts[entry] >= 0 or time == MAX_WATERMARK:
        return
    ages.firsts[entry] = first
    ages.there.append(entry)
    _is_due(ages, entry)
    # What had expired by then went at its time, as an earlier chunk told.
    if due > time:
        ages.key[_FIRST] = first
        ages.key[_NUMBER] += 1
        _tell(ages.had, kind, first, -1, due)


def begin(ages: Ages) -> None:
    """All entries of the state are there."""
    if ages.key[_NUMBER] > 0:
        last = MIN_WATERMARK
        for entry in ages.there:
            last = max(last, ages.dues[entry])
        _tell(ages.had, OF_KEY, ages.key[_FIRST], -1, last)


def write(ages: Ages, entry: int, kind: int, record: int, time: int) -> None:
    """A record writes an entry, which may be new."""
    if not len(ages.firsts):
        return
    if ages.firsts[entry] < 0:
        ages.firsts[entry], ages.kinds[entry] = record, kind
        ages.there.append(entry)
        if ages.key[_NUMBER] == 0:
            ages.key[_FIRST] = record
        ages.key[_NUMBER] += 1
    stays = time == MIN_WATERMARK or ages.ttls_ms[kind] == 0
    ages.dues[entry] = MAX_WATERMARK if stays else time + ages.ttls_ms[kind]
    _is_due(ages, entry)


def remove(ages: Ages, entry: int, record: int) -> None:
    """A record removes an entry, if it is there."""
    if not len(ages.firsts) or ages.firsts[entry] < 0:
        return
    _tell(ages.held, ages.kinds[entry], ages.firsts[entry], record, MAX_WATERMARK)
    ages.firsts[entry] = -1
    ages.key[_NUMBER] -= 1
    if ages.key[_NUMBER] == 0:
        _tell(ages.held, OF_KEY, ages.key[_FIRST], record, MAX_WATERMARK)


def expire(ages: Ages, record: int, time: int) -> int:
    """Forget the entries that a record finds expired. Returns their number; `firsts` tells which are there."""
    if time == MIN_WATERMARK or (ages.key[_SOONEST] > time and ages.key[_AGELESS] == 0):
        return 0
    number, staying, last = 0, 0, MIN_WATERMARK
    ages.key[_SOONEST] = MAX_WATERMARK
    for entry in ages.there:
        if ages.firsts[entry] < 0:
            continue
        ttl_ms = ages.ttls_ms[ages.kinds[entry]]
        # What was written before the clock's first time counts from the record that first finds it.
        if ages.dues[entry] == MAX_WATERMARK and ttl_ms > 0:
            ages.dues[entry] = time + ttl_ms
        due = ages.dues[entry]
        if due > time:
            ages.there[staying] = entry
            staying += 1
            ages.key[_SOONEST] = min(ages.key[_SOONEST], due)
            continue
        number += 1
        ages.met.extend([record, ages.kinds[entry], due])
        # The key's first record finds what had expired before it.
        if ages.firsts[entry] < record:
            last = max(last, due)
            _tell(ages.held, ages.kinds[entry], ages.firsts[entry], -1, due)
            ages.key[_NUMBER] -= 1
        ages.firsts[entry] = -1
    ages.key[_AGELESS] = 0
    while len(ages.there) > staying:
        ages.there.pop()
    if last > MIN_WATERMARK and ages.key[_NUMBER] == 0:
        _tell(ages.held, OF_KEY, ages.key[_FIRST], -1, last)
    return number


def settle(ages: Ages) -> None:
    """The key has no more records."""
    last = MIN_WATERMARK
    for entry in ages.there:
        if ages.firsts[entry] >= 0:
            last = max(last, ages.dues[entry])
            _tell(ages.held, ages.kinds[entry], ages.firsts[entry], -1, ages.dues[entry])
            ages.firsts[entry] = -1
    ages.there.clear()
    if ages.key[_NUMBER] > 0:
        _tell(ages.held, OF_KEY, ages.key[_FIRST], -1, last)
    ages.key[_NUMBER], ages.key[_SOONEST], ages.key[_AGELESS] = 0, MAX_WATERMARK, 0


def _is_due(ages: Ages, entry: int) -> None:
    due = ages.dues[entry]
    ages.key[_SOONEST] = min(ages.key[_SOONEST], due)
    if due == MAX_WATERMARK and ages.ttls_ms[ages.kinds[entry]] > 0:
        ages.key[_AGELESS] = 1


def _tell(lives: list[int], kind: int, first: int, end: int, due: int) -> None:
    lives.extend([kind, first, end, due])


def ages_in_arrays(ages: Ages) -> tuple[Longs, Longs, Longs, Longs]:
    """The fields of `Aged`."""
    return (
        np.array(ages.dues, np.int64),
        np.array(ages.held, np.int64),
        np.array(ages.had, np.int64),
        np.array(ages.met, np.int64),
    )


class Aged(NamedTuple):
    """What a rule tells of its entries. dues: when each expires.

    held, had: rows of kind, first and last record, and when it expires (`Entries`). met: rows of a record, the kind of
    an entry that it has met, and when that had expired.
    """

    dues: Longs
    held: Longs
    had: Longs
    met: Longs

    def lives(self, kept: int, ttls_ms: tuple[int, ...]) -> Lives:
        """The lives of entries. kept: the number of the first record."""

        def entries(rows: Longs) -> Entries:
            kinds, firsts, ends, dues = rows.reshape(-1, 4).T
            return Entries(kinds, firsts - kept, np.where(ends < 0, -1, ends - kept), dues)

        # Of the entries that a record has met, those that were written together are one.
        causes, kinds, dues = (met := self.met.reshape(-1, 3).T)[:, np.lexsort(met[::-1])]
        runs = runs_of(causes, kinds, dues)
        found = Met(causes[runs.starts] - kept, kinds[runs.starts], runs.lengths, dues[runs.starts])
        return Lives(entries(self.held), entries(self.had), found, ttls_ms)
