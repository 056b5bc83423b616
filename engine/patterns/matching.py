"""The automaton over the rows of one key, in order of time; where the search continues after a match.

A partial match is a state and the chain of its rows. Each row continues every partial match in all ways that it allows,
and may begin a new one. A complete match waits while an older one is still partial, since the older one would come
first and may discard it.
Source: Flink NFA, NFAState, SharedBufferAccessor, AfterMatchSkipStrategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from engine.model.row import Row
from engine.patterns.automaton import FINAL, Automaton, Transition
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


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A row that was mapped to a variable, and the previous step."""

    before: Step | None
    variable: int
    event: Event


@dataclass(frozen=True, eq=False, slots=True)
class Partial:
    """A partial or complete match: its state, its last row, and its first row."""

    state: int
    last: Step | None = None
    first: Event | None = None

    @property
    def rank(self) -> Rank:
        """The position of its first row, so that older matches come first; the match without rows comes last."""
        return _LAST if self.first is None else self.first.place


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


Condition = Callable[[Match, Row], bool]
"""Whether a row may be mapped to a variable; the arguments are the match so far and the row."""


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
        self.conditions = conditions
        self.after = after
        self.within_ms = within_ms
        self.restart()

    def restart(self, partial: Sequence[Partial] = (), complete: Sequence[Partial] = ()) -> None:
        """Begin without matches, or restore the kept ones."""
        self.partial = Queue(_rank, partial or (Partial(self.automaton.start),))
        self.complete = Queue(_rank, complete)
        self.has_new = False

    @property
    def is_idle(self) -> bool:
        """Whether there is no partial match and no waiting one."""
        return len(self.partial) == 1 and not self.complete

    def advance(self, time_ms: int) -> list[Match]:
        """Advance the time: matches that take too long are given up, which may release complete ones."""
        in_time: Queue[Partial] = Queue(_rank)
        for one in self.partial:
            is_over = self.within_ms > 0 and one.first is not None and time_ms - one.first.time_ms >= self.within_ms
            if not is_over:
                in_time.add_all((one,))
        self.partial = in_time
        return self._released()

    def take(self, event: Event) -> list[Match]:
        """Process the next row. Returns the complete matches that precede all partial ones."""
        going_on: Queue[Partial] = Queue(_rank)
        complete: Queue[Partial] = Queue(_rank)
        for one in self.partial:
            for following in self._following(one, event):
                # As in Flink, where a time of 0 means no time.
                if one.first is None and following.first is not None and following.first.time_ms > 0:
                    self.has_new = True
                (complete if following.state == FINAL else going_on).add_all((following,))
        self.complete.add_all(complete)
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

    def _following(self, one: Partial, event: Event) -> Iterator[Partial]:
        """The continuations of a match with a row, one per possible way."""
        meets = self._tests(one, event)
        for way in self._taking(one.state, meets):
            assert way.variable is not None
            last = Step(one.last, way.variable, event)
            first = event if one.first is None else one.first
            yield Partial(way.target, last, first)
            if self._may_end(way.target, meets):
                yield Partial(FINAL, last, first)
        if one.first is None:
            yield one

    def _tests(self, one: Partial, event: Event) -> Callable[[Transition], bool]:
        """A test whether the row allows a transition; each condition is evaluated once."""
        known: dict[int, bool] = {}
        rows: list[Match] = []

        def holds(variable: int) -> bool:
            if variable not in known:
                condition = self.conditions[variable]
                if condition is not None and not rows:
                    rows.append(Match(len(self.conditions), one.last))
                known[variable] = condition is None or condition(rows[0], event.row)
            return known[variable]

        return lambda way: all(holds(variable) is wanted for variable, wanted in way.tests)

    def _taking(self, state: int, meets: Callable[[Transition], bool]) -> list[Transition]:
        """The transitions that take the row, from a state or after transitions without a row."""
        found: list[Transition] = []
        waiting = [state]
        while waiting:
            for way in self.automaton.states[waiting.pop()]:
                if meets(way):
                    if way.variable is None:
                        waiting.append(way.target)
                    else:
                        found.append(way)
        return found

    def _may_end(self, state: int, meets: Callable[[Transition], bool]) -> bool:
        """Whether the final state can be reached from a state without further rows."""
        waiting = [state]
        while waiting:
            for way in self.automaton.states[waiting.pop()]:
                if way.variable is None and meets(way):
                    if way.target == FINAL:
                        return True
                    waiting.append(way.target)
        return False


def _rank(one: Partial) -> Rank:
    return one.rank
