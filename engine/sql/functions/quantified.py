"""Comparisons with each value of a list, as AND and OR.

a > ALL (1, b)   ->   a > 1 AND a > b
a = ANY (1, b)   ->   a IN (1, b)
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.algebra import Expr

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def compared_with_each(test: Expr) -> Expr | None:
    """A comparison with ANY, SOME or ALL of a list; None for another expression."""
    if not isinstance(test, _COMPARISONS):
        return None
    match test.expression:
        case exp.Any(this=exp.Tuple(expressions=values)):
            word = "ANY"
        case exp.Any(this=exp.Paren(this=value)):
            word, values = "ANY", [value]
        case exp.Anonymous(expressions=values) as call if call.name.upper() in ("ALL", "SOME") and values:
            word = call.name.upper()
        case _:
            return None
    if isinstance(test, exp.NEQ) and word == "ALL":
        return exp.Not(this=exp.In(this=test.this.copy(), expressions=[value.copy() for value in values]))
    if isinstance(test, exp.EQ) and word != "ALL":
        return exp.In(this=test.this.copy(), expressions=[value.copy() for value in values])
    comparisons = [type(test)(this=test.this.copy(), expression=value.copy()) for value in values]
    return exp.and_(*comparisons) if word == "ALL" else exp.or_(*comparisons)
