"""The rule of MATCH_RECOGNIZE: rows wait for the watermark, then pass the automaton in order of time.

    rows        . . A B B C          of a key, in order of time
    matches         |-----|
                      |---           partial: kept until it is complete, a row does not match, or it takes too long

Source: Flink CepOperator.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.patterns.matching import EMPTY, Matches, Ways, begin, in_time, release, take
from engine.patterns.meeting import Calls, Conditions, Steps
from engine.patterns.queue import add

MATCHED: Final = 0
STEP: Final = 1
PARTIAL: Final = 2
COMPLETE: Final = 3
TIMER: Final = 4
WAITING: Final = 5
"""What a row of the state is: a row of a match; a step of a match (the one before it, its variable, its row); a match
(its state, its last step, its first row; -1: none); a timer (1 if another timer set it); a row that waits."""


FIRED: Final = 3
"""A firing: the place in the timeline, the time, the origin."""

SPAN: Final = 4
"""How long a row of matches or a match is there: the key, the role, and the firings with which it comes (-1: it was
there) and goes (-1: it stays)."""

LEFT: Final = 7
"""What is kept: the key, the role, the row with its values or its position (-1: none), the numbers, the time. The
origin of a timer is the row that set it; below -1, it is -2 - the firing that did."""


@rule
def matched(
    roles: Longs,
    ones: Longs,
    twos: Longs,
    threes: Longs,
    groups: Longs,
    times: Longs,
    order: Longs,
    dues: Longs,
    ends_due: Longs,
    marks: Longs,
    befores: Longs,
    limits: Longs,
    line: Longs,
    states: Longs,
    way_variables: Longs,
    way_targets: Longs,
    way_sets: Longs,
    tests: Longs,
    tested: Longs,
    wanted: Longs,
    program: Longs,
    program_starts: Longs,
    cells: Longs,
    known: Longs,
    start: int,
    waits: int,
    within_ms: int,
    skip: int,
    skip_to: int,
    calls: Calls | None,
) -> tuple[Longs, Longs, Longs, Longs, Longs, Longs, Longs, Longs, int]:
    """The matches of a chunk: FIRED, FOUND and FOUND_ROWS, LEFT, late records, the rows that were processed and the
    firing of each (-1: it was there), SPAN, why the search could not go on, or 0.

    Rows are numbered: those of the state, then the records. roles, ones, twos, threes: of the state's rows. order: of
    the rows of one time. dues, ends_due: the place in the timeline of the watermark that a row waits for, and of that
    at which a match that it begins takes too long. marks, befores: of each record, the watermark before it and its
    place. limits: of each key, the place up to which its timers fire. line: the watermarks. start: the first state.
    waits: 0 for the order of arrival; then a firing is a record.
    """
    ways = Ways(states, way_variables, way_targets, way_sets, tests, tested, wanted)
    depth = len(program) + 1
    conditions = Conditions(program, program_starts, cells, known, len(groups), list(range(depth)), list(range(depth)))
    state_size, total = len(roles), len(groups)
    fired_ones, found_matches, found_rows, left, spans = empty(), empty(), empty(), empty(), empty()
    steps, matches = Steps(empty(), empty(), empty(), empty()), Matches(empty(), empty(), empty(), empty())
    holds = list(range(len(program_starts) - 1))
    # All rows that were processed, in order.
    taken, taken_by, lates = empty(), empty(), empty()
    # Of each match, the firing with which it began, and the last one after which it was there.
    begun, seen = empty(), empty()
    next_kept, record, failed = 0, state_size, 0
    for group in range(len(limits)):
        first_taken, first_step = len(taken), len(steps.befores)
        first_match, first_firing = len(matches.states), len(fired_ones) // FIRED
        partial, complete, pending = empty(), empty(), empty()
        timers, timer_dues, timer_origins = empty(), empty(), empty()
        head = fired = 0
        while next_kept < state_size and groups[next_kept] == group:
            role, number, two, three = roles[next_kept], ones[next_kept], twos[next_kept], threes[next_kept]
            if role == MATCHED:
                taken.append(next_kept)
                taken_by.append(-1)
            elif role == STEP:
                steps.befores.append(-1 if number < 0 else first_step + number)
                steps.variables.append(two)
                steps.rows.append(taken[first_taken + three])
                steps.places.append(first_taken + three)
            elif role in (PARTIAL, COMPLETE):
                first = -1 if three < 0 else taken[first_taken + three]
                age = EMPTY if three < 0 else first_taken + three
                match = begin(matches, number, -1 if two < 0 else first_step + two, first, age)
                add(partial if role == PARTIAL else complete, matches.ages, match)
            elif role == TIMER:
                timers.append(times[next_kept])
                timer_dues.append(dues[next_kept])
                timer_origins.append(next_kept)
            else:
                pending.append(next_kept)
            next_kept += 1
        if len(partial) == 0:
            partial.append(begin(matches, start, -1, -1, EMPTY))
        while len(begun) < len(matches.states):
            begun.append(-1)
            seen.append(first_firing - 1)
        is_record = True
        while is_record and not failed:
            is_record = record < total and groups[record] == group
            limit = befores[record - state_size] if is_record else limits[group]
            while not failed and (fired < len(timers) and timer_dues[fired] < limit if waits else head < len(pending)):
                firing, origin, mark = len(fired_ones) // FIRED, timer_origins[fired] if waits else pending[head], 0
                fired_ones.append(timer_dues[fired] if waits else -1)
                fired_ones.append(timers[fired] if waits else 0)
                fired_ones.append(origin)
                if waits:
                    # The first timer processes all rows that the watermark has reached; the others find nothing.
                    mark = line[timer_dues[fired]]
                    while fired < len(timers) and timers[fired] <= mark:
                        fired += 1
                # Of timers that set one another, the second one's origin is passed on.
                is_second = origin < 0 or (origin < state_size and roles[origin] == TIMER and ones[origin] == 1)
                begins, is_done, has_time, time = False, False, False, mark
                while not is_done and not failed:
                    is_row = head < len(pending) and (not waits or times[pending[head]] <= mark)
                    before, time = time, times[pending[head]] if is_row and waits else mark
                    if not is_row or (waits and (not has_time or time != before)):
                        # Before the rows of a time, and at last for the watermark: give up what takes too long.
                        if within_ms:
                            partial = in_time(partial, matches, times, time, within_ms)
                        is_done, has_time = not is_row, is_row
                    else:
                        row = pending[head]
                        head += 1
                        taken.append(row)
                        taken_by.append(firing)
                        first = len(matches.states)
                        partial = take(
                            row, len(taken) - 1, partial, complete, matches, steps, ways, conditions, holds, calls
                        )
                        # As in Flink, where a time of 0 means no time.
                        if within_ms and time > 0:
                            for match in range(first, len(matches.states)):
                                begins = begins or matches.firsts[match] == row
                            if begins and time + within_ms > mark:
                                setter = origin if is_second else -2 - firing
                                end = time + within_ms
                                set_timer(end, ends_due[row], setter, timers, timer_dues, timer_origins, fired)
                    failed = release(
                        partial, complete, matches, steps, skip, skip_to, firing, group, time, found_matches, found_rows
                    )
                while len(begun) < len(matches.states):
                    begun.append(firing)
                    seen.append(-1)
                for heap in (partial, complete):
                    for number in heap:
                        seen[number] = firing
            if not is_record or failed:
                break
            if not waits:
                # The next round takes it.
                pending.append(record)
            elif times[record] <= marks[record - state_size]:
                lates.append(record - state_size)
            else:
                set_timer(times[record], dues[record], record, timers, timer_dues, timer_origins, fired)
                at = len(pending)
                while at > head and (
                    times[pending[at - 1]] > times[record]
                    or (times[pending[at - 1]] == times[record] and order[pending[at - 1]] > order[record])
                ):
                    at -= 1
                pending.insert(at, record)
            record += 1
        if failed:
            break
        if len(partial) > 1 or len(complete) > 0:
            keep(partial, complete, matches, steps, taken, first_taken, first_step, group, left)
        firings = len(fired_ones) // FIRED
        span(matches, steps, begun, seen, taken_by, first_match, first_step, first_taken, firings, group, spans)
        for at in range(fired, len(timers)):
            origin = timer_origins[at]
            is_second = origin < 0 or (origin < state_size and roles[origin] == TIMER and ones[origin] == 1)
            leave(left, group, TIMER, origin, int(is_second), -1, -1, timers[at])
        for at in range(head, len(pending)):
            leave(left, group, WAITING, pending[at], -1, -1, -1, times[pending[at]])
    return (
        np.array(fired_ones, np.int64),
        np.array(found_matches, np.int64),
        np.array(found_rows, np.int64),
        np.array(left, np.int64),
        np.array(lates, np.int64),
        np.array(taken, np.int64),
        np.array(taken_by, np.int64),
        np.array(spans, np.int64),
        failed,
    )


def empty() -> list[int]:
    """A list of integers."""
    return list(range(0))


def set_timer(
    time_ms: int, due: int, origin: int, timers: list[int], dues: list[int], origins: list[int], fired: int
) -> None:
    """Set a timer in order of time, behind those that fired. Equal times are one timer."""
    at = len(timers)
    while at > fired and timers[at - 1] > time_ms:
        at -= 1
    if at == fired or timers[at - 1] != time_ms:
        timers.insert(at, time_ms)
        dues.insert(at, due)
        origins.insert(at, origin)


def keep(
    partial: list[int],
    complete: list[int],
    matches: Matches,
    steps: Steps,
    taken: list[int],
    first_taken: int,
    first_step: int,
    group: int,
    left: list[int],
) -> None:
    """Leave the matches of a key, with the steps and rows that they need, numbered anew."""
    rows = [-1 for _ in range(len(taken) - first_taken)]
    numbers = [-1 for _ in range(len(steps.befores) - first_step)]
    for heap in (partial, complete):
        for match in heap:
            step = matches.lasts[match]
            while step >= 0 and numbers[step - first_step] < 0:
                numbers[step - first_step] = 0
                rows[steps.places[step] - first_taken] = 0
                step = steps.befores[step]
    count = 0
    for at in range(len(rows)):
        if rows[at] == 0:
            rows[at] = count
            count += 1
            leave(left, group, MATCHED, taken[first_taken + at], -1, -1, -1, 0)
    count = 0
    for at in range(len(numbers)):
        if numbers[at] == 0:
            numbers[at] = count
            count += 1
            step = first_step + at
            before = steps.befores[step]
            row = rows[steps.places[step] - first_taken]
            before = -1 if before < 0 else numbers[before - first_step]
            leave(left, group, STEP, -1, before, steps.variables[step], row, 0)
    for role in (PARTIAL, COMPLETE):
        for match in partial if role == PARTIAL else complete:
            last, age = matches.lasts[match], matches.ages[match]
            last = -1 if last < 0 else numbers[last - first_step]
            leave(
                left, group, role, -1, matches.states[match], last, -1 if age == EMPTY else rows[age - first_taken], 0
            )


def span(
    matches: Matches,
    steps: Steps,
    begun: list[int],
    seen: list[int],
    taken_by: list[int],
    first_match: int,
    first_step: int,
    first_taken: int,
    firings: int,
    group: int,
    spans: list[int],
) -> None:
    """Tell how long the matches of a key are there, and the rows that they need. firings: how many there were."""
    untils = [-1 for _ in range(len(steps.befores) - first_step)]
    for match in range(first_match, len(matches.states)):
        # The match without rows is always there.
        if matches.firsts[match] >= 0 and (begun[match] < 0 or seen[match] >= 0):
            until = seen[match] + 1
            tell(spans, group, PARTIAL, begun[match], until, firings)
            step = matches.lasts[match] - first_step
            untils[step] = max(untils[step], until)
    of_rows = [-1 for _ in range(len(taken_by) - first_taken)]
    for at in range(len(untils) - 1, -1, -1):
        before, row = steps.befores[first_step + at] - first_step, steps.places[first_step + at] - first_taken
        if before >= 0:
            untils[before] = max(untils[before], untils[at])
        of_rows[row] = max(of_rows[row], untils[at])
    for at in range(len(of_rows)):
        if of_rows[at] >= 0:
            tell(spans, group, MATCHED, taken_by[first_taken + at], of_rows[at], firings)


def tell(spans: list[int], group: int, role: int, comes: int, goes: int, firings: int) -> None:
    """Add to what is told."""
    spans.append(group)
    spans.append(role)
    spans.append(comes)
    spans.append(goes if goes < firings else -1)


def leave(left: list[int], group: int, role: int, row: int, one: int, two: int, three: int, time_ms: int) -> None:
    """Add a row to what is kept."""
    left.append(group)
    left.append(role)
    left.append(row)
    left.append(one)
    left.append(two)
    left.append(three)
    left.append(time_ms)
