"""Values of a match in the operator's syntax, in which a variable precedes each column: A.`v`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.contract.operator import Analyzer
from engine.expressions.flink_sql import FlinkSql
from engine.expressions.parsing import tree_of
from engine.functions.spark_text import SparkText, noted, spark_sql
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, TIMESTAMP_NTZ, VOID, Type, quote
from engine.patterns.references import ROWTIME, with_columns, without_variables
from engine.sql.algebra import Expr, ref
from engine.sql.clauses.match_recognize import is_reference, with_references
from engine.sql.dialect import Flink
from engine.sql.flink_text import Typed, parts_of
from engine.sql.functions.expressions import Writer
from engine.sql.rejected import SqlRejected

_MATCHED: Final = "__match"
_PLACEHOLDER: Final = re.compile(rf"`?({_MATCHED}\d+)`?")


@dataclass(frozen=True)
class _OfRows(Writer):
    """Writes expressions over a row of a variable: A.`v`."""

    def _column(self, column: exp.Column) -> str:
        written = super()._column(column)
        if not column.table:
            return written
        leaf = tree_of(written).copy()
        leaf.set("table", exp.to_identifier(column.table))
        return SparkText(f"{_variable(column.table)}.{written}", leaf=leaf)


@dataclass(frozen=True)
class OfMatches:
    """Writes expressions over a match.

    schema: of the input. names: by bound column, its name there. node: the one that errors are about.
    """

    schema: Schema
    names: Mapping[str, str]
    variables: Sequence[str]
    analyzer: Analyzer
    node: str

    def whole(self, expression: Expr) -> FlinkSql:
        """An expression over values of a match, in the operator's syntax."""
        texts: list[str] = []
        types: list[Column] = []
        given: dict[str, Expr] = {}

        def column(reference: Expr) -> Expr:
            name = f"{_MATCHED}{len(texts)}"
            text, type_ = self._reference(reference)
            texts.append(text)
            types.append(Column(name, type_))
            given[name] = reference
            return ref(name, reference)

        tree = with_references(expression.unnest(), column)
        schema = Schema(tuple(types))
        names = {placeholder.name: placeholder.name for placeholder in types}
        writer = Writer(names, lambda text: self.analyzer.type_of(text, schema, self.node, ""), schema)
        try:
            written = writer.write(tree)
        except SqlRejected as error:
            sentence = _PLACEHOLDER.sub(lambda name: given[name[1]].sql(dialect=Flink), error.reason)
            raise SqlRejected(sentence, place=(error.line, error.column)) from error

        def filled(part: str, texts: Sequence[str]) -> str:
            for placeholder, text in zip(types, texts, strict=True):
                part = part.replace(quote(placeholder.name), text)
            return part

        bare = [without_variables(text, self.variables) for text in texts]
        # So does the operator read it, with its values as columns of one row.
        ways = (texts, bare, [f"({text})" for text in bare])
        parts = [
            FlinkSql(Typed(_filled(said.expression, given), self.names), filled(part, way))
            for part, said in parts_of(written)
            for way in ways
        ]
        for part, said in parts_of(*texts):
            parts += [part, FlinkSql(said, without_variables(part, self.variables))]
        trees = {column.name: tree_of(text) for column, text in zip(types, texts, strict=True)}
        leaf = with_columns(tree_of(written), trees.get)
        return FlinkSql(Typed(expression, self.names), noted(SparkText(filled(written, texts), parts=parts, leaf=leaf)))

    def _reference(self, reference: Expr) -> tuple[str, Type]:
        """A value of a match in the operator's syntax, and its type."""
        if not isinstance(reference, exp.Anonymous):
            return self._of_row(reference)
        name, arguments = reference.name.upper(), list(reference.expressions)
        if name == ROWTIME:
            given = [self._of_row(argument)[0] for argument in arguments]
            type_ = self._of_row(arguments[0])[1] if arguments else TIMESTAMP_NTZ
            return spark_sql("{name}({})", given, name=ROWTIME), type_
        if name in ("FIRST", "LAST"):
            if not arguments:
                return spark_sql("{name}()", name=name), VOID
            text, type_ = self._of_row(arguments[0])
            counts = (count.sql(dialect=Flink) for count in arguments[1:])
            return spark_sql("{name}({})", [text, *counts], name=name), type_
        function = functions()[name]
        if len(arguments) != 1:
            message = f"{name} takes one value of a row in MATCH_RECOGNIZE: {name}(A.v)."
            raise SqlRejected(message, reference)
        (argument,) = arguments
        if isinstance(argument, exp.Star) or isinstance(argument.unnest(), exp.Literal):
            return spark_sql("{name}(*)", name=name), function.result_type(BIGINT)
        if isinstance(argument, exp.Distinct):
            message = (
                "DISTINCT is not supported in MATCH_RECOGNIZE, as in Flink. Aggregate the rows in windows or groups, "
                "or collect them by ARRAY_AGG."
            )
            raise SqlRejected(message, reference)
        text, type_ = self._of_row(_plain_columns(argument))
        return spark_sql("{name}({})", text, name=name), function.result_type(type_)

    def _of_row(self, expression: Expr) -> tuple[str, Type]:
        for inner in expression.find_all(exp.Anonymous):
            if is_reference(inner):
                message = f"{inner.name.upper()} cannot stand within another of FIRST, LAST and the aggregates."
                raise SqlRejected(message, inner)
        variables = {column.table for column in expression.find_all(exp.Column)}
        if len(variables) > 1:
            message = (
                "one of FIRST, LAST and the aggregates is about the rows of one variable, as in Flink. Name one, or "
                "take the values one by one: LAST(A.v) + LAST(B.v)."
            )
            raise SqlRejected(message, expression)

        def type_of(text: str) -> Type:
            return self.analyzer.type_of(without_variables(text, self.variables), self.schema, self.node, "")

        text = _OfRows(self.names, type_of).write(expression)
        return text, type_of(text)


def _filled(node: Expr, values: Mapping[str, Expr]) -> Expr:
    """A part of an expression with the values of a match in place of their columns."""

    def value(each: Expr) -> Expr:
        return values.get(each.name, each) if isinstance(each, exp.Column) else each

    return node.copy().transform(value, copy=False)


def _plain_columns(argument: Expr) -> Expr:
    """The argument without FIRST and LAST: within an aggregate they mean the aggregated row, as in Flink."""

    def plain(node: Expr) -> Expr:
        is_position = isinstance(node, exp.Anonymous) and node.name.upper() in ("FIRST", "LAST") and node.expressions
        return node.expressions[0] if is_position else node

    return argument.copy().transform(plain, copy=False)


def _variable(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else quote(name)
