"""Calls of aggregate functions as accumulate, retract and merge on a small list of plain values.

    SUM(v), AVG(v), COUNT(*), MAX(v)     four calls
    scope v: sum, multiset               the kept parts, shared between the calls of one argument
    acc = [rows, sum, number, {..}, ..]  the state of one group: a list, one or more slots per part

`compile_calls` turns calls into a few closures once per partition, as Flink generates its AggsHandler
once per job. A record then costs one call per scope: retraction, filters and DISTINCT are resolved in
advance. All functions skip NULLs unless they declare otherwise. DISTINCT keeps a set without retraction,
counts with it. Counts may be negative temporarily: a retraction may arrive first.

Source: Flink AggsHandlerCodeGenerator, DistinctAggCodeGen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from engine.aggregates.accumulator_parts import (
    NUMBER,
    Acc,
    AccumulatorPart,
    Forget,
    KeyOf,
    Read,
    Slots,
    Step,
    Ttl,
    distinct_counted,
    distinct_expiring,
    distinct_once,
)
from engine.aggregates.function import AggregateCall, Reader, Values, functions_beside, key_of
from engine.aggregates.state import VALUES_SEEN, AccumulatorSlot
from engine.model.row import Row

RowStep = Callable[[Acc, Row], None]
Merge = Callable[[Acc, Acc], None]


@dataclass(frozen=True)
class Accumulators:
    """The compiled calls.

    create returns an empty accumulator; accumulate and retract update it with a row, merge with another one,
    which stays unchanged. value reads the results. If `present` is set, value reads intermediate values, which
    are compared to detect a change, and present converts them to results: Flink computes variances in a
    projection above the aggregate, so an equal variance of other rows is still an update.
    forget: with a TTL, removes the values that have expired by the clock in `ttl`.
    rows: the slot that counts rows, set if the input retracts. clock: holds the position of the current
    record if uses_clock; FIRST_VALUE and LAST_VALUE order by it. kept: the slots' contents, in words.
    """

    create: Callable[[], Acc]
    accumulate: RowStep
    retract: RowStep
    merge: Merge
    value: Callable[[Acc], Row]
    present: Callable[[Row], Row] | None
    rows: int | None
    clock: list[Any]
    uses_clock: bool
    kept: tuple[AccumulatorSlot, ...] = ()
    ttl: Ttl = field(default_factory=Ttl)
    forget: Forget | None = None

    def result(self, acc: Acc) -> Row:
        """The results, for output."""
        values = self.value(acc)
        return values if self.present is None else self.present(values)


def compile_calls(calls: Sequence[AggregateCall], *, retracting: bool, ttl_ms: int = 0) -> Accumulators:
    """The closures for these calls. retracting: whether rows may be retracted. ttl_ms: of single values; 0: none."""
    calls = [replace(call, distinct=call.distinct and not call.function.ignores_distinct) for call in calls]
    builder = _Builder(calls, retracting, Ttl(ttl_ms))
    rows = builder.scope(_ALL_ROWS).keep(NUMBER) if retracting else None
    readers = [builder.reader(call) for call in calls]
    scopes = [scope.close() for scope in builder.scopes.values()]
    presents = [reader.present for reader in readers]
    return Accumulators(
        create=builder.layout.create,
        accumulate=_all([scope[0] for scope in scopes]),
        retract=_all([scope[1] for scope in scopes]),
        merge=_all([scope[2] for scope in scopes]),
        value=_tuple([reader.value for reader in readers]),
        present=_present(presents) if any(presents) else None,
        rows=rows,
        clock=builder.clock,
        uses_clock=any(call.function.uses_clock for call in calls),
        kept=tuple(slot for scope in builder.scopes.values() for slot in scope.described),
        ttl=builder.ttl,
        forget=_each(builder.forgets) if builder.forgets else None,
    )


@dataclass
class _Layout:
    """The layout of the slots: initial values, and constructors for containers."""

    template: list[Any] = field(default_factory=list)
    makers: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)

    def add(self, *initial: Any) -> int:
        """Add slots; returns the index of the first. A type stands for a new container of that type."""
        slot = len(self.template)
        for value in initial:
            if isinstance(value, type):
                self.makers.append((len(self.template), value))
                value = None
            self.template.append(value)
        return slot

    def create(self) -> Acc:
        """An empty accumulator."""
        acc = self.template.copy()
        for slot, make in self.makers:
            acc[slot] = make()
        return acc


class _Key(NamedTuple):
    """The properties that the calls of one scope share."""

    argument: int | None
    filter: int | None
    distinct: bool
    with_nulls: bool

    @classmethod
    def of(cls, call: AggregateCall) -> _Key:
        """The key of a call."""
        return cls(call.argument, call.filter, call.distinct, call.function.sees_nulls)


_ALL_ROWS: Final = _Key(None, None, distinct=False, with_nulls=False)


class _Builder:
    def __init__(self, calls: Sequence[AggregateCall], retracting: bool, ttl: Ttl) -> None:
        self.calls = calls
        self.retracting = retracting
        self.ttl = ttl
        self.forgets: list[Forget] = []
        self.layout = _Layout()
        self.scopes: dict[_Key, _Scope] = {}
        self.clock: list[Any] = [None]

    def scope(self, key: _Key) -> _Scope:
        """The scope that receives the values of these calls."""
        if key not in self.scopes:
            calls = [call for call in self.calls if _Key.of(call) == key]
            wanted = [call.function.keeps(self.values(call)) for call in calls]
            keys = next(filter(None, (key_of(call.type) for call in calls)), None)
            self.scopes[key] = _Scope(self, key, wanted, key_of=keys)
        return self.scopes[key]

    def values(self, call: AggregateCall) -> Values:
        """The values that a call aggregates."""
        retracting = self.retracting and not call.never_retracts
        return Values(
            call.type,
            retracting,
            call.separator,
            self.clock,
            functions_beside(call, self.calls),
            call.offset,
            call.arguments,
            call.percentage,
            self.ttl,
        )

    def reader(self, call: AggregateCall) -> Reader:
        """The reader of a call's result in the accumulator."""
        values = self.values(call)
        slot = self.scope(_Key.of(call)).keep(call.function.keeps(values))
        return call.function.reader(values, slot)


