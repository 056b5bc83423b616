"""The rule of interval joins: which rows meet, and when a row that met nobody is let go.

    left     --------x------------        x meets the right rows from time - upper to time - lower,
    right    ----[y------y]-------        at once, if they came before it; else they meet it when they come

A row is kept until the watermark has passed the latest time of a partner. A side has one timer: it removes the rows
that have passed, and is set again for the earliest row that stays. A record also removes the passed rows of the other
side, after meeting them.
Source: Flink TimeIntervalJoin.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs

LEFT_TIMER: Final = 0
RIGHT_TIMER: Final = 1
LEFT_ROW: Final = 2
RIGHT_ROW: Final = 3
"""What a row of the state is: the timer of a side, or a row of a side."""


class Met(NamedTuple):
    """The rows of a chunk that meet, by number.

    lefts, rights: pairs; -1 stands beside a row that is let go, after all of its pairs. causes: the place of the record
    that caused it; the timer n as -1 - n. times, origins, fires: of each timer that fired, its time, what set it (a
    row; the timer n as -1 - n), and the place in the timeline. lates: places of records that are not kept. left_...:
    what is kept: of a key, a role, a row, or for a timer what set it; the time.
    """

    lefts: Longs
    rights: Longs
    causes: Longs
    times: Longs
    origins: Longs
    fires: Longs
    lates: Longs
    left_groups: Longs
    left_roles: Longs
    left_rows: Longs
    left_times: Longs


@rule
def met_within(
    roles: Longs,
    groups: Longs,
    times: Longs,
    ports: Longs,
    passes_on: Longs,
    matchable: Longs,
    marks: Longs,
    befores: Longs,
    limits: Longs,
    line: Longs,
    left_wait: int,
    right_wait: int,
    clean_up: int,
) -> tuple[Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs]:
    """The rows that meet. Rows are numbered: those of the state, then the records.

    roles: of the state's rows. passes_on: whether a timer of the state was set by a timer. matchable: whether a key can
    match. marks, befores: of each record, the watermark before it and its place in the timeline. limits: of each key,
    the place up to which its timers fire. line: the timeline. left_wait, right_wait: by how many ms a partner may be
    later than a row. clean_up: how much longer rows are kept.
    """
    state_size, total = len(roles), len(groups)
    lefts, rights, causes = list(range(0)), list(range(0)), list(range(0))
    fired_times, fired_origins, fires, lates = list(range(0)), list(range(0)), list(range(0)), list(range(0))
    left_groups, left_roles = list(range(0)), list(range(0))
    left_rows, left_times = list(range(0)), list(range(0))
    waits = (left_wait, right_wait)
    queues = (list(range(0)), list(range(0)))
    heads, is_set, alarms, origins = [0, 0], [0, 0], [0, 0], [0, 0]
    next_kept, record = 0, state_size
    for group in range(len(limits)):
        for port in range(2):
            queues[port].clear()
            heads[port] = is_set[port] = 0
        while next_kept < state_size and groups[next_kept] == group:
            role = roles[next_kept]
            if role < 2:
                is_set[role], alarms[role], origins[role] = 1, times[next_kept], next_kept
            else:
                queues[role - 2].append(next_kept)
            next_kept += 1
        is_record = True
        while is_record:
            is_record = record < total and groups[record] == group
            limit = befores[record - state_size] if is_record else limits[group]
            while limit > 0:
                first = 0 if is_set[0] and not (is_set[1] and alarms[1] < alarms[0]) else 1
                time = alarms[first]
                if not is_set[first] or time > line[limit - 1]:
                    break
                # The watermark that reaches the time.
                low, high = 0, limit - 1
                while low < high:
                    middle = (low + high) // 2
                    if line[middle] < time:
                        low = middle + 1
                    else:
                        high = middle
                timer, origin = len(fires), origins[first]
                fired_times.append(time)
                fired_origins.append(origin)
                fires.append(low)
                if origin >= 0 and not (origin < state_size and passes_on[origin]):
                    origin = -1 - timer
                # As in Flink the right side comes first.
                for port in range(1, -1, -1):
                    if not is_set[port] or alarms[port] != time:
                        continue
                    queue = queues[port]
                    while heads[port] < len(queue) and times[queue[heads[port]]] + waits[port] < line[low]:
                        lefts.append(-1 if port else queue[heads[port]])
                        rights.append(queue[heads[port]] if port else -1)
                        causes.append(-1 - timer)
                        heads[port] += 1
                    is_set[port] = int(heads[port] < len(queue))
                    if is_set[port]:
                        alarms[port] = times[queue[heads[port]]] + waits[port] + clean_up + 1
                        is_shared = is_set[1 - port] and alarms[1 - port] == alarms[port]
                        origins[port] = origins[1 - port] if is_shared else origin
            if not is_record:
                break
            port, time, mark = ports[record], times[record], marks[record - state_size]
            last = time + waits[port]
            queue = queues[1 - port]
            wait = waits[1 - port]
            at = heads[1 - port]
            if not (at < len(queue) and times[queue[at]] + wait < mark):
                # No row has passed: begin at the first that can match.
                high = len(queue)
                while at < high:
                    middle = (at + high) // 2
                    if times[queue[middle]] < time - wait:
                        at = middle + 1
                    else:
                        high = middle
            while at < len(queue):
                its_time = times[queue[at]]
                has_passed = its_time + wait < mark
                if its_time > last and not has_passed:
                    break
                after = at
                while after < len(queue) and times[queue[after]] == its_time:
                    if matchable[group] and time - wait <= its_time <= last:
                        lefts.append(queue[after] if port else record)
                        rights.append(record if port else queue[after])
                        causes.append(record - state_size)
                    after += 1
                if has_passed:
                    for number in queue[at:after]:
                        lefts.append(number if port else -1)
                        rights.append(-1 if port else number)
                        causes.append(record - state_size)
                    heads[1 - port] = after
                at = after
            # Flink's watermarks begin at 0, in 1970: rows of later times do not wait for earlier ones.
            if mark < last and not last <= 0 <= time:
                queue = queues[port]
                at = len(queue)
                while at > heads[port] and times[queue[at - 1]] > time:
                    at -= 1
                queue.insert(at, record)
                if not is_set[port]:
                    is_set[port], alarms[port] = 1, last + clean_up + 1
                    is_shared = is_set[1 - port] and alarms[1 - port] == alarms[port]
                    origins[port] = origins[1 - port] if is_shared else record
            else:
                lates.append(record - state_size)
                lefts.append(-1 if port else record)
                rights.append(record if port else -1)
                causes.append(record - state_size)
            record += 1
        for port in range(2):
            if is_set[port]:
                left_groups.append(group)
                left_roles.append(port)
                left_rows.append(origins[port])
                left_times.append(alarms[port])
            for number in queues[port][heads[port] :]:
                left_groups.append(group)
                left_roles.append(2 + port)
                left_rows.append(number)
                left_times.append(times[number])
    return (
        np.array(lefts, np.int64),
        np.array(rights, np.int64),
        np.array(causes, np.int64),
        np.array(fired_times, np.int64),
        np.array(fired_origins, np.int64),
        np.array(fires, np.int64),
        np.array(lates, np.int64),
        np.array(left_groups, np.int64),
        np.array(left_roles, np.int64),
        np.array(left_rows, np.int64),
        np.array(left_times, np.int64),
    )
