"""What one record's expression may cost: guards that Spark evaluates, before anything is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.expressions.costs import bounded
from engine.spark.failures import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = "it makes a text of more than 16 MB"
LIST = "it makes or reads a list of more than"


@pytest.mark.parametrize(
    "expression",
    [
        "a + 1",
        "upper(repeat(w, 3))",
        "lpad(w, 10, '0')",
        "space(4)",
        "array_repeat(w, 10)",
        "sequence(1, 100)",
        "sequence(-3, 3, 2)",
        "transform(l, x -> x + 1)",
        "filter(sequence(1, 10), x -> x > 3)",
        "aggregate(l, 0, (acc, x) -> acc + x)",
        "'repeat(w, ' || w",
        "filter",
        "`repeat`",
    ],
)
def test_what_costs_no_more_than_its_input_is_unchanged(expression: str) -> None:
    assert bounded(expression) == expression


VALUES = [
    ("length(repeat(w, n))", 9),
    ("length(repeat(repeat(w, 2), n))", 18),
    ("concat(lpad(w, n + 1, '0'), rpad(w, n), space(n))", "0abcabc   "),
    ("sequence(n, 1, -1)", [3, 2, 1]),
    ("size(sequence(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 3 DAY))", 11),
    ("array_repeat(w, n)", ["abc"] * 3),
    ("transform(sequence(1, n), x -> size(transform(sequence(1, x), (y, i) -> x * y + i)))", [1, 2, 3]),
    ("aggregate(split(w, ''), '', (acc, x) -> concat(x, acc), acc -> concat(acc, '!'))", "cba!"),
    ("aggregate(sequence(1, n), '', (acc, x) -> acc || x)", "123"),
    ("map_zip_with(map(1, w), map(1, n), (k, a, b) -> transform(array(a), x -> x || b))", {1: ["abc3"]}),
    ("CASE WHEN n IN (1, 3) THEN repeat(`w`, n) END", "abcabcabc"),
    ("repeat(w, CAST(NULL AS INT))", None),
    ("repeat(nullif(w, w), n)", None),
]


def test_a_guarded_expression_has_the_same_value_and_type(spark: SparkSession) -> None:
    given = spark.sql("SELECT 'abc' AS w, 3 AS n, array(1, 2) AS l")
    asked = given.selectExpr(
        *(f"{expression} AS a{at}" for at, (expression, _) in enumerate(VALUES)),
        *(f"{bounded(expression)} AS b{at}" for at, (expression, _) in enumerate(VALUES)),
    )
    row = asked.first()
    assert row is not None
    for at, (expression, value) in enumerate(VALUES):
        assert bounded(expression) != expression
        assert row[f"a{at}"] == row[f"b{at}"] == value
        types = [asked.schema[f"{name}{at}"].dataType.simpleString() for name in "ab"]
        assert types[0] == types[1]


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("repeat(w, 2000000000)", TEXT),
        ("repeat('x', 2000000000)", TEXT),
        ("repeat(w, n * 10000000)", TEXT),
        ("repeat(repeat(repeat(w, 900), 900), 900)", TEXT),
        ("`REPEAT`(w, 2000000000)", TEXT),
        ("space(2000000000)", TEXT),
        ("lpad(w, 2000000000, 'x')", TEXT),
        ("rpad(w, n * 100000000)", TEXT),
        ("sequence(1, 2000000000)", f"{LIST} 1,000,000 elements. Make fewer"),
        ("sequence(0L, n * 1000000000000, n)", LIST),
        ("array_repeat(w, 2000000000)", LIST),
        ("array_repeat(array_repeat(w, 100000), 100000)", f"{LIST} 3,162 elements where one list"),
        ("transform(sequence(1, 100000), x -> transform(sequence(1, 100000), y -> x * y))", f"{LIST} 3,162 elements"),
        (
            "aggregate(sequence(1, 1000), 0, (s, x) -> aggregate(sequence(1, 1000), s, "
            "(t, y) -> aggregate(sequence(1, 1000), t, (u, z) -> u + z)))",
            f"{LIST} 215 elements",
        ),
        ("filter(sequence(1, n * 100000), x -> exists(sequence(1, n), y -> y = x))", f"{LIST} 3,162 elements"),
        ("aggregate(sequence(1, 100), 'x', (acc, x) -> concat(acc, acc))", TEXT),
        ("repeat(repeat(repeat(repeat(repeat(repeat(w, 2), 2), 2), 2), 2), 2)", "more than 5 times. Split it"),
    ],
)
def test_what_would_be_too_much_fails_with_a_sentence_at_once(
    spark: SparkSession, expression: str, sentence: str
) -> None:
    given = spark.createDataFrame([("abc", 3)], "w STRING, n INT")
    with pytest.raises(Exception, match="USER_RAISED_EXCEPTION") as raised:
        given.selectExpr(f"CAST({bounded(expression)} AS STRING) AS a").collect()
    assert sentence in reason_of(raised.value)
    assert spark.range(3).count() == 3


@pytest.mark.parametrize(
    ("word", "sentence"),
    [("concat('ab', CAST(id AS STRING))", "needs more of Spark's stack"), ("'ab'", "Spark could not plan it")],
)
def test_a_record_or_a_constant_that_takes_all_of_the_stack_ends_its_job_only(
    spark: SparkSession, word: str, sentence: str
) -> None:
    expression = bounded(f"regexp_like(repeat({word}, 100000), '(a|b|0)*c')")
    with pytest.raises(Exception, match="StackOverflowError|UNKNOWN") as raised:
        spark.range(1).selectExpr(f"{expression} AS a").collect()
    assert sentence in reason_of(raised.value)
    assert spark.range(3).count() == 3


UNGROWN = [
    "replace(w, 'a', 'bb')",
    "regexp_replace(regexp_replace(w, '[^a-z]+', ' '), ' $', '')",
    "hex(w)",
    "format_string('%20d', n)",
    "format_number(n, 3)",
    "array_join(l, ', ')",
    "to_json(struct(w))",
    f"CASE {' '.join(f'WHEN n = {at} THEN w' for at in range(40))} END || replace(w, 'a', '')",
]


@pytest.mark.parametrize("expression", UNGROWN)
def test_what_grows_by_a_small_factor_is_unchanged(expression: str) -> None:
    assert bounded(expression) == expression


LONG = "a" * 1000
GROWING = [(f"replace({expression}, 'a', '{LONG}')", 3_000_000) for expression in [f"replace(w, 'a', '{LONG}')"]] + [
    ("replace('{n} and {n}', '{n}', w)", 11),
    ("hex(hex(hex(hex(hex(hex(w))))))", 192),
    ("format_string(w, n)", 3),
]
GROWN = [
    f"replace(replace(replace(w, 'a', '{LONG}'), 'a', '{LONG}'), 'a', '{LONG}')",
    f"regexp_replace(regexp_replace(regexp_replace(w, '', '{LONG}'), 'a', '{LONG}'), 'a', '{LONG}')",
    f"{'hex(' * 30}repeat(w, 16){')' * 30}",
    f"{'base64(' * 60}w{')' * 60}",
    f"{'hex(' * 30}'abc'{')' * 30}",
    f"concat({', '.join(['repeat(w, 16000000)'] * 30)})",
    "format_string('%2000000000d', n)",
    "printf(concat('%', '2000000000d'), n)",
    "format_number(n, 2000000000)",
    "format_number(n, n * 1000000)",
]


def test_what_grows_is_computed_where_it_stays_small(spark: SparkSession) -> None:
    given = spark.createDataFrame([("aaa", 3)], "w STRING, n INT")
    row = given.selectExpr(*(f"length({bounded(expression)})" for expression, _ in GROWING)).first()
    assert row is not None
    assert list(row) == [length for _, length in GROWING]
    for expression in GROWN:
        with pytest.raises(Exception, match="it may make a text of more than 256 MB") as caught:
            given.selectExpr(f"length({bounded(expression)})").collect()
        assert reason_of(caught.value).startswith("it may make a text of more than 256 MB. Make a shorter one")
