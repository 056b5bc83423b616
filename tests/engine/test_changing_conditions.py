"""The conditions that a row may cease to meet, according to Flink."""

from __future__ import annotations

import pytest

from engine.expressions import Expression
from engine.expressions.changing import ANYWHERE, DOWN, UP
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT

SCHEMA = Schema(tuple(Column(name, BIGINT) for name in ("k", "count", "least", "sum")))
MOVEMENT = {"count": UP, "least": DOWN, "sum": ANYWHERE}


@pytest.mark.parametrize(
    ("condition", "may_cease"),
    [
        ("k = 1", False),
        ("count > 1", False),
        ("count >= CAST(1 AS BIGINT)", False),
        ("count < 1", True),
        ("NOT (count < 1)", False),
        ("NOT count > 1", True),
        ("count = 1", True),
        ("count <> 1", True),
        ("count IN (1, 2)", True),
        ("count BETWEEN 1 AND 2", True),
        ("count IS NOT NULL", True),
        ("1 < count", True),
        ("least < 5", False),
        ("least > 5", True),
        ("sum > 5", True),
        ("sum + 1 > 5", False),
        ("count > 1 AND k = 2", False),
        ("count > 1 OR sum > 2", True),
        ("k > 1 AND k < 5 AND sum > 2", False),
    ],
)
def test_by_the_columns_that_are_compared_as_they_are(condition: str, may_cease: bool) -> None:
    assert Expression.parse(condition).may_cease(SCHEMA, MOVEMENT) is may_cease


def test_what_cannot_be_read_may_cease() -> None:
    assert Expression.parse("count >").may_cease(SCHEMA, MOVEMENT)
