"""Comparisons of one value with literals, put together: v > 0 AND v > 1 is v > 1, v IN (1, 4) is one search.

Source: Calcite RexSimplify.SargCollector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from sqlglot import exp

from engine.expressions.comparisons import MIRRORED
from engine.model.types import MOST_DIGITS
from engine.sql.algebra import Expr

SEARCH: Final = "SEARCH"
"""The function that looks a value up in several ranges."""

_TERMS: Final = "terms"
_WHOLE_BITS: Final = {
    exp.DType.TINYINT: 7,
    exp.DType.SMALLINT: 15,
    exp.DType.INT: 31,
    exp.DType.BIGINT: 63,
    exp.DType.FLOAT: 24,
    exp.DType.DOUBLE: 53,
}
"""By type, the bits of the whole numbers that it holds exactly."""
_DECIMAL: Final = (10, 0)
_DATE: Final = r"\d{4}-\d{2}-\d{2}"
_MOMENT: Final = re.compile(rf"{_DATE} \d{{2}}:\d{{2}}:\d{{2}}(\.\d{{1,6}})?")
_TIMES: Final = {
    exp.DType.DATE: re.compile(_DATE),
    exp.DType.TIMESTAMP: _MOMENT,
    exp.DType.TIMESTAMPNTZ: _MOMENT,
    exp.DType.TIMESTAMPLTZ: _MOMENT,
}
"""By type, its texts that are sorted by their time. Other texts may be NULL, or another time than they look like."""
_MOST_DIGITS: Final = 6
_HOLDS: Final[Mapping[type[Expr], Callable[[int, int], bool]]] = {
    exp.EQ: int.__eq__,
    exp.NEQ: int.__ne__,
    exp.LT: int.__lt__,
    exp.LTE: int.__le__,
    exp.GT: int.__gt__,
    exp.GTE: int.__ge__,
}
_SIGNS: Final = {exp.LT: -1, exp.EQ: 0, exp.GT: 1}
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
    by_value: dict[Expr, list[Term]] = {}
    places: list[tuple[Expr, Expr, list[Term]]] = []
    for part in parts:
        pair = _term(part)
        if pair is None:
            places.append((part, part, []))
            continue
        value, term = pair
        if value not in by_value:
            places.append((part, value, by_value.setdefault(value, [])))
        by_value[value].append(term)
    return [part if len(terms) < 2 else _merged(kind, value, terms) for part, value, terms in places]


def span(search: Expr) -> list[Expr]:
    """A search in one range as the comparisons with its ends; [] for other searches and conditions."""
    if not isinstance(search, exp.Anonymous) or search.name != SEARCH:
        return []
    inside, literals = _inside(search.meta[_TERMS])
    return _ends(search.expressions[0], inside, literals) if _is_one_range(inside) else []


def _term(part: Expr) -> tuple[Expr, Term] | None:
    """The value and its range, if the part is a comparison with a literal or a search."""
    if isinstance(part, exp.Anonymous) and part.name == SEARCH:
        return part.expressions[0], part.meta[_TERMS]
    if type(part) not in MIRRORED:
        return None
    for value, literal, kind in (
        (part.this, part.expression, type(part)),
        (part.expression, part.this, MIRRORED[type(part)]),
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
            return None if inner is None else _cast_key(inner[0], inner[1], bare.to)
    return None


def _cast_key(kind: str, value: Any, to: exp.DataType) -> tuple[str, Any] | None:
    """A cast literal as something to sort by, if the cast keeps its value; None for other casts."""
    if kind == "number":
        return (kind, value) if _is_kept(value, to) else None
    if kind != "text" or to.this not in _TIMES or _TIMES[to.this].fullmatch(value) is None:
        return None
    digits = int(to.expressions[0].name) if to.expressions else _MOST_DIGITS
    try:
        is_kept = len(value.partition(".")[2]) <= digits
        return (to.this.value, datetime.fromisoformat(value)) if is_kept else None
    except ValueError:
        # The 31st of February.
        return None


def _is_kept(number: Fraction, to: exp.DataType) -> bool:
    """Whether a CAST to the type leaves a number as it is."""
    if to.this in _WHOLE_BITS:
        return number.denominator == 1 and abs(number) < 1 << _WHOLE_BITS[to.this]
    if to.this is not exp.DType.DECIMAL:
        return False
    precision, scale = [*(int(parameter.name) for parameter in to.expressions[:2]), *_DECIMAL[len(to.expressions) :]]
    if scale > precision or precision > MOST_DIGITS:
        return False
    shifted: Fraction = number * 10**scale
    return shifted.denominator == 1 and abs(shifted) < 10**precision


def _merged(kind: type[Expr], value: Expr, terms: Sequence[Term]) -> Expr:
    term: Term = (kind, *terms)
    if len({name for (name, _), _ in _literals(term)}) > 1 or _is_sorted_by_type(value, term):
        return _search(value, term)
    inside, literals = _inside(term)
    last = 2 * len(literals)
    if not inside:
        return exp.Boolean(this=False)
    if len(inside) == last + 1:
        return exp.Not(this=exp.Is(this=value, expression=exp.Null()))
    if len(inside) == last and (outside := sum(range(last + 1)) - sum(inside)) % 2:
        return exp.NEQ(this=value, expression=literals[outside // 2])
    if not _is_one_range(inside):
        return _search(value, term)
    if len(inside) == 1 and inside[0] % 2:
        return exp.EQ(this=value, expression=literals[inside[0] // 2])
    ends = _ends(value, inside, literals)
    return ends[0] if len(ends) == 1 else _search(value, term)


def _is_sorted_by_type(value: Expr, term: Term) -> bool:
    """Whether the value's type decides about the literals: beside a number Flink casts '9' < '20', and IN ('1', '01').

    Texts of = and <> alone are compared as they are, as in Flink.
    """
    if isinstance(value, exp.Cast) and value.to.this in exp.DataType.TEXT_TYPES:
        return False
    texts = {text for (name, text), _ in _literals(term) if name == "text"}
    if len(texts) < 2 or all(text[:1].isalpha() for text in texts):
        return False
    return any(inner[0] not in (exp.EQ, exp.NEQ) for inner in term[1:])


def _inside(term: Term) -> tuple[list[int], list[Expr]]:
    """Where the term holds, and its literals in order. The gaps between them have even numbers, they have odd ones."""
    literals = dict(_literals(term))
    keys = sorted(literals)
    places = {key: place for place, key in enumerate(keys)}
    holding = _holding(term, places, (1 << 2 * len(keys) + 1) - 1)
    inside = [at for at, bit in enumerate(reversed(f"{holding:b}")) if bit == "1"]
    return inside, [literals[key] for key in keys]


def _is_one_range(inside: Sequence[int]) -> bool:
    return bool(inside) and len(inside) == inside[-1] - inside[0] + 1


def _ends(value: Expr, inside: Sequence[int], literals: Sequence[Expr]) -> list[Expr]:
    """The comparisons with the first and the last literal of one range; none where it is open."""
    first, last = inside[0], inside[-1]
    ends: list[Expr] = []
    if first > 0:
        ends.append((exp.GTE if first % 2 else exp.GT)(this=value, expression=literals[(first - 1) // 2]))
    if last < 2 * len(literals):
        ends.append((exp.LTE if last % 2 else exp.LT)(this=value, expression=literals[last // 2]))
    return ends


def _search(value: Expr, term: Term) -> Expr:
    search = exp.Anonymous(this=SEARCH, expressions=[value])
    search.meta[_TERMS] = term
    return search


def _literals(term: Term) -> list[tuple[tuple[str, Any], Expr]]:
    if term[0] in _HOLDS:
        return [(term[2], term[1])]
    return [literal for inner in term[1:] for literal in _literals(inner)]


def _holding(term: Term, places: Mapping[tuple[str, Any], int], everywhere: int) -> int:
    """The places where the term holds, as bits: a list of n values is n of them, not n times n comparisons."""
    if term[0] not in _HOLDS:
        inner = (_holding(part, places, everywhere) for part in term[1:])
        return reduce(int.__and__ if term[0] is exp.And else int.__or__, inner)
    equal = 1 << 2 * places[term[2]] + 1
    less = equal - 1
    bits = {exp.LT: less, exp.EQ: equal, exp.GT: everywhere ^ less ^ equal}
    mask: int = reduce(int.__or__, (bits[kind] for kind in bits if _HOLDS[term[0]](_SIGNS[kind], 0)))
    return mask
