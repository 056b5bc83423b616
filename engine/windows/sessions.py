"""The rule of session windows that fire once: which session each record belongs to.

    gap                                     records within the gap of a session extend it, a record between two
    |--------|   |------|                   sessions merges them
        |-----------|
    [first event, last event + gap)

A session has fired, and no record reaches it, once the watermark is at its end - 1. A record is late if it reaches no
open session and the watermark is already at the end of its own.
Source: Flink UnslicingWindowOperator, MergingWindowSet.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Lates, Longs, Records
from engine.windows.window_kernel import LATE

_LATE: Final = -1


class InSessions(NamedTuple):
    """The final sessions of a chunk. starts, ends: of each kept session, then of each record that is not late.

    places: these records. lates: an entry per late record.
    """

    starts: Longs
    ends: Longs
    places: Longs
    lates: Lates | None


def in_sessions(records: Records, times: Longs, kept: tuple[Longs, Longs, Longs], gap: int) -> InSessions:
    """The sessions of the records. kept: the group, start and end of open sessions, in any order within a group."""
    assert records.watermarks is not None
    order = np.lexsort((kept[1], kept[0]))
    groups, starts, ends = (column[order] for column in kept)
    session_numbers, starts, ends = sessions(records.groups, times, records.watermarks, groups, starts, ends, gap)
    of_kept = np.empty(len(order), np.int64)
    of_kept[order] = session_numbers[: len(order)]
    of_records = session_numbers[len(order) :]
    late = of_records == _LATE
    places = np.flatnonzero(~late)
    numbers = np.concatenate((of_kept, of_records[places]))
    return InSessions(starts[numbers], ends[numbers], places, _lates(records, times, np.flatnonzero(late), gap))


@rule
def sessions(
    groups: Longs, times: Longs, marks: Longs, kept_groups: Longs, kept_starts: Longs, kept_ends: Longs, gap: int
) -> tuple[Longs, Longs, Longs]:
    """The session of each kept session and of each record, -1 if it is late; the start and the end of each session.

    Sessions are numbered: first the kept ones, which are in order of groups and time. marks: the watermark before each
    record.
    """
    starts, ends = list(kept_starts), list(kept_ends)
    became = list(range(len(kept_groups)))
    of_records, open_ = list(range(0)), list(range(0))
    group = -1
    next_kept = 0
    for at in range(len(groups)):
        if groups[at] != group:
            group = groups[at]
            open_.clear()
            while next_kept < len(kept_groups) and kept_groups[next_kept] < group:
                next_kept += 1
            while next_kept < len(kept_groups) and kept_groups[next_kept] == group:
                open_.append(next_kept)
                next_kept += 1
        while len(open_) > 0 and ends[open_[0]] - 1 <= marks[at]:
            open_.pop(0)
        start = times[at]
        end = start + gap
        after = len(open_)
        while after > 0 and starts[open_[after - 1]] > end:
            after -= 1
        first = after
        while first > 0 and ends[open_[first - 1]] >= start:
            first -= 1
        if first == after:
            if end - 1 <= marks[at]:
                of_records.append(-1)
                continue
            number = len(starts)
            starts.append(start)
            ends.append(end)
            became.append(number)
            open_.insert(first, number)
        else:
            number = open_[first]
            starts[number] = min(starts[number], start)
            ends[number] = max(ends[open_[after - 1]], end)
            while after - first > 1:
                after -= 1
                became[open_.pop(after)] = number
        of_records.append(number)
    # A session that was merged may have been merged again: what it became has become something else.
    for number in range(len(became) - 1, -1, -1):
        last = number
        while became[last] != last:
            last = became[last]
        became[number] = last
    numbers = list(range(0))
    for number in range(len(kept_groups)):
        numbers.append(became[number])
    for number in of_records:
        numbers.append(number if number < 0 else became[number])
    return np.array(numbers, np.int64), np.array(starts, np.int64), np.array(ends, np.int64)


def _lates(records: Records, times: Longs, places: Longs, gap: int) -> Lates | None:
    if not len(places):
        return None
    assert records.watermarks is not None
    starts, ends = times[places], times[places] + gap
    lateness = records.watermarks[places] - (ends - 1)
    return Lates(places, starts, pa.array(starts), pa.array(ends), lateness, np.ones(len(places), np.bool_), LATE)
