"""A query as relational algebra: SQL clauses are read into it, and nodes are made from it.

Every relation knows its columns. Expressions are sqlglot's with bound columns: a column names a column of
the relation below, without a table. Names are unique within a relation; a join adds a number to taken names
of its right side (k, k0), as Flink does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sqlglot import exp

from engine.expressions.parsing import mapped
from engine.joins.sides import JoinKind
from engine.model.free_names import free_name
from engine.model.pipeline import Node
from engine.model.types import Type
from engine.model.windowing import Windowing
from engine.patterns.after_match import Skip

Expr = exp.Expr
Named = tuple[str, Expr]


class Relation(Protocol):
    """Something with columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns in order."""


@dataclass(frozen=True)
class Unary:
    """The base of relations made of one other; by default it has the same columns."""

    input: Relation

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True)
class Table:
    """A table that a query can name: a source node and its columns. proctime: columns that represent the arrival order.

    rows: the columns with ROW values, with their types. hidden: the columns that `*` does not have. clocked: the
    processing times that have the values of the recorded clock; they are among the columns. tells_arrival: whether its
    rows can have a column with the times at which they arrived. not_null: the columns that are declared NOT NULL.
    """

    node: Node
    columns: tuple[str, ...]
    proctime: tuple[str, ...] = ()
    rows: tuple[tuple[str, Type], ...] = ()
    hidden: tuple[str, ...] = ()
    clocked: tuple[str, ...] = ()
    tells_arrival: bool = False
    not_null: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in queries."""
        return self.node.id


@dataclass(frozen=True)
class Scan:
    """A table."""

    table: Table

    @property
    def columns(self) -> tuple[str, ...]:
        return self.table.columns + self.table.proctime


