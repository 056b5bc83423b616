"""Spark SQL expressions as values: parsed once, they answer the questions of planner, replay and runtime.

parsing      tokens and tree of a text, by sqlglot
spellings    Flink's spellings as Spark SQL
inference    the type of an expression; calls, part_types: of its parts; signatures: of functions; untyped: why none
coercion     Spark's conversions between types
scalars      functions of Flink's as Spark SQL
functions    the functions of Spark SQL: the allowed ones, and why the others are refused
allowed      whether Spark may evaluate an expression
analyzer     the checks of an expression: whether it is allowed, and its type
bounds       the numbers that a value may be
costs        guards of what one record may cost
changing     whether a row may stop meeting a condition
conditions   a subset of Spark SQL on a pair of rows, for the kernels of joins; division: of their numbers
failing      the condition under which an expression fails
vectors      computations on whole Arrow columns, without sqlglot: workers load this
parts        compiled parts with their types: type coercion, and what may fail
arrow        the expressions with the same meaning on Arrow as on Spark, compiled to vectors
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Self, cast

from sqlglot import exp

from engine.expressions.bounds import fixed, interval, required
from engine.expressions.changing import may_cease
from engine.expressions.conditions import compile_condition
from engine.expressions.parsing import UNREADABLE, called, tree_of
from engine.model.schema import Column, Schema
from engine.model.value_interval import ANY_VALUE, ValueInterval

if TYPE_CHECKING:
    from engine.expressions.vectors import ArrowFunction

__all__ = ["Expression", "compile_condition", "mentioned"]


@dataclass(frozen=True)
class Expression:
    """A Spark SQL expression. `sql` is the text as written; two expressions are equal if it is equal."""

    sql: str
    _tree: exp.Expr | None = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The expression of a text. An unreadable text is an expression about which nothing is known."""
        return cast(Self, _parse(text))

    def columns(self, schema: Schema) -> frozenset[str]:
        """The columns that the expression mentions, and possibly more, but never fewer."""
        if self._tree is None or any(map(_takes_all, self._tree.walk())):
            return frozenset(schema.names)
        names = {name.name.lower() for name in self._tree.find_all(exp.Identifier)}
        return frozenset(column.name for column in schema if column.name.lower() in names)

    def plain_column(self, schema: Schema) -> Column | None:
        """The column that is passed on unchanged, or None if something is computed."""
        if self._tree is None:
            # A word of the grammar, such as `select`, may be the name of a column.
            return _column(self.sql, schema)
        return _column_of(self._tree, schema) if isinstance(self._tree, exp.Column) else None

    def cast_column(self, schema: Schema) -> Column | None:
        """The column that is passed on, unchanged or cast to another type; None if something else is computed."""
        tree = self._tree
        if isinstance(tree, exp.Cast) and not tree.args.get("safe"):
            return _column_of(tree.this, schema)
        return self.plain_column(schema)

    def packed_columns(self, schema: Schema) -> frozenset[str]:
        """The columns in a to_json(struct(...)) of columns, such as a NULL-safe join key; empty for anything else."""
        tree = self._tree
        packed = tree.expressions if tree is not None and called(tree) == "to_json" else []
        if len(packed) != 1 or called(packed[0]) != "struct":
            return frozenset()
        columns = [_column_of(part.unalias(), schema) for part in packed[0].expressions]
        return frozenset(column.name for column in columns if column is not None) if all(columns) else frozenset()

    def interval(self, schema: Schema, intervals: Mapping[str, ValueInterval]) -> ValueInterval:
        """The numbers that the value may be. intervals: the numbers that columns may hold."""

        def of(value: exp.Expr) -> ValueInterval:
            column = _column_of(value, schema)
            return ANY_VALUE if column is None else intervals.get(column.name, ANY_VALUE)

        return ANY_VALUE if self._tree is None else interval(self._tree, of)

    def required(self, schema: Schema, name: str) -> ValueInterval:
        """The numbers of a column for which the expression may be true as a condition."""

        def is_it(value: exp.Expr) -> bool:
            column = _column_of(value, schema)
            return column is not None and column.name == name

        return ANY_VALUE if self._tree is None else required(self._tree, is_it)

    def fixed(self, schema: Schema) -> Collection[str]:
        """The columns that are one number where the expression is true as a condition."""
        columns = (_column_of(value, schema) for value in (fixed(self._tree) if self._tree is not None else ()))
        return [column.name for column in columns if column is not None]

    def may_cease(self, schema: Schema, movement: Mapping[str, int]) -> bool:
        """Whether Flink assumes that a row may stop meeting this condition. movement: directions of moving columns."""

        def of(value: exp.Expr) -> int | None:
            column = _column_of(value, schema)
            return None if column is None else movement.get(column.name)

        return bool(movement) and (self._tree is None or may_cease(self._tree, of))

    def arrow(self, schema: Schema) -> ArrowFunction | None:
        """The expression on whole Arrow columns of this schema; None if the result could differ from Spark's."""
        return _on_arrow(self, schema)


def mentioned(texts: Iterable[str | None], schema: Schema) -> tuple[str, ...]:
    """The columns of a schema, in its order, that at least one of the expressions mentions."""
    column_names = frozenset[str]().union(
        *(Expression.parse(text).columns(schema) for text in texts if text is not None)
    )
    return tuple(name for name in schema.names if name in column_names)


@lru_cache(maxsize=8192)
def _parse(text: str) -> Expression:
    try:
        tree = tree_of(text)
    except UNREADABLE:
        tree = None
    return Expression(text, tree)


def _takes_all(part: exp.Expr) -> bool:
    """Whether it may refer to columns without naming them: all by `struct(*)`, any by `identifier('a')`."""
    return isinstance(part, exp.Star) or called(part) == "identifier"


@lru_cache(maxsize=8192)
def _on_arrow(expression: Expression, schema: Schema) -> ArrowFunction | None:
    from engine.expressions.arrow import compiled

    return None if expression._tree is None else compiled(expression.sql, expression._tree, schema)


def _column(name: str, schema: Schema) -> Column | None:
    """The column of a name, ignoring case, as Spark does; None also for two columns, which are ambiguous to Spark."""
    named = [column for column in schema if column.name.lower() == name.lower()]
    return named[0] if len(named) == 1 else None


def _column_of(value: exp.Expr, schema: Schema) -> Column | None:
    while isinstance(value, exp.Paren):
        value = value.this
    return _column(value.name, schema) if isinstance(value, exp.Column) and not value.table else None
