"""PERCENTILE: the value below which a share of the values lies, between two neighbours by linear interpolation; NULL
without values. Several shares give a list. A frequency is the number of times that a value counts.

Source: Flink PercentileAggFunction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, Slots, in_order, ordered, unordered
from engine.aggregates.aging_parts import aging_shares
from engine.aggregates.batch_sql import BatchCall
from engine.aggregates.function import AggregateFunction, Reader, Values
from engine.aggregates.state import SlotWords
from engine.model.types import DOUBLE, Row, Type

_Counts = Mapping[tuple[bool, float], int]


def _counting(slot: int, *, with_frequency: bool) -> AccumulatorPart:
    """The count of each value, as a DOUBLE. With a frequency, a value is a pair of both."""

    def add(acc: Acc, key: tuple[bool, float], times: int) -> None:
        after = acc[slot].get(key, 0) + times
        if after:
            acc[slot][key] = after
        else:
            del acc[slot][key]

    def accumulate(acc: Acc, value: Any) -> None:
        value, times = value if with_frequency else (value, 1)
        add(acc, ordered(float(value)), times)

    def retract(acc: Acc, value: Any) -> None:
        value, times = value if with_frequency else (value, 1)
        add(acc, ordered(float(value)), -times)

    def merge(acc: Acc, other: Acc) -> None:
        for key, times in other[slot].items():
            add(acc, key, times)

    return AccumulatorPart(accumulate, retract, merge)


def percentiles(counts: _Counts, shares: Sequence[float]) -> list[float] | None:
    """The percentile of each share; None without values."""
    total = sum(counts.values())
    if total <= 0:
        return None
    keys = sorted(counts)
    by_share = dict.fromkeys(shares, 0.0)
    at, passed = 0, counts[keys[0]]
    for share in sorted(by_share):
        position = share * (total - 1) + 1
        lower, higher = math.floor(position), math.ceil(position)
        while passed < lower:
            at += 1
            passed += counts[keys[at]]
        value = unordered(keys[at])
        if passed < higher:
            value = (higher - position) * value + (position - lower) * unordered(keys[at + 1])
        by_share[share] = value
    return [by_share[share] for share in shares]


class Percentile(AggregateFunction):
    """PERCENTILE(v, 0.5), PERCENTILE(v, ARRAY[0.25, 0.75]), PERCENTILE(v, 0.5, n), PERCENTILE(DISTINCT v, 0.5)."""

    name = "PERCENTILE"
    place = 105
    replaces = {"MEDIAN": "PERCENTILE(x, 0.5)", "APPROX_PERCENTILE": "PERCENTILE(x, 0.5)"}
    has_percentage = True

    def check_argument(self, argument: str, type_: Type, *, retracting: bool) -> str | None:
        """Numbers only."""
        return (
            None if type_.is_number else f"needs a number, but it is {type_.flink}. Choose another column or cast it."
        )

    def result_type(self, type_: Type) -> Type:
        return DOUBLE

    def keeps(self, values: Values) -> Slots:
        with_frequency = isinstance(values.type, Row)
        if values.ttl.ms:
            return aging_shares(with_frequency=with_frequency, ttl=values.ttl)
        words = (SlotWords("values and how often", read=partial(in_order, is_float=True)),)
        name = "weighted values" if with_frequency else "counted values"
        return Slots(name, (dict,), partial(_counting, with_frequency=with_frequency), words)

    def reader(self, values: Values, slot: int) -> Reader:
        if isinstance(values.percentage, tuple):
            shares = values.percentage
            return Reader(lambda acc: percentiles(acc[slot], shares) if shares else None)
        share = (values.percentage,)

        def one(acc: Acc) -> float | None:
            percentile_values = percentiles(acc[slot], share)
            return None if percentile_values is None else percentile_values[0]

        return Reader(one)

    def batch(self, call: BatchCall) -> str:
        if call.percentage == ():
            return "CAST(NULL AS array<double>)"
        if call.is_distinct_over:
            return _of_distinct_over(call)
        shares = call.percentage
        asked = f"array({', '.join(map(repr, shares))})" if isinstance(shares, tuple) else repr(shares)
        asked = f"CAST({asked} AS {call.type})"
        values = [f"({call.value}).v", asked, f"({call.value}).n"] if call.has_frequency else [call.value, asked]
        distinct = "DISTINCT " if call.is_distinct else ""
        return f"percentile({distinct}{', '.join(values)}){call.over}"


def _of_distinct_over(call: BatchCall) -> str:
    """The percentiles of the distinct values of a frame. With a frequency, each pair counts that many times."""
    values = call.distinct_values
    if call.has_frequency:
        values = f"flatten(transform({values}, x -> array_repeat(x.v, CAST(x.n AS INT))))"
    values = f"sort_array(CAST({values} AS array<double>))"
    shares = call.percentage if isinstance(call.percentage, tuple) else (call.percentage,)
    terms = ", ".join(_interpolated(values, share) for share in shares)
    return f"CASE WHEN size({values}) > 0 THEN {f'array({terms})' if isinstance(call.percentage, tuple) else terms} END"


def _interpolated(values: str, share: float) -> str:
    place = f"({share!r}D * (size({values}) - 1))"
    low, high = f"get({values}, CAST(floor({place}) AS INT))", f"get({values}, CAST(ceil({place}) AS INT))"
    between = f"(ceil({place}) - {place}) * {low} + ({place} - floor({place})) * {high}"
    return f"CASE WHEN {low} = {high} THEN {low} ELSE {between} END"


FUNCTION = Percentile()
