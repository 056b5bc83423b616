"""The bounds of windows by their names alone in a join of two windowed tables that are equal in them.

    SELECT window_start FROM ... L JOIN ... R ON L.window_start = R.window_start AND ...   ->   SELECT L.window_start

Flink calls them ambiguous, as it does what a sub-query selects beside the * that has it. In an inner join of two
tables both sides have the same value, so either one is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.script.statements import Statement

_BOUNDS: Final = ("window_start", "window_end", "window_time")
_NOT_INNER: Final = frozenset(("LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "CROSS", "OR", "NOT"))
_BEFORE_EQUAL: Final = ("ON", "AND", "WHERE")
_BEFORE_A_VALUE: Final = frozenset(
    ("SELECT", "DISTINCT", ",", "(", "GROUP BY", "PARTITION BY", "WHERE", "AND", "ON", "BY", "=", "<", ">", "<=", ">=")
    + ("<>", "+", "-", "BETWEEN", "WHEN", "THEN", "ELSE", "CASE", "HAVING")
)


def bounds_of_both(tokens: Sequence[Token]) -> dict[int, str]:
    """By the place of such a name, the table whose it is written as."""
    tables: dict[int, str] = {}
    if not any(token.text in _BOUNDS for token in tokens):
        return tables
    for places in _selects(tokens):
        words = [_word(tokens[at]) for at in places]
        if words.count("JOIN") != 1 or not _NOT_INNER.isdisjoint(words):
            continue
        equal = _equal(tokens, places)
        end = words.index("ORDER BY") if "ORDER BY" in words else len(places)
        for at in places[:end]:
            name, after = tokens[at].text, tokens[at + 1] if at + 1 < len(tokens) else None
            is_alone = after is None or after.token_type not in (TokenType.DOT, TokenType.L_PAREN)
            if name in equal and is_alone and at and _word(tokens[at - 1]) in _BEFORE_A_VALUE:
                tables[at] = equal[name]
    return tables


def repeated_bounds(tokens: Sequence[Token]) -> Iterator[int]:
    """The places of such names in sub-queries that select them beside the * of a windowed table, which has them."""
    for places in _selects(tokens):
        words = [_word(tokens[at]) for at in places]
        items = words.index("FROM") if "FROM" in words else 0
        is_windowed = words[items + 1 : items + 3] == ["TABLE", "("] and words[items + 3 : items + 4] != ["SELECT"]
        is_inner = places[0] > 0 and tokens[places[0] - 1].token_type is TokenType.L_PAREN
        if is_inner and is_windowed and words[1:2] == ["*"]:
            for at in range(2, items):
                is_item = words[at - 1] == "," and words[at + 1] in (",", "FROM")
                # Not those of a call, such as PARTITION BY window_start, window_end.
                is_item = is_item and words[:at].count("(") == words[:at].count(")")
                if is_item and tokens[places[at]].text in _BOUNDS:
                    yield places[at]


def with_tables_of_bounds(statement: Statement) -> Statement:
    """The statement with the table's name before each such name."""
    tables = bounds_of_both(statement.tokens)
    if not tables:
        return statement
    tokens: list[Token] = []
    for at, token in enumerate(statement.tokens):
        if at in tables:
            place = (token.line, token.col, token.start, token.end)
            tokens += (Token(TokenType.IDENTIFIER, tables[at], *place), Token(TokenType.DOT, ".", *place))
        tokens.append(token)
    return replace(statement, tokens=tuple(tokens))


def _selects(tokens: Sequence[Token]) -> Iterator[list[int]]:
    """The places of the tokens of each SELECT, without those of the queries within it."""
    open_: list[tuple[int, list[int]]] = []
    depth = 0
    for at, token in enumerate(tokens):
        word = _word(token)
        depth += token.token_type is TokenType.L_PAREN
        if open_ and (depth < open_[-1][0] or (word in ("UNION", "EXCEPT", "INTERSECT") and depth == open_[-1][0])):
            yield open_.pop()[1]
        if word == "SELECT":
            open_.append((depth, []))
        if open_:
            open_[-1][1].append(at)
        depth -= token.token_type is TokenType.R_PAREN
        if token.token_type is TokenType.R_PAREN and open_ and depth < open_[-1][0]:
            yield open_.pop()[1]
    for _, places in open_:
        yield places


def _equal(tokens: Sequence[Token], places: Sequence[int]) -> dict[str, str]:
    """The bounds that both tables are joined by, each with the first table's name."""
    bounds: dict[str, str] = {}
    for at in range(1, len(places) - 6):
        if places[at + 6] - places[at - 1] != 7:
            continue
        before, left, dot, name, equals, other, dot_too, name_too = (tokens[place] for place in places[at - 1 : at + 7])
        is_pair = (dot.text, equals.text, dot_too.text) == (".", "=", ".") and name.text == name_too.text
        if is_pair and name.text in _BOUNDS and left.text != other.text and _word(before) in _BEFORE_EQUAL:
            bounds.setdefault(name.text, left.text)
    return bounds


def _word(token: Token) -> str:
    is_name = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if is_name else token.text.upper()
