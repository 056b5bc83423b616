"""Aggregates on whole batches equal the plain kernel."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates import columnar_values
from engine.aggregates.columnar import AggregateColumns
from engine.aggregates.columnar_calls import without_columns
from engine.aggregates.columnar_values import ends_of_values
from engine.aggregates.function import AggregateCall, AggregateFunction
from engine.aggregates.registry import function_named
from engine.columnar.rules import _writable, rule_of
from engine.contract.columnar_kernel import InShortChunks, Layout
from engine.contract.kernel import Input
from engine.model.type_texts import spark_type
from engine.operators.aggregate import AggregateKernel
from tests.engine.columnar.equality import ALL_KINDS, INSERTS, Given, Rules, check_equal, inputs, run_columnar

COUNT, SUM, AVG, MIN, MAX, LISTAGG = map(function_named, ("COUNT", "SUM", "AVG", "MIN", "MAX", "LISTAGG"))

# bigint, tinyint, date, two filters: few values, including the limits of the types.
ROWS = st.tuples(
    st.sampled_from([None, 0, 1, 3, -2, (1 << 63) - 1, -(1 << 63)]),
    st.sampled_from([None, 1, 2, 127, -128]),
    st.sampled_from([None, date(1969, 12, 31), date(2024, 2, 29)]),
    st.booleans(),
    st.sampled_from([True, False, None]),
    st.sampled_from([None, "", "a", "é,", "long" * 99]),
)
TYPES = (pa.int64(), pa.int8(), pa.date32(), pa.bool_(), pa.bool_(), pa.string())
NAMES = ("bigint", "tinyint", "date", "boolean", "boolean", "string")
KEYS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, None]))
FILTERS = st.sampled_from([None, None, 3, 4])


def call(function: AggregateFunction, argument: int | None, condition: int | None = None, **more: Any) -> AggregateCall:
    type_ = "bigint" if argument is None else NAMES[argument]
    return AggregateCall(function, argument, spark_type(type_), filter=condition, **{"never_retracts": True, **more})


CALLS = st.lists(
    st.one_of(
        st.builds(call, st.just(COUNT), st.sampled_from([None, 0, 1, 2]), FILTERS),
        st.builds(call, st.just(SUM), st.sampled_from([0, 1]), FILTERS),
        st.builds(call, st.sampled_from([MIN, MAX]), st.sampled_from([0, 1, 2]), FILTERS),
    ),
    max_size=4,
)
VALUES = st.lists(
    st.one_of(
        st.builds(call, st.just(COUNT), st.integers(0, 5), FILTERS, distinct=st.just(True)),
        st.builds(call, st.sampled_from([SUM, AVG]), st.just(1), FILTERS, distinct=st.just(True)),
        st.builds(call, st.sampled_from([MIN, MAX]), st.integers(0, 2), FILTERS, never_retracts=st.just(False)),
        st.builds(call, st.just(COUNT), st.sampled_from([None, 0])),
    ),
    min_size=1,
    max_size=4,
)
TEXTS = st.builds(
    call, st.just(LISTAGG), st.just(5), FILTERS, distinct=st.booleans(), separator=st.sampled_from([",", "", "—"])
)
AVERAGES = st.lists(
    st.builds(call, st.sampled_from([AVG, SUM, COUNT]), st.sampled_from([0, 1]), FILTERS),
    min_size=1,
    max_size=4,
)
SETTINGS = st.fixed_dictionaries({"generate_update_before": st.booleans(), "emit_unchanged": st.booleans()})


def rules_of(calls: list[AggregateCall], rule: dict[str, Any]) -> Rules:
    counts = COUNT
    results = [pa.int64() if item.function is counts else TYPES[item.argument or 0] for item in calls]
    keys = (pa.string(), pa.int32())
    assert without_columns(calls, retracting=rule["retracting"], keeps_values=True) is None
    return Rules(
        lambda: AggregateKernel(calls, **rule),
        lambda layout: AggregateColumns(layout, calls, **rule),
        Layout(keys, (TYPES,), (*keys, *results)),
    )


@given(given=inputs(keys=KEYS, rows=ROWS, kinds=INSERTS), calls=CALLS, rule=SETTINGS)
def test_without_retraction(given: Given, calls: list[AggregateCall], rule: dict[str, Any]) -> None:
    check_equal(rules_of(calls, {**rule, "retracting": False}), given)


@given(given=inputs(keys=KEYS, rows=ROWS, kinds=ALL_KINDS), calls=CALLS, rule=SETTINGS)
def test_with_retraction(given: Given, calls: list[AggregateCall], rule: dict[str, Any]) -> None:
    check_equal(rules_of(calls, {**rule, "retracting": True}), given)


@given(
    given=inputs(keys=KEYS, rows=ROWS, kinds=INSERTS), calls=VALUES, texts=st.lists(TEXTS, max_size=2), rule=SETTINGS
)
def test_values_without_retraction(
    given: Given, calls: list[AggregateCall], texts: list[AggregateCall], rule: dict[str, Any]
) -> None:
    check_equal(rules_of([*texts, *calls], {**rule, "retracting": False}), given)


@given(given=inputs(keys=KEYS, rows=ROWS, kinds=ALL_KINDS), calls=VALUES, rule=SETTINGS)
def test_values_with_retraction(given: Given, calls: list[AggregateCall], rule: dict[str, Any]) -> None:
    calls = [call for call in calls if call.function != AVG]
    check_equal(rules_of(calls, {**rule, "retracting": True}), given)


def test_compiled_is_what_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = rule_of(ends_of_values).compiled(waits=True)
    assert compiled is not None

    def both(*arguments: Any) -> Any:
        found = compiled(*map(_writable, arguments))
        for one, other in zip(found, rule_of(ends_of_values).interpreted(*arguments), strict=True):
            assert one.tolist() == other.tolist()
        return found

    monkeypatch.setattr(columnar_values, "ends_of_values", both)

    @given(given=inputs(keys=KEYS, rows=ROWS, kinds=ALL_KINDS), rule=SETTINGS)
    def check(given: Given, rule: dict[str, Any]) -> None:
        ends = [call(MIN, 0, never_retracts=False), call(MAX, 0, never_retracts=False)]
        check_equal(rules_of(ends, {**rule, "retracting": True}), given)

    check()


@given(given=inputs(keys=KEYS, rows=ROWS, kinds=ALL_KINDS), calls=AVERAGES, rule=SETTINGS)
def test_averages_fail_where_the_plain_kernel_does(
    given: Given, calls: list[AggregateCall], rule: dict[str, Any]
) -> None:
    """An average that does not fit fails when it becomes an Arrow column, as it does in a worker."""
    rules = rules_of(calls, {**rule, "retracting": True})
    try:
        check_equal(rules, given)
    except (pa.ArrowInvalid, OverflowError) as error:
        with pytest.raises(type(error), match=str(error)):
            convert(rules, given)


def convert(rules: Rules, given: Given) -> None:
    from tests.engine.columnar.equality import run_plain

    rows = [record.row for record in run_plain(rules, given).emitted]
    for at, type_ in enumerate(rules.layout.output):
        pa.array([row[at] for row in rows], type_)


def test_an_average_that_does_not_fit_fails() -> None:
    rules = rules_of([call(AVG, 1)], {"retracting": True})
    steps = enumerate([(0, 127), (0, 127), (3, -128)], 1)
    rows = [Input(seq, kind, (None, value, None, True, True, None)) for seq, (kind, value) in steps]
    given = Given(tuple((("a", 1), row) for row in rows))
    with pytest.raises(pa.ArrowInvalid, match="Value 382 too large"):
        check_equal(rules, given)


def test_long_texts_are_made_in_short_chunks_and_never_wrap() -> None:
    rules = rules_of([call(LISTAGG, 5)], {"retracting": False})
    kernel = rules.columnar(rules.layout)
    assert isinstance(kernel, InShortChunks)
    assert kernel.most_rows == 16_384
    rows = [Input(seq, 0, (None, None, None, True, True, "x" * 200_000)) for seq in range(1, 180)]
    with pytest.raises(pa.ArrowCapacityError, match="the texts of 357 results have"):
        run_columnar(rules, Given(tuple((("a", 1), row) for row in rows)))
