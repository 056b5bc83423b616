"""Text and tokens as sqlglot's syntax trees, and syntax errors with their place."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token

from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.rejected import SqlRejected


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text. Raises SqlRejected for an unclosed quote."""
    try:
        return list(Flink().tokenize(text))
    except TokenError as error:
        message = f"this is not Flink SQL: {error}. Look for a quote that is not closed."
        raise SqlRejected(message) from error


def trees_of(tokens: Sequence[Token], text: str) -> list[Expr]:
    """The statements of a text's tokens. Raises SqlRejected with the place of the first syntax error."""
    try:
        trees = Flink().parser().parse(list(tokens), text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        highlight = str(first.get("highlight") or " ")
        description = str(first.get("description", error)).rstrip(".")
        column = max(1, int(first.get("col") or 0) - len(highlight) + 1)
        message = f"this is not Flink SQL: {description} (at {highlight!r})."
        raise SqlRejected(message, place=(int(first.get("line") or 0), column)) from error
    return [tree.transform(_map, copy=False) for tree in trees if isinstance(tree, exp.Expr)]


def _map(node: Expr) -> Expr:
    """MAP['a', 1] as a call; sqlglot parses it as an element of a column."""
    is_map = isinstance(node, exp.Bracket) and isinstance(node.this, exp.Column) and not node.this.args.get("table")
    if not is_map or node.this.name.upper() != "MAP" or node.this.this.args.get("quoted"):
        return node
    call = exp.Anonymous(this="MAP", expressions=node.expressions)
    call.meta.update(node.this.this.meta)
    return call
