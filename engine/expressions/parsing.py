"""The words and the tree of a Spark SQL expression, as far as sqlglot can parse it.

Spark's own parser decides what runs, so nothing is refused here: a text without a tree still has its words, and
an unreadable text is just a text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import is_not
from typing import Any, ClassVar, Final

from sqlglot import Dialect, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

from engine.functions.json_syntax import PARSERS as JSON_PARSERS
from engine.functions.spark_text import SparkText, part_at, written_here

# Besides its own errors, the parser raises others for a few unexpected texts and for very deep ones.
UNREADABLE: Final = (SqlglotError, ValueError, TypeError, AttributeError, LookupError, RecursionError)
VALUES: Final = frozenset(
    {
        TokenType.STRING,
        TokenType.RAW_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.UNICODE_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
        TokenType.BYTE_STRING,
        TokenType.HEREDOC_STRING,
    }
)


OWN_SYNTAX: Final = frozenset(
    {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY", "CEIL", "FLOOR"}
)
"""Functions that sqlglot parses by their own syntax, in Spark SQL and in Flink SQL."""


def _call_with_unit(parser: Any) -> exp.Expr:
    """A call whose first one of three arguments is a unit of time, not a column."""
    name = parser._tokens[parser._index - 2]
    arguments = parser._parse_csv(parser._parse_lambda)
    first = arguments[0] if len(arguments) == 3 else None
    if isinstance(first, exp.Column) and not first.table and not first.this.quoted:
        arguments[0] = exp.var(first.name)
    return exp.Anonymous(this=name.text, expressions=arguments).update_positions(name)


class SparkSql(Spark):
    """Spark SQL whose functions keep their written names; it has had a TIME for longer than sqlglot knows."""

    class Parser(SparkParser):
        """Only functions with their own syntax are parsed as more than a call, Flink's JSON functions too.

        A CAST is an exp.TryCast that is not safe, unlike DATE '2024-01-31', which is an exp.Cast.
        """

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        FUNCTION_PARSERS: ClassVar = {
            **{name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in OWN_SYNTAX},
            **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATEDIFF", "DATE_DIFF"), _call_with_unit),
            **JSON_PARSERS,
        }

    class Generator(SparkGenerator):
        TYPE_MAPPING: ClassVar = {**SparkGenerator.TYPE_MAPPING, exp.DType.TIME: "TIME"}

        def datatype_sql(self, expression: exp.DataType) -> str:
            """A type. sqlglot leaves the digits of a TIME out."""
            digits = [part.name for part in expression.expressions] if expression.this is exp.DType.TIME else []
            written: str = super().datatype_sql(expression)
            return f"{written}({digits[0]})" if digits else written


SPARK: Final = SparkSql


@lru_cache(maxsize=2048)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text, for all that look at it. Raises one of UNREADABLE."""
    return tuple(Dialect.get_or_raise(SPARK).tokenize(text))


def renamed_in(text: str, old: str, new: str) -> str:
    """An expression with a renamed column; literals, comments, calls and fields are left unchanged. new: in SQL."""
    try:
        tokens = tokens_of(text)
    except UNREADABLE:
        return text
    written, place = "", 0
    for at, token in enumerate(tokens):
        is_quoted = token.token_type is TokenType.IDENTIFIER
        is_call = not is_quoted and at + 1 < len(tokens) and tokens[at + 1].text == "("
        is_field = at > 0 and tokens[at - 1].text == "."
        if token.token_type in VALUES or token.text.lower() != old.lower() or is_call or is_field:
            continue
        written += text[place : token.start] + new
        place = token.end + 1
    return written + text[place:]


@lru_cache(maxsize=8192)
def tree_of(text: str) -> exp.Expr:
    """The tree of an expression, for all that look at it. Raises one of UNREADABLE; a SqlglotError has a message.

    What was written here is not parsed.
    """
    return _parsed(text) if (written := written_here(text)) is None else _composed(written)


def _composed(text: SparkText) -> exp.Expr:
    whole: exp.Expr = (text.leaf or _shape(text.shape)).copy()
    for column in list(whole.find_all(exp.Column)):
        if (at := part_at(column.name)) is not None:
            part = tree_of(text.parts[at]).copy()
            whole = part if column is whole else whole
            column.replace(part)
    return whole


@lru_cache(maxsize=8192)
def _shape(shape: str) -> exp.Expr:
    return _parsed(shape)


def _parsed(text: str) -> exp.Expr:
    trees = Dialect.get_or_raise(SPARK).parser().parse_into(exp.Expr, list(tokens_of(text)), text)
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Expr) or isinstance(tree, exp.Command):
        message = f"{text!r} is not one expression"
        raise SqlglotError(message)
    return tree


def tree_if_readable(text: str) -> exp.Expr | None:
    """The tree of an expression; None for an unreadable text. Raises RecursionError."""
    try:
        return tree_of(text)
    except RecursionError:
        raise
    except UNREADABLE:
        return None


def mapped(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The node with other parts; itself if they stay the same, for nobody changes a tree that others look at."""
    args = dict(node.args)
    for name, value in args.items():
        if isinstance(value, exp.Expr):
            args[name] = change(value)
        elif isinstance(value, list):
            parts = [change(part) if isinstance(part, exp.Expr) else part for part in value]
            args[name] = parts if any(map(is_not, parts, value)) else value
    if not any(map(is_not, args.values(), node.args.values())):
        return node
    changed = type(node)(**args)
    changed.comments = node.comments
    changed.meta.update(node.meta)
    return changed


def called(node: exp.Expr) -> str:
    """The function that is called, in lower case; "" for anything else, and for functions with their own syntax."""
    return str(node.name).lower() if isinstance(node, exp.Anonymous) else ""
