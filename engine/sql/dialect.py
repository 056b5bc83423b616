"""Flink SQL for sqlglot: the few rules in which Flink's grammar differs.

Names are quoted with backticks and strings with single quotes. Function calls stay as written: only
`engine.sql.functions` defines their meaning. TUMBLE, HOP, CUMULATE and SESSION
take `TABLE t`, `TABLE t PARTITION BY k`, a sub-query, DESCRIPTOR(column), by position or by name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import Dialect, TokenType, exp, parser, tokens

from engine.expressions.parsing import OWN_SYNTAX
from engine.functions.json_syntax import PARSERS
from engine.functions.refused import OF_TABLES
from engine.registry import table_functions
from engine.sql import generator, match_grammar
from engine.sql.functions import interval_values, periods

WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
TABLE_ARGUMENT = "TABLE"
"""The name of the call node for `TABLE t PARTITION BY k`; its arguments are the table, then the columns."""


def _function_of_unit(self: Any) -> exp.Expression:
    """The arguments of a function whose first argument is a unit of time."""
    name = self._tokens[self._index - 2]
    unit = self._parse_var(any_token=True, upper=True)
    self._match(TokenType.COMMA)
    rest = self._parse_csv(self._parse_disjunction)
    return exp.Anonymous(this=name.text.upper(), expressions=[unit, *rest]).update_positions(name)


def _table_function(self: Any) -> exp.Expression:
    """The arguments of a table function, up to the closing parenthesis."""
    name = self._tokens[self._index - 2]
    arguments = self._parse_csv(lambda: _argument(self))
    return exp.Anonymous(this=name.text.upper(), expressions=arguments).update_positions(name)


def _refused(self: Any) -> exp.Expression:
    """An unsupported table function; its arguments are skipped."""
    name = self._tokens[self._index - 2]
    depth = 0
    while self._curr and (depth or self._curr.token_type is not TokenType.R_PAREN):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self._curr.token_type, 0)
        self._advance()
    return exp.Anonymous(this=name.text.upper(), expressions=[]).update_positions(name)


def _row_type(self: Any) -> exp.Expr:
    """The fields of a ROW type."""
    self._advance()
    is_bracketed = bool(self._match(TokenType.LT))
    if not is_bracketed:
        self._match_l_paren()
    fields = self._parse_csv(lambda: _row_field(self))
    if is_bracketed and not self._match(TokenType.GT):
        self.raise_error("Expected > after the fields of a ROW")
    elif not is_bracketed:
        self._match_r_paren()
    return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)


def _row_field(self: Any) -> exp.Expr:
    name = self._parse_id_var()
    kind = self._parse_types()
    self._match_text_seq("NOT", "NULL") or self._match_text_seq("NULL")
    if name is None or kind is None:
        self.raise_error("A field of a ROW needs a name and a type")
    return exp.ColumnDef(this=name, kind=kind)


def _multiset_type(self: Any) -> exp.Expr:
    """The elements of a MULTISET, each with its number."""
    self._advance()
    element = self._parse_types() if self._match(TokenType.LT) else None
    if element is None or not self._match(TokenType.GT):
        self.raise_error("A MULTISET has the type of its elements: MULTISET<STRING>")
    return exp.DataType(this=exp.DType.MAP, expressions=[element, exp.DataType.build("INT")], nested=True)


def _argument(self: Any) -> exp.Expression | None:
    if self._next and self._next.token_type == TokenType.FARROW:
        name = exp.var(self._curr.text.upper())
        self._advance(2)
        return exp.Kwarg(this=name, expression=_argument(self))
    if self._match(TokenType.TABLE):
        parts = [self._parse_table_parts()]
        if self._match(TokenType.PARTITION_BY):
            if self._match(TokenType.L_PAREN):
                parts += self._parse_csv(self._parse_column)
                self._match_r_paren()
            else:
                parts.append(self._parse_column())
        return exp.Anonymous(this=TABLE_ARGUMENT, expressions=parts)
    argument: exp.Expression | None = self._parse_select_or_expression()
    return argument


class _FunctionParsers(dict[str, Any]):
    """sqlglot's parsers, and the parsers of operators called as table functions, read from the registry."""

    def get(self, name: str, default: Any = None) -> Any:
        """The parser of a function with its own syntax."""
        return super().get(name) or (_table_function if name in table_functions() else default)


