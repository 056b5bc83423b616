"""Whether a row may stop meeting a condition, as Flink's planner infers it from the monotonicity of the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from engine.expressions.comparisons import NEGATED

UP, DOWN, ANYWHERE = 1, -1, 0
Movement = Callable[[exp.Expr], int | None]
"""The direction in which a column moves; None for a constant column and for other values."""

_UPWARDS: Final = (exp.GT, exp.GTE)
_DOWNWARDS: Final = (exp.LT, exp.LTE)
_EXACT: Final = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.In, exp.Between)


def may_cease(condition: exp.Expr, movement: Movement) -> bool:
    """Whether a row may stop meeting a condition if its columns move like this.

    Flink looks at directly compared columns only, and for AND and OR only at the first two parts.
    Source: Flink FlinkRelMdModifiedMonotonicity.isNeedRetract.
    """
    match condition:
        case exp.Paren() | exp.Cast() | exp.Is():
            return may_cease(condition.this, movement)
        case exp.And() | exp.Or():
            return any(may_cease(part, movement) for part in list(condition.flatten())[:2])
        case exp.Not(this=negated):
            inner = negated.unnest()
            other = NEGATED.get(type(inner))
            return may_cease(other(**inner.args) if other is not None else inner, movement)
    if not isinstance(condition, exp.Predicate):
        return movement(condition) is not None
    operands = (condition.this, condition.args.get("expression"))
    moving = [move for operand in operands if operand is not None and (move := movement(_bare(operand))) is not None]
    if isinstance(condition, _UPWARDS):
        return bool(moving) and moving[0] != UP
    if isinstance(condition, _DOWNWARDS):
        return bool(moving) and moving[0] != DOWN
    return bool(moving) and isinstance(condition, _EXACT)


def _bare(value: exp.Expr) -> exp.Expr:
    while isinstance(value, exp.Paren | exp.Cast):
        value = value.this
    return value
