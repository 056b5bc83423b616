"""Operators of other databases that are read here, and how Flink has them.

    a::INT, s ISNULL, [1, 2], CAST(a AS TEXT)   ->   CAST(a AS INT), s IS NULL, ARRAY[1, 2], CAST(a AS STRING)

Source: answers of Flink 2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.script.of_databases import closed

_OPERATORS: Final = {
    "==": "=",
    "!=": "<>",
    "<=>": "IS NOT DISTINCT FROM",
    "ISNULL": "IS NULL",
    "NOTNULL": "IS NOT NULL",
    "!": "NOT ",
}
_KINDS: Final = (TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ, TokenType.ISNULL, TokenType.NOTNULL, TokenType.NOT)
_TYPES: Final = {"TEXT": "STRING", "DATETIME": "TIMESTAMP(6)", "LONG": "BIGINT", "INT64": "BIGINT", "FLOAT8": "DOUBLE"}
_CASTS: Final = ("CAST", "TRY_CAST")
_WITHOUT_NULLS: Final = ("FIRST_VALUE", "LAST_VALUE", "SUM", "MIN", "MAX", "AVG", "COUNT")
_FROM: Final = ("TRIM", "OVERLAY")
_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
# A value follows these. Behind others, which may be names, an element is meant.
_BEFORE_VALUES: Final = (
    *(TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET),
    *(TokenType.EQ, TokenType.THEN, TokenType.ELSE),
)
_CLOSING: Final = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}


class Other(NamedTuple):
    """Tokens of another database. instead: what Flink has in their place."""

    tokens: Sequence[Token]
    why: str
    instead: str


def other_operators(tokens: Sequence[Token], text: str) -> Iterator[Other]:
    """What a statement has of them. text: that of the whole script."""
    for at, token in enumerate(tokens):
        before, after = tokens[at - 1] if at else None, tokens[at + 1] if at + 1 < len(tokens) else None
        word = token.text.upper()
        is_call = after is not None and after.token_type is TokenType.L_PAREN
        if token.token_type in _KINDS and word in _OPERATORS and not (is_call and word.endswith("NULL")):
            instead = _OPERATORS[word]
            yield Other([token], f"{token.text} is written {instead.strip()}", instead)
        elif token.token_type is TokenType.L_BRACKET and before is not None and before.token_type in _BEFORE_VALUES:
            yield Other([token], "an array is written ARRAY[...]", "ARRAY[")
        elif token.token_type is TokenType.DCOLON:
            yield _cast(tokens, at, text)
        elif word in ("ARRAY", "MAP") and is_call and not _is_query(tokens, at + 2):
            why = f"{'an array' if word == 'ARRAY' else 'a map'} is written {word}[...]"
            yield Other([tokens[at + 1]], why, "[")
            yield Other([tokens[_closing(tokens, at + 1)]], why, "]")
        elif word == "TRIM" and is_call and _has_two_values(tokens, at + 1):
            yield Other([token], "TRIM(a, b) is written BTRIM(a, b)", "BTRIM")
        elif word == "IGNORE" and after is not None and after.text.upper() == "NULLS":
            # LAST_VALUE(a IGNORE NULLS) or LAST_VALUE(a) IGNORE NULLS
            is_behind = before is not None and before.token_type is TokenType.R_PAREN
            caller = tokens[_opening(tokens, at - 1)].text.upper() if is_behind else _caller(tokens, at)
            if caller in _WITHOUT_NULLS:
                yield Other(tokens[at : at + 2], f"{caller} leaves NULLs out without IGNORE NULLS", "")
        elif token.token_type is TokenType.STRING and _is_alias(before, after) and _caller(tokens, at) not in _FROM:
            yield Other([token], f"the name '{token.text}' takes backticks, not quotes", f"`{token.text}`")
        elif word in _TYPES and before is not None and before.text.upper() == "AS" and _caller(tokens, at) in _CASTS:
            yield Other([token], f"{token.text} is of other databases; Flink has {_TYPES[word]}", _TYPES[word])


def _cast(tokens: Sequence[Token], at: int, text: str) -> Other:
    """A cast by two colons: what is cast ends before them, and the type may have a length in parentheses."""
    start = _opening(tokens, at - 1)
    end = at + 1
    if tokens[end + 1 : end + 2] and tokens[end + 1].token_type is TokenType.L_PAREN:
        end = next(place for place in range(end, len(tokens)) if tokens[place].token_type is TokenType.R_PAREN)
    value = text[tokens[start].start : tokens[at - 1].end + 1]
    kind = text[tokens[at + 1].start : tokens[end].end + 1]
    instead = f"CAST({value} AS {_TYPES.get(kind.upper(), kind)})"
    return Other(tokens[start : end + 1], f"{value}::{kind} is written {instead}", instead)


def _opening(tokens: Sequence[Token], at: int) -> int:
    """Where the value begins that ends with a token: a name with those of its table, a call, or a constant."""
    while True:
        if (opening := _CLOSING.get(tokens[at].token_type)) is not None:
            depth, closing = 1, tokens[at].token_type
            while depth:
                at -= 1
                depth += (tokens[at].token_type is closing) - (tokens[at].token_type is opening)
            if at == 0 or tokens[at - 1].token_type not in (*_NAMES, TokenType.ARRAY, TokenType.MAP):
                return at
            at -= 1
        elif at >= 2 and tokens[at - 1].token_type is TokenType.DOT:
            at -= 2
        else:
            return at


def _caller(tokens: Sequence[Token], at: int) -> str:
    """The word before the parenthesis in which a token stands; "" for none."""
    depth = 0
    for place in range(at - 1, 0, -1):
        kind = tokens[place].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth < 0:
            return tokens[place - 1].text.upper()
    return ""


def _closing(tokens: Sequence[Token], opening: int) -> int:
    """Where a parenthesis is closed."""
    return closed(tokens, opening) - 1


def _is_query(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].token_type in (TokenType.SELECT, TokenType.WITH)


def _has_two_values(tokens: Sequence[Token], opening: int) -> bool:
    """Whether a call's parentheses have a comma that is none of a call or a list within them."""
    depth = 0
    for token in tokens[opening : _closing(tokens, opening)]:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 1 and token.token_type is TokenType.COMMA:
            return True
    return False


def _is_alias(before: Token | None, after: Token | None) -> bool:
    """Whether a text stands where the name of a column of SELECT does, with AS or without."""
    follows = after is not None and after.token_type in (TokenType.COMMA, TokenType.FROM)
    return follows and before is not None and before.token_type in (TokenType.ALIAS, TokenType.R_PAREN, *_NAMES)
