"""Messages about what was written for Spark, with the expressions as their users typed them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from engine.errors import shortened
from engine.expressions.parsing import SPARK, UNREADABLE, tree_of
from engine.sql.flink_text import Typed

_LENGTHS: Final = (80, 200)
"""To which messages shorten expressions."""


def as_typed(sentence: str, typed: Mapping[str, Typed]) -> str:
    """A sentence with Flink SQL in place of Spark SQL. typed: by what was written, the expression."""
    instead: dict[str, str] = {}
    for written, expression in typed.items():
        if isinstance(expression.expression, exp.Literal):
            continue
        flink = expression.flink
        for spark in (written, _bare(written)):
            instead[spark] = flink
            instead |= {shortened(repr(spark), most): shortened(repr(flink), most) for most in _LENGTHS}
    if not instead:
        return sentence
    longest = sorted(instead, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda match: instead[match[0]], sentence)


def _bare(written: str) -> str:
    """An expression as the rules of types repeat it."""
    try:
        return tree_of(written).unnest().sql(dialect=SPARK)
    except UNREADABLE:
        return written
