"""Values that are never below zero, derived from the tree of an expression.

A sum of such values only grows, so TopN and MAX above it need no retraction. As in Flink, only comparisons
with numbers, numbers, CASE of numbers and casts are known; other values are assumed to be possibly negative.
Source: Flink FlinkRelMdColumnInterval, FlinkRelMdFilteredColumnInterval.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def required(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions that a condition requires to be zero or more."""
    match condition:
        case exp.Paren():
            yield from required(condition.this)
        case exp.And():
            for part in condition.flatten():
                yield from required(part)
        case exp.GTE() | exp.GT() if is_number(condition.expression):
            yield condition.this
        case exp.LTE() | exp.LT() if is_number(condition.this):
            yield condition.expression
        case exp.EQ() if is_number(condition.expression) or is_number(condition.this):
            yield condition.this if is_number(condition.expression) else condition.expression
        case exp.Between() if is_number(condition.args["low"]) and not condition.args.get("symmetric"):
            yield condition.this


def is_number(value: exp.Expr) -> bool:
    """Whether a value is a number literal, or a CASE of them. It is zero or more: a minus is not part of a literal."""
    match value:
        case exp.Paren():
            return is_number(value.this)
        case exp.Literal():
            return not value.is_string
        case exp.Cast() if isinstance(value.this, exp.Literal):
            # 1L, 1.5D and 1BD are parsed as casts.
            return value.is_type(*exp.DataType.NUMERIC_TYPES) and str(value.this.this).replace(".", "").isdigit()
        case exp.Case() if value.this is None:
            otherwise = value.args.get("default")
            results = [*(each.args["true"] for each in value.args["ifs"]), *([otherwise] if otherwise else [])]
            return all(map(is_number, results))
    return False