class _Scope:
    """The values of one argument that pass one filter, and the parts that receive them.

    wanted: the slots of all its calls, so that one of these can replace another.
    """

    def __init__(self, builder: _Builder, key: _Key, wanted: Sequence[Slots], *, key_of: KeyOf | None) -> None:
        self.builder = builder
        self.layout = builder.layout
        self.key = key
        self.wanted = wanted
        self.key_of = key_of
        self.parts: dict[str, tuple[int, AccumulatorPart, Slots]] = {}
        self.seen: int | None = None

    @property
    def described(self) -> tuple[AccumulatorSlot, ...]:
        """The contents of its slots, in words."""
        argument, condition = self.key.argument, self.key.filter
        cells = [
            AccumulatorSlot(word, slot + word.at, argument, condition, self.key.distinct)
            for slot, _, slots in self.parts.values()
            for word in slots.words
        ]
        return (*cells, *(() if self.seen is None else (AccumulatorSlot(VALUES_SEEN, self.seen, argument, condition),)))

    def keep(self, slots: Slots) -> int:
        """The index of these slots: their own, or that of another call's slots with the same contents."""
        for other in self.wanted:
            if slots.name in other.holds:
                return self.keep(other) + other.holds[slots.name]
        if slots.name not in self.parts:
            slot = self.layout.add(*slots.initial)
            self.parts[slots.name] = (slot, slots.part(slot), slots)
            if slots.forget is not None:
                self.builder.forgets.append(slots.forget(slot))
        return self.parts[slots.name][0]

    def close(self) -> tuple[RowStep, RowStep, Merge]:
        """Accumulate, retract and merge of the whole scope."""
        inner = [part for _, part, _ in self.parts.values()]
        accumulate = _all([part.accumulate for part in inner])
        retract = _all([part.retract for part in inner])
        merge = _all([part.merge for part in inner])
        if self.key.distinct:
            self.seen = slot = self.layout.add(dict)
            make = distinct_counted if self.builder.retracting else distinct_once
            part = make(slot, accumulate, retract, self.key_of)
            if self.builder.ttl.ms:
                self.layout.add(dict)
                counted = self.builder.retracting
                part, forget = distinct_expiring(part, slot, self.key_of, self.builder.ttl, counted=counted)
                self.builder.forgets.append(forget)
            accumulate, retract, merge = part.accumulate, part.retract, part.merge
        return self._of_row(accumulate), self._of_row(retract), merge

    def _of_row(self, step: Step) -> RowStep:
        argument, condition = self.key.argument, self.key.filter
        if argument is None:
            return step if condition is None else _where(condition, step)
        column = argument
        if self.key.with_nulls:

            def any_value(acc: Acc, row: Row) -> None:
                step(acc, row[column])

            return any_value if condition is None else _where(condition, any_value)

        def value(acc: Acc, row: Row) -> None:
            cell = row[column]
            if cell is not None:
                step(acc, cell)

        return value if condition is None else _where(condition, value)


def _where(condition: int, step: RowStep) -> RowStep:
    def filtered(acc: Acc, row: Row) -> None:
        if row[condition]:
            step(acc, row)

    return filtered


def _all(steps: Sequence[Callable[[Acc, Any], None]]) -> Callable[[Acc, Any], None]:
    """All steps in order; unrolled for small numbers, the usual case in queries."""
    match steps:
        case []:
            return _nothing
        case [one]:
            return one
        case [one, two]:

            def both(acc: Acc, operand: Any) -> None:
                one(acc, operand)
                two(acc, operand)

            return both
    rest = tuple(steps)

    def each(acc: Acc, operand: Any) -> None:
        for step in rest:
            step(acc, operand)

    return each


def _each(forgets: Sequence[Forget]) -> Forget:
    def forget(acc: Acc) -> None:
        for forget_part in forgets:
            forget_part(acc)

    return forget


def _nothing(acc: Acc, operand: Any) -> None:
    """SELECT DISTINCT aggregates nothing."""


def _tuple(reads: Sequence[Read]) -> Callable[[Acc], Row]:
    match reads:
        case []:
            return lambda acc: ()
        case [one]:
            return lambda acc: (one(acc),)
        case [one, two]:
            return lambda acc: (one(acc), two(acc))
    rest = tuple(reads)
    return lambda acc: tuple([read(acc) for read in rest])


def _present(presents: Sequence[Callable[[Any], Any] | None]) -> Callable[[Row], Row]:
    rest = tuple(presents)
    return lambda row: tuple([present(value) if present else value for present, value in zip(rest, row, strict=True)])
