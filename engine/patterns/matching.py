"""The search for matches, row by row: parts of the rule of MATCH_RECOGNIZE.

A partial match is a state and the chain of its rows. Each row continues every partial match in all ways that it allows,
and may begin a new one. A complete match waits while an older one is still partial, since the older one would come
first and may discard it.
Source: Flink NFA, NFAState, SharedBufferAccessor, AfterMatchSkipStrategy.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from engine.contract.columnar_kernel import Longs
from engine.patterns.automaton import FINAL
from engine.patterns.meeting import Calls, Conditions, Steps, meets
from engine.patterns.queue import add, poll, remove_before

EMPTY: Final = 1 << 62
"""The age of the match without rows, which comes after all others."""

PAST_LAST_ROW: Final = 0
TO_NEXT_ROW: Final = 1
TO_FIRST: Final = 2
TO_LAST: Final = 3

NO_ROW: Final = 1
FIRST_ROW: Final = 2
"""Why the search cannot go on after a match: it has no row of the variable to skip to, or that is its first row."""


class Ways(NamedTuple):
    """The automaton. states: where the ways of each state begin.

    Of each way: its variable, its target, and where its sets of tests begin: its own, then one for each way to the end
    of the match without further rows. tests: where those of a set begin. Of each test: the variable whose condition
    must hold, or must not.
    """

    states: Longs
    variables: Longs
    targets: Longs
    sets: Longs
    tests: Longs
    tested: Longs
    wanted: Longs


class Matches(NamedTuple):
    """Partial and complete matches: the state, the last step, the first row, and the age: the place of that row."""

    states: list[int]
    lasts: list[int]
    firsts: list[int]
    ages: list[int]


FOUND: Final = 4
"""A match for output: the firing, the key, the time at which it was complete, and where its rows begin."""

FOUND_ROWS: Final = 2
"""A row of a match: its variable and its number, from the last row backwards."""


def begin(matches: Matches, state: int, last: int, first: int, age: int) -> int:
    """The number of a new match."""
    matches.states.append(state)
    matches.lasts.append(last)
    matches.firsts.append(first)
    matches.ages.append(age)
    return len(matches.states) - 1


def in_time(partial: list[int], matches: Matches, times: Longs, time_ms: int, within_ms: int) -> list[int]:
    """The partial matches that do not take too long."""
    remaining = list(range(0))
    for match in partial:
        first = matches.firsts[match]
        if first < 0 or time_ms < times[first] + within_ms:
            add(remaining, matches.ages, match)
    return remaining


def take(
    row: int,
    place: int,
    partial: list[int],
    complete: list[int],
    matches: Matches,
    steps: Steps,
    ways: Ways,
    conditions: Conditions,
    holds: list[int],
    calls: Calls | None,
) -> list[int]:
    """Process the next row, whose place in the order is given. Returns the partial matches after it."""
    going_on, ended = list(range(0)), list(range(0))
    for match in partial:
        state, last, first, age = (
            matches.states[match],
            matches.lasts[match],
            matches.firsts[match],
            matches.ages[match],
        )
        # Each condition is evaluated once.
        for variable in range(len(holds)):
            holds[variable] = -1
        for way in range(ways.states[state], ways.states[state + 1]):
            # Its own tests, then those of the ways to the end behind it.
            for tests in range(ways.sets[way], ways.sets[way + 1]):
                is_met = meets_all(tests, last, row, ways, conditions, steps, holds, calls)
                is_own = tests == ways.sets[way]
                if is_own and is_met:
                    steps.befores.append(last)
                    steps.variables.append(ways.variables[way])
                    steps.rows.append(row)
                    steps.places.append(place)
                if is_met:
                    target = ways.targets[way] if is_own else FINAL
                    step, begun = len(steps.befores) - 1, row if first < 0 else first
                    following = begin(matches, target, step, begun, min(age, place))
                    add(ended if target == FINAL else going_on, matches.ages, following)
                if is_own != is_met:
                    break
        if first < 0:
            add(going_on, matches.ages, match)
    for match in ended:
        add(complete, matches.ages, match)
    return going_on


def meets_all(
    set_: int,
    last: int,
    row: int,
    ways: Ways,
    conditions: Conditions,
    steps: Steps,
    holds: list[int],
    calls: Calls | None,
) -> bool:
    """Whether a row passes a set of tests. holds: what is known of each variable's condition, -1: nothing yet."""
    for test in range(ways.tests[set_], ways.tests[set_ + 1]):
        variable = ways.tested[test]
        if holds[variable] < 0:
            holds[variable] = meets(variable, last, row, conditions, steps, calls)
        if holds[variable] != ways.wanted[test]:
            return False
    return True


def release(
    partial: list[int],
    complete: list[int],
    matches: Matches,
    steps: Steps,
    skip: int,
    skip_to: int,
    firing: int,
    group: int,
    time_ms: int,
    found: list[int],
    found_rows: list[int],
) -> int:
    """Emit the complete matches that precede all partial ones. Returns why the search cannot go on, or 0."""
    while len(complete) > 0 and matches.ages[complete[0]] <= matches.ages[partial[0]]:
        match = poll(complete, matches.ages)
        found.append(firing)
        found.append(group)
        found.append(time_ms)
        found.append(len(found_rows) // FOUND_ROWS)
        place, step = -1, matches.lasts[match]
        past = steps.places[step] + 1
        while step >= 0:
            found_rows.append(steps.variables[step])
            found_rows.append(steps.rows[step])
            if steps.variables[step] == skip_to and (skip == TO_FIRST or place < 0):
                place = steps.places[step]
            step = steps.befores[step]
        if skip == TO_NEXT_ROW:
            past = matches.ages[match] + 1
        elif skip >= TO_FIRST:
            if place < 0 or place == matches.ages[match]:
                return NO_ROW if place < 0 else FIRST_ROW
            past = place
        remove_before(partial, matches.ages, past)
        remove_before(complete, matches.ages, past)
    return 0
