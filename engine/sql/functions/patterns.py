"""LIKE, SIMILAR TO and regular expressions: Flink's patterns as Spark SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.functions.function import text
from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_ANY: Final = {"%": ".*", "_": "."}
_SPECIAL: Final = ".^$\\{}"


def like(writer: ExpressionWriter, node: exp.Like, escape: Expr | None = None) -> str:
    """[NOT] LIKE. Without ESCAPE there is no escape character; Spark's default is the backslash."""
    condition = f"({writer.write(node.this)} LIKE {_pattern(writer, node.expression, escape)})"
    return f"(NOT {condition})" if node.args.get("negate") else condition


def _pattern(writer: ExpressionWriter, pattern: Expr, escape: Expr | None) -> str:
    if escape is not None:
        return f"{writer.write(pattern)} ESCAPE {writer.write(escape)}"
    literal = pattern.unnest()
    if isinstance(literal, exp.Literal) and literal.is_string:
        return text(literal.name.replace("\\", "\\\\"))
    return f"replace({writer.write(pattern)}, {text(chr(92))}, {text(chr(92) * 2)})"


def similar(writer: ExpressionWriter, node: exp.SimilarTo) -> str:
    """SIMILAR TO with a literal pattern, as a regular expression. Raises SqlRejected for a computed pattern."""
    literal = node.expression.unnest()
    if not isinstance(literal, exp.Literal) or not literal.is_string:
        message = "SIMILAR TO takes a text as its pattern. Use REGEXP(x, pattern) for one that is computed."
        raise SqlRejected(message, node)
    return f"({writer.write(node.this)} rlike {text(_regular(literal.name))})"


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
