"""LIKE, SIMILAR TO and regular expressions: Flink's patterns as Spark SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.functions.spark_text import literal, spark_sql
from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_ANY: Final = {"%": ".*", "_": "."}
_SPECIAL: Final = ".^$\\{}"


def like(writer: ExpressionWriter, node: exp.Like, escape: Expr | None = None) -> str:
    """[NOT] LIKE. Without ESCAPE there is no escape character; Spark's default is the backslash."""
    value = writer.write(node.this)
    if escape is None:
        condition = spark_sql("({} LIKE {})", value, _pattern(writer, node.expression))
    else:
        template = "({} LIKE {} ESCAPE {escape})"
        condition = spark_sql(template, value, writer.write(node.expression), escape=writer.write(escape))
    return spark_sql("(NOT {})", condition) if node.args.get("negate") else condition


def _pattern(writer: ExpressionWriter, pattern: Expr) -> str:
    bare = pattern.unnest()
    if isinstance(bare, exp.Literal) and bare.is_string:
        return literal(bare.name.replace("\\", "\\\\"))
    return spark_sql("replace({})", [writer.write(pattern), literal(chr(92)), literal(chr(92) * 2)])


def similar(writer: ExpressionWriter, node: exp.SimilarTo) -> str:
    """SIMILAR TO with a literal pattern, as a regular expression. Raises SqlRejected for a computed pattern."""
    pattern = node.expression.unnest()
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        message = "SIMILAR TO takes a text as its pattern. Use REGEXP(x, pattern) for one that is computed."
        raise SqlRejected(message, node)
    return spark_sql("({} rlike {})", writer.write(node.this), literal(_regular(pattern.name)))


def _regular(pattern: str) -> str:
    body, in_set = "", False
    for at, char in enumerate(pattern):
        if in_set or char in "[]":
            in_set = char != "]" if in_set else char == "["
            body += char
        elif char in "{}" and re.match(r"\{\d+(,\d*)?\}", pattern[pattern.rfind("{", 0, at + 1) :]):
            body += char
        else:
            body += _ANY.get(char, "\\" + char if char in _SPECIAL else char)
    return f"(?s)^(?:{body})$"