class Flink(Dialect):
    """Flink SQL, as far as queries go."""

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
        # SESSION is a statement keyword in other dialects; here it is a function name.
        KEYWORDS: ClassVar = {
            **{word: kind for word, kind in tokens.Tokenizer.KEYWORDS.items() if word != "SESSION"},
            match_grammar.NAME: TokenType.MATCH_RECOGNIZE,
        }
        # A table's options are hints after its name.
        TOKENS_PRECEDING_HINT: ClassVar = {*tokens.Tokenizer.TOKENS_PRECEDING_HINT, TokenType.VAR, TokenType.IDENTIFIER}

    Generator = generator.Generator

    class Parser(parser.Parser):
        """Functions are not interpreted, except those with their own syntax; ROW<...> is a type."""

        STRING_ALIASES = True
        FUNCTIONS: ClassVar = {}
        NO_PAREN_FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = _FunctionParsers(
            {
                **{name: parse for name, parse in parser.Parser.FUNCTION_PARSERS.items() if name in OWN_SYNTAX},
                **dict.fromkeys(("TIMESTAMPDIFF", "TIMESTAMPADD"), _function_of_unit),
                **PARSERS,
                **dict.fromkeys(WINDOW_FUNCTIONS, _table_function),
                **dict.fromkeys(OF_TABLES, _refused),
            }
        )

        QUERY_MODIFIER_PARSERS: ClassVar = {
            kind: parse
            for kind, parse in parser.Parser.QUERY_MODIFIER_PARSERS.items()
            if kind is not TokenType.MATCH_RECOGNIZE
        }

        QUERY_MODIFIER_TOKENS: ClassVar = set(QUERY_MODIFIER_PARSERS)

        def _parse_hint(self) -> exp.Hint | None:
            """A hint after SELECT, as its text (`engine.sql.state_ttl`)."""
            if not self._match(TokenType.HINT):
                return None
            return exp.Hint(expressions=[exp.Literal.string(self._prev.text)])

        def _parse_table(self, *arguments: Any, **named: Any) -> exp.Expr | None:
            """A table, optionally followed by MATCH_RECOGNIZE."""
            table = super()._parse_table(*arguments, **named)
            if table is not None and self._match(TokenType.MATCH_RECOGNIZE):
                return match_grammar.parse(self, table)
            return table

        def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
            """A test of a value. Raises SqlRejected for period comparisons that Flink parses but does not implement."""
            tested: exp.Expr | None = super()._parse_range(this, parse_is)
            periods.refuse_others(self, tested)
            return tested

        def _parse_paren(self) -> exp.Expr | None:
            """A value in parentheses, or the interval between two."""
            return interval_values.difference(self, super()._parse_paren())

        def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
            """IN; a list of VALUES is a query like any other."""
            test: exp.In = super()._parse_in(this, alias)
            if len(test.expressions) == 1 and isinstance(test.expressions[0], exp.Values):
                test.set("query", exp.Subquery(this=test.expressions[0]))
                test.set("expressions", None)
            return test

        def _parse_types(
            self,
            check_func: bool = False,
            schema: bool = False,
            allow_identifiers: bool = True,
            with_collation: bool = False,
        ) -> exp.Expr | None:
            """A type; ROW<name TYPE, ...> and ROW(name TYPE, ...) become a STRUCT, MULTISET<TYPE> a MAP of counts."""
            word = self._curr.text.upper() if self._curr and not check_func else ""
            if word == "ROW":
                return _row_type(self)
            if word == "MULTISET":
                return _multiset_type(self)
            return super()._parse_types(check_func, schema, allow_identifiers, with_collation)
