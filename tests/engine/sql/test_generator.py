"""Trees as Flink SQL: what is written is read as the same tree."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.sql.algebra import Expr, together
from engine.sql.dialect import Flink
from engine.sql.flink_text import flink_text
from engine.sql.parsing import tokens_of, trees_of

AS_TYPED = (
    "a IS NOT NULL",
    "NOT (a IS NULL)",
    "a NOT LIKE 'x%' ESCAPE '!'",
    "a NOT IN (1, 2)",
    "a NOT BETWEEN SYMMETRIC 3 AND 1",
    "a = ANY (1, b)",
    "a NOT SIMILAR TO 'x'",
    "a IS NOT DISTINCT FROM b",
    "a IS NOT TRUE",
    "a IS NOT JSON OBJECT",
    "(a OR b) AND NOT c",
    "upper(a) <> Upper(b)",
    "JSON_OBJECT('id' VALUE a, 'b' VALUE JSON_VALUE(x, 'lax $.y') NULL ON NULL)",
    "JSON_OBJECT()",
    "JSON_ARRAY(a, b ABSENT ON NULL)",
    "JSON_ARRAY(NULL ON NULL)",
    "JSON_QUERY(a, '$.x' RETURNING ARRAY<STRING> WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY ERROR ON ERROR)",
    "JSON_VALUE(a, '$.x' RETURNING INT DEFAULT -1 ON EMPTY DEFAULT 2 ON ERROR)",
    "JSON_VALUE(a, '$.x' DEFAULT '[]' ON EMPTY)",
    "JSON_EXISTS(a, '$.x' TRUE ON ERROR)",
    "POSITION('a' IN b)",
    "EXTRACT(DAY FROM (a - b) DAY)",
    "TIMESTAMP '2024-01-01 00:00:00.123'",
    "DATE '2024-01-01'",
    "TIME '10:11:12'",
    "CAST('2024-01-01 00:00:00' AS TIMESTAMP(3))",
    "CAST('2024-01-01 00:00:00' AS TIMESTAMP)",
    "TRY_CAST('2024-01-01' AS DATE)",
    "CAST(a AS TIMESTAMP_LTZ(3))",
    "CAST(a AS ROW<x INT, y STRING>)",
    "CAST(a AS ARRAY<MAP<STRING, DECIMAL(10, 2)>>)",
    "TRIM(LEADING 'x' FROM a)",
    "TRIM(a)",
    "OVERLAY(a PLACING 'b' FROM 2 FOR 3)",
    "MAP['a', 1]",
    "ARRAY[1, 2][1]",
    "ROW(1, 'a')",
    "IF(a, 1, NULL)",
    "CASE a WHEN 1 THEN 'x' ELSE 'it''s' END",
    "INTERVAL '1 10' DAY TO HOUR",
    "FLOOR(ts TO MINUTE)",
    "TIMESTAMPDIFF(SECOND, a, b)",
    "(s1, e1) OVERLAPS (s2, e2)",
    "`value` + `two words` - `a``b`",
    "a.b.c",
)


def tree(text: str) -> Expr:
    """The tree of an expression."""
    (select,) = trees_of(tokens_of(f"SELECT {text}"), f"SELECT {text}")
    value: Expr = select.expressions[0]
    return value


@pytest.mark.parametrize("text", AS_TYPED)
def test_an_expression_is_written_as_it_was_typed(text: str) -> None:
    assert tree(text).sql(dialect=Flink, normalize_functions=False) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("not a like 'x%'", "a NOT LIKE 'x%'"),
        ("(a - b) DAY TO SECOND", "(a - b) DAY"),
        ("a  !=  b", "a <> b"),
        ("a > all (1, b)", "a > ALL(1, b)"),
        ("pi + `pi`", "PI() + `pi`"),
        ("`a` + `b`", "a + b"),
        ("CAST(a AS TIMESTAMP WITH LOCAL TIME ZONE)", "CAST(a AS TIMESTAMP_LTZ)"),
    ],
)
def test_one_spelling_of_several(text: str, written: str) -> None:
    assert tree(text).sql(dialect=Flink) == written


def test_columns_have_the_names_of_the_input() -> None:
    assert flink_text(tree("(a + b)"), {"a": "order", "b": "b"}) == "`order` + b"


@pytest.mark.parametrize(
    ("conditions", "written"),
    [
        (("a OR b", "c"), "(a OR b) AND c"),
        (("a", "b AND c"), "a AND b AND c"),
        (("a", "b OR (c OR d)"), "a AND (b OR (c OR d))"),
        (("a > 1", "NOT b"), "a > 1 AND NOT b"),
    ],
)
def test_what_is_put_together_has_the_parentheses_that_it_needs(conditions: Sequence[str], written: str) -> None:
    assert flink_text(together([tree(condition) for condition in conditions]), {}) == written
