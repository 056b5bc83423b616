"""The rule of over aggregation: when each row is emitted, in which order, and the frame of rows before it.

    rows wait for the watermark, then go out in order of time
    frame of 1 row         . . . [4 5]         rows that leave a frame are no longer needed
    frame of 1 second      . [3 4 5]           from the first row of that second
    frame of all           [1 2 3 4 5]         only its accumulator is needed

Over all rows, a row is late once the watermark has reached its time; in a bounded frame, if rows of its key with the
same or a later time have been emitted. A key with a frame of time is forgotten between one and one and a half frame
lengths after its last row; from then on it accepts rows that would have been late.
Source: Flink RowTimeUnboundedPrecedingOverFunctionV2, RowTimeRowsBoundedPrecedingFunction,
RowTimeRangeBoundedPrecedingFunction.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs

KEY: Final = 0
FRAME: Final = 1
WAITING: Final = 2
FORGETS: Final = 3
"""What a row of the state is: the key itself, with the time up to which rows were emitted; a row in the frame; a row
that waits; the time at which the key is forgotten, or would have been without a later row."""


class Framed(NamedTuple):
    """The rows of a chunk in order, those still in the frame first, then those that are emitted.

    rows: their numbers. lives: a number per key and per time it begins anew. froms, untils: the frame, by place in this
    order. origins: the timer that emits it, by the number of the row that set it; -1 if it was emitted before. goes_on:
    per life, whether it is that of the state. ends: per life, the timer that ends it; -1 for none. lates: the places of
    late records. left_...: what is kept: of a key, a role, a number (-1 for the key itself), the time, and the life.
    """

    rows: Longs
    lives: Longs
    froms: Longs
    untils: Longs
    origins: Longs
    goes_on: Longs
    ends: Longs
    lates: Longs
    left_groups: Longs
    left_roles: Longs
    left_rows: Longs
    left_times: Longs
    left_lives: Longs


@rule
def framed(
    roles: Longs,
    groups: Longs,
    times: Longs,
    dues: Longs,
    marks: Longs,
    befores: Longs,
    limits: Longs,
    waits: int,
    judges_by_emitted: int,
    rows_back: int,
    ms_back: int,
    with_peers: int,
    unset: int,
) -> tuple[Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs]:
    """The rows of a chunk in their frames; rows_back and ms_back are -1 for a frame of all rows.

    Rows are numbered: those of the state, the records, and for each record the time at which it would have its key
    forgotten. roles: of the state's rows. dues: the place in the timeline of the watermark that each waits for.
    marks, befores: of each record, the watermark before it and its place. limits: of each key, the place up to which
    its rows fire. unset: a time before all others.
    """
    state_size, total = len(roles), len(groups)
    rows, lives, froms, untils, origins = list(range(0)), list(range(0)), list(range(0)), list(range(0)), list(range(0))
    goes_on, ends, lates = list(range(0)), list(range(0)), list(range(0))
    left_groups, left_roles, left_rows = list(range(0)), list(range(0)), list(range(0))
    left_times, left_lives = list(range(0)), list(range(0))
    next_kept, record, life = 0, state_size, -1
    for group in range(len(limits)):
        life += 1
        goes_on.append(0)
        ends.append(-1)
        start, passed, forget = len(rows), unset, unset
        pending = list(range(0))
        head = 0
        while next_kept < state_size and groups[next_kept] == group:
            if roles[next_kept] == 0:
                passed = times[next_kept]
                goes_on[life] = 1
            elif roles[next_kept] == 1:
                rows.append(next_kept)
                lives.append(life)
                froms.append(start)
                untils.append(len(rows) - 1)
                origins.append(-1)
            else:
                pending.append(next_kept)
                if roles[next_kept] == 3:
                    forget = max(forget, times[next_kept])
            next_kept += 1
        is_record = True
        while is_record:
            is_record = record < total and groups[record] == group
            limit = befores[record - state_size] if is_record else limits[group]
            while head < len(pending) and (not waits or dues[pending[head]] < limit):
                origin = pending[head]
                time = times[origin]
                if forget != unset and forget <= time:
                    head += 1
                    ends[life] = origin
                    life += 1
                    goes_on.append(0)
                    ends.append(-1)
                    start, passed, forget = len(rows), unset, unset
                    continue
                first = len(rows)
                while head < len(pending) and times[pending[head]] == time:
                    number = pending[head]
                    head += 1
                    if number < total and (number >= state_size or roles[number] == 2):
                        rows.append(number)
                        lives.append(life)
                        if rows_back >= 0:
                            start = max(start, len(rows) - 1 - rows_back)
                        froms.append(start)
                        untils.append(len(rows) - 1)
                        origins.append(origin)
                if ms_back >= 0 and len(rows) > first:
                    while times[rows[start]] < time - ms_back:
                        start += 1
                if with_peers:
                    for at in range(first, len(rows)):
                        froms[at] = start
                        untils[at] = len(rows) - 1
                passed = time
            if not is_record:
                break
            time = times[record]
            if not waits:
                # By arrival: the next round emits it.
                pending.append(record)
            elif time <= (passed if judges_by_emitted else marks[record - state_size]):
                lates.append(record - state_size)
            else:
                at = len(pending)
                while at > head and times[pending[at - 1]] > time:
                    at -= 1
                pending.insert(at, record)
                if ms_back >= 0 and forget < time + ms_back + 1:
                    # The time is later than all that wait.
                    number = record - state_size + total
                    forget = times[number]
                    pending.append(number)
            record += 1
        if passed != unset:
            left_groups.append(group)
            left_roles.append(0)
            left_rows.append(-1)
            left_times.append(passed)
            left_lives.append(life)
        if rows_back >= 0 or ms_back >= 0:
            for at in range(start, len(rows)):
                left_groups.append(group)
                left_roles.append(1)
                left_rows.append(rows[at])
                left_times.append(times[rows[at]])
                left_lives.append(life)
        for at in range(head, len(pending)):
            number = pending[at]
            left_groups.append(group)
            left_roles.append(3 if number >= total or (number < state_size and roles[number] == 3) else 2)
            left_rows.append(number)
            left_times.append(times[number])
            left_lives.append(life)
    return (
        np.array(rows, np.int64),
        np.array(lives, np.int64),
        np.array(froms, np.int64),
        np.array(untils, np.int64),
        np.array(origins, np.int64),
        np.array(goes_on, np.int64),
        np.array(ends, np.int64),
        np.array(lates, np.int64),
        np.array(left_groups, np.int64),
        np.array(left_roles, np.int64),
        np.array(left_rows, np.int64),
        np.array(left_times, np.int64),
        np.array(left_lives, np.int64),
    )


@rule
def largest_in_frames(values: Longs, counts: Longs, froms: Longs, untils: Longs) -> Longs:
    """The place of the largest value that counts in each frame, the last of equal ones; -1 if there is none.

    The bounds of the frames do not fall.
    """
    best, queue = list(range(0)), list(range(0))
    head = entered = 0
    for at in range(len(froms)):
        while entered <= untils[at]:
            if counts[entered]:
                while len(queue) > head and values[queue[-1]] <= values[entered]:
                    queue.pop()
                queue.append(entered)
            entered += 1
        while head < len(queue) and queue[head] < froms[at]:
            head += 1
        best.append(queue[head] if head < len(queue) else -1)
    return np.array(best, np.int64)
