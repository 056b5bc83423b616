"""Accumulators: cases of every function, merging, and delicate arithmetic: overflow, many digits, NaN."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.accumulator_parts import distinct_key, number_key
from engine.aggregates.accumulators import Accumulators, compile_calls
from engine.aggregates.function import AggregateCall, AggregateFunction, key_of
from engine.aggregates.registry import function_named, functions
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, DOUBLE, INT

COUNT, SUM, AVG, MIN, MAX = map(function_named, ("COUNT", "SUM", "AVG", "MIN", "MAX"))
ARRAY_AGG, COLLECT, VAR_POP = map(function_named, ("ARRAY_AGG", "COLLECT", "VAR_POP"))
FIRST_VALUE, LAST_VALUE, PERCENTILE = map(function_named, ("FIRST_VALUE", "LAST_VALUE", "PERCENTILE"))

NAN = float("nan")


def one(function: AggregateFunction, type_: str, *, retracting: bool = False, distinct: bool = False) -> Accumulators:
    """A single call over the first value of the rows."""
    return compile_calls([AggregateCall(function, 0, spark_type(type_), distinct)], retracting=retracting)


def value_of(compiled: Accumulators, values: list[Any], taken_back: tuple[Any, ...] = ()) -> Any:
    """The result over these values, after the retraction of some."""
    acc = compiled.create()
    for at, value in enumerate(values):
        compiled.clock[0] = (at, b"")
        compiled.accumulate(acc, (value,))
    for value in taken_back:
        compiled.retract(acc, (value,))
    result = compiled.value(acc)
    return (compiled.present(result) if compiled.present else result)[0]


# Per function: the type of the values, the values, the retracted ones, and the result.
TABLE: list[tuple[str, str, list[Any], list[Any], Any]] = [
    ("COUNT", "int", [], [], 0),
    ("COUNT", "int", [4, None, 4], [4], 1),
    ("SUM", "int", [], [], None),
    ("SUM", "int", [4, None, 5], [4], 5),
    ("SUM", "int", [4], [4], None),
    ("SUM", "double", [1.5, 2.5], [1.5], 2.5),
    ("AVG", "int", [4, None, 5], [], 4),
    ("AVG", "int", [4, 5], [4, 5], None),
    ("AVG", "double", [1.0, 2.0, 6.0], [6.0], 1.5),
    ("MIN", "int", [7, 3, None, 5], [], 3),
    ("MIN", "int", [7, 3, 3], [3, 3], 7),
    ("MAX", "string", ["b", "a"], [], "b"),
    ("MAX", "int", [7, 9, 3], [9, 7, 3], None),
    ("ARRAY_AGG", "int", [], [], None),
    ("ARRAY_AGG", "int", [2, None, 1, 2], [2], [None, 1, 2]),
    ("COLLECT", "int", [], [], []),
    ("COLLECT", "int", [2, None, 1, 2, 3], [3], [(2, 2), (1, 1)]),
    ("LISTAGG", "string", ["b", None, "a"], [], "b,a"),
    ("LISTAGG", "string", ["b", "a"], ["b", "a"], None),
    ("FIRST_VALUE", "int", [None, 2, 1], [2], 1),
    ("FIRST_VALUE", "int", [2, 1], [2, 1], None),
    ("LAST_VALUE", "int", [2, 1, None], [1], 2),
    ("LAG", "int", [1], [], None),
    ("LAG", "int", [1, None, 3], [], None),
    ("LAG", "int", [1, 2, 3], [], 2),
    ("PERCENTILE", "int", [], [], None),
    ("PERCENTILE", "int", [4, 1, None, 3], [], 3.0),
    ("PERCENTILE", "int", [4, 1, 3, 9], [9, 3], 2.5),
    ("PERCENTILE", "decimal(5,2)", [Decimal("1.50"), Decimal("2.50")], [Decimal("1.50")], 2.5),
    ("STDDEV_POP", "double", [2.0, 4.0, 9.0], [9.0], 1.0),
    ("STDDEV_POP", "double", [], [], None),
    ("STDDEV_SAMP", "double", [2.0, 4.0, 6.0], [], 2.0),
    ("STDDEV_SAMP", "double", [2.0], [], None),
    ("VAR_POP", "int", [1, 5], [], 4),
    ("VAR_POP", "double", [2.0, 4.0], [4.0], 0.0),
    ("VAR_SAMP", "double", [2.0, 4.0, 6.0], [], 4.0),
    ("VAR_SAMP", "double", [2.0, 4.0], [4.0], None),
]


@pytest.mark.parametrize(("name", "type_", "values", "taken_back", "result"), TABLE)
def test_a_function(name: str, type_: str, values: list[Any], taken_back: list[Any], result: Any) -> None:
    function = function_named(name)
    assert value_of(one(function, type_, retracting=True), values, tuple(taken_back)) == result
    if not taken_back:
        assert value_of(one(function, type_), values) == result


def test_every_function_has_cases() -> None:
    assert {name for name, *_ in TABLE} == set(functions())


def test_percentiles_come_as_their_shares_are_written_and_count_by_frequency() -> None:
    several = AggregateCall(PERCENTILE, 0, INT, percentage=(0.75, 0.0, 0.5))
    assert value_of(compile_calls([several], retracting=False), [10, 20, 30]) == [25.0, 10.0, 20.0]
    weighted = AggregateCall(PERCENTILE, 0, spark_type("struct<`v`:double,`n`:bigint>"), percentage=0.5)
    compiled = compile_calls([weighted], retracting=True)
    assert value_of(compiled, [(1.0, 3), (5.0, 1)]) == 1.0
    assert value_of(compiled, [(1.0, 3), (5.0, 1)], ((1.0, 2),)) == 3.0
    nothing = AggregateCall(PERCENTILE, 0, INT, percentage=())
    assert value_of(compile_calls([nothing], retracting=False), [1]) is None


def test_nan_is_the_largest_value_of_a_percentile() -> None:
    assert value_of(one(PERCENTILE, "double"), [NAN, 1.0, 2.0]) == 2.0
    assert value_of(one(PERCENTILE, "double", retracting=True), [NAN, 1.0, 2.0, NAN], (NAN, NAN)) == 1.5


@pytest.mark.parametrize(
    ("type_", "most"), [("tinyint", 127), ("smallint", 32767), ("int", 2**31 - 1), ("bigint", 2**63 - 1)]
)
def test_a_sum_wraps_in_its_type(type_: str, most: int) -> None:
    sums = one(SUM, type_)
    assert value_of(sums, [most, 1]) == -most - 1
    assert value_of(sums, [-most - 1, -1]) == most
    assert value_of(sums, [most, 1, -1]) == most


@pytest.mark.parametrize(("values", "average"), [([-3, -4], -3), ([7, 0], 3), ([-1, 0], 0), ([2**31 - 1, 1], 2**30)])
def test_an_average_of_integers_truncates_toward_zero(values: list[int], average: int) -> None:
    assert value_of(one(AVG, "int"), values) == average


def test_an_average_beside_sum_and_count_is_their_quotient_and_so_of_a_wrapped_sum() -> None:
    calls = [AggregateCall(function, 0, INT) for function in (COUNT, SUM, AVG)]
    compiled = compile_calls(calls, retracting=False)
    acc = compiled.create()
    for value in (2**31 - 1, 1):
        compiled.accumulate(acc, (value,))
    assert compiled.value(acc) == (2, -(2**31), -(2**30))


def test_decimals_keep_every_digit() -> None:
    big = Decimal("123456789012345678901234567890.12")
    sums = one(SUM, "decimal(38,2)")
    assert value_of(sums, [big, Decimal("0.01")]) == Decimal("123456789012345678901234567890.13")
    assert value_of(sums, [Decimal("9" * 36), Decimal("1.00")]) is None


def test_an_average_of_decimals_rounds_half_up() -> None:
    average = one(AVG, "decimal(10,2)")
    assert str(value_of(average, [Decimal("1.10"), Decimal("2.25"), Decimal("0.05")])) == "1.133333"
    assert str(value_of(average, [Decimal("0.01")] * 2 + [Decimal("0.00")])) == "0.006667"


def test_a_sum_of_floats_is_rounded_to_single_precision_each_time() -> None:
    tenth = 0.10000000149011612
    assert value_of(one(SUM, "float"), [tenth] * 3) == 0.30000001192092896


@pytest.mark.parametrize("retracting", [False, True])
def test_nan_is_one_value(retracting: bool) -> None:
    counts = one(COUNT, "double", retracting=retracting, distinct=True)
    assert value_of(counts, [NAN, float("nan"), 1.0]) == 2


def test_nan_can_be_taken_back_and_is_larger_than_all_numbers() -> None:
    largest = one(MAX, "double", retracting=True)
    assert math.isnan(value_of(largest, [1.0, float("nan"), 2.0]))
    assert value_of(largest, [1.0, float("nan"), 2.0], (float("nan"),)) == 2.0
    assert value_of(one(MIN, "double", retracting=True), [float("nan"), 2.0, 1.0], (1.0,)) == 2.0


NOT_A_NUMBER: list[tuple[AggregateFunction, str, Any, Any]] = [
    (COLLECT, "double", 2.0, [(2.0, 1)]),
    (FIRST_VALUE, "double", 2.0, 2.0),
    (LAST_VALUE, "float", 2.0, 2.0),
    (ARRAY_AGG, "double", 2.0, [2.0]),
    (COLLECT, "struct<t:string,d:double>", ("NaN", 2.0), [(("NaN", 2.0), 1)]),
    (FIRST_VALUE, "struct<t:string,d:double>", ("NaN", 2.0), ("NaN", 2.0)),
    (ARRAY_AGG, "array<double>", [2.0], [[2.0]]),
]


@pytest.mark.parametrize(("function", "type_", "number", "result"), NOT_A_NUMBER)
def test_nan_is_taken_back_by_any_other_nan_whatever_is_kept_meanwhile(
    function: AggregateFunction, type_: str, number: Any, result: Any
) -> None:
    def with_nan() -> Any:
        nan = float("nan")
        return [nan] if isinstance(number, list) else ("NaN", nan) if isinstance(number, tuple) else nan

    compiled = one(function, type_, retracting=True)
    acc = compiled.create()
    for at, value in enumerate([with_nan(), number, with_nan()]):
        compiled.clock[0] = at
        compiled.accumulate(acc, (value,))
    for _ in range(2):
        acc = pickle.loads(pickle.dumps(acc))
        compiled.retract(acc, (with_nan(),))
    assert compiled.value(acc) == (result,)
    compiled.retract(acc, (number,))
    compiled.accumulate(acc, (with_nan(),))
    [kept] = compiled.value(acc)
    assert repr(with_nan()) in repr(kept), "a NaN is read as a NaN"


def test_a_retraction_removes_the_first_copy_of_nan() -> None:
    # The last NaN is the same object: identity must not decide.
    assert value_of(one(ARRAY_AGG, "double", retracting=True), [float("nan"), 1.0, NAN], (NAN,))[0] == 1.0


def test_a_retraction_may_come_before_its_row() -> None:
    for function, empty in ((MAX, None), (COUNT, 0)):
        compiled = one(function, "int", retracting=True, distinct=function is COUNT)
        acc = compiled.create()
        compiled.retract(acc, (5,))
        compiled.accumulate(acc, (5,))
        assert compiled.value(acc) == (empty,)


EVERY_CALL = [
    AggregateCall(COUNT),
    *(AggregateCall(f, 0) for f in (COUNT, SUM, AVG, MIN, MAX)),
    AggregateCall(COUNT, 0, distinct=True),
    AggregateCall(SUM, 0, distinct=True),
    AggregateCall(ARRAY_AGG, 0),
    AggregateCall(COLLECT, 0),
    AggregateCall(FIRST_VALUE, 0),
    AggregateCall(LAST_VALUE, 0),
]
VALUES = st.lists(st.one_of(st.none(), st.integers(-5, 5)))


@given(VALUES, VALUES, st.booleans())
def test_merging_two_accumulators_is_accumulating_all_rows(
    first: list[int | None], second: list[int | None], retracting: bool
) -> None:
    compiled = compile_calls(EVERY_CALL, retracting=retracting)
    parts = [compiled.create(), compiled.create()]
    whole = compiled.create()
    for part, values in enumerate((first, second)):
        for at, value in enumerate(values):
            compiled.clock[0] = (part, at)
            compiled.accumulate(parts[part], (value,))
            compiled.accumulate(whole, (value,))
    before = compiled.value(parts[1])
    compiled.merge(parts[0], parts[1])
    assert compiled.value(parts[0]) == compiled.value(whole)
    assert compiled.value(parts[1]) == before


@given(st.lists(st.floats(-1e3, 1e3), min_size=1), st.lists(st.floats(-1e3, 1e3)))
def test_variances_merge(first: list[float], second: list[float]) -> None:
    compiled = one(VAR_POP, "double")
    acc, other = compiled.create(), compiled.create()
    for value in first:
        compiled.accumulate(acc, (value,))
    for value in second:
        compiled.accumulate(other, (value,))
    compiled.merge(acc, other)
    values = first + second
    mean = sum(values) / len(values)
    assert compiled.present is not None
    (variance,) = compiled.present(compiled.value(acc))
    assert variance == pytest.approx(sum((value - mean) ** 2 for value in values) / len(values), abs=1e-6)


@pytest.mark.parametrize("type_", ["double", "float", "struct<d:double>", "array<double>"])
def test_a_value_without_nan_is_held_as_ever(type_: str) -> None:
    value: Any = {"array<double>": [2.0], "struct<d:double>": (2.0,)}.get(type_, 2.0)
    key: Any = tuple(value) if isinstance(value, list) else value
    compiled = one(COUNT, type_, retracting=True, distinct=True)
    acc = compiled.create()
    compiled.accumulate(acc, (value,))
    assert {key: 1} in acc, "state that was written before is still found"


def test_only_values_that_can_be_nan_are_turned_into_keys() -> None:
    assert key_of(BIGINT) is None
    assert key_of(DOUBLE) is number_key, "a number is not asked whether it is a row"
    assert key_of(spark_type("struct<d:double>")) is distinct_key


def test_a_retraction_of_an_unknown_number_does_nothing() -> None:
    for unknown in (3.0, NAN):
        assert value_of(one(ARRAY_AGG, "double", retracting=True), [1.0, None, 2.0], (unknown, None)) == [1.0, 2.0]
