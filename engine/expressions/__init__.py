"""Spark SQL expressions as values: parsed once, they answer what planner, replay and runtime ask of them.

parsing      words and tree of a text, by sqlglot
spellings    what Flink writes otherwise, as Spark SQL
functions    the functions of Spark SQL: which may be called, and why not the others
allowed      whether an expression may be given to Spark
bounds       which values are never below zero
changing     whether a row may cease to meet a condition
conditions   a part of Spark SQL on a pair of rows, for the kernels of joins
vectors      what computes on whole Arrow columns, without sqlglot: workers load this
parts        compiled parts with their types: how two become one type, and what may fail
arrow        the expressions that mean the same there as on Spark, compiled to vectors
projections  a native step's projection as one function of Arrow columns, or as a choice of columns
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Self, cast

from sqlglot import exp

from engine.expressions.allowed import is_read, refusal, same_words
from engine.expressions.bounds import is_number, required
from engine.expressions.changing import may_cease
from engine.expressions.conditions import compile_condition
from engine.expressions.parsing import UNREADABLE, Word, tree_of, words_of
from engine.model.schema import Column, Schema

if TYPE_CHECKING:
    from engine.expressions.vectors import ArrowFunction

__all__ = ["Expression", "compile_condition", "mentioned"]


@dataclass(frozen=True)
class Expression:
    """A Spark SQL expression. `sql` is the text as it was written, and all that two of them are compared by."""

    sql: str
    _words: tuple[Word, ...] | None = field(compare=False, repr=False)
    _tree: exp.Expr | None = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The expression of a text. What cannot be read is one as well, of which nothing is known."""
        return cast(Self, _parse(text))

    def columns(self, schema: Schema) -> frozenset[str]:
        """The columns that are mentioned. A word that is no column may be taken for one, never the other way round.

        Spark's analyzer knows more, but not in a way that classic PySpark and Spark Connect share.
        """
        words = self._words
        if words is None or self._may_take_all(words):
            return frozenset(schema.names)
        names = {word.text for word in words if word.is_name}
        return frozenset(column.name for column in schema if column.name.lower() in names)

    def plain_column(self, schema: Schema) -> Column | None:
        """The column that is passed on as it is, or None where something is computed."""
        # By the word, not by the tree: where there is a column `current_date`, Spark takes the bare word for it.
        if self._words is None or len(self._words) != 1 or not self._words[0].is_name:
            return None
        return _column(self._words[0].text, schema)

    def cast_column(self, schema: Schema) -> Column | None:
        """The column that is passed on, as it is or with another type."""
        tree = self._tree
        if isinstance(tree, exp.Cast) and not tree.args.get("safe"):
            return _column_of(tree.this, schema)
        return self.plain_column(schema)

    def packed_columns(self, schema: Schema) -> frozenset[str]:
        """The columns that a text holds whole, as a join's key in which NULL meets NULL does; none of anything else."""
        tree = self._tree
        if not (isinstance(tree, exp.JSONFormat) and isinstance(tree.this, exp.Struct)) or tree.args.get("options"):
            return frozenset()
        parts = [part.expression if isinstance(part, exp.PropertyEQ) else part for part in tree.this.expressions]
        columns = [_column_of(part, schema) for part in parts]
        return frozenset(column.name for column in columns if column is not None) if all(columns) else frozenset()

    def non_negative(self, schema: Schema, known: Collection[str]) -> bool:
        """Whether the value is never below zero. known: the columns that are not."""
        column = self.cast_column(schema)
        if column is not None:
            return column.name in known
        return self._tree is not None and is_number(self._tree)

    def required_non_negative(self, schema: Schema) -> frozenset[str]:
        """The columns that this, as a condition, requires to be zero or more."""
        values = () if self._tree is None else required(self._tree)
        columns = (_column_of(value, schema) for value in values)
        return frozenset(column.name for column in columns if column is not None)

    def may_cease(self, schema: Schema, movement: Mapping[str, int]) -> bool:
        """Whether Flink thinks that a row may cease to meet this condition. movement: where columns move that do."""

        def of(value: exp.Expr) -> int | None:
            column = _column_of(value, schema)
            return None if column is None else movement.get(column.name)

        return bool(movement) and (self._tree is None or may_cease(self._tree, of))

    def refusal(self, schema: Schema) -> str | None:
        """Why Spark may not be given it over these columns, as a sentence; None if it may."""
        return refusal(self.sql, schema)

    @property
    def is_read(self) -> bool:
        """Whether its parts can be judged. Of what has none, Spark may know why."""
        return is_read(self.sql)

    @property
    def same_words(self) -> str | None:
        """The same in other words, where those of the text may not be what they seem; else None."""
        return same_words(self.sql)

    def arrow(self, schema: Schema) -> ArrowFunction | None:
        """The same on whole Arrow columns of this schema; None where that could mean something else than on Spark."""
        return _on_arrow(self, schema)

    def _may_take_all(self, words: tuple[Word, ...]) -> bool:
        """Whether columns may be meant that no word names: all by `struct(*)`, any by `identifier('a')`."""
        marks = [word.text for word in words if not word.is_quoted]
        if "identifier" in marks[:-1] and marks[marks.index("identifier") + 1] == "(":
            return True
        return "*" in marks and (self._tree is None or self._tree.find(exp.Star) is not None)


def mentioned(texts: Iterable[str | None], schema: Schema) -> tuple[str, ...]:
    """The columns of a schema, in its order, that any of some expressions mentions."""
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
    return Expression(text, words_of(text), tree)


@lru_cache(maxsize=8192)
def _on_arrow(expression: Expression, schema: Schema) -> ArrowFunction | None:
    from engine.expressions.arrow import compiled

    return None if expression._tree is None else compiled(expression.sql, expression._tree, schema)


def _column(name: str, schema: Schema) -> Column | None:
    """The column of one name; Spark does not look at its case."""
    return next((column for column in schema if column.name.lower() == name.lower()), None)


def _column_of(value: exp.Expr, schema: Schema) -> Column | None:
    while isinstance(value, exp.Paren):
        value = value.this
    return _column(value.name, schema) if isinstance(value, exp.Column) and not value.table else None
