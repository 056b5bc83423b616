"""The kernel of MATCH_RECOGNIZE: rows are buffered until the watermark and pass the automaton in order of time.

A row: its time in ms, and the values that measures, conditions and the order use.
Source: Flink CepOperator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.changelog import INSERT
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK
from engine.patterns.automaton import automaton_of
from engine.patterns.conditions import MatchCondition
from engine.patterns.matching import AfterMatch, Event, Match, Matching, Partial
from engine.patterns.pattern import Variable
from engine.patterns.state import kept, restored
from engine.patterns.values import Value, reader, rows_of
from engine.ranking.sort_keys import SortColumn, sort_key_of

LATE = "the watermark had reached its time"


class MatchKernel(Kernel):
    """Finds the matches of one key. by_arrival: each row is processed on arrival.

    measures: the values that are emitted after the key. order: the order of rows of one time, by default by arrival.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        conditions: Sequence[MatchCondition | None],
        measures: Sequence[Value],
        after: AfterMatch,
        within_ms: int = 0,
        order: Sequence[SortColumn] = (),
        *,
        by_arrival: bool = False,
    ) -> None:
        compiled = [None if one is None else one.compiled() for one in conditions]
        self.variables = tuple(variables)
        self.matching = Matching(automaton_of(variables), compiled, after, within_ms)
        self.measures = [(value, reader(value)) for value in measures]
        self.sort_key: Callable[[Row], Any] | None = sort_key_of(order) if order else None
        self.within_ms = within_ms
        self.by_arrival = by_arrival

    def start(self, key: Key, state: Any | None) -> None:
        """Restore the buffered rows, the partial matches, and the number of rows so far."""
        waiting, matches, count = state or (None, None, 0)
        self.key = key
        self.count: int = count
        self.waiting: dict[int, list[Row]] = dict(waiting or ())
        self.matching.restart(*(restored(matches) if matches is not None else ()))

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        """Buffer the row until the watermark reaches it; by arrival, process it at once."""
        if self.by_arrival:
            self._take_at_once(row, partial(out.emit, INSERT))
            return
        time_ms = row[0]
        if time_ms <= out.watermark_ms:
            out.late(time_ms, out.watermark_ms - time_ms, LATE)
            return
        out.set_timer(time_ms)
        self.waiting.setdefault(time_ms, []).append(row)

    def on_timer(self, time_ms: int, name: Any, out: Output) -> None:
        """Process all rows that the watermark has reached, and give up partial matches that take too long."""
        for due_ms in self._take_due(out.watermark_ms, partial(out.emit, INSERT)):
            out.set_timer(due_ms + self.within_ms)

    def whole(self, key: Key, rows: Sequence[Row]) -> list[Row]:
        """The matches in all rows of a key, given in order of arrival, without watermarks in between."""
        found: list[Row] = []
        self.start(key, None)
        for row in rows:
            if self.by_arrival:
                self._take_at_once(row, found.append)
            else:
                self.waiting.setdefault(row[0], []).append(row)
        self._take_due(MAX_WATERMARK, found.append)
        return found

    def finish(self) -> Any | None:
        """The buffered rows, the partial matches, and the number of rows; None if there are no rows and matches."""
        is_idle = self.matching.is_idle
        if is_idle and not self.waiting:
            return None
        matches = None if is_idle else kept(self.matching.partial, self.matching.complete)
        return (list(self.waiting.items()), matches, self.count)

    def describe(self, names: Names) -> Description:
        """The buffered rows, the partial matches, and complete matches that wait for older ones."""
        columns = names.columns(skip=1)
        tables = []
        if self.waiting:
            rows = (
                (instant(time_ms), *names.show(row[1:], skip=1))
                for time_ms, waiting in sorted(self.waiting.items())
                for row in waiting
            )
            note = "They are processed in order of event time, when the watermark reaches them."
            tables.append(state_table("Waiting rows", ("waits for", *columns), rows, note))
        for title, partials in (
            ("Partial matches", self.matching.partial),
            ("Complete matches that wait for older ones", self.matching.complete),
        ):
            if rows_of_them := [
                row for number, one in enumerate(_by_age(partials), 1) for row in self._show(number, one)
            ]:
                tables.append(state_table(title, ("match", "variable", *columns), self._named(rows_of_them, names)))
        return tuple(tables)

    def _take_at_once(self, row: Row, emit: Callable[[Row], None]) -> None:
        self.count += 1
        self._emit(self.matching.take(Event(0, self.count, row)), 0, emit)

    def _take_due(self, watermark_ms: int, emit: Callable[[Row], None]) -> list[int]:
        """Process the rows up to the watermark. Returns the start times of new partial matches, which may time out."""
        matching, begun = self.matching, list[int]()
        matching.has_new = False
        due = [time_ms for time_ms in self.waiting if time_ms <= watermark_ms]
        for due_ms in sorted(due) if len(due) > 1 else due:
            self._emit(matching.advance(due_ms), due_ms, emit)
            rows = self.waiting.pop(due_ms)
            for number, row in enumerate(rows if self.sort_key is None else sorted(rows, key=self.sort_key)):
                self._emit(matching.take(Event(due_ms, number, row)), due_ms, emit)
                if self.within_ms and matching.has_new:
                    begun.append(due_ms)
        self._emit(matching.advance(watermark_ms), watermark_ms, emit)
        return begun

    def _emit(self, matches: Sequence[Match], time_ms: int, emit: Callable[[Row], None]) -> None:
        for match in matches:
            any_row = next(rows[0] for rows in match.rows if rows)
            values = (
                read(rows_of(value, match, len(self.variables)), any_row, time_ms) for value, read in self.measures
            )
            emit((*self.key, *values))

    def _show(self, number: int, one: Partial) -> list[tuple[Any, ...]]:
        match = Match(len(self.variables), one.last)
        return [
            (number, variable.name, row)
            for variable, rows in zip(self.variables, match.rows, strict=True)
            for row in rows
        ]

    def _named(self, rows: Sequence[tuple[Any, ...]], names: Names) -> list[tuple[Any, ...]]:
        return [(number, variable, *names.show(row[1:], skip=1)) for number, variable, row in rows]


def _by_age(partials: Any) -> list[Partial]:
    return sorted((one for one in partials if one.first is not None), key=lambda one: one.rank)
