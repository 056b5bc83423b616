"""What is known of values from the text of expressions: which are never below zero, and which only change type."""

from __future__ import annotations

import pytest

from engine.schema import Column, Schema
from engine.value_bounds import cast_column, is_non_negative, required_non_negative

COLUMNS = Schema((Column("v", "int"), Column("n", "bigint"), Column("a b", "int")))


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
    ],
)
def test_a_condition_keeps_columns_from_falling_below_zero(condition: str, columns: set[str]) -> None:
    assert required_non_negative(condition, COLUMNS) == columns


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n", True),
        ("`n`", True),
        ("CAST(`n` AS INT)", True),
        ("v", False),
        ("1", True),
        ("-1", False),
        ("n + 1", False),
        ("CASE WHEN v > 1 THEN 1 ELSE 0 END", True),
        ("CASE WHEN v > 1 THEN 1 WHEN v < 0 THEN 2.5 END", True),
        ("CASE WHEN v > 1 THEN v ELSE 0 END", False),
        ("CASE WHEN v > 1 THEN -1 ELSE 0 END", False),
    ],
)
def test_a_value_is_known_never_to_be_below_zero(expression: str, expected: bool) -> None:
    assert is_non_negative(expression, COLUMNS, {"n"}) is expected


@pytest.mark.parametrize(
    ("expression", "column"),
    [("CAST(`n` AS INT)", "`n`"), ("cast(n as decimal(10, 2))", "n"), ("CAST(n + 1 AS INT)", None)],
)
def test_a_cast_passes_on_how_its_column_moves(expression: str, column: str | None) -> None:
    assert cast_column(expression) == (column or expression)
