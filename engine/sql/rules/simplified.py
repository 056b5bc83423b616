"""A condition as Flink simplifies it: NOT at the comparisons, CASE as AND and OR, comparisons of a value as one range.

Only for questions about the condition; nodes keep it as it is written. A condition that is NULL counts as false.
Source: Calcite RexSimplify, ReduceExpressionsRule.pushPredicateIntoCase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sqlglot import exp

from engine.expressions.comparisons import NEGATED
from engine.sql.algebra import Expr, mentioned
from engine.sql.rules.literal_ranges import of_literals, together

_TRUE: Final = exp.Boolean(this=True)
_FALSE: Final = exp.Boolean(this=False)
# Nobody writes so many by hand, where such a question is worth its time.
_MANY: Final = 50
# What fails for no value, so that Flink computes it whether the WHEN before it holds or not.
_SAFE: Final = (
    *NEGATED,
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.Paren, exp.Case, exp.If, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Like),
    *(
        exp.In,
        exp.Between,
        exp.Floor,
        exp.Ceil,
        exp.Trim,
        exp.Column,
        exp.Identifier,
        exp.Literal,
        exp.Boolean,
        exp.Null,
    ),
)


def simplified(condition: Expr, *, negated: bool = False) -> Expr:
    """The condition, or its negation, in simple terms."""
    bare = condition.unnest()
    match bare:
        case exp.And() | exp.Or():
            kind = exp.And if isinstance(bare, exp.And) is not negated else exp.Or
            # All at once where that is the same: a chain of views adds an AND with every view. And of many, whose pairs
            # would take minutes.
            sides = list(bare.flatten())
            if kind is exp.Or and len(sides) <= _MANY:
                sides = [bare.this, bare.expression]
            return _joined(kind, [simplified(side, negated=negated) for side in sides])
        case exp.Not():
            return simplified(bare.this, negated=not negated)
        case exp.Boolean():
            return _FALSE if bare.this is negated else _TRUE
        case exp.Null():
            return _FALSE
        case exp.Is(expression=exp.Boolean(this=asked)) if not negated:
            return simplified(bare.this, negated=not asked)
        case exp.NullSafeEQ() | exp.NullSafeNEQ() if isinstance(bare, exp.NullSafeEQ) is not negated:
            return _equal_or_both_null(bare, negated=negated)
        case exp.Between():
            return simplified(_as_comparisons(bare), negated=negated)
        case exp.In(expressions=[_, *_] as values):
            terms = [simplified(exp.EQ(this=bare.this, expression=value), negated=negated) for value in values]
            return _joined(exp.And if negated else exp.Or, terms)
        case exp.Is(this=value, expression=exp.Null()) if isinstance(_as_case(value), exp.Case):
            tests = _compared(_as_case(value), lambda one: exp.Is(this=one, expression=exp.Null()))
            return simplified(tests, negated=negated)
        case exp.Is(this=exp.Literal() | exp.Null() as value, expression=exp.Null()):
            return _TRUE if isinstance(value, exp.Null) is not negated else _FALSE
        case exp.Case():
            return _of_case(bare, negated=negated)
    return _of_predicate(bare, negated=negated)


def _as_comparisons(between: exp.Between) -> Expr:
    """A BETWEEN as comparisons with its ends; SYMMETRIC, with the ends in either order."""

    def within(low: Expr, high: Expr) -> Expr:
        at_least, at_most = (exp.GTE(this=between.this, expression=low), exp.LTE(this=between.this, expression=high))
        return exp.And(this=at_least, expression=at_most)

    low, high = between.args["low"], between.args["high"]
    if between.args.get("symmetric"):
        return exp.Or(this=within(low, high), expression=within(high, low))
    return within(low, high)


def _of_predicate(bare: Expr, *, negated: bool) -> Expr:
    if isinstance(bare, exp.EQ | exp.NEQ):
        for flag, other in ((bare.this, bare.expression), (bare.expression, bare.this)):
            if isinstance(flag.unnest(), exp.Boolean):
                return simplified(other, negated=(flag.unnest().this is isinstance(bare, exp.NEQ)) is not negated)
    if isinstance(bare, (*NEGATED, exp.Like)) and (inside := _within_case(bare)) is not None:
        return simplified(inside, negated=negated)
    if (truth := of_literals(bare)) is not None:
        return _FALSE if truth is negated else _TRUE
    if not negated:
        return bare
    inverse = NEGATED.get(type(bare))
    return exp.Not(this=bare) if inverse is None else inverse(this=bare.this, expression=bare.expression)


def _equal_or_both_null(bare: Expr, *, negated: bool) -> Expr:
    """x IS NOT DISTINCT FROM y: a comparison where one of them is a literal."""
    if any(isinstance(side.unnest(), exp.Literal) for side in (bare.this, bare.expression)):
        return simplified(exp.EQ(this=bare.this, expression=bare.expression))
    return exp.Not(this=bare) if negated else bare


def _joined(kind: type[Expr], parts: Iterable[Expr]) -> Expr:
    """The parts joined by AND or OR, where TRUE or FALSE decides or says nothing, and ranges of one value are one."""
    decides, says_nothing = (_FALSE, _TRUE) if kind is exp.And else (_TRUE, _FALSE)
    flat = [inner for part in parts for inner in (part.flatten() if isinstance(part, kind) else (part,))]
    operands = together(kind, [part for part in flat if part != says_nothing])
    if decides in operands:
        return decides
    if kind is exp.Or and len(operands) > 1 and (common := _common(operands)):
        rest = [[term for term in _terms(part) if term not in common] for part in operands]
        return _joined(exp.And, [*common, _joined(exp.Or, [_joined(exp.And, terms) for terms in rest])])
    whole = operands[0] if operands else says_nothing
    for part in operands[1:]:
        whole = kind(this=whole, expression=part)
    return whole


def _common(parts: Sequence[Expr]) -> list[Expr]:
    """What stands in every part, between ANDs. Source: Calcite RexUtil.pullFactors."""
    first, *others = map(_terms, parts)
    return [term for term in first if all(term in other for other in others)]


def _terms(part: Expr) -> list[Expr]:
    return list(part.flatten()) if isinstance(part, exp.And) else [part]


def _within_case(predicate: Expr) -> Expr | None:
    """A comparison with a CASE as a CASE of comparisons; None if it has no CASE, or may be a join's condition."""
    sides = [_as_case(predicate.this), _as_case(predicate.expression)]
    at = next((at for at, side in enumerate(sides) if isinstance(side, exp.Case)), None)
    of_each = [mentioned(side) for side in sides]
    if at is None or (isinstance(predicate, exp.EQ) and all(of_each) and of_each[0].isdisjoint(of_each[1])):
        return None

    def compared(value: Expr) -> Expr:
        if isinstance(value.unnest(), exp.Null):
            return exp.Null()
        given = [value, sides[1]] if at == 0 else [sides[0], value]
        return type(predicate)(this=given[0], expression=given[1])

    return _compared(sides[at], compared)


