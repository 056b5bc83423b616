"""The properties of an expression: its columns, whether it only renames, its bounds, and rejections."""

from __future__ import annotations

import pytest

from engine.expressions import Expression
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, INT, STRING

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
        ("amount >", {"Amount"}),
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


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("v >= 0", {"v"}),
        ("`v` > 3 AND `a b` = 7", {"v", "a b"}),
        ("0 <= v and (n > 1)", {"v", "n"}),
        ("v > -1", set()),
        ("v <= 5", set()),
        ("v >= 0 OR n > 1", set()),
        ("NOT v >= 0", set()),
        ("v >= 0 AND n < 3", {"v"}),
        ("s = 'v > 0 AND v >= 0'", set()),
        ("v + 1 > 0", set()),
        ("s = 'x' AND v >= 0", {"v"}),
        ("v BETWEEN 1 AND n", {"v"}),
        ("v >= n", set()),
        ("v >= 1.5 AND 2L <= n", {"v", "n"}),
        ("v >=", set()),
    ],
)
def test_a_condition_keeps_columns_from_falling_below_zero(condition: str, columns: set[str]) -> None:
    assert Expression.parse(condition).required_non_negative(BOUNDED) == columns


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n", True),
        ("`n`", True),
        ("CAST(`n` AS INT)", True),
        ("TRY_CAST(`n` AS INT)", False),
        ("v", False),
        ("1", True),
        ("10L", True),
        ("-1", False),
        ("'1'", False),
        ("n + 1", False),
        ("CASE WHEN v > 1 THEN 1 ELSE 0 END", True),
        ("CASE WHEN v > 1 THEN 1 WHEN v < 0 THEN 2.5 END", True),
        ("CASE WHEN s = 'x' THEN 1 ELSE 0 END", True),
        ("CASE WHEN v > 1 THEN v ELSE 0 END", False),
        ("CASE WHEN v > 1 THEN -1 ELSE 0 END", False),
    ],
)
def test_a_value_is_known_never_to_be_below_zero(expression: str, expected: bool) -> None:
    assert Expression.parse(expression).non_negative(BOUNDED, {"n"}) is expected


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
