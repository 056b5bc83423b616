"""Spark SQL of documents as people read it: Flink SQL that, bound to the same columns, is the same Spark SQL again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.expressions.parsing import tree_of
from engine.expressions.spellings import as_spark
from engine.model.schema import Schema
from engine.patterns.references import without_variables
from engine.script.flink_expressions import Translation
from engine.script.formatting import unquoted
from engine.sql.parsing import tokens_of
from engine.sql.typed import spark_of

_LONGEST: Final = 2_000
"""The most characters of a text that is tried without each of its parentheses."""
_COMMENTS: Final = ("--", "/*")
_RULES: Final = TypeRules()
_UNWRITABLE: Final = (SqlglotError, StudioError, ValueError, RecursionError)


@lru_cache(maxsize=4096)
def flink_of(text: str, schema: Schema, variables: tuple[str, ...] = ()) -> str | None:
    """Flink SQL for an expression in Spark SQL over these columns; None if none is known to mean the same.

    variables: of a pattern, that may precede a column.
    """
    if not text.strip() or any(sign in text for sign in _COMMENTS):
        return None
    try:
        meaning = _meaning(as_spark(text))
        for candidate in _candidates(text, schema, variables):
            spark = spark_of(candidate, schema, _RULES, variables=variables)
            if _meaning(spark) == meaning:
                return _without_parentheses(candidate, spark, schema, variables)
    except _UNWRITABLE:
        pass
    return None


def flink_instead(text: str, schema: Schema, variables: tuple[str, ...] = ()) -> str | None:
    """Flink SQL for a text that is Spark SQL and no Flink SQL: NVL(a, 0) is COALESCE(a, 0). None if none is known."""
    try:
        translation = _translation(schema, variables)
        spark = as_spark(text)
        _RULES.type_of(without_variables(spark, variables), schema, "", "")
        written = unquoted(translation.flink(spark))
        if translation.unknown or written == text:
            return None
        return _without_parentheses(written, spark_of(written, schema, _RULES, variables=variables), schema, variables)
    except _UNWRITABLE:
        return None


def _candidates(text: str, schema: Schema, variables: tuple[str, ...]) -> Iterator[str]:
    for written in (_translation(schema, variables).flink, str):
        with suppress(*_UNWRITABLE):
            candidate = unquoted(written(text))
            spark_of(candidate, schema, _RULES, variables=variables)
            yield candidate


def _translation(schema: Schema, variables: tuple[str, ...]) -> Translation:
    return Translation(lambda part: _RULES.type_of(without_variables(part, variables), schema, "", ""))


def _meaning(spark: str) -> exp.Expr:
    """The tree of what Spark computes, without parentheses and with every name quoted. Raises SqlglotError."""
    tree = exp.Paren(this=tree_of(spark).copy())
    for paren in list(tree.find_all(exp.Paren)):
        if paren is not tree:
            paren.replace(paren.this)
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return tree


def _without_parentheses(text: str, spark: str, schema: Schema, variables: tuple[str, ...]) -> str:
    """The text without the pairs of parentheses that change nothing. spark: what it is bound to."""
    at = 0
    while len(text) <= _LONGEST:
        pairs = [pair for pair in _pairs(text) if pair[0] >= at]
        if not pairs:
            break
        start, end = min(pairs)
        bare = f"{text[:start]}{text[start + 1 : end]}{text[end + 1 :]}"
        try:
            is_same = spark_of(bare, schema, _RULES, variables=variables) == spark
        except StudioError:
            is_same = False
        text, at = (bare, start) if is_same else (text, start + 1)
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
