"""Expressions in Flink SQL as their users typed them in documents, bound to columns: Spark SQL with Flink's meaning.

The same text means the same as in a script: it is parsed, bound and written by the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, TypeVar

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Marks, Parameters
from engine.contract.source import Source
from engine.errors import ExpressionError, StudioError
from engine.expressions.allowed import TOO_DEEP
from engine.expressions.flink_sql import FlinkSql
from engine.functions import FUNCTIONS
from engine.functions.refused import OF_QUERIES
from engine.joins.sides import seen
from engine.model.pipeline import Node
from engine.model.schema import Schema
from engine.model.types import quote
from engine.sql.algebra import Expr, Scan, Table
from engine.sql.clauses.match_recognize import bound
from engine.sql.clauses.row_columns import rows_in
from engine.sql.functions.expressions import Writer
from engine.sql.match_values import OfMatches
from engine.sql.parsing import tokens_of, trees_of
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

Configured = TypeVar("Configured", bound=Parameters)

_BEFORE: Final = "SELECT\n"
"""Of one line, so that places in what follows are one line further down."""


def typed(node: str, operator: Configured, inputs: Sequence[Schema], analyzer: Analyzer, folder: Path) -> Configured:
    """The operator with bound expressions. inputs: the columns of each port.

    Raises ExpressionError with the field, the text and the place in it.
    """

    @cache
    def columns() -> Schema:
        if isinstance(operator, Source):
            return operator.read_schema(node, folder)
        return seen(inputs)

    def spark(text: str, field: str, marks: Marks) -> str:
        if not isinstance(text, FlinkSql):
            return text
        variables = operator.variables if isinstance(operator, Operator) else ()
        written = text if text.is_bound else spark_of(text.flink, columns(), analyzer, node, field, variables)
        # Where a column can be chosen, it is called by its name.
        name = next((name for name in columns().names if quote(name) == written), None)
        return written.bound(name) if marks.get("column") and name is not None else written

    bound_operator: Configured = operator.with_expressions(spark)
    return bound_operator


def spark_of(
    text: str, schema: Schema, analyzer: Analyzer, node: str = "", field: str = "", variables: Sequence[str] = ()
) -> FlinkSql:
    """A text in Flink SQL over these columns, bound to them. variables: of a pattern, that may precede a column.

    Raises ExpressionError.
    """
    try:
        known = _known(text, schema, analyzer, tuple(variables))
        if not known:
            known.append(_spark_of(text, schema, analyzer, tuple(variables)))
        return known[0]
    except SqlRejected as error:
        is_long = "\n" in text.strip() and error.line > 1
        place = f"line {error.line - 1}, column {error.column}: " if is_long else ""
        raise ExpressionError(node, field, text, f"{place}{error.reason}") from error
    except ExpressionError as error:
        raise ExpressionError(node, field, text, error.reason) from error
    except StudioError as error:
        raise ExpressionError(node, field, text, error.sentence) from error
    except RecursionError as error:
        raise ExpressionError(node, field, text, TOO_DEEP) from error


def note_bound(expression: FlinkSql, schema: Schema, analyzer: Analyzer) -> None:
    """What a query bound is not bound again when its document is planned. schema: the columns that it is over."""
    known = _known(expression.flink, schema, analyzer, ())
    if not known:
        known.append(expression.typed(expression.flink))


@lru_cache(maxsize=8192)
def _known(text: str, schema: Schema, analyzer: Analyzer, variables: tuple[str, ...]) -> list[FlinkSql]:
    """What a text is bound to; nothing before it was bound."""
    return []


def _spark_of(text: str, schema: Schema, analyzer: Analyzer, variables: tuple[str, ...]) -> FlinkSql:
    tree = expression_in(text)
    scope = Scope.of(Scan(Table(Node(id="input", operator=""), schema.names, rows=rows_in(schema))), None)
    names = {name: name for name in schema.names}
    if not variables:
        _require_one_record(tree)
    else:
        return OfMatches(schema, names, variables, analyzer, "").whole(bound(tree, scope, variables)).typed(text)
    writer = Writer(names, lambda part: analyzer.type_of(part, schema, "", ""), schema)
    return writer.result(scope.bind(tree)).typed(text)


def _require_one_record(tree: Expr) -> None:
    """Raises SqlRejected for a function that only a query has."""
    for call in tree.find_all(exp.Anonymous):
        name = call.name.upper()
        if name in OF_QUERIES:
            raise SqlRejected(OF_QUERIES[name], call)
        if name in functions() and name not in FUNCTIONS:
            message = f"{call.name}() is about several records, but an expression sees one at a time. Aggregate before."
            raise SqlRejected(message, call)


def expression_in(text: str) -> Expr:
    """The tree of a text that is one expression. Raises SqlRejected."""
    whole = f"{_BEFORE}{text}"
    trees = trees_of(tokens_of(whole), whole)
    parts = {name for tree in trees for name, part in tree.args.items() if part}
    values: Sequence[Expr] = trees[0].expressions if len(trees) == 1 and parts == {"expressions"} else ()
    if len(values) != 1:
        message = "it is not one expression. Write one value over the columns, such as amount * 2."
        raise SqlRejected(message)
    (value,) = values
    if isinstance(value, exp.Alias):
        message = (
            f"{value.alias!r} is left over after the expression. Leave it out, or write what is missing before it."
        )
        raise SqlRejected(message, value)
    if isinstance(value, exp.Star | exp.Window):
        message = "an expression sees one record at a time: it has no * and no OVER. Name a column."
        raise SqlRejected(message, value)
    return value
