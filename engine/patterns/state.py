"""The state of a key between epochs: the row chains of its matches, as lists, which can be pickled at any length.

Partial and complete matches are (state, step, first event); step and event are indexes of the other lists, -1: none. A
step is (previous step, variable, event). Only events and steps that a match still needs are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.model.row import Row
from engine.patterns.matching import Event, Partial, Step

Numbers = tuple[int, int, int]
Kept = tuple[list[tuple[int, int, Row]], list[Numbers], list[Numbers], list[Numbers]]
"""Events, steps, partial matches, complete matches."""


def kept(partial: Iterable[Partial], complete: Iterable[Partial]) -> Kept:
    """The matches as lists."""
    events: list[tuple[int, int, Row]] = []
    steps: list[Numbers] = []
    numbers: dict[tuple[int, int], int] = {}
    known: dict[int, int] = {}

    def number(event: Event | None) -> int:
        if event is None:
            return -1
        if event.place not in numbers:
            numbers[event.place] = len(events)
            events.append((event.time_ms, event.number, event.row))
        return numbers[event.place]

    def step_number(last: Step | None) -> int:
        chain: list[Step] = []
        while last is not None and id(last) not in known:
            chain.append(last)
            last = last.before
        before = -1 if last is None else known[id(last)]
        for step in reversed(chain):
            steps.append((before, step.variable, number(step.event)))
            before = known[id(step)] = len(steps) - 1
        return before

    def matches(of: Iterable[Partial]) -> list[Numbers]:
        return [(one.state, step_number(one.last), number(one.first)) for one in of]

    return events, steps, matches(partial), matches(complete)


def restored(whole: Kept) -> tuple[list[Partial], list[Partial]]:
    """The partial matches and the complete ones."""
    given, numbered, partial, complete = whole
    events = [Event(*event) for event in given]
    steps: list[Step] = []
    for before, variable, event in numbered:
        steps.append(Step(None if before < 0 else steps[before], variable, events[event]))

    def matches(numbers: Iterable[Numbers]) -> list[Partial]:
        return [
            Partial(state, None if step < 0 else steps[step], None if first < 0 else events[first])
            for state, step, first in numbers
        ]

    return matches(partial), matches(complete)
