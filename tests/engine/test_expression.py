"""The properties of an expression: its columns, whether it only renames, its bounds, and rejections."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engine.expressions import Expression
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, INT, STRING
from engine.model.value_interval import ANY_VALUE, NO_VALUE, ValueInterval

SCHEMA = Schema((Column("k", STRING), Column("Amount", BIGINT), Column("it's `odd`", BIGINT)))
NAMES = set(SCHEMA.names)


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("amount > 10", {"Amount"}),
        ("k = 'amount'", {"k"}),
        ('k = "amount"', {"k"}),
        ("k = 'it''s' AND amount > 1", {"k", "Amount"}),
        ("`it's ``odd``` > 0 AND k = 'x'", {"it's `odd`", "k"}),
        (r"k = r'\' OR amount > 1 OR k = 'x'", {"k", "Amount"}),
        (r"k = 'it\'s' OR amount > 1", {"k", "Amount"}),
        ("true", set()),
        ("upper(k) LIKE 'A%'", {"k"}),
        ("k /* amount */ -- amount", {"k"}),
        ("date_trunc(k, now())", {"k"}),
        ("amount.k > 1", {"Amount", "k"}),
        ("transform(array(1), x -> x + amount)", {"Amount"}),
        ("amount >", NAMES),
        ("amount * 2", {"Amount"}),
        ("to_json(struct(*))", NAMES),
        ("identifier('amount') > 1", NAMES),
        ("identifier > amount", {"Amount"}),
        ("k = 'open", NAMES),
    ],
)
def test_columns_outside_of_texts_are_mentioned(expression: str, columns: set[str]) -> None:
    assert Expression.parse(expression).columns(SCHEMA) == columns


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("k", "k"),
        (" AMOUNT ", "Amount"),
        ("`it's ``odd```", "it's `odd`"),
        ("k + 1", None),
        ("x", None),
        ("null", None),
        ("'k'", None),
        ("k.k", None),
        ("", None),
    ],
)
def test_only_a_bare_column_is_plain(expression: str, name: str | None) -> None:
    found = Expression.parse(expression).plain_column(SCHEMA)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    "name", ["order", "date", "end", "case", "values", "from", "current_date", "select", "if", "true", "2_x"]
)
def test_a_column_may_be_called_as_a_word_of_sql(name: str) -> None:
    schema = Schema((Column(name, INT),))
    quoted = Expression.parse(f"`{name}`")
    assert quoted.plain_column(schema) is schema.columns[0]
    assert quoted.columns(schema) == {name}
    assert (Expression.parse(name).plain_column(schema) is None) is (name == "true")


BOUNDED = Schema((Column("v", INT), Column("n", BIGINT), Column("a b", INT), Column("s", STRING)))


def ends(lower: float | None = None, upper: float | None = None) -> ValueInterval:
    return ValueInterval(*(None if end is None else Decimal(str(end)) for end in (lower, upper)))


@pytest.mark.parametrize(
    ("condition", "interval"),
    [
        ("v >= 0", ends(0)),
        ("`v` > 3 AND `a b` = 7", ends(3)),
        ("0 <= v and (n > 1)", ends(0)),
        ("v > -1", ends(-1)),
        ("v <= 5", ends(upper=5)),
        ("v = 5", ends(5, 5)),
        ("v <> 5", ANY_VALUE),
        ("v >= 0 OR n > 1", ANY_VALUE),
        ("v >= 0 OR (v > 3 AND n > 1)", ANY_VALUE),
        ("v >= 0 OR v > 3", ends(0)),
        ("v < 0 OR v > 3", ANY_VALUE),
        ("(v < -2 OR v > 5) AND v > -1", ends(5)),
        ("NOT v < 0", ends(0)),
        ("NOT (v < 0 OR n > 3)", ends(0)),
        ("NOT (v < 0 AND v > -3)", ANY_VALUE),
        ("NOT v BETWEEN -5 AND 4 AND v > -3", ends(4)),
        ("v IN (1, 2, 3)", ends(1, 3)),
        ("v IN (1, n)", ANY_VALUE),
        ("v NOT IN (1, 2)", ANY_VALUE),
        ("s = 'v > 0 AND v >= 0'", ANY_VALUE),
        ("v + 1 > 0", ANY_VALUE),
        ("CAST(v AS BIGINT) > 0", ANY_VALUE),
        ("s = 'x' AND v >= 0", ends(0)),
        ("v BETWEEN 1 AND n", ends(1)),
        ("v >= n", ANY_VALUE),
        ("v >= 1.5 AND 2L <= n", ends(1.5)),
        ("v > 2 + 3", ends(5)),
        ("v >=", ANY_VALUE),
    ],
)
def test_a_condition_narrows_a_column_as_in_flink(condition: str, interval: ValueInterval) -> None:
    assert Expression.parse(condition).required(BOUNDED, "v") == interval


@pytest.mark.parametrize(
    ("expression", "interval"),
    [
        ("n", ends(0, 9)),
        ("`n`", ends(0, 9)),
        ("CAST(`n` AS INT)", ANY_VALUE),
        ("-n", ANY_VALUE),
        ("v", ANY_VALUE),
        ("10L", ends(10, 10)),
        ("-1", ends(-1, -1)),
        ("'1'", ANY_VALUE),
        ("CAST('NaN' AS DOUBLE)", ANY_VALUE),
        ("CASE WHEN v > 1 THEN CAST('-Infinity' AS DOUBLE) ELSE CAST('x' AS INT) END", ANY_VALUE),
        ("1E9999999 * 1E9999999", ANY_VALUE),
        ("NULL", NO_VALUE),
        ("n + 1", ends(1, 10)),
        ("1 - n", ends(-8, 1)),
        ("n * -2", ends(-18, 0)),
        ("n / 2", ANY_VALUE),
        ("n + v", ANY_VALUE),
        ("CASE WHEN v > 1 THEN 1 WHEN v < 0 THEN 2.5 END", ends(1, 2.5)),
        ("CASE s WHEN 'x' THEN 1 ELSE 0 END", ends(0, 1)),
        ("CASE WHEN v > 1 THEN n ELSE -3 END", ends(-3, 9)),
        ("CASE WHEN v > 1 THEN v ELSE 0 END", ANY_VALUE),
        ("ABS(n)", ANY_VALUE),
    ],
)
def test_the_numbers_of_a_value_are_known_as_in_flink(expression: str, interval: ValueInterval) -> None:
    assert Expression.parse(expression).interval(BOUNDED, {"n": ends(0, 9)}) == interval


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("CAST(`n` AS INT)", "n"),
        ("cast(N as decimal(10, 2))", "n"),
        ("n", "n"),
        ("CAST(n + 1 AS INT)", None),
        ("try_cast(n AS INT)", None),
    ],
)
def test_a_cast_passes_on_how_its_column_moves(expression: str, column: str | None) -> None:
    found = Expression.parse(expression).cast_column(BOUNDED)
    assert (found.name if found else None) == column


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("to_json(struct(`v` AS c0, `a b` AS c1))", {"v", "a b"}),
        ("to_json(struct(v))", {"v"}),
        ("to_json(struct(`v` AS c0, n + 1 AS c1))", set()),
        ("to_json(v)", set()),
        ("struct(v)", set()),
    ],
)
def test_a_packed_text_holds_its_columns_whole(expression: str, columns: set[str]) -> None:
    assert Expression.parse(expression).packed_columns(BOUNDED) == columns


def test_two_expressions_are_the_same_if_their_text_is() -> None:
    assert Expression.parse("a + 1") is Expression.parse("a + 1")
    assert Expression.parse("a + 1") != Expression.parse("A + 1")
    assert Expression.parse("a +").sql == "a +"
