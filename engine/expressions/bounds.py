"""The numbers that a value may be, derived from the tree of an expression, as Flink's planner infers them.

A sum of values that are never below zero only grows, so TopN and MAX above it need no retraction.
Source: Flink FlinkRelMdColumnInterval, ColumnIntervalUtil.getColumnIntervalWithFilter, FlinkRelOptUtil.partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from functools import reduce
from itertools import product
from operator import and_, or_
from typing import Final

from sqlglot import exp

from engine.expressions.comparisons import MIRRORED, NEGATED
from engine.model.value_interval import ANY_VALUE, NO_VALUE, ValueInterval

_ANYTHING: Final = (ANY_VALUE,)
_LARGEST: Final = 1_000
"""Digits of a number that is known: far more than any type has, far fewer than computing with it allows."""


def interval(value: exp.Expr, of_column: Callable[[exp.Expr], ValueInterval]) -> ValueInterval:
    """The numbers that a value may be: of columns, numbers, CASE, +, - and *; of anything else nothing is known."""

    def of(part: exp.Expr) -> ValueInterval:
        return interval(part, of_column)

    number = _number(value)
    if number is not None:
        return ValueInterval(number, number)
    match value:
        case exp.Paren():
            return of(value.this)
        case exp.Null():
            return NO_VALUE
        case exp.Case():
            otherwise = value.args.get("default")
            results = [*(branch.args["true"] for branch in value.args["ifs"]), *([otherwise] if otherwise else [])]
            return reduce(or_, map(of, results), NO_VALUE)
        case exp.Add():
            return of(value.this) + of(value.expression)
        case exp.Sub():
            return of(value.this) - of(value.expression)
        case exp.Mul():
            return of(value.this) * of(value.expression)
    return of_column(value)


def required(condition: exp.Expr, is_column: Callable[[exp.Expr], bool]) -> ValueInterval:
    """The numbers of one column for which a condition may be true."""
    parts, _ = _alternatives(condition, is_column)
    return reduce(or_, parts)


def fixed(condition: exp.Expr) -> Sequence[exp.Expr]:
    """The values that a condition compares with = to a number: Flink writes the number, cast, in their place."""
    match condition:
        case exp.Paren():
            return fixed(condition.this)
        case exp.And():
            return [value for part in condition.flatten() for value in fixed(part)]
        case exp.EQ() if _constant(condition.expression) is not None:
            return [condition.this]
        case exp.EQ() if _constant(condition.this) is not None:
            return [condition.expression]
    return []


def _constant(value: exp.Expr) -> Decimal | None:
    """The number that a value always is, as far as it is known: of 2 + 3 it is."""
    bounds = interval(value, lambda _: ANY_VALUE)
    return bounds.lower if bounds.lower == bounds.upper else None


def _number(value: exp.Expr) -> Decimal | None:
    """The number that a literal is, with or without a sign or a cast; None if it is something else."""
    match value:
        case exp.Paren() | exp.Cast():
            # 1L, 1.5D and 1BD are parsed as casts.
            is_number = isinstance(value, exp.Paren) or value.is_type(*exp.DataType.NUMERIC_TYPES)
            is_text = isinstance(value, exp.Cast) and value.this.is_string
            return None if not is_number else _decimal(value.this) if is_text else _number(value.this)
        case exp.Neg():
            number = _number(value.this)
            return None if number is None else -number
        case exp.Literal() if not value.is_string:
            return _decimal(value)
    return None


def _decimal(literal: exp.Expr) -> Decimal | None:
    try:
        number = Decimal(literal.this)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < _LARGEST else None


def _alternatives(condition: exp.Expr, is_column: Callable[[exp.Expr], bool]) -> tuple[Sequence[ValueInterval], bool]:
    """The intervals that a condition allows, one of which holds the column, and whether it is about that column only.

    Flink leaves an OR aside unless each of its parts is about that column only.
    """
    match condition:
        case exp.Paren():
            return _alternatives(condition.this, is_column)
        case exp.And() | exp.Or():
            parts = [_alternatives(part, is_column) for part in condition.flatten()]
            is_all = all(is_whole for _, is_whole in parts)
            if isinstance(condition, exp.And):
                combined = product(*(ways for ways, _ in parts))
                return [reduce(and_, way) for way in combined], is_all
            return ([way for ways, _ in parts for way in ways] if is_all else _ANYTHING), is_all
        case exp.Not():
            return _negation(condition.this.unnest(), is_column)
        case exp.Between() if not condition.args.get("symmetric"):
            value, low, high = condition.this, condition.args["low"], condition.args["high"]
            above, below = exp.GTE(this=value, expression=low), exp.LTE(this=value, expression=high)
            return _alternatives(exp.And(this=above, expression=below), is_column)
        case exp.In() if is_column(condition.this) and condition.expressions:
            numbers = [number for member in condition.expressions if (number := _constant(member)) is not None]
            if len(numbers) == len(condition.expressions):
                return [ValueInterval(number, number) for number in numbers], True
    return _compared(condition, is_column), _is_about(condition, is_column)


def _negation(negated: exp.Expr, is_column: Callable[[exp.Expr], bool]) -> tuple[Sequence[ValueInterval], bool]:
    match negated:
        case exp.Not():
            return _alternatives(negated.this, is_column)
        case exp.And() | exp.Or():
            other = exp.Or if isinstance(negated, exp.And) else exp.And
            left, right = exp.Not(this=negated.this), exp.Not(this=negated.expression)
            return _alternatives(other(this=left, expression=right), is_column)
        case exp.Between() if not negated.args.get("symmetric"):
            value, low, high = negated.this, negated.args["low"], negated.args["high"]
            below, above = exp.LT(this=value, expression=low), exp.GT(this=value, expression=high)
            return _alternatives(exp.Or(this=below, expression=above), is_column)
        case _ if type(negated) in NEGATED:
            opposite = NEGATED[type(negated)](this=negated.this, expression=negated.expression)
            return _alternatives(opposite, is_column)
    return _ANYTHING, _is_about(negated, is_column)


def _compared(condition: exp.Expr, is_column: Callable[[exp.Expr], bool]) -> Sequence[ValueInterval]:
    if type(condition) not in MIRRORED:
        return _ANYTHING
    value, kind, number = condition.this, type(condition), _constant(condition.expression)
    if number is None:
        value, kind, number = condition.expression, MIRRORED[kind], _constant(condition.this)
    if number is None or not is_column(value):
        return _ANYTHING
    if kind in (exp.GT, exp.GTE):
        return (ValueInterval(lower=number),)
    if kind in (exp.LT, exp.LTE):
        return (ValueInterval(upper=number),)
    return (ValueInterval(number, number),) if kind is exp.EQ else _ANYTHING


def _is_about(condition: exp.Expr, is_column: Callable[[exp.Expr], bool]) -> bool:
    return all(map(is_column, condition.find_all(exp.Column)))
