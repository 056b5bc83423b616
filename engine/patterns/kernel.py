"""The kernel of MATCH_RECOGNIZE. `engine.patterns.in_time` tells the rule.

A row: its time in ms, and the values that measures, conditions and the order use. It is compiled if its conditions fit
into integers (`engine.patterns.programs`), else interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.columns import Columns, joined, taken
from engine.columnar.paths import extended, timer_paths
from engine.columnar.runs import Flags, Runs
from engine.columnar.timers import timers_of
from engine.contract.columnar_kernel import (
    NEVER,
    Advanced,
    Chunk,
    Emitted,
    Lates,
    Layout,
    Longs,
    state_batch,
    state_sample,
)
from engine.contract.frames import GROUP
from engine.contract.state_in_words import Description, Names, instant, state_table
from engine.model.row import Row
from engine.model.row_values import to_pylist
from engine.model.timeline import Timeline, places_in
from engine.patterns.after_match import AfterMatch, Skip
from engine.patterns.automaton import automaton_of
from engine.patterns.conditions import MatchCondition
from engine.patterns.in_time import COMPLETE, FIRED, LEFT, MATCHED, PARTIAL, SPAN, STEP, TIMER, WAITING, matched
from engine.patterns.matching import FIRST_ROW, FOUND, FOUND_ROWS
from engine.patterns.meeting import CALL, WIDTH, Calls
from engine.patterns.pattern import Variable
from engine.patterns.programs import Program
from engine.patterns.stays import kinds_of, stays_of
from engine.patterns.values import AggregateValue, MatchTime, RowValue, Value, reader
from engine.ranking.columnar_order_keys import in_order, order_keys
from engine.ranking.sort_keys import SortColumn

LATE = "the watermark had reached its time"

_FIXED: Final = {
    "role": pa.int8(),
    "one": pa.int64(),
    "two": pa.int64(),
    "three": pa.int64(),
    "time_ms": pa.int64(),
    "due_ms": pa.int64(),
    "origin_seq": pa.int64(),
    "origin_step": pa.binary(),
}
_SKIPS: Final = list(Skip)
_LAST_MS: Final = NEVER // 1000
"""The last time in ms that is one in microseconds, too."""


class MatchKernel:
    """Finds matches. by_arrival: each row is processed on arrival, else when the watermark reaches its time.

    measures: the values that are emitted after the key. order: the order of rows of one time, by default by arrival.
    State: see the roles of `engine.patterns.in_time`.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        conditions: Sequence[MatchCondition | None],
        measures: Sequence[Value],
        after: AfterMatch,
        within_ms: int,
        order: Sequence[SortColumn],
        by_arrival: bool,
        layout: Layout,
    ) -> None:
        self.variables = tuple(variables)
        self.automaton = automaton_of(variables)
        self.conditions = conditions
        self.programs = [None if condition is None else condition.program() for condition in conditions]
        self.measures = measures
        self.after = after
        self.within_ms = within_ms
        self.order = order
        self.by_arrival = by_arrival
        self.layout = layout

    @property
    def state_schema(self) -> pa.Schema:
        """What a row is, its numbers, its time, the watermark that it waits for, its position, the values."""
        fixed = [pa.field(name, type_, nullable=False) for name, type_ in _FIXED.items()]
        return pa.schema([*fixed, *(pa.field(f"value{at}", type_) for at, type_ in enumerate(self.layout.values[0]))])

    def due_ms(self, state: pa.RecordBatch) -> Longs:
        """The watermark that each row waits for."""
        due: Longs = state.column("due_ms").to_numpy()
        return due

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Put the rows in order, and emit the matches of those that the watermark reaches."""
        state, records = chunk.state, chunk.records
        columns = joined(state.columns[-len(self.layout.values[0]) :], records.values[0])
        times = np.concatenate((state.column("time_ms").to_numpy(), records.values[0][0].to_numpy()))
        seqs = np.concatenate((state.column("origin_seq").to_numpy(), records.seqs))
        steps = pa.concat_arrays([state.column("origin_step"), records.steps])
        timers = timers_of(chunk, timeline, self.due_ms(state), times[len(state) :])
        order = order_keys([columns[column.place] for column in self.order], self.order, len(times))
        conditions = self._conditions(columns)
        fired, found_matches, found_rows, left, lates, processed, taken_by, spans, failed = matched(
            state.column("role").to_numpy(),
            state.column("one").to_numpy(),
            state.column("two").to_numpy(),
            state.column("three").to_numpy(),
            np.concatenate((state.column(GROUP).to_numpy(), records.groups)),
            times,
            order,
            timers.dues,
            places_in(timeline.marks, times + self.within_ms),
            timers.marks,
            timers.befores,
            timers.limits,
            timeline.marks,
            *self.automaton.arrays(),
            conditions.program,
            conditions.starts,
            conditions.cells,
            conditions.known,
            self.automaton.start,
            int(not self.by_arrival),
            self.within_ms,
            _SKIPS.index(self.after.skip),
            self.after.variable,
            conditions.calls,
        )
        if failed:
            raise self.after.refusal(is_first=failed == FIRST_ROW)
        places, fire_times, origins = _columns(fired, FIRED)
        firings, groups, match_times, starts = _columns(found_matches, FOUND)
        matches = Runs(starts, len(found_rows) // FOUND_ROWS)
        forwards = matches.spread(matches.starts + matches.ends - 1) - np.arange(matches.size)
        variables, rows = (column[forwards] for column in _columns(found_rows, FOUND_ROWS))
        left_groups, roles, left_rows, ones, twos, threes, left_times = _columns(left, LEFT)
        positions = _Positions(seqs, steps)
        if self.by_arrival:
            fire_seqs, paths = positions.of(origins)
        else:
            fire_seqs = timeline.seqs[places]
            paths = positions.fired(self.layout.rank, fire_seqs, fire_times, origins)
        in_matches = _InMatches(matches, len(self.variables), variables, taken(columns, rows))
        types = self.layout.output[len(chunk.keys) :]
        values = [
            self._measured(value, in_matches, match_times, type_)
            for value, type_ in zip(self.measures, types, strict=True)
        ]
        emitted = Emitted(
            fire_seqs[firings],
            extended(paths.take(pa.array(firings)), Runs.of(firings).ordinals),
            np.zeros(len(firings), np.int8),
            (*taken(chunk.keys, groups), *values),
        )
        is_timer, is_row = roles == TIMER, np.isin(roles, (MATCHED, WAITING))
        if is_row.any():
            left_times = np.where(is_row, times[np.maximum(left_rows, 0)], left_times)
        origin_seqs, origin_steps = np.zeros(len(roles), np.int64), [b""] * len(roles)
        if is_timer.any():
            origin_seqs[is_timer], of_timers = positions.of(left_rows[is_timer])
            place = np.cumsum(is_timer) - 1
            origin_steps = of_timers.take(pa.array(place, mask=~is_timer)).fill_null(b"")
        fixed = (
            roles,
            ones,
            twos,
            threes,
            left_times,
            np.where(is_timer, left_times, NEVER),
            origin_seqs,
            origin_steps,
        )
        state_columns = [pa.array(field, type_) for field, type_ in zip(fixed, _FIXED.values(), strict=True)]
        state_columns += taken(columns, np.where(is_row, left_rows, -1), may_miss=True)
        left_waiting = left_rows[roles == WAITING]
        stays = stays_of(
            chunk,
            seqs,
            fire_seqs,
            (processed, taken_by),
            left_waiting,
            _columns(spans, SPAN),
            state_sample(self.state_schema, columns),
        )
        new_state = state_batch(self.state_schema, left_groups, state_columns)
        return Advanced(emitted, new_state, self._lates(chunk, times, lates), stays=stays)

    def kinds(self, state: pa.RecordBatch) -> Longs:
        """Waiting rows, rows of matches, matches that are not over."""
        return kinds_of(state)

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """The buffered rows, the partial matches, and complete matches that wait for older ones."""
        columns = names.columns(skip=1)
        role, befores, two, three = (state.column(name).to_pylist() for name in ("role", "one", "two", "three"))
        values = list(zip(*map(to_pylist, state.columns[-len(self.layout.values[0]) :]), strict=True))
        by_role: dict[int, list[int]] = {}
        for at, number in enumerate(role):
            by_role.setdefault(number, []).append(at)
        rows, steps = by_role.get(MATCHED, []), by_role.get(STEP, [])
        tables = []
        if waiting := by_role.get(WAITING):
            shown = ((instant(values[at][0]), *names.show(values[at][1:], skip=1)) for at in waiting)
            note = "They are processed in order of event time, when the watermark reaches them."
            tables.append(state_table("Waiting rows", ("waits for", *columns), shown, note))
        for title, which in (("Partial matches", PARTIAL), ("Complete matches that wait for older ones", COMPLETE)):
            of_them: list[tuple[Any, ...]] = []
            by_age = sorted((at for at in by_role.get(which, ()) if three[at] >= 0), key=lambda at: three[at])
            for number, match in enumerate(by_age, 1):
                chain, step = list[tuple[Any, ...]](), two[match]
                while step >= 0:
                    at = steps[step]
                    row = values[rows[three[at]]]
                    chain.append((number, self.variables[two[at]].name, *names.show(row[1:], skip=1)))
                    step = befores[at]
                of_them += reversed(chain)
            if of_them:
                tables.append(state_table(title, ("match", "variable", *columns), of_them))
        return tuple(tables)

    def _conditions(self, columns: Columns) -> _Conditions:
        size = len(columns[0])
        written = [code for code in self.programs if isinstance(code, Program)]
        ordered, cells = {at for code in written for at in code.by_order}, dict[int, tuple[Longs, Flags]]()
        by_type: dict[pa.DataType, list[int]] = {}
        for place in sorted({at for code in written for at in code.places}):
            column = columns[place]
            if place in ordered:
                by_type.setdefault(column.type, []).append(place)
            else:
                cells[place] = _numbers(column)
        for places in by_type.values():
            numbers, there = _numbers(pa.concat_arrays([columns[place] for place in places]))
            for at, place in enumerate(places):
                cells[place] = numbers[at * size : (at + 1) * size], there[at * size : (at + 1) * size]
        largest = {place: int(np.abs(of.astype(np.float64)).max(initial=0)) for place, (of, _) in cells.items()}
        numbered = {place: at for at, place in enumerate(cells)}
        program, starts, called = list[int](), [0], False
        for code in self.programs:
            fits = code is None or (isinstance(code, Program) and code.fits(largest) and not _has_nan(columns, code))
            if not fits:
                called = True
                program += [CALL] + [0] * (WIDTH - 1)
            elif isinstance(code, Program):
                program += code.numbers(numbered)
            starts.append(len(program))
        calls: Calls | None = None
        if called:
            rows = list(zip(*map(to_pylist, columns), strict=True))
            calls = [_always if condition is None else condition.called(rows) for condition in self.conditions]
        of_all, known_of_all = (
            np.concatenate([np.zeros(0, np.int64), *(cell[at] for cell in cells.values())]) for at in range(2)
        )
        not_null = known_of_all.astype(np.int64)
        return _Conditions(np.array(program, np.int64), np.array(starts, np.int64), of_all, not_null, calls)

    def _measured(self, value: Value, matches: _InMatches, times_ms: Longs, type_: pa.DataType) -> pa.Array:
        """A value of each match."""
        match value:
            case MatchTime():
                return pa.array(np.clip(times_ms, -_LAST_MS, _LAST_MS) * 1000)
            case RowValue():
                return matches.at(value).cast(type_)
            case AggregateValue():
                read, rows = reader(value), matches.in_python()
                froms, untils = matches.bounds(value.variable)
                parts = zip(froms.tolist(), untils.tolist(), strict=True)
                return pa.array([read(rows[start:end], (), 0) for start, end in parts], type_)

    def _lates(self, chunk: Chunk, times: Longs, places: Longs) -> Lates | None:
        marks = chunk.records.watermarks
        if not len(places) or marks is None:
            return None
        late = times[chunk.state.num_rows + places]
        nowhere = pa.nulls(len(places), pa.int64())
        return Lates(places, late, nowhere, nowhere, marks[places] - late, np.ones(len(places), np.bool_), LATE)


class _Conditions(NamedTuple):
    """The programs, where that of each variable begins, and the values that they use, place by place; functions."""

    program: Longs
    starts: Longs
    cells: Longs
    known: Longs
    calls: Calls | None


@dataclass
class _Positions:
    """The positions of rows and of firings, by the number of a row, or -2 - that of a firing."""

    seqs: Longs
    steps: pa.Array
    firings: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """The place of each firing behind the rows."""

    def of(self, numbers: Longs) -> tuple[Longs, pa.Array]:
        """The event and the path of each."""
        places = numbers.copy()
        places[numbers < -1] = self.firings[-2 - numbers[numbers < -1]]
        return self.seqs[places], self.steps.take(pa.array(places))

    def fired(self, rank: int, seqs: Longs, times_ms: Longs, origins: Longs) -> pa.Array:
        """The paths of firings, which are known from now on. The origin of an origin is a row."""
        first = origins >= 0
        self.firings = len(self.seqs) + np.cumsum(first) - 1
        paths = timer_paths(rank, times_ms[first], *self.of(origins[first]))
        self.seqs, self.steps = np.concatenate((self.seqs, seqs[first])), pa.concat_arrays([self.steps, paths])
        return paths if first.all() else timer_paths(rank, times_ms, *self.of(origins))


@dataclass
class _InMatches:
    """The rows of all matches, match by match, in order of the pattern's variables. columns: their values."""

    matches: Runs
    count: int
    variables: Longs
    columns: Columns
    _rows: list[Row] | None = None

    def bounds(self, variable: int | None) -> tuple[Longs, Longs]:
        """Where the rows of a variable begin and end in each match; None: all rows."""
        if variable is None:
            return self.matches.starts, self.matches.ends
        places = self.matches.numbers * self.count + self.variables
        wanted = np.arange(len(self.matches)) * self.count + variable
        return np.searchsorted(places, wanted), np.searchsorted(places, wanted, side="right")

    def at(self, value: RowValue) -> pa.Array:
        """A value of one row of each match."""
        froms, untils = self.bounds(value.variable)
        places = froms + value.offset if value.is_first else untils - 1 - value.offset
        has_row = untils - froms > value.offset
        (values,) = taken([self.columns[value.place]], np.where(has_row, places, -1), may_miss=True)
        if value.missing is None or has_row.all():
            return values
        (missing,) = taken([self.columns[value.missing]], self.matches.starts)
        return pc.if_else(pa.array(has_row), values, missing)

    def in_python(self) -> list[Row]:
        """The rows, for functions."""
        if self._rows is None:
            self._rows = list(zip(*map(to_pylist, self.columns), strict=True))
        return self._rows


def _columns(flat: Longs, width: int) -> Longs:
    """The columns of a table whose rows stand one after the other."""
    return np.ascontiguousarray(flat.reshape(-1, width).T)


def _numbers(column: pa.Array) -> tuple[Longs, Flags]:
    """A column as integers that compare like its values, and which are not NULL."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
    values, there = in_order(column)
    not_null = np.ones(len(column), np.bool_) if there is None else there
    return np.where(not_null, values, 0), not_null


def _has_nan(columns: Columns, program: Program) -> bool:
    """Whether a value that it compares is no number, which has no order."""
    floats = (columns[at] for at in program.by_order if pa.types.is_floating(columns[at].type))
    return any(pc.any(pc.is_nan(column)).as_py() for column in floats)


def _always(variables: list[int], rows: list[int], row: int) -> bool:
    return True
