"""SQL as sqlglot's trees in which every function stays as written; its meaning is defined elsewhere.

`Flink` (`engine.sql.dialect`) and Spark SQL are parsed into the same trees, so that one can be found in the other.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import Dialect, TokenType, exp, generator, parser, tokens

from engine.functions.json_syntax import PARSERS

_OWN_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION", "FLOOR", "CEIL", "OVERLAY")


def _function_of_unit(self: Any) -> exp.Expression:
    """The arguments of a function whose first argument is a unit of time."""
    name = self._tokens[self._index - 2]
    unit = self._parse_var(any_token=True, upper=True)
    self._match(TokenType.COMMA)
    rest = self._parse_csv(self._parse_disjunction)
    return exp.Anonymous(this=name.text.upper(), expressions=[unit, *rest]).update_positions(name)


class AsWritten(Dialect):
    """The common dialect of Flink SQL and Spark SQL."""

    NULL_ORDERING = "nulls_are_small"
    TYPED_DIVISION = True

    class Tokenizer(tokens.Tokenizer):
        """Backticks for names, single quotes for texts."""

        IDENTIFIERS: ClassVar = ["`"]
        QUOTES: ClassVar = ["'"]
        HEX_STRINGS: ClassVar = [("x'", "'"), ("X'", "'")]
        COMMENTS: ClassVar = ["--", ("/*", "*/")]
        # EXECUTE and SHOW do not start a command: the words after them are tokenized normally.
        COMMANDS: ClassVar = set[TokenType]()

    class Parser(parser.Parser):
        """Functions are not interpreted, except those with their own syntax."""

        FUNCTIONS: ClassVar = {}
        NO_PAREN_FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            **{name: parse for name, parse in parser.Parser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX},
            **dict.fromkeys(("TIMESTAMPDIFF", "TIMESTAMPADD"), _function_of_unit),
            **PARSERS,
        }


class SparkAsWritten(AsWritten):
    """Spark SQL."""

    class Tokenizer(AsWritten.Tokenizer):
        QUOTES: ClassVar = ["'", '"']
        STRING_ESCAPES: ClassVar = ["\\"]

    class Generator(generator.Generator):
        TYPE_MAPPING: ClassVar = {
            **generator.Generator.TYPE_MAPPING,
            exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
            exp.DType.TIMESTAMPLTZ: "TIMESTAMP",
            exp.DType.TEXT: "STRING",
            exp.DType.TIME: "TIME",
        }


def spark_tree(text: str) -> exp.Expr:
    """The tree of a Spark SQL expression. Raises SqlglotError."""
    select = SparkAsWritten().parse(f"SELECT {text}")[0]
    assert isinstance(select, exp.Select)
    item: exp.Expr = select.expressions[0]
    return item


def spark_sql(tree: exp.Expr) -> str:
    """A tree of `spark_tree` as Spark SQL."""
    return str(tree.sql(dialect=SparkAsWritten))
