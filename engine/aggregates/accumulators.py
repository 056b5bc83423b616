"""The aggregate functions as accumulate, retract and merge on a small list of plain values.

    SUM(v), AVG(v), COUNT(*), MAX(v)     four calls
    scope v: total, multiset             what is kept, shared between the calls of one argument
    acc = [rows, sum, count, {..}, ..]   the state of one group: a list, one or more slots per part

`compile_calls` turns calls into a few closures once per partition, as Flink generates its AggsHandler
once per job; a record then costs one call per scope, and whether something retracts, filters or is
distinct is decided beforehand. NULLs are skipped by all functions but COUNT(*) and ARRAY_AGG. Sums of
integers are kept exact and wrap when read, which gives the same two's complement.

Without retraction MIN and MAX keep one value and DISTINCT a set; with it, MIN and MAX keep a sorted
multiset and DISTINCT counts. Counts may be negative for a while: a retraction may come first.

Source: Flink SumAggFunction, AvgAggFunction, MinWithRetractAggFunction, FirstValueWithRetractAggFunction,
ArrayAggFunction, CollectAggFunction, WelfordM2AggFunction, DistinctAggCodeGen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, assert_never

from engine.aggregates import accumulator_parts as parts
from engine.aggregates.accumulator_parts import Acc, Part, Step
from engine.aggregates.functions import Function
from engine.aggregates.results import Read, average, deviation, joined, pairs, total
from engine.aggregates.state import Kept, kept_of
from engine.contract.kernel import Row
from engine.model.schema import FLOATS

RowStep = Callable[[Acc, Row], None]
Merge = Callable[[Acc, Acc], None]

_TOTALS: Final = frozenset({Function.SUM, Function.AVG})
# The smallest of the distinct values is the smallest of all values.
_EXTREMES: Final = frozenset({Function.MIN, Function.MAX})


@dataclass(frozen=True)
class AggregateCall:
    """One call over the rows of a kernel. argument, filter: places in the row; type: the argument's.

    never_retracts: a MIN or MAX that no retraction changes, because its argument moves one way only.
    """

    function: Function
    argument: int | None = None
    type: str = "bigint"
    distinct: bool = False
    filter: int | None = None
    separator: str = ","
    never_retracts: bool = False


@dataclass(frozen=True)
class Accumulators:
    """The compiled calls.

    create gives an empty accumulator; accumulate and retract change it by a row, merge by another one,
    which stays as it is. value reads the results; where `present` is set it reads what is compared to
    find out whether a result changed, and present makes the results of it: Flink computes variances in
    a projection above the aggregate, so that an equal variance of other rows is still an update.
    rows: the slot that counts rows, set where the input retracts. clock: holds the position of the
    current record where uses_clock; FIRST_VALUE and LAST_VALUE order by it. kept: what the slots hold, in words.
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
    kept: tuple[Kept, ...] = ()


def compile_calls(calls: Sequence[AggregateCall], *, retracting: bool) -> Accumulators:
    """The closures for these calls. retracting: whether rows may be taken back."""
    calls = [replace(call, distinct=call.distinct and call.function not in _EXTREMES) for call in calls]
    builder = _Builder(calls, retracting)
    rows = builder.scope(_COUNT_ROWS).count() if retracting else None
    reads = [builder.read(call) for call in calls]
    scopes = [scope.close() for scope in builder.scopes.values()]
    presents = [present for _, present in reads]
    return Accumulators(
        create=builder.layout.create,
        accumulate=_all([scope[0] for scope in scopes]),
        retract=_all([scope[1] for scope in scopes]),
        merge=_all([scope[2] for scope in scopes]),
        value=_tuple([read for read, _ in reads]),
        present=_present(presents) if any(presents) else None,
        rows=rows,
        clock=builder.clock,
        uses_clock=any(call.function in (Function.FIRST_VALUE, Function.LAST_VALUE) for call in calls),
        kept=tuple(kept for scope in builder.scopes.values() for kept in scope.kept),
    )


_COUNT_ROWS: Final = AggregateCall(Function.COUNT)


@dataclass
class _Layout:
    """Which slot holds what: initial values, and makers for those that are containers."""

    template: list[Any] = field(default_factory=list)
    makers: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)

    def add(self, *initial: Any) -> int:
        """The first of some new slots. A type stands for a new container of that type."""
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


class _Builder:
    def __init__(self, calls: Sequence[AggregateCall], retracting: bool) -> None:
        self.calls = calls
        self.retracting = retracting
        self.layout = _Layout()
        self.scopes: dict[tuple[Any, ...], _Scope] = {}
        self.clock: list[Any] = [None]

    def scope(self, call: AggregateCall) -> _Scope:
        """Where this call's argument is seen."""
        with_nulls = call.function is Function.ARRAY_AGG
        key = (call.argument, call.filter, call.distinct, with_nulls)
        if key not in self.scopes:
            functions = {
                other.function
                for other in self.calls
                if (other.argument, other.filter, other.distinct) == (call.argument, call.filter, call.distinct)
            }
            self.scopes[key] = _Scope(self, call, with_nulls, functions)
        return self.scopes[key]

    def read(self, call: AggregateCall) -> tuple[Read, Callable[[Any], Any] | None]:
        """How the result of a call is read from the accumulator, and presented, where that is a second step."""
        scope = self.scope(call)
        match call.function:
            case Function.COUNT:
                return parts.slot(scope.count()), None
            case Function.SUM:
                return total(scope.sum(), call.type), None
            case Function.AVG:
                # Flink takes AVG for SUM / COUNT where it has both anyway; then the sum has wrapped.
                reduced = {Function.COUNT, Function.SUM, Function.AVG} <= scope.functions
                slot = scope.sum() if reduced or call.type != "float" else scope.sum("double")
                return average(slot, call.type, reduced=reduced), None
            case Function.MIN | Function.MAX:
                return scope.extreme(call.function is Function.MAX, call.never_retracts), None
            case Function.FIRST_VALUE | Function.LAST_VALUE:
                return scope.by_arrival(call.function is Function.LAST_VALUE), None
            case Function.LISTAGG:
                return joined(scope.values(), call.separator), None
            case Function.ARRAY_AGG:
                return parts.list_of(scope.values()), None
            case Function.COLLECT:
                return pairs(scope.counts()), None
            case Function.VAR_POP | Function.VAR_SAMP | Function.STDDEV_POP | Function.STDDEV_SAMP:
                read, present = deviation(scope.welford(), call.function, call.type)
                return read, present
            case _:
                assert_never(call.function)


