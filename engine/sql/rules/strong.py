"""Conditions that are never true, or not where columns are NULL: above an outer join these make it an inner one.

Source: Calcite Strong.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from sqlglot import exp

from engine.sql.algebra import Expr, together
from engine.sql.rules.simplified import simplified

# NULL if any operand is. Other functions, the remainder among them, tell Flink nothing.
_ANY: Final = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.SimilarTo, exp.Not),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Cast, exp.Trim, exp.Floor, exp.Ceil, exp.Extract, exp.Bracket),
)


def is_never_true(conditions: Sequence[Expr], columns: Set[str]) -> bool:
    """Whether the conditions are never all true when these columns are NULL, as far as Flink knows."""
    return bool(conditions) and _is_never_true(simplified(together(conditions)), columns)


def is_contradiction(condition: Expr) -> bool:
    """Whether a condition is never true, as far as Flink knows."""
    simple = simplified(condition)
    terms = list(simple.flatten()) if isinstance(simple, exp.And) else [simple]
    nulls = {
        term.this.name
        for term in terms
        if isinstance(term, exp.Is) and isinstance(term.expression, exp.Null) and isinstance(term.this, exp.Column)
    }
    is_other = any(isinstance(term, exp.NEQ | exp.LT | exp.GT) and term.this == term.expression for term in terms)
    return is_other or _is_never_true(simple, nulls)


def _is_never_true(condition: Expr, columns: Set[str]) -> bool:
    match condition:
        case exp.And():
            return any(_is_never_true(part, columns) for part in condition.flatten())
        case exp.Or():
            return all(_is_never_true(part, columns) for part in condition.flatten())
        case exp.Boolean():
            return not condition.this
        case exp.Not(this=exp.Is(expression=exp.Null())):
            return _is_null(condition.this.this, columns)
    return _is_null(condition, columns)


def _is_null(value: Expr, columns: Set[str]) -> bool:
    bare = value.unnest()
    match bare:
        case exp.Column():
            return bare.name in columns
        case exp.Null():
            return True
        case exp.And() | exp.Or():
            return all(_is_null(part, columns) for part in bare.flatten())
        case exp.Case():
            values = [branch.args["true"] for branch in bare.args["ifs"]]
            return all(_is_null(value, columns) for value in (*values, bare.args.get("default") or exp.Null()))
        case exp.Not(this=exp.Is() | exp.NullSafeEQ() | exp.NullSafeNEQ()) | exp.TryCast():
            return False
    if isinstance(bare, exp.Bracket):
        return _is_null(bare.this, columns) or any(_is_null(part, columns) for part in bare.expressions)
    return isinstance(bare, _ANY) and any(
        _is_null(part, columns) for part in bare.iter_expressions() if not isinstance(part, exp.DataType | exp.Var)
    )
