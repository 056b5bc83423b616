"""Comparisons of one value with literals, put together: v > 0 AND v > 1 is v > 1, v IN (1, 4) is one search.

Source: Calcite RexSimplify.SargCollector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from engine.sql.algebra import Expr

SEARCH: Final = "SEARCH"
"""The function that looks a value up in several ranges."""

_TERMS: Final = "terms"
_MIRRORED: Final[Mapping[type[Expr], type[Expr]]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_HOLDS: Final[Mapping[type[Expr], Callable[[int, int], bool]]] = {
    exp.EQ: int.__eq__,
    exp.NEQ: int.__ne__,
    exp.LT: int.__lt__,
    exp.LTE: int.__le__,
    exp.GT: int.__gt__,
    exp.GTE: int.__ge__,
}
Term = tuple[Any, ...]
"""A comparison and its literal, or AND and OR and their terms."""


def of_literals(comparison: Expr) -> bool | None:
    """Whether a comparison of two literals holds; None for other conditions."""
    if type(comparison) not in _HOLDS:
        return None
    left, right = _key(comparison.this), _key(comparison.expression)
    if left is None or right is None or left[0] != right[0]:
        return None
    return _HOLDS[type(comparison)]((left > right) - (left < right), 0)


def together(kind: type[Expr], parts: Sequence[Expr]) -> list[Expr]:
    """The parts between ANDs or ORs, those about the same value as one."""
    by_value: dict[str, list[tuple[Expr, Term]]] = {}
    places: list[Expr | str] = []
    for part in parts:
        found = _term(part)
        if found is None:
            places.append(part)
            continue
        value, term = found
        if value.sql() not in by_value:
            places.append(value.sql())
        by_value.setdefault(value.sql(), []).append((value, term))
    single = {text: [part for part in parts if (one := _term(part)) and one[0].sql() == text] for text in by_value}
    return [
        merged
        for place in places
        for merged in (
            (place,)
            if not isinstance(place, str)
            else single[place]
            if len(by_value[place]) == 1
            else (_merged(kind, by_value[place][0][0], [term for _, term in by_value[place]]),)
        )
    ]


def span(search: Expr) -> list[Expr]:
    """A search in one range as the comparisons with its ends; [] for other searches and conditions."""
    if not isinstance(search, exp.Anonymous) or search.name != SEARCH:
        return []
    term = search.meta[_TERMS]
    literals = dict(_literals(term))
    keys = sorted(literals)
    inside = [at for at in range(2 * len(keys) + 1) if _holds(term, at, keys)]
    first, end = inside[0], inside[-1]
    if len(inside) != end - first + 1:
        return []
    value = search.expressions[0]
    return [
        (exp.GTE if first % 2 else exp.GT)(this=value, expression=literals[keys[(first - 1) // 2]]),
        (exp.LTE if end % 2 else exp.LT)(this=value, expression=literals[keys[end // 2]]),
    ]


def _term(part: Expr) -> tuple[Expr, Term] | None:
    """The value and its range, if the part is a comparison with a literal or a search."""
    if isinstance(part, exp.Anonymous) and part.name == SEARCH:
        return part.expressions[0], part.meta[_TERMS]
    if type(part) not in _MIRRORED:
        return None
    for value, literal, kind in (
        (part.this, part.expression, type(part)),
        (part.expression, part.this, _MIRRORED[type(part)]),
    ):
        key = _key(literal)
        # Of what is computed, Flink compares each by itself.
        if key is not None and isinstance(value.unnest(), exp.Column | exp.Cast | exp.Dot) and _key(value) is None:
            return value.unnest(), (kind, literal, key)
    return None


def _key(literal: Expr) -> tuple[str, Any] | None:
    """A literal as something to sort by; None for other expressions."""
    bare = literal.unnest()
    match bare:
        case exp.Literal():
            return ("text", bare.name) if bare.is_string else ("number", Fraction(bare.name))
        case exp.Neg():
            inner = _key(bare.this)
            return ("number", -inner[1]) if inner is not None and inner[0] == "number" else None
        case exp.Cast():
            inner = _key(bare.this)
            return None if inner is None else inner if inner[0] == "number" else (bare.to.sql(), inner[1])
    return None


def _merged(kind: type[Expr], value: Expr, terms: Sequence[Term]) -> Expr:
    term: Term = (kind, *terms)
    literals = {key: literal for key, literal in _literals(term)}
    if len({name for name, _ in literals}) > 1:
        return _search(value, term)
    keys = sorted(literals)
    # The gaps between the literals have even numbers, the literals odd ones.
    inside = [at for at in range(2 * len(keys) + 1) if _holds(term, at, keys)]
    last = 2 * len(keys)
    if not inside:
        return exp.Boolean(this=False)
    if len(inside) == last + 1:
        return exp.Not(this=exp.Is(this=value, expression=exp.Null()))
    first, end = inside[0], inside[-1]
    if len(inside) == last and (outside := sum(range(last + 1)) - sum(inside)) % 2:
        return exp.NEQ(this=value, expression=literals[keys[outside // 2]])
    if len(inside) != end - first + 1:
        return _search(value, term)
    if first == end and first % 2:
        return exp.EQ(this=value, expression=literals[keys[first // 2]])
    if end == last:
        return (exp.GTE if first % 2 else exp.GT)(this=value, expression=literals[keys[(first - 1) // 2]])
    if first == 0:
        return (exp.LTE if end % 2 else exp.LT)(this=value, expression=literals[keys[end // 2]])
    return _search(value, term)


def _search(value: Expr, term: Term) -> Expr:
    found = exp.Anonymous(this=SEARCH, expressions=[value])
    found.meta[_TERMS] = term
    return found


def _literals(term: Term) -> list[tuple[tuple[str, Any], Expr]]:
    if term[0] in _HOLDS:
        return [(term[2], term[1])]
    return [found for inner in term[1:] for found in _literals(inner)]


def _holds(term: Term, at: int, keys: Sequence[tuple[str, Any]]) -> bool:
    if term[0] in _HOLDS:
        return _HOLDS[term[0]](at, 2 * keys.index(term[2]) + 1)
    whole = all if term[0] is exp.And else any
    return whole(_holds(inner, at, keys) for inner in term[1:])