@dataclass(frozen=True)
class Values:
    """Rows of literals."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Expr, ...], ...]
    at: Expr


@dataclass(frozen=True)
class Select(Unary):
    """Computed columns."""

    items: tuple[Named, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items)


@dataclass(frozen=True)
class Filter(Unary):
    """The rows that meet a condition."""

    condition: Expr


@dataclass(frozen=True)
class Windowed(Unary):
    """A window table function: each row with the bounds of its windows. is_group_window: it is written in GROUP BY."""

    windowing: Windowing
    time: str
    at: Expr
    partition_by: tuple[str, ...] = ()
    is_group_window: bool = False

    @cached_property
    def bounds(self) -> tuple[str, str, str]:
        """The names of window_start, window_end and window_time."""
        start = free_name("window_start", self.input.columns)
        end = free_name("window_end", (*self.input.columns, start))
        return start, end, free_name("window_time", (*self.input.columns, start, end))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns + self.bounds


@dataclass(frozen=True)
class Aggregate(Unary):
    """Groups, then the results of calls: `Anonymous` functions, optionally within a `Filter` (WHERE)."""

    groups: tuple[Named, ...]
    calls: tuple[Named, ...]
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in (*self.groups, *self.calls))


@dataclass(frozen=True)
class SortKey:
    """One column of an order. nulls_first: None if NULL is the lowest value, as in Flink."""

    expression: Expr
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, kw_only=True)
class _Ranking(Unary):
    """is_narrow: a projection to what its query reads is directly below, without keys that the query does not read."""

    function: str
    partition: tuple[str, ...]
    order: tuple[SortKey, ...]
    name: str
    at: Expr
    is_narrow: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, self.name)


@dataclass(frozen=True, kw_only=True)
class Numbered(_Ranking):
    """ROW_NUMBER, RANK or DENSE_RANK without a range of ranks yet."""


@dataclass(frozen=True, kw_only=True)
class Rank(_Ranking):
    """The rows within a range of ranks, with their rank as the last column. end: a number or a column.

    keeps: the columns of its input that it keeps even if they are unused.
    """

    start: int
    end: int | str
    keeps: tuple[str, ...] = ()

    @property
    def is_limit(self) -> bool:
        """Whether it comes from LIMIT, which keeps the columns that the query below selects."""
        return bool(self.keeps)


@dataclass(frozen=True)
class Over(Unary):
    """Aggregates OVER rows: all calls share one partition, order and frame. is_narrow: as of a ranking."""

    calls: tuple[Named, ...]
    partition: tuple[str, ...]
    order: tuple[SortKey, ...]
    frame: exp.WindowSpec | None
    at: Expr
    is_narrow: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns + tuple(name for name, _ in self.calls)


@dataclass(frozen=True)
class Join:
    """A join on any condition. as_of: the left time column of FOR SYSTEM_TIME AS OF."""

    left: Relation
    right: Relation
    kind: JoinKind
    condition: tuple[Expr, ...]
    at: Expr
    as_of: Expr | None = None

    @cached_property
    def right_names(self) -> Mapping[str, str]:
        """By right column, its name in the condition and in the output."""
        return renamed(self.left.columns, self.right.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        right = () if self.kind.is_left_only else tuple(self.right_names.values())
        return self.left.columns + right


@dataclass(frozen=True)
class Union:
    """UNION ALL, column by column in order.

    apart: the two sides with their own DISTINCT, which stays where the rows of such a side have to be cast. distinct:
    the inputs of such sides, as ranges.
    """

    inputs: tuple[Relation, ...]
    at: Expr
    apart: Union | None = None
    distinct: tuple[range, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.inputs[0].columns


@dataclass(frozen=True)
class Repeated(Unary):
    """Each row repeated as often as the column `times` says; the output does not have this column."""

    times: str
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.input.columns if name != self.times)


@dataclass(frozen=True)
class Sorted(Unary):
    """All rows in an order, without LIMIT. is_fixed: inside a view, whose readers cannot drop the order."""

    order: tuple[SortKey, ...]
    at: Expr
    is_fixed: bool = False


@dataclass(frozen=True)
class Unnested(Unary):
    """Each row once per element of a collection. keeps_empty: pad rows without elements. names: the element columns."""

    collection: Expr
    names: tuple[str, ...]
    position: str | None
    keeps_empty: bool
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        position = (self.position,) if self.position is not None else ()
        return (*self.input.columns, *self.names, *position)


@dataclass(frozen=True)
class Computed(Unary):
    """Each row with the results of Python functions."""

    calls: tuple[Named, ...]
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns + tuple(name for name, _ in self.calls)


@dataclass(frozen=True)
class Matched(Unary):
    """One row per match of a pattern. measures: values of the match. definitions: the condition of each variable.

    In both, the table of a column is the pattern variable whose rows it refers to; without a table, all rows.
    """

    partition: tuple[str, ...]
    order: tuple[SortKey, ...]
    measures: tuple[Named, ...]
    pattern: str
    definitions: tuple[Named, ...]
    skip: Skip
    skip_to: str | None
    within_ms: int
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.partition, *(name for name, _ in self.measures))


@dataclass(frozen=True, eq=False)
class Called:
    """An operator called as a table function, over its inputs in the order of its ports."""

    operator: str
    inputs: tuple[Relation, ...]
    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    at: Expr


def renamed(left: Sequence[str], right: Sequence[str]) -> Mapping[str, str]:
    """By right column, its name next to the left columns."""
    names: dict[str, str] = {}
    for column in right:
        names[column] = free_name(column, (*left, *names.values()))
    return names


def ref(name: str, at: Expr | None = None) -> exp.Column:
    """A bound column. at: the expression that it replaces, for the place in errors."""
    identifier = exp.to_identifier(name, quoted=True)
    if at is not None:
        identifier.meta.update(next((node.meta for node in at.walk() if "line" in node.meta), {}))
    return exp.Column(this=identifier)


def plain(expression: Expr) -> str | None:
    """The name of the column if the expression is just a column, else None."""
    bare = expression.unnest()
    return bare.name if isinstance(bare, exp.Column) else None


def is_free(expression: Expr) -> bool:
    """Whether an expression is free by Flink's cost of a projection: columns and literals are, and a CAST of them."""
    bare = expression.unnest()
    if isinstance(bare, exp.Cast):
        return is_free(bare.this)
    return isinstance(bare, exp.Column | exp.Literal | exp.Boolean | exp.Null | exp.Star)


def mentioned(expression: Expr) -> frozenset[str]:
    """The columns in a bound expression."""
    return frozenset(column.name for column in expression.find_all(exp.Column))


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The parts of a condition between ANDs."""
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        for term in bare.flatten():
            yield from conjuncts(term)
    else:
        yield bare


def together(conditions: Sequence[Expr]) -> Expr:
    """The conditions joined by AND."""
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = exp.And(this=whole, expression=condition)
    return whole


def substituted(expression: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with its columns replaced by other expressions."""
    if isinstance(expression, exp.Column):
        value = values.get(expression.name, expression)
        return value if isinstance(value, exp.Column | exp.Literal) else exp.Paren(this=value)
    return mapped(expression, lambda part: substituted(part, values))
