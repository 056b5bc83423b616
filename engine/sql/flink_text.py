"""Bound expressions as Flink SQL over the columns of a node, which documents keep and messages show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sqlglot import exp

from engine.errors import shortened
from engine.expressions.flink_sql import FlinkSql
from engine.expressions.parsing import SPARK, UNREADABLE, tree_of
from engine.functions import FUNCTIONS
from engine.functions.spark_text import SparkText
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink

_LENGTHS: Final = (80, 200)
"""To which messages shorten expressions."""
_BY_STRENGTH: Final[tuple[tuple[type[Expr], ...], ...]] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ),
    (exp.LT, exp.LTE, exp.GT, exp.GTE),
    (exp.Is, exp.Like, exp.SimilarTo, exp.In, exp.Between),
    (exp.DPipe,),
    (exp.Add, exp.Sub),
    (exp.Mul, exp.Div, exp.Mod),
    (exp.Neg,),
)
"""Operators, each group of which takes its operands before those in front of it do."""
_STRENGTHS: Final = {kind: strength for strength, kinds in enumerate(_BY_STRENGTH) for kind in kinds}
_STRONGEST: Final = len(_BY_STRENGTH)
_SIMPLE: Final = (exp.Column, exp.Literal)
_OF_THE_STUDIO: Final = (exp.Struct, exp.FormatJson, exp.JSONKeyValue, exp.JSONArray, exp.JSONObject)
"""The key of values that may be NULL, and the results of JSON aggregates, for which Flink has no words."""


@dataclass(frozen=True)
class Typed:
    """A bound expression. names: by its column, the name in the node's input."""

    expression: Expr
    names: Mapping[str, str]

    @cached_property
    def flink(self) -> str:
        """Flink SQL over the columns of the node's input."""
        return flink_text(self.expression, self.names)

    @cached_property
    def is_flink(self) -> bool:
        """Whether it is bound to the same in any place: what is random depends on where it stands."""
        return not any(
            isinstance(part, _OF_THE_STUDIO) or (isinstance(part, exp.Anonymous) and _is_random(part))
            for part in self.expression.walk()
        )


def _is_random(call: exp.Anonymous) -> bool:
    function = FUNCTIONS.get(call.name.upper())
    return function is not None and not function.is_deterministic


def flink_text(expression: Expr, names: Mapping[str, str]) -> str:
    """The expression as Flink SQL. names: by bound column, its name in the node's input."""

    def called(node: Expr) -> Expr:
        if isinstance(node, exp.Column) and node.name in names:
            node.this.replace(exp.to_identifier(names[node.name], quoted=True))
        for place, operand in list(node.args.items()) if type(node) in _STRENGTHS else ():
            if isinstance(operand, exp.Expression) and _is_looser(operand, node, place):
                node.set(place, exp.Paren(this=operand))
        return node

    told = expression.unnest().copy().transform(called, copy=False)
    return told.sql(dialect=Flink, normalize_functions=False, copy=False)


def _is_looser(operand: Expr, operation: Expr, place: str) -> bool:
    """Whether an operand that was put there needs parentheses."""
    if isinstance(operation, exp.And | exp.Or) and type(operand) is type(operation):
        return False
    own, around = _STRENGTHS.get(type(operand), _STRONGEST), _STRENGTHS[type(operation)]
    return own < around or (own == around and place != "this")


def told_in_flink(sentence: str, *texts: str) -> str:
    """A sentence about what was written for Spark, with Flink SQL in its place. texts: what it is about."""
    instead: dict[str, str] = {}
    for written, said in parts_of(*texts):
        flink = said.flink
        for spark in (written, _bare(written)):
            instead[spark] = flink
            instead |= {shortened(repr(spark), most): shortened(repr(flink), most) for most in _LENGTHS}
    if not instead:
        return sentence
    longest = sorted(instead, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda match: instead[match[0]], sentence)


def parts_of(*texts: str) -> Iterator[tuple[FlinkSql, Typed]]:
    """The parts of what was written that say more than a column or a literal, and what they say."""
    found = dict.fromkeys(texts)
    waiting = [*found]
    for text in waiting:
        parts = text.parts if isinstance(text, SparkText) else ()
        waiting += [part for part in parts if part not in found]
        found |= dict.fromkeys(parts)
        said = text.said if isinstance(text, FlinkSql) else None
        if isinstance(text, FlinkSql) and isinstance(said, Typed) and not isinstance(said.expression, _SIMPLE):
            yield text, said


def _bare(written: str) -> str:
    """An expression as the rules of types repeat it."""
    try:
        return tree_of(written).unnest().sql(dialect=SPARK)
    except UNREADABLE:
        return written
