"""The values that groups keep, on whole batches: DISTINCT, the smallest and largest with retraction, listed texts.

    values  3  5  3 -5 -3      of one group
    times   1  1  2  0  1      how often the value is there
    moves   +1 +1 .  -1 .      DISTINCT counts a value while it is there
    largest 3  5  5  3  3

What is found here becomes columns behind the input's: the rest of the kernel reads moves as a filter, and results as
they are. State: a row per value of a group with how often it is there, and one per text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.aggregates.columnar_parts import Found, taking_part
from engine.aggregates.function import AggregateCall, Keeps
from engine.columnar.columns import Columns, by_group, longs, taken
from engine.columnar.rules import rule
from engine.columnar.runs import Flags, Runs, running_sum
from engine.contract.columnar_kernel import Chunk, Longs, state_batch
from engine.contract.frames import GROUP

_FOUND = 3
"""The columns found of a counted scope: whether its record moves, the smallest value, the largest one."""

# An object for a slice costs as much as looking up this many bytes.
_SHORT: Final = 128


@dataclass(frozen=True)
class Lives:
    """The lifetimes of a chunk's groups. groups: of each. goes_on: it is the group's first one, so it has its state.

    is_last: the group has no later one. is_over: it ends with its last record.
    """

    runs: Runs
    groups: Longs
    goes_on: Flags
    is_last: Flags
    is_over: Flags

    def stays(self, lives: Longs) -> Flags:
        """Whether what these lives have is kept."""
        stays: Flags = self.is_last[lives] & ~self.is_over[lives]
        return stays


class GroupValues:
    """The values of some calls. calls: the same ones, which read what is found instead. width: of the input."""

    def __init__(self, calls: Sequence[AggregateCall], types: Sequence[pa.DataType], *, retracting: bool) -> None:
        self._types = types
        self._counted: dict[tuple[int, int | None], int] = {}
        self._listed: dict[tuple[int, int | None, str], int] = {}
        self._ended: set[int] = set()
        call_keeps = [(self._with_moves(call), _keeps(call, retracting=retracting)) for call in calls]
        self._ended = {self._scope(call) for call, what in call_keeps if what in (Keeps.SMALLEST, Keeps.LARGEST)}
        self.calls = [self._with_results(call, what) for call, what in call_keeps]
        self._scopes = [argument for argument, _ in self._counted] + [argument for argument, *_ in self._listed]

    def __bool__(self) -> bool:
        return bool(self._scopes)

    @property
    def lists(self) -> bool:
        """Whether results are texts, each of which repeats the one before it."""
        return bool(self._listed)

    @property
    def schema(self) -> list[pa.Field]:
        """The columns behind those of the accumulators. scope: 0 in the row of the group itself."""
        if not self:
            return []
        values = [pa.field(f"value{at}", self._types[argument]) for at, argument in enumerate(self._scopes)]
        return [pa.field("scope", pa.int8()), pa.field("times", pa.int64()), *values]

    def advanced(
        self, columns: Columns, signs: Longs | None, lives: Lives, state: pa.RecordBatch, chunk: Chunk
    ) -> Advanced:
        """What the records of a chunk find. state: the rows of values."""
        all_columns, scope_states, texts = list(columns), [], {}
        for (argument, condition), scope in self._counted.items():
            given = self._input(columns, argument, condition, scope, state, lives)
            counts = _Counts(*given, signs, lives, has_ends=scope in self._ended)
            all_columns += counts.found
            scope_states.append(self._kept(scope, *counts.kept))
        for (argument, condition, separator), number in self._listed.items():
            scope = len(self._counted) + number
            parts, counted, stored = self._input(all_columns, argument, condition, scope, state, lives)
            listed = Texts(parts, counted, stored, separator, lives)
            texts[len(all_columns)] = listed
            all_columns.append(pa.array(listed.codes, mask=listed.codes < 0))
            scope_states.append(self._kept(scope, *listed.kept))
        untouched = np.ones(chunk.groups, np.bool_)
        untouched[lives.groups] = False
        others = np.flatnonzero(untouched[state.column(GROUP).to_numpy()])
        rest = taken(state.columns, others)
        groups, rows = rest[0].to_numpy(), rest[1:]
        for own_groups, own in scope_states:
            groups, rows = by_group(groups, rows, own_groups, own)
        return Advanced(tuple(all_columns), texts, groups, rows)

    def _with_moves(self, call: AggregateCall) -> AggregateCall:
        if not call.distinct or call.function.ignores_distinct:
            return call
        return replace(call, distinct=False, filter=len(self._types) + _FOUND * self._scope(call))

    def _scope(self, call: AggregateCall) -> int:
        assert call.argument is not None
        return self._counted.setdefault((call.argument, call.filter), len(self._counted))

    def _with_results(self, call: AggregateCall, what: Keeps | None) -> AggregateCall:
        if what is None:
            return call
        assert call.argument is not None
        place = len(self._types) + _FOUND * len(self._counted)
        if what is Keeps.TEXTS:
            text = (call.argument, call.filter, call.separator)
            place += self._listed.setdefault(text, len(self._listed))
        else:
            place = len(self._types) + _FOUND * self._scope(call) + 1 + (what is Keeps.LARGEST)
        return replace(call, argument=place, filter=None, is_found=True)

    def _input(
        self, columns: Sequence[pa.Array], argument: int, condition: int | None, scope: int, state: Any, lives: Lives
    ) -> tuple[pa.Array, Longs, Known]:
        """The values of a scope, those of the state first; the records that count; the rows of the state."""
        counts = taking_part(columns, argument, condition)
        counted = np.arange(lives.runs.size) if counts is None else np.flatnonzero(counts)
        first_life = np.full(int(state.column(GROUP).to_numpy().max(initial=-1)) + 1, -1, np.int64)
        begins = np.flatnonzero(lives.goes_on & (lives.groups < len(first_life)))
        first_life[lives.groups[begins]] = begins
        life = first_life[state.column(GROUP).to_numpy()]
        rows = np.flatnonzero((state.column("scope").to_numpy() == scope + 1) & (life >= 0))
        values = [state.column(f"value{scope}").take(pa.array(rows)), columns[argument].take(pa.array(counted))]
        return pa.concat_arrays(values), counted, Known(life[rows], state.column("times").to_numpy()[rows])

    def _kept(self, scope: int, groups: Longs, times: Longs, values: pa.Array) -> tuple[Longs, Columns]:
        size = len(groups)
        columns: list[pa.Array] = [pa.array(np.full(size, scope + 1, np.int8)), pa.array(times)]
        columns += [values if at == scope else pa.nulls(size, self._types[of]) for at, of in enumerate(self._scopes)]
        return groups, tuple(columns)


@dataclass(frozen=True)
class Known:
    """The rows of the state: the life that has each, and how often its value is there."""

    lives: Longs
    times: Longs


@dataclass(frozen=True)
class Advanced:
    """columns: with what was found. texts: by column, the texts of its codes. groups, rows: the new state."""

    columns: Columns
    texts: dict[int, Texts]
    groups: Longs
    rows: Columns


def _keeps(call: AggregateCall, *, retracting: bool) -> Keeps | None:
    columnar = call.function.columnar
    return None if columnar is None else columnar.keeps(call, retracting=retracting)


class _Counts:
    """How often each value of a life is there. found: the columns, one element per record."""

    def __init__(
        self, values: pa.Array, counted: Longs, known: Known, signs: Longs | None, lives: Lives, *, has_ends: bool
    ) -> None:
        of_records = np.ones(len(counted), np.int64) if signs is None else signs[counted]
        steps = np.concatenate((known.times, of_records))
        life = np.concatenate((known.lives, lives.runs.numbers[counted]))
        ranks = _ranks(values)
        order = np.argsort(life * (len(values) + 1) + ranks, kind="stable")
        in_order = life[order] * (len(values) + 1) + ranks[order]
        runs = Runs.of(in_order)
        after = running_sum(runs, steps[order])
        moves, places = np.zeros(len(order), np.int64), np.empty(len(order), np.int64)
        moves[order] = (after > 0).astype(np.int64) - (after - steps[order] > 0)
        places[order] = runs.numbers
        firsts = order[runs.starts]
        of_record, run_of_record = np.zeros(lives.runs.size, np.int64), np.full(lives.runs.size, -1, np.int64)
        of_record[counted], run_of_record[counted] = moves[len(known.lives) :], places[len(known.lives) :]
        self.found: list[pa.Array] = [pa.array(of_record != 0), *[pa.nulls(lives.runs.size, pa.int64())] * 2]
        if has_ends and len(order):
            numbers, _ = longs(values)
            known_there = np.zeros(len(runs), np.int64)
            known_there[places[: len(known.lives)]] = known.times > 0
            bounds = np.searchsorted(life[firsts], np.arange(len(lives.runs) + 1))
            ends = ends_of_values(lives.runs.starts, run_of_record, of_record, bounds, known_there)
            self.found[1:] = (pa.array(numbers[firsts[np.maximum(end, 0)]], mask=end < 0) for end in ends)
        left = after[runs.ends - 1]
        stays = np.flatnonzero((left != 0) & lives.stays(life[firsts]))
        places = firsts[stays]
        self.kept = lives.groups[life[places]], left[stays], values.take(pa.array(places))


class Texts:
    """The texts of lives. codes: of each record, the text after it; -1 for NULL."""

    def __init__(self, values: pa.Array, counted: Longs, known: Known, separator: str, lives: Lives) -> None:
        life = np.concatenate((known.lives, lives.runs.numbers[counted]))
        order = np.argsort(life, kind="stable")
        self._life = life[order]
        runs = Runs.of(self._life)
        is_first = np.zeros(len(order), np.bool_)
        is_first[runs.starts] = True
        parts = values.take(pa.array(order))
        # A separator stands before each but the first.
        parts = pc.if_else(pa.array(is_first), parts, pc.binary_join_element_wise(separator, parts, ""))
        self._offsets = np.frombuffer(parts.buffers()[1], np.int32)[parts.offset :][: len(parts) + 1].astype(np.int64)
        self._data = memoryview(parts.buffers()[2] or b"")
        self._starts: Longs = runs.spread(self._offsets[runs.starts])
        # Of a life that lists nothing yet, no code; an empty part without separator changes nothing.
        codes = np.arange(len(order))
        changes = is_first | (np.diff(self._offsets) > 0)
        codes = np.maximum.accumulate(np.where(changes, codes, 0))
        ends = np.concatenate((np.searchsorted(self._life, np.arange(len(lives.runs))), [len(order)]))
        code_of = np.empty(len(order), np.int64)
        code_of[order] = codes
        self.known = code_of[: len(known.lives)]
        self.known_lives = known.lives
        at_records = np.full(lives.runs.size, -1, np.int64)
        at_records[counted] = code_of[len(known.lives) :]
        begins = np.full(len(lives.runs), -1, np.int64)
        begins[known.lives] = self.known
        at_records[lives.runs.starts] = np.maximum(at_records[lives.runs.starts], begins)
        self.codes = _filled(lives.runs, at_records)
        last = ends[1:] - 1
        lasts = np.flatnonzero((ends[1:] > ends[:-1]) & lives.stays(np.arange(len(lives.runs))))
        self.kept = lives.groups[lasts], np.ones(len(lasts), np.int64), self.texts((codes[last[lasts]], None))

    def texts(self, found: Found) -> pa.Array:
        """The texts of codes."""
        codes, there = found
        ends = self._offsets[codes + 1] if len(self._life) else codes
        starts = self._starts[codes] if len(self._life) else codes
        sizes = ends - starts if there is None else np.where(there, ends - starts, 0)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        if offsets[-1] > np.iinfo(np.int32).max:
            message = (
                f"the texts of {len(codes):,} results have {int(offsets[-1]):,} bytes, more than a column can hold"
            )
            raise pa.ArrowCapacityError(message)
        data = self._slices(starts, offsets)
        mask = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
        buffers = [mask, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.string(), len(codes), buffers)

    def _slices(self, starts: Longs, offsets: Longs) -> Any:
        """The bytes from each start on, one after the other. offsets: where each slice begins, and the end of all."""
        sizes = np.diff(offsets)
        if offsets[-1] <= len(starts) * _SHORT:
            places = np.repeat(starts - offsets[:-1], sizes)
            places += np.arange(offsets[-1])
            return np.frombuffer(self._data, np.uint8)[places]
        return b"".join(map(self._data.__getitem__, map(slice, starts.tolist(), (starts + sizes).tolist())))


def _filled(runs: Runs, codes: Longs) -> Longs:
    """Each code or else the one before it in its run: codes rise within a run."""
    lift = runs.numbers * (int(codes.max(initial=0)) + 2)
    filled: Longs = np.maximum.accumulate(codes + lift) - lift
    return filled


def _ranks(values: pa.Array) -> NDArray[np.int64]:
    """Numbers by their order, other values by any code."""
    if pa.types.is_integer(values.type) or pa.types.is_date(values.type):
        return np.unique(longs(values)[0], return_inverse=True)[1].astype(np.int64)
    codes: NDArray[np.int64] = pc.dictionary_encode(values).indices.to_numpy().astype(np.int64)
    return codes


@rule
def ends_of_values(starts: Longs, numbers: Longs, moves: Longs, bounds: Longs, known: Longs) -> tuple[Longs, Longs]:
    """The smallest and the largest value that is there after each record; -1 if there is none.

    starts: of the lives, the first record. numbers: of each record its value, -1 without one. moves: 1 if the value is
    there now, -1 if it is not any more. bounds: of the lives, the first value, whose numbers rise with the values.
    known: whether a value was there before the first record.
    """
    smallest, largest = list(range(0)), list(range(0))
    for life in range(len(starts)):
        first, size = bounds[life], bounds[life + 1] - bounds[life]
        width = 1
        while width < size:
            width *= 2
        # A tree: each node has the number of values below it that are there.
        there = [0] * (2 * width)
        for at in range(size):
            there[width + at] = known[first + at]
        for node in range(width - 1, 0, -1):
            there[node] = there[2 * node] + there[2 * node + 1]
        for record in range(starts[life], starts[life + 1] if life + 1 < len(starts) else len(numbers)):
            if moves[record] != 0:
                node = width + numbers[record] - first
                while node > 0:
                    there[node] += moves[record]
                    node //= 2
            low, high = 1, 1
            while low < width:
                low = 2 * low if there[2 * low] > 0 else 2 * low + 1
                high = 2 * high + 1 if there[2 * high + 1] > 0 else 2 * high
            smallest.append(first + low - width if there[1] > 0 else -1)
            largest.append(first + high - width if there[1] > 0 else -1)
    return np.array(smallest, np.int64), np.array(largest, np.int64)


def state_of(schema: pa.Schema, groups: Longs, columns: Columns, values: tuple[Longs, Columns]) -> pa.RecordBatch:
    """The state: the rows of groups, and those of their values."""
    value_groups, rows = values
    if not rows:
        return state_batch(schema, groups, columns)
    of_values = len(schema) - len(rows)
    main = (*columns, *_empty(schema, of_values, len(groups)))
    below = (*(pa.nulls(len(value_groups), field.type) for field in list(schema)[:of_values]), *rows)
    return state_batch(schema, *by_group(groups, main, value_groups, below))


def _empty(schema: pa.Schema, of_values: int, size: int) -> list[pa.Array]:
    zeros = [pa.array(np.zeros(size, np.int8)), pa.array(np.zeros(size, np.int64))]
    return zeros + [pa.nulls(size, field.type) for field in list(schema)[of_values + 2 :]]
