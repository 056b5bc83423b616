"""The verdict on a test: what came out is what it expects, or the first difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from engine.errors import StudioError
from engine.kept.answers import Answer, Output
from engine.kept.kept_test import KeptTest
from engine.kept.replaying import Place, outputs
from engine.model.pipeline import Pipeline
from engine.model.printing import table

EXPECTED: Final = "expected"
GOT: Final = "got"
_AROUND: Final = 2


@dataclass(frozen=True)
class Difference:
    """The difference of one output. first: the lines around the first one, with who has them.

    missing, extra: numbers of records. event: the source event at which the outputs part, if one is known.
    """

    edge: str
    columns: tuple[str, ...]
    first: tuple[tuple[str, tuple[Any, ...]], ...]
    missing: int
    extra: int
    event: int | None = None

    @property
    def sentence(self) -> str:
        """In words."""
        numbers = [f"{self.missing} missing"] * bool(self.missing) + [f"{self.extra} not expected"] * bool(self.extra)
        at = "" if self.event is None else f", first at event {self.event}"
        return f"{self.edge}: {' and '.join(numbers) or 'another order'}{at}."

    def lines(self) -> Iterator[str]:
        """The first difference as a table for a terminal."""
        yield from table(("", *self.columns), [(who, *map(_cell, values)) for who, values in self.first])


@dataclass(frozen=True)
class Verdict:
    """The result of a test. problem: why it could not run, a sentence. answers: what came out, by output."""

    test: KeptTest
    differences: tuple[Difference, ...] = ()
    problem: str = ""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def is_same(self) -> bool:
        """Whether all outputs are as expected."""
        return not self.problem and not self.differences

    @property
    def sentence(self) -> str:
        """In words."""
        if self.is_same:
            return f"{self.test.name}: as expected."
        return f"{self.test.name}: {self.problem or ' '.join(difference.sentence for difference in self.differences)}"


def judged(test: KeptTest, place: Place, pipeline: Pipeline | None = None) -> Verdict:
    """Run a test. pipeline: another version than the one that it was kept with."""
    began = monotonic()
    wanted = test.manifest
    try:
        got = outputs(pipeline or test.pipeline(), test.recordings(), wanted.edges, test.folder, place)
        answers = {edge: output.answer(wanted) for edge, output in got.items()}
        expected = test.expected()
    except StudioError as error:
        return Verdict(test, problem=str(error), seconds=monotonic() - began)
    differences = [difference(edge, expected[edge], answers[edge], got[edge]) for edge in wanted.edges]
    return Verdict(test, tuple(mismatch for mismatch in differences if mismatch), "", answers, monotonic() - began)


def difference(edge: str, expected: Answer, got: Answer, output: Output) -> Difference | None:
    """The first difference between two answers; None if they are equal. output: of which one is."""
    if expected.lines == got.lines and (not expected.columns or expected.columns == got.columns or not got.lines):
        return None
    missing = Counter(expected.lines) - Counter(got.lines)
    extra = Counter(got.lines) - Counter(expected.lines)
    at = next(
        (at for at, (a, b) in enumerate(zip(expected.lines, got.lines, strict=False)) if a != b),
        min(len(expected.lines), len(got.lines)),
    )
    first = [("", line) for line in expected.lines[max(0, at - _AROUND) : at]]
    if expected.columns[:1] == ("event",) or got.columns[:1] == ("event",):
        first += [(EXPECTED, line) for line in expected.lines[at : at + 1]] or [(EXPECTED, "[]")]
        first += [(GOT, line) for line in got.lines[at : at + 1]] or [(GOT, "[]")]
        firsts = [_values(line)[0] for line in (*expected.lines[at : at + 1], *got.lines[at : at + 1])]
        event = min((value for value in firsts if isinstance(value, int)), default=None)
    else:
        first = [(EXPECTED, line) for line in [*missing][:1]] + [(GOT, line) for line in [*extra][:1]]
        event = _event_of(next(iter(extra), None), got, output)
    rows = tuple((who, tuple(_values(line) if line != "[]" else ())) for who, line in first)
    return Difference(edge, got.columns or expected.columns, rows, missing.total(), extra.total(), event)


def _event_of(line: str | None, got: Answer, output: Output) -> int | None:
    """The last event that emitted the values of a line."""
    if line is None:
        return None
    values = json.loads(line)[got.columns[:1] == ("kind",) :]
    return next((record[0] for record in reversed(output.records) if [*record[2:]] == values), None)


def _values(line: str) -> list[Any]:
    """The values of a line; of one that somebody has spoilt, its text."""
    try:
        values = json.loads(line)
    except ValueError:
        return [line]
    return values if isinstance(values, list) and values else [line]


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
