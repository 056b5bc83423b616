"""The states that a match goes through, built from the end of a pattern, as in Flink.

A transition takes a row, or moves on without a row. Rows of a match are adjacent, so a row without a transition ends
the match. A greedy variable has precedence over the next one: each transition out of the state after it also requires
that the row does not meet the greedy variable's condition.
Source: Flink NFACompiler.NFAFactoryCompiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from engine.contract.columnar_kernel import Longs
from engine.patterns.pattern import Variable

FINAL: Final = 0
"""The state in which a match is complete."""


@dataclass
class Transition:
    """A transition out of a state. variable: the variable that takes the row; None: moves on without a row.

    tests: the variables whose conditions the row must meet (True) or must not meet (False).
    """

    target: int
    variable: int | None
    tests: list[tuple[int, bool]] = field(default_factory=list)


Tests = tuple[tuple[int, bool], ...]


class Way(NamedTuple):
    """A way on from a state with a row. tests: those of all its transitions. ends: the tests of each way to the end of
    the match without further rows.
    """

    tests: Tests
    variable: int
    target: int
    ends: tuple[Tests, ...]


@dataclass(frozen=True)
class Automaton:
    """The ways on from each state, by its number, in order."""

    ways: tuple[tuple[Way, ...], ...]
    start: int

    def arrays(self) -> tuple[Longs, Longs, Longs, Longs, Longs, Longs, Longs]:
        """The ways as `engine.patterns.matching.Ways`."""
        states, variables, targets, sets, tests = [0], list[int](), list[int](), [0], [0]
        tested: list[tuple[int, bool]] = []
        for ways in self.ways:
            for way in ways:
                variables.append(way.variable)
                targets.append(way.target)
                for conjunction in (way.tests, *way.ends):
                    tested += conjunction
                    tests.append(len(tested))
                sets.append(len(tests) - 1)
            states.append(len(variables))
        return (
            np.array(states, np.int64),
            np.array(variables, np.int64),
            np.array(targets, np.int64),
            np.array(sets, np.int64),
            np.array(tests, np.int64),
            np.array([variable for variable, _ in tested], np.int64),
            np.array([wanted for _, wanted in tested], np.int64),
        )


def automaton_of(variables: Sequence[Variable]) -> Automaton:
    """The automaton of a pattern."""
    builder = _Builder()
    sink = FINAL
    for place in range(len(variables) - 1, -1, -1):
        sink = builder.variable(variables[place], place, sink)
    return Automaton(tuple(map(builder.ways, range(len(builder.states)))), sink)


class _Builder:
    def __init__(self) -> None:
        self.states: list[list[Transition]] = [[]]

    def ways(self, state: int) -> tuple[Way, ...]:
        """The ways on from a state, directly or after transitions without a row."""
        ways_on: list[Way] = []
        waiting: list[tuple[int, Tests]] = [(state, ())]
        while waiting:
            at, before = waiting.pop()
            for step in self.states[at]:
                tests = (*before, *step.tests)
                if step.variable is None:
                    waiting.append((step.target, tests))
                else:
                    ways_on.append(Way(tests, step.variable, step.target, tuple(self._ends(step.target, ()))))
        return tuple(ways_on)

    def _ends(self, state: int, before: Tests) -> Iterator[Tests]:
        for step in self.states[state]:
            if step.variable is None:
                tests = (*before, *step.tests)
                if step.target == FINAL:
                    yield tests
                yield from self._ends(step.target, tests)

    def variable(self, variable: Variable, place: int, sink: int) -> int:
        """Add the states of a variable and return the first one. sink: the state after the variable."""
        is_greedy = variable.takes_as_many_as_it_can
        least = max(variable.least, 1)
        if variable.most is None:
            looping = self._looping(place, sink, is_greedy=is_greedy)
            return self._times(place, looping, sink, least, least, is_optional=variable.is_optional)
        if is_greedy:
            self._keep_from(sink, place)
        return self._times(place, sink, sink, least, variable.most, is_optional=variable.is_optional)

    def _times(self, place: int, sink: int, after: int, least: int, most: int, *, is_optional: bool) -> int:
        """Add a state per row; states above the least number can be skipped. after: the state after all of them."""
        for _ in range(least, most):
            sink = self._single(place, sink, after)
        for _ in range(least - 1):
            sink = self._single(place, sink, None)
        return self._single(place, sink, after if is_optional else None)

    def _single(self, place: int, sink: int, otherwise: int | None) -> int:
        ways = [Transition(sink, place, [(place, True)])]
        if otherwise is not None:
            ways.append(Transition(otherwise, None))
        self.states.append(ways)
        return len(self.states) - 1

    def _looping(self, place: int, sink: int, *, is_greedy: bool) -> int:
        state = len(self.states)
        self.states.append([Transition(sink, None), Transition(state, place, [(place, True)])])
        if is_greedy:
            self._keep_from(sink, place)
        return state

    def _keep_from(self, state: int, place: int) -> None:
        for way in self.states[state]:
            way.tests.append((place, False))
