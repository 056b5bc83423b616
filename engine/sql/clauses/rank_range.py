"""Conditions on a row number: rn = 1, rn <= 3, rn BETWEEN 2 AND 5, rn <= a column."""

from __future__ import annotations

from sqlglot import exp

from engine.sql.algebra import Expr, Numbered, Rank, plain
from engine.sql.rejected import SqlRejected

_MIRRORED: dict[type[Expr], type[Expr]] = {
    exp.EQ: exp.EQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


def ranked(numbered: Numbered, conditions: list[Expr]) -> tuple[Rank, list[Expr]]:
    """The range of ranks in the conditions, and the other conditions.

    Raises SqlRejected without a last rank (every row would have to be kept and renumbered), and for an empty range.
    """
    start, end = 1, None
    rest: list[Expr] = []
    for one in conditions:
        bounds = _bounds(one, numbered)
        if bounds is None:
            rest.append(one)
            continue
        low, high = bounds
        start = max(start, low)
        if high is not None:
            end = high if end is None or isinstance(high, str) or isinstance(end, str) else min(end, high)
    if end is None:
        message = (
            f"{numbered.function} needs a last rank: without it all rows would have to be kept. Add, for example, "
            f"WHERE {numbered.name} <= 10 in a query around this one."
        )
        raise SqlRejected(message, numbered.at)
    if isinstance(end, int) and end < start:
        message = f"no row can have a {numbered.name} from {start} to {end}."
        raise SqlRejected(message, conditions[0])
    rank = Rank(
        numbered.input,
        numbered.function,
        numbered.partition,
        numbered.order,
        numbered.name,
        numbered.at,
        start,
        end,
    )
    return rank, rest


def _bounds(condition: Expr, numbered: Numbered) -> tuple[int, int | str | None] | None:
    """The first and the last rank that a condition accepts, or None if it is not about the rank."""
    bare = condition.unnest()
    if isinstance(bare, exp.Between) and plain(bare.this) == numbered.name:
        low, high = _number(bare.args["low"]), _number(bare.args["high"])
        return (low, high) if low is not None and high is not None else None
    kind, left, right = type(bare), bare.this, bare.args.get("expression")
    if kind not in _MIRRORED or right is None:
        return None
    if isinstance(right, exp.Expression) and plain(right) == numbered.name:
        kind, left, right = _MIRRORED[kind], right, left
    if plain(left) != numbered.name:
        return None
    number, column = _number(right), plain(right)
    match kind:
        case exp.EQ if number is not None:
            return number, number
        case exp.LTE if number is not None or column in numbered.input.columns:
            return 1, number if number is not None else column
        case exp.LT if number is not None:
            return 1, number - 1
        case exp.GTE if number is not None:
            return number, None
        case exp.GT if number is not None:
            return number + 1, None
        case _:
            return None


def _number(expression: Expr) -> int | None:
    bare = expression.unnest()
    return int(bare.name) if isinstance(bare, exp.Literal) and bare.is_int else None