class _Scope:
    """The values of one argument that pass one filter, and the parts that look at them."""

    def __init__(self, builder: _Builder, call: AggregateCall, with_nulls: bool, functions: set[Function]) -> None:
        self.layout = builder.layout
        self.retracting = builder.retracting
        self.clock = builder.clock
        self.call = call
        self.with_nulls = with_nulls
        self.functions = functions
        self.is_float = call.type in FLOATS
        self.parts: dict[str, tuple[int, Part]] = {}
        self.seen: int | None = None

    @property
    def kept(self) -> tuple[Kept, ...]:
        """What its slots hold, in words."""
        slots = {name: slot for name, (slot, _) in self.parts.items()}
        return kept_of(slots, self.call.argument, self.call.filter, self.seen)

    def _part(self, name: str, initial: Sequence[Any], make: Callable[[int], Part]) -> int:
        if name not in self.parts:
            slot = self.layout.add(*initial)
            self.parts[name] = (slot, make(slot))
        return self.parts[name][0]

    def count(self) -> int:
        """The slot with the number of values; next to their sum where there is one."""
        if self.functions & _TOTALS:
            return self.sum() + 1
        return self._part("count", (0,), parts.counting)

    def sum(self, type_: str = "") -> int:
        """The slot with the sum of the values, before the slot with their number."""
        kept = type_ or self.call.type
        return self._part(f"sum {type_}", (0, 0), lambda slot: parts.summing(slot, kept))

    def extreme(self, largest: bool, never_retracts: bool) -> Read:
        """The reader of the smallest or largest value."""
        if self.retracting and not never_retracts:
            slot = self._part("multiset", (dict, list), lambda slot: parts.multiset(slot, self.is_float))
            return parts.end_of(slot + 1, largest, self.is_float)
        name = "max" if largest else "min"
        return parts.slot(self._part(name, (None,), parts.maximum if largest else parts.minimum))

    def by_arrival(self, last: bool) -> Read:
        """The reader of the first or last value."""
        if self.retracting:
            slot = self._part("arrivals", (dict, list), lambda slot: parts.arrivals(slot, self.clock))
            return parts.arrival(slot + 1, last)
        name = "last" if last else "first"
        slot = self._part(name, (None, None), lambda slot: parts.first_or_last(slot, self.clock, last))
        return parts.slot(slot)

    def values(self) -> int:
        """The slot with the list of the values, in order of arrival."""
        return self._part("values", (list,), parts.listing)

    def counts(self) -> int:
        """The slot with how often each value is there."""
        return self._part("counts", (dict,), parts.tallying)

    def welford(self) -> int:
        """The first of the slots with number, mean and sum of squared differences."""
        return self._part("welford", (0, 0.0, 0.0), parts.welford)

    def close(self) -> tuple[RowStep, RowStep, Merge]:
        """Accumulate, retract and merge of the whole scope."""
        inner = [part for _, part in self.parts.values()]
        accumulate = _all([part.accumulate for part in inner])
        retract = _all([part.retract for part in inner])
        merge = _all([part.merge for part in inner])
        if self.call.distinct:
            self.seen = slot = self.layout.add(dict)
            make = parts.distinct_counted if self.retracting else parts.distinct_once
            part = make(slot, accumulate, retract, self.is_float)
            accumulate, retract, merge = part.accumulate, part.retract, part.merge
        return self._of_row(accumulate), self._of_row(retract), merge

    def _of_row(self, step: Step) -> RowStep:
        argument, condition = self.call.argument, self.call.filter
        if argument is None:
            return step if condition is None else _where(condition, step)
        column = argument
        if self.with_nulls:

            def any_value(acc: Acc, row: Row) -> None:
                step(acc, row[column])

            return any_value if condition is None else _where(condition, any_value)

        def value(acc: Acc, row: Row) -> None:
            found = row[column]
            if found is not None:
                step(acc, found)

        return value if condition is None else _where(condition, value)


def _where(condition: int, step: RowStep) -> RowStep:
    def filtered(acc: Acc, row: Row) -> None:
        if row[condition]:
            step(acc, row)

    return filtered


def _all(steps: Sequence[Callable[[Acc, Any], None]]) -> Callable[[Acc, Any], None]:
    """One after the other; unrolled for few, which is what queries have."""
    match steps:
        case []:
            return _nothing
        case [one]:
            return one
        case [one, two]:

            def both(acc: Acc, given: Any) -> None:
                one(acc, given)
                two(acc, given)

            return both
    rest = tuple(steps)

    def each(acc: Acc, given: Any) -> None:
        for step in rest:
            step(acc, given)

    return each


def _nothing(acc: Acc, given: Any) -> None:
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
