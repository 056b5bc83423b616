"""Conditions on columns as one types them: `word = Hello, cnt > 2 AND city LIKE 'L%'`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from engine.errors import unknown_name
from storage.model import Edge
from storage.wanted import Comparison, Term
from ui.components.changelog.record_list import number_columns_of

_COMPARISON: Final = re.compile(
    r"\s*(<>|!=|<=|>=|=|<|>|(?:NOT\s+)?(?:LIKE|IN)\b|IS\s+(?:NOT\s+)?NULL\b)\s*", re.IGNORECASE
)
_VALUE: Final = re.compile(r"""'((?:[^']|'')*)'|([^,']*?)(?=\s*(?:,|\sAND\b|$))""", re.IGNORECASE)
_LISTED: Final = re.compile(r"""\s*(?:'((?:[^']|'')*)'|([^,')]+?))\s*([,)])""")
_NEXT: Final = re.compile(r"\s*(?:,|AND\b|$)\s*", re.IGNORECASE)
_ONE: Final = (Comparison.EQ, Comparison.NE)


class FilterError(ValueError):
    """The text is not a valid filter; the message says how to write one."""


def parse_terms(text: str, names: tuple[str, ...]) -> tuple[Term, ...]:
    """The conditions, with commas or AND between them. Texts need quotes only if they have a comma, AND or a quote;
    NULL without quotes is NULL. names: of the columns. Raises FilterError."""
    terms: list[Term] = []
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        name, at = _name(text, at, names)
        match = _COMPARISON.match(text, at)
        if match is None:
            raise _how(text[at:] or text)
        comparison = Comparison(re.sub(r"\s+", " ", match[1].upper()).replace("!=", "<>"))
        values, at = _values(text, match.end(), comparison)
        if comparison in _ONE and values == (None,):
            comparison = Comparison.IS_NULL if comparison is Comparison.EQ else Comparison.IS_NOT_NULL
            values = ()
        terms.append(Term(name, comparison, values))
        after = _NEXT.match(text, at)
        if after is None:
            raise _how(text[at:])
        at = after.end()
    return tuple(terms)


def check_values(edge: Edge, terms: Iterable[Term]) -> None:
    """Raises FilterError for a value that no number equals, where the column has numbers: nothing would be found."""
    types = {column.name: column.duckdb_type for column in edge.columns if column.name in number_columns_of(edge)}
    for term in terms:
        if term.column not in types or term.comparison in (Comparison.LIKE, Comparison.NOT_LIKE):
            continue
        for value in term.values:
            if value is not None and not _is_number(str(value)):
                message = f"the column {term.column} has numbers ({types[term.column]}); {value!r} is none."
                raise FilterError(message)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _name(text: str, at: int, names: tuple[str, ...]) -> tuple[str, int]:
    """The column that is named here, and where its name ends."""
    quoted = re.compile(r'"([^"]+)"|`([^`]+)`').match(text, at)
    if quoted is not None:
        typed, end = quoted[1] or quoted[2], quoted.end()
    else:
        candidates = [name for name in names if re.match(rf"{re.escape(name)}(?!\w)", text[at:], re.IGNORECASE)]
        if candidates:
            longest = max(candidates, key=len)
            return longest, at + len(longest)
        before = re.compile(r"[^=<>!,]+?(?=\s*(?:[=<>!]|\s(?:NOT|LIKE|IN|IS)\b))", re.IGNORECASE).match(text, at)
        if before is None:
            raise _how(text[at:])
        typed, end = before[0].strip(), before.end()
    name = next((name for name in names if name.lower() == typed.lower()), None)
    if name is None:
        message = f"{unknown_name('column', typed, names)}."
        raise FilterError(message)
    return name, end


def _values(text: str, at: int, comparison: Comparison) -> tuple[tuple[object, ...], int]:
    """The values of a comparison, and where they end."""
    if comparison in (Comparison.IS_NULL, Comparison.IS_NOT_NULL):
        return (), at
    if comparison in (Comparison.IN, Comparison.NOT_IN):
        return _list(text, at)
    match = _VALUE.match(text, at)
    if match is None or (match[1] is None and not match[2].strip()):
        raise _how(text[at:] or text)
    return (_value(match[1], match[2]),), match.end()


def _list(text: str, at: int) -> tuple[tuple[object, ...], int]:
    values: list[object] = []
    if text[at : at + 1] != "(":
        raise _how(text[at:] or text)
    at += 1
    while True:
        match = _LISTED.match(text, at)
        if match is None:
            raise _how(text[at:] or text)
        values.append(_value(match[1], match[2]))
        at = match.end()
        if match[3] == ")":
            return tuple(values), at


def _value(quoted: str | None, bare: str | None) -> object:
    if quoted is not None:
        return quoted.replace("''", "'")
    typed = (bare or "").strip()
    return None if typed.upper() == "NULL" else typed


def _how(text: str) -> FilterError:
    return FilterError(
        f"write column = value, or <>, <, >, LIKE 'a%', IN (a, b), IS NULL, with commas or AND between them; "
        f"got {text.strip()!r}."
    )
