"""The rule of temporal joins: when each row is joined, and with which version.

    versions     |--100----|--200--------|        each is valid until the next one begins
    rows             x         y                  wait for the watermark, then go out in order of arrival

A key has one timer. As in Flink, it is set for the earliest time of the records since it last fired, and otherwise for
waiting rows only. Versions may thus stay longer than necessary, and late rows are joined with them.
Source: Flink TemporalRowTimeJoinOperator.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs

TIMER: Final = 0
WAITING: Final = 1
VERSION: Final = 2
ENDED: Final = 3
"""What a row of the state is: the key's timer; a waiting left row; a version; the end of the version before it."""


class Dated(NamedTuple):
    """The rows of a chunk with their versions, by number.

    rows, versions, timers: what is emitted; -1 for no version. times, origins, fires: of each timer that fired, its
    time, what set it (a row; the timer n as -1 - n), and the place in the timeline. late_rows, late_versions: places of
    records. gone, gone_by: versions that are let go, and the cause: a record by its place, the timer n as -1 - n.
    left_...: what is kept: of a key, a role, a row, or for its timer what set it; the time; the watermark that
    it waits for.
    """

    rows: Longs
    versions: Longs
    timers: Longs
    times: Longs
    origins: Longs
    fires: Longs
    late_rows: Longs
    late_versions: Longs
    gone: Longs
    gone_by: Longs
    left_groups: Longs
    left_roles: Longs
    left_rows: Longs
    left_times: Longs
    left_dues: Longs


@rule
def dated(
    roles: Longs,
    groups: Longs,
    times: Longs,
    ports: Longs,
    kinds: Longs,
    waits_for: Longs,
    dues: Longs,
    passes_on: Longs,
    marks: Longs,
    befores: Longs,
    limits: Longs,
    line: Longs,
    never: int,
) -> tuple[Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs]:
    """The rows with their versions. Rows are numbered: those of the state, then the records.

    roles: of the state's rows. waits_for, dues: the watermark that a timer of each row waits for, and its place in the
    timeline. passes_on: whether a timer of the state was set by a timer. marks, befores: of each record, the watermark
    before it and its place. limits: of each key, the place up to which its timer fires. line: the timeline.
    """
    state_size, total = len(roles), len(groups)
    rows, versions, timers = list(range(0)), list(range(0)), list(range(0))
    fired_times, fired_origins, fires = list(range(0)), list(range(0)), list(range(0))
    late_rows, late_versions = list(range(0)), list(range(0))
    gone, gone_by = list(range(0)), list(range(0))
    left_groups, left_roles, left_rows = list(range(0)), list(range(0)), list(range(0))
    left_times, left_dues = list(range(0)), list(range(0))
    next_kept, record = 0, state_size
    for group in range(len(limits)):
        waiting, starts, valid = list(range(0)), list(range(0)), list(range(0))
        is_set, time, origin, due, waits = False, 0, 0, 0, 0
        while next_kept < state_size and groups[next_kept] == group:
            if roles[next_kept] == 0:
                is_set, time, origin = True, times[next_kept], next_kept
                due, waits = dues[next_kept], waits_for[next_kept]
            elif roles[next_kept] == 1:
                waiting.append(next_kept)
            else:
                starts.append(times[next_kept])
                valid.append(next_kept)
            next_kept += 1
        is_record = True
        while is_record:
            is_record = record < total and groups[record] == group
            limit = befores[record - state_size] if is_record else limits[group]
            while is_set and due < limit:
                mark = line[due]
                timer = len(fires)
                fired_times.append(time)
                fired_origins.append(origin)
                fires.append(due)
                staying = list(range(0))
                earliest = never
                for number in waiting:
                    if times[number] > mark:
                        staying.append(number)
                        earliest = min(earliest, times[number])
                        continue
                    place = len(starts)
                    while place > 0 and starts[place - 1] > times[number]:
                        place -= 1
                    rows.append(number)
                    timers.append(timer)
                    is_valid = place > 0 and (kinds[valid[place - 1]] == 0 or kinds[valid[place - 1]] == 2)
                    versions.append(valid[place - 1] if is_valid else -1)
                waiting = staying
                while len(starts) > 1 and starts[1] <= mark:
                    starts.pop(0)
                    gone.append(valid.pop(0))
                    gone_by.append(-1 - timer)
                is_set = len(waiting) > 0
                if is_set:
                    if origin >= 0 and not (origin < state_size and passes_on[origin]):
                        origin = -1 - timer
                    time, waits = earliest, earliest
                    # The first watermark from there on that reaches the time.
                    low, high = due + 1, len(line)
                    while low < high:
                        middle = (low + high) // 2
                        if line[middle] < time:
                            low = middle + 1
                        else:
                            high = middle
                    due = low
            if not is_record:
                break
            start = times[record]
            is_late = start <= marks[record - state_size]
            if ports[record] == 0:
                if is_late and len(starts) > 0 and start < starts[0]:
                    late_rows.append(record - state_size)
                waiting.append(record)
            else:
                if is_late:
                    late_versions.append(record - state_size)
                place = len(starts)
                while place > 0 and starts[place - 1] > start:
                    place -= 1
                if place > 0 and starts[place - 1] == start:
                    gone.append(valid[place - 1])
                    gone_by.append(record - state_size)
                    valid[place - 1] = record
                else:
                    starts.insert(place, start)
                    valid.insert(place, record)
            if not is_set or start < time:
                is_set, time, origin = True, start, record
                due, waits = dues[record], waits_for[record]
            record += 1
        if is_set:
            left_groups.append(group)
            left_roles.append(0)
            left_rows.append(origin)
            left_times.append(time)
            left_dues.append(waits)
        for number in waiting:
            left_groups.append(group)
            left_roles.append(1)
            left_rows.append(number)
            left_times.append(times[number])
            left_dues.append(never)
        for place in range(len(starts)):
            left_groups.append(group)
            left_roles.append(2 if kinds[valid[place]] == 0 or kinds[valid[place]] == 2 else 3)
            left_rows.append(valid[place])
            left_times.append(starts[place])
            left_dues.append(never)
    return (
        np.array(rows, np.int64),
        np.array(versions, np.int64),
        np.array(timers, np.int64),
        np.array(fired_times, np.int64),
        np.array(fired_origins, np.int64),
        np.array(fires, np.int64),
        np.array(late_rows, np.int64),
        np.array(late_versions, np.int64),
        np.array(gone, np.int64),
        np.array(gone_by, np.int64),
        np.array(left_groups, np.int64),
        np.array(left_roles, np.int64),
        np.array(left_rows, np.int64),
        np.array(left_times, np.int64),
        np.array(left_dues, np.int64),
    )
