"""Join conditions: supported conditions with SQL's NULL semantics, and rejections."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from engine.errors import ExpressionError
from engine.expressions import compile_condition
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP

SCHEMA = Schema(
    (
        Column("i", INT),
        Column("f", DOUBLE),
        Column("d", spark_type("decimal(10,2)")),
        Column("s", STRING),
        Column("b", BOOLEAN),
        Column("t", TIMESTAMP),
        Column("day", DATE),
        Column("odd name", BIGINT),
    )
)
ROW = (7, 0.1, Decimal("1.50"), "abc", True, 10_000_000, date(2024, 5, 1), 3)
NULLS = (None,) * 8


def evaluate(condition: str, row: tuple[Any, ...] = ROW) -> Any:
    return compile_condition(condition, SCHEMA, "j", "condition")(row)


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("i = 7", True),
        ("I <> 7", False),
        ("`odd name` + 4 >= i", True),
        ("i - 8 < 0 AND NOT i > 9", True),
        ("i / 2 = 3.5", True),
        ("-i % 4 = -3", True),
        ("f = 0.1", True),
        ("d * 2 = 3", True),
        ("d + f > 1.5", True),
        ("i BETWEEN 1 AND 7", True),
        ("i NOT BETWEEN 1 AND 7", False),
        ("i IN (1, 2, 7)", True),
        ("i NOT IN (1, 2)", True),
        ("s LIKE 'a_%' AND upper(s) = 'ABC' AND length(s) = 3", True),
        ("s NOT LIKE 'a%'", False),
        (r"s LIKE 'a\\%' OR s LIKE 'a%'", True),
        ("coalesce(NULL, i, 1) = 7", True),
        ("CASE WHEN i > 5 THEN 'many' ELSE 'few' END = 'many'", True),
        ("CAST(d AS INT) = 1", True),
        ("abs(-i) = 7", True),
        ("t < TIMESTAMP '1970-01-01 00:00:11'", True),
        ("t + INTERVAL 5 SECONDS = TIMESTAMP '1970-01-01 00:00:15'", True),
        ("t - INTERVAL '1' MINUTE < t", True),
        ("day < DATE '2024-06-01'", True),
        ("b", True),
        ("b IS FALSE", False),
        ("s IS NOT NULL", True),
        ("i IS NOT DISTINCT FROM 7", True),
        ("i <=> NULL", False),
        ("i / 0 = 1", None),
    ],
)
def test_a_condition_is_what_sql_says(condition: str, answer: bool | None) -> None:
    assert evaluate(condition) is answer


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("i = 1", None),
        ("NOT i = 1", None),
        ("i = 1 AND FALSE", False),
        ("i = 1 OR TRUE", True),
        ("i = 1 OR s = 'x'", None),
        ("i IS NULL", True),
        ("i IS DISTINCT FROM 1", True),
        ("i <=> NULL", True),
        ("i IN (1, NULL)", None),
        ("coalesce(b, TRUE)", True),
        ("NULL", None),
    ],
)
def test_null_follows_three_valued_logic(condition: str, answer: bool | None) -> None:
    assert evaluate(condition, NULLS) is answer


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("q > 1", "unknown column 'q'. Available: i, f, d, s, b, t, day, odd name"),
        ("s > 1", "s is of type text and 1 of type integer; cast one of them"),
        ("i + 1", "it is of type integer, but a condition must be true or false"),
        ("soundex(s) = 'x'", r"SOUNDEX\(s\) is not supported"),
        ("i >", "A join condition consists of"),
        ("s + 1 > 2", "s is of type text where integer or decimal or float is needed"),
        ("CASE i WHEN 1 THEN b END", "CASE needs conditions"),
        ("t < TIMESTAMP 'yesterday'", "'yesterday' is not a timestamp"),
    ],
)
def test_what_is_not_understood_is_refused(condition: str, sentence: str) -> None:
    with pytest.raises(ExpressionError, match=sentence):
        compile_condition(condition, SCHEMA, "j", "condition")
