"""Spark SQL of documents as people read it: Flink SQL that, bound to the same columns, is the same Spark SQL again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.errors import StudioError
from engine.expressions.analyzer import TypeRules
from engine.expressions.parsing import tree_of
from engine.expressions.spellings import as_spark
from engine.model.schema import Schema
from engine.patterns.references import without_variables
from engine.script.flink_expressions import Translation
from engine.script.formatting import unquoted
from engine.sql.flink_text import flink_text
from engine.sql.typed import expression_in, spark_of

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
    tree = _bare(tree_of(spark))
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return tree


def _bare(tree: exp.Expr) -> exp.Expr:
    """The tree without parentheses, but for those around all of it."""
    whole = exp.Paren(this=tree.copy())
    for paren in list(whole.find_all(exp.Paren)):
        if paren is not whole:
            paren.replace(paren.this)
    return whole


def _without_parentheses(text: str, spark: str, schema: Schema, variables: tuple[str, ...]) -> str:
    """The text with only the parentheses that it needs. spark: what it is bound to."""
    bare = flink_text(_bare(expression_in(text)), {})
    is_shorter = bare.count("(") < text.count("(")
    return bare if is_shorter and spark_of(bare, schema, _RULES, variables=variables) == spark else text
