"""The automaton over the rows of one key, in order of time; where the search continues after a match.

A partial match is a state and the chain of its rows. Each row continues every partial match in all ways that it allows,
and may begin a new one. A complete match waits while an older one is still partial, since the older one would come
first and may discard it.
Source: Flink NFA, NFAState, SharedBufferAccessor, AfterMatchSkipStrategy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from engine.model.row import Row
from engine.patterns.automaton import FINAL, Automaton, Tests
from engine.patterns.queue import Queue, Rank

_LAST: Final[Rank] = ((1 << 63) - 1, (1 << 31) - 1)


class Event(NamedTuple):
    """A row with its time and its number among the rows of that time."""

    time_ms: int
    number: int
    row: Row

    @property
    def place(self) -> Rank:
        """Its position among all rows."""
        return (self.time_ms, self.number)


class Step(NamedTuple):
    """A row that was mapped to a variable, and the previous step."""

    before: Step | None
    variable: int
    event: Event


class Partial:
    """A partial or complete match: its state, its last row, and its first row.

    rank: the position of its first row, so that older matches come first; the match without rows comes last.
    """

    __slots__ = ("first", "last", "rank", "state")

    def __init__(self, state: int, last: Step | None = None, first: Event | None = None) -> None:
        self.state = state
        self.last = last
        self.first = first
        self.rank: Rank = _LAST if first is None else (first.time_ms, first.number)


class Match:
    """The rows of a match by variable, in order of time."""

    def __init__(self, variables: int, last: Step | None) -> None:
        self.rows: list[list[Row]] = [[] for _ in range(variables)]
        self.events: list[list[Event]] = [[] for _ in range(variables)]
        while last is not None:
            self.rows[last.variable].append(last.event.row)
            self.events[last.variable].append(last.event)
            last = last.before
        for rows, events in zip(self.rows, self.events, strict=True):
            rows.reverse()
            events.reverse()


Condition = Callable[[Step | None, Row], bool]
"""Whether a row may be mapped to a variable; the arguments are the last step of the match so far and the row."""


class Skip(Enum):
    """Where the search continues after a match."""

    PAST_LAST_ROW = "past_last_row"
    TO_NEXT_ROW = "to_next_row"
    TO_FIRST = "to_first"
    TO_LAST = "to_last"


@dataclass(frozen=True)
class AfterMatch:
    """Where the search continues. variable: the index of the variable for TO_FIRST and TO_LAST."""

    skip: Skip = Skip.PAST_LAST_ROW
    variable: int = -1
    name: str = ""

    def leaves_out(self, match: Match) -> Callable[[Partial], bool]:
        """The test for matches to discard (never those without rows). Raises ValueError for an impossible target."""
        events = [event for events in match.events for event in events]
        first = min(event.place for event in events)
        if self.skip is Skip.PAST_LAST_ROW:
            last = max(event.place for event in events)
            return lambda other: other.first is not None and other.rank <= last
        if self.skip is Skip.TO_NEXT_ROW:
            return lambda other: other.first is not None and other.rank <= first
        wanted = match.events[self.variable]
        if not wanted:
            message = (
                f"after a match the search cannot go on at {self.name}: the match has no row of it. Skip to a variable "
                "that is not optional, or past the last row."
            )
            raise ValueError(message)
        place = wanted[0 if self.skip is Skip.TO_FIRST else -1].place
        if place == first:
            message = (
                f"after a match the search cannot go on at {self.name}: it is the first row of the match, which would "
                "be found again and again. Skip to the next row, or past the last one."
            )
            raise ValueError(message)
        return lambda other: other.first is not None and other.rank < place


class Matching:
    """Finds matches. within_ms: matches take less time than this, from the first row to the last; 0: any time.

    partial, complete: the matches that are kept between rows.
    """

    def __init__(
        self, automaton: Automaton, conditions: Sequence[Condition | None], after: AfterMatch, within_ms: int = 0
    ) -> None:
        self.automaton = automaton
        self.unknown: list[bool | None] = [None] * len(conditions)
        self.conditions = conditions
        self.after = after
        self.within_ms = within_ms
        self.restart()

    def restart(self, partial: Sequence[Partial] = (), complete: Sequence[Partial] = ()) -> None:
        """Begin without matches, or restore the kept ones."""
        self.partial = Queue(partial or (Partial(self.automaton.start),))
        self.complete = Queue(complete)
        self.has_new = False

    @property
    def is_idle(self) -> bool:
        """Whether there is no partial match and no waiting one."""
        return len(self.partial) == 1 and not self.complete

    def advance(self, time_ms: int) -> list[Match]:
        """Advance the time: matches that take too long are given up, which may release complete ones."""
        if not self.within_ms:
            return []
        self.partial = Queue(
            one for one in self.partial if one.first is None or time_ms - one.first.time_ms < self.within_ms
        )
        return self._released()

    def take(self, event: Event) -> list[Match]:
        """Process the next row. Returns the complete matches that precede all partial ones."""
        going_on: Queue[Partial] = Queue()
        complete: list[Partial] = []
        row, conditions = event.row, self.conditions

        def meet(tests: Tests, last: Step | None, known: list[bool | None]) -> bool:
            """Whether the row meets the conditions, each of which is evaluated once."""
            for variable, wanted in tests:
                holds = known[variable]
                if holds is None:
                    condition = conditions[variable]
                    holds = known[variable] = condition is None or condition(last, row)
                if holds is not wanted:
                    return False
            return True

        for one in self.partial:
            known = self.unknown.copy()
            for way in self.automaton.ways[one.state]:
                if not meet(way.tests, one.last, known):
                    continue
                first = one.first
                if first is None:
                    first = event
                    # As in Flink, where a time of 0 means no time.
                    self.has_new = self.has_new or event.time_ms > 0
                last = Step(one.last, way.variable, event)
                following = Partial(way.target, last, first)
                if way.target == FINAL:
                    complete.append(following)
                else:
                    going_on.add(following)
                if any(meet(tests, one.last, known) for tests in way.ends):
                    complete.append(Partial(FINAL, last, first))
            if one.first is None:
                going_on.add(one)
        for one in Queue(complete) if len(complete) > 1 else complete:
            self.complete.add(one)
        self.partial = going_on
        return self._released()

    def _released(self) -> list[Match]:
        found: list[Match] = []
        while (one := self.complete.peek()) is not None:
            older = self.partial.peek()
            if older is not None and one.rank > older.rank:
                break
            self.complete.poll()
            match = Match(len(self.conditions), one.last)
            goes = self.after.leaves_out(match)
            self.partial.remove_all(goes)
            self.complete.remove_all(goes)
            found.append(match)
        return found
