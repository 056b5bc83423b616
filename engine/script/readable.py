"""An expression of a document as people read it: Flink SQL, with the backticks and parentheses that it needs."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.expressions.as_written import spark_tree
from engine.expressions.spellings import as_spark
from engine.model.schema import Schema
from engine.model.types import VOID
from engine.script.flink_expressions import Translation
from engine.script.formatting import unquoted
from engine.sql.parsing import tokens_of

_LONGEST: Final = 2_000
"""The most characters of a text that is tried without each of its parentheses."""

_COMMENTS: Final = ("--", "/*")


@lru_cache(maxsize=4096)
def readable(text: str, schema: Schema | None = None) -> str:
    """The expression in Flink SQL; as it is where Flink SQL, read again in its place, would not say the same.

    schema: of the columns that it is about, if they are known: types tell some functions apart.
    """
    if not text.strip() or any(sign in text for sign in _COMMENTS):
        return text
    translation = Translation(lambda part: VOID if schema is None else TypeRules().type_of(part, schema, "", ""))
    try:
        meaning = _meaning(text)
        for written in (translation.flink(text), text):
            shown = unquoted(written)
            if _meaning(shown) == meaning:
                return _without_parentheses(shown, meaning)
    except (SqlglotError, StudioError, ValueError, RecursionError):
        pass
    return text


def _meaning(text: str) -> exp.Expr | None:
    """The tree of what Spark computes, without parentheses and with every name quoted; None if it is unreadable."""

    try:
        tree = exp.Paren(this=spark_tree(as_spark(text)))
    except SqlglotError:
        return None
    for paren in list(tree.find_all(exp.Paren)):
        if paren is not tree:
            paren.replace(paren.this)
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return tree


def _without_parentheses(text: str, meaning: exp.Expr | None) -> str:
    """The text without the pairs of parentheses that change nothing."""
    at = 0
    while len(text) <= _LONGEST:
        pairs = [pair for pair in _pairs(text) if pair[0] >= at]
        if not pairs:
            break
        start, end = min(pairs)
        bare = f"{text[:start]}{text[start + 1 : end]}{text[end + 1 :]}"
        text, at = (bare, start) if _meaning(bare) == meaning else (text, start + 1)
    return text


def _pairs(text: str) -> list[tuple[int, int]]:
    """The places of the parentheses of a text, pair by pair."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for token in tokens_of(text):
        if token.token_type is TokenType.L_PAREN:
            opened.append(token.start)
        elif token.token_type is TokenType.R_PAREN and opened:
            pairs.append((opened.pop(), token.start))
    return pairs
