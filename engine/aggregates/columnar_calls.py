"""Calls on whole batches: their columns, or the reason why they have none."""

from __future__ import annotations

from collections.abc import Sequence

from engine.aggregates.columnar_parts import TIMES, ColumnarPart, Number, Parts, Read, Reads, Result, column
from engine.aggregates.function import AggregateCall, functions_beside


def without_columns(calls: Sequence[AggregateCall], *, retracting: bool, keeps_values: bool = False) -> str | None:
    """Why there are no columns for these calls; None if there are. keeps_values: whether values can be kept."""
    for call in calls:
        function = call.function
        if function.columnar is None:
            return f"{function.name} has no columnar kernel"
        if call.distinct and not function.ignores_distinct:
            if not keeps_values:
                return f"{function.name} DISTINCT keeps all values"
            if call.type.has_floats or call.type.is_nested:
                return f"DISTINCT of {call.type.flink} has no columnar kernel"
        if not keeps_values and function.columnar.keeps(call, retracting=retracting):
            return f"{function.name}{' with retraction' if retracting else ''} keeps all values"
        if why := function.columnar.unable(call, retracting=retracting):
            return why
    return None


def in_words(calls: Sequence[AggregateCall]) -> str:
    """The calls in words: COUNT and SUM DISTINCT of integers."""
    names = list(dict.fromkeys(call.function.name + (" DISTINCT" if call.distinct else "") for call in calls))
    if not names:
        return "distinct groups"
    types = [call.type for call in calls if call.function.columnar and not call.function.columnar.of_any_type]
    of = " of integers and times" if TIMES & set(types) else " of integers" if types else ""
    return (", ".join(names[:-1]) + " and " if names[1:] else "") + names[-1] + of


def parts_of(calls: Sequence[AggregateCall], *, retracting: bool) -> tuple[Parts, Reads]:
    """The columns of the state, each once, and a reader per call. With retraction the first one counts the rows."""
    places: dict[ColumnarPart, int] = {}

    def keep(part: ColumnarPart) -> int:
        return places.setdefault(part, len(places))

    if retracting:
        keep(Number(None, None))
    reads: list[Read] = []
    for call in calls:
        if call.is_found:
            reads.append(column(keep(Result(call.argument, None))))
            continue
        assert call.function.columnar is not None
        reads.append(call.function.columnar.read(call, keep, functions_beside(call, calls)))
    return tuple(places), tuple(reads)
