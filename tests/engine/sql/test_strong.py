"""Which conditions make an outer join an inner one, as Flink's plans say. The table holds Flink's answers."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from engine.sql.algebra import Expr, ref
from engine.sql.dialect import Flink
from engine.sql.rules.strong import is_contradiction, is_never_true

ANSWERS = [
    (line[6:], line[:6].strip())
    for line in (Path(__file__).parent / "null_rejecting.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("condition", "kind"), ANSWERS)
def test_a_condition_that_is_never_true_of_padded_rows_makes_the_join_an_inner_one(condition: str, kind: str) -> None:
    bound = sqlglot.parse_one(condition, dialect=Flink).transform(_bound)
    assert is_never_true([bound], {"y_a", "y_b", "y_c"}) is (kind == "inner")


@pytest.mark.parametrize(
    ("condition", "is_one"),
    [
        (f"a IN ({', '.join(map(str, range(5000)))}) AND a > 5000", True),
        (f"a IN ({', '.join(map(str, range(5000)))}) AND a > 4998", False),
        (f"a NOT IN ({', '.join(map(str, range(5000)))}) AND a = 4999", True),
        (f"({' OR '.join(f'a BETWEEN {at * 3} AND {at * 3 + 1}' for at in range(900))}) AND a = 2", True),
        (f"({' OR '.join(f'a BETWEEN {at * 3} AND {at * 3 + 1}' for at in range(900))}) AND a = 3", False),
        # Of so many branches it is not asked.
        (f"CASE {' '.join(f'WHEN a = {at} THEN {at}' for at in range(900))} END = -1", False),
    ],
)
def test_long_conditions_take_no_minutes(condition: str, is_one: bool) -> None:
    """Each took from 20 s to hours."""
    assert is_contradiction(sqlglot.parse_one(condition, dialect=Flink).transform(_bound)) is is_one


def _bound(node: Expr) -> Expr:
    return ref(f"{node.table}_{node.name}") if isinstance(node, exp.Column) else node
