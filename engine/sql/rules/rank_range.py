"""Conditions on a row number: rn = 1, rn <= 3, rn BETWEEN 2 AND 5, rn <= a column."""

from __future__ import annotations

from sqlglot import exp

from engine.expressions.comparisons import MIRRORED
from engine.sql.algebra import Expr, Numbered, Rank, conjuncts, mentioned, plain, together
from engine.sql.rejected import SqlRejected
from engine.sql.rules.literal_ranges import SEARCH, span
from engine.sql.rules.simplified import simplified


def ranked(numbered: Numbered, conditions: list[Expr]) -> tuple[Rank, list[Expr]] | None:
    """The range of ranks in the conditions, and the other conditions; None if they have no range.

    A column as the last rank is a range only by itself.

    Raises SqlRejected without a last rank (every row would have to be kept and renumbered), and for an empty range.
    """
    about = [condition for condition in conditions if numbered.name in mentioned(condition)]
    terms = list(conjuncts(simplified(together(about)))) if about else []
    ranges = [bounds for term in terms for bounds in _all_bounds(term, numbered)]
    if not ranges or (len(ranges) > 1 and any(isinstance(high, str) for _, high in ranges)):
        return None
    start, end = 1, None
    for low, high in ranges:
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
    rest = [left for condition in conditions for left in _left(condition, numbered)]
    return Rank(**vars(numbered), start=start, end=end), rest


def _left(condition: Expr, numbered: Numbered) -> list[Expr]:
    """What of a condition is not about the range of ranks."""
    if numbered.name not in mentioned(condition):
        return [condition]
    terms = list(conjuncts(simplified(condition)))
    left = [term for term in terms if not _all_bounds(term, numbered)]
    # A search cannot be written. The condition says the same of the ranks once more.
    is_searching = any(isinstance(node, exp.Anonymous) and node.name == SEARCH for term in left for node in term.walk())
    return [condition] if is_searching else left


def _all_bounds(term: Expr, numbered: Numbered) -> list[tuple[int, int | str | None]]:
    ranges = [_bounds(comparison, numbered) for comparison in span(term) or [term]]
    return [bounds for bounds in ranges if bounds is not None]


def _bounds(condition: Expr, numbered: Numbered) -> tuple[int, int | str | None] | None:
    """The first and the last rank that a condition accepts, or None if it is not about the rank."""
    bare = condition.unnest()
    kind, left, right = type(bare), bare.this, bare.args.get("expression")
    if kind not in MIRRORED or right is None:
        return None
    if isinstance(right, exp.Expression) and plain(right) == numbered.name:
        kind, left, right = MIRRORED[kind], right, left
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
    if isinstance(bare, exp.Neg):
        number = _number(bare.this)
        return -number if number is not None else None
    return int(bare.name) if isinstance(bare, exp.Literal) and bare.is_int else None