def _compared(case: Expr, compared: Callable[[Expr], Expr]) -> Expr:
    """The CASE with a condition on each of its values instead."""
    *whens, last = [exp.If(this=condition, true=compared(value)) for condition, value in _branches(case)]
    return exp.Case(ifs=whens, default=last.args["true"])


def _as_case(value: Expr) -> Expr:
    bare = value.unnest()
    if not isinstance(bare, exp.Anonymous) or bare.name.upper() != "NULLIF" or len(bare.expressions) != 2:
        return bare
    first, second = bare.expressions
    is_equal = exp.EQ(this=first, expression=second)
    return exp.Case(ifs=[exp.If(this=is_equal, true=exp.Null())], default=first)


def _branches(case: Expr) -> Sequence[tuple[Expr, Expr]]:
    """The conditions with their values; the last one is ELSE."""
    given = case.args.get("this")
    whens = [(branch.this, branch.args["true"]) for branch in case.args["ifs"]]
    if given is not None:
        whens = [(exp.EQ(this=given, expression=asked), value) for asked, value in whens]
    return [*whens, (_TRUE, case.args.get("default") or exp.Null())]


def _of_case(case: exp.Case, *, negated: bool) -> Expr:
    """A CASE of conditions: one of the branches holds, and none before it. What may fail, or has many, stays."""
    branches = _branches(case)
    if len(branches) > _MANY or not all(
        _is_safe(part) for condition, value in branches for part in (condition, value) if part is not branches[0][0]
    ):
        return exp.Not(this=case) if negated else case
    merged: list[tuple[Expr, Expr]] = []
    for condition, written in branches:
        value = simplified(written, negated=negated)
        if merged and merged[-1][1] == value:
            merged[-1] = (exp.Or(this=merged[-1][0], expression=condition), value)
        else:
            merged.append((condition, value))
    terms = [_joined(exp.And, [simplified(condition), value]) for condition, value in merged]
    for at, (before, _) in enumerate(merged[:-1], start=1):
        if terms[at] != _FALSE:
            terms[at] = _joined(exp.And, [exp.Not(this=exp.Is(this=before, expression=_TRUE)), terms[at]])
    return _joined(exp.Or, terms)


def _is_safe(value: Expr) -> bool:
    return all(isinstance(node, _SAFE) or isinstance(_as_case(node), exp.Case) for node in value.walk())
