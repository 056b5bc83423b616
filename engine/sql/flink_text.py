"""Bound expressions as Flink SQL over the columns of a node, which documents keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from engine.sql.algebra import Expr
from engine.sql.dialect import Flink


@dataclass(frozen=True)
class Typed:
    """A bound expression. names: by its column, the name in the node's input."""

    expression: Expr
    names: Mapping[str, str]

    @property
    def flink(self) -> str:
        """Flink SQL over the columns of the node's input."""
        return flink_text(self.expression, self.names)


def flink_text(expression: Expr, names: Mapping[str, str]) -> str:
    """The expression as Flink SQL. names: by bound column, its name in the node's input."""

    def called(node: Expr) -> Expr:
        if isinstance(node, exp.Column) and node.name in names:
            node.this.replace(exp.to_identifier(names[node.name], quoted=True))
        return node

    return expression.unnest().copy().transform(called, copy=False).sql(dialect=Flink, normalize_functions=False)
