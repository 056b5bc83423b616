"""UNION, INTERSECT and EXCEPT, with and without ALL.

Source: Flink's rewriting: UNION is UNION ALL under an aggregate; INTERSECT and EXCEPT are a semi and an
anti join on all columns, in which NULL equals NULL, under an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from engine.joins import JoinKind
from engine.sql.algebra import Expr, Join, Relation, Select, Union, ref
from engine.sql.grouping import distinct
from engine.sql.pushdown import selected
from engine.sql.rejected import SqlRejected


def set_operation(query: exp.SetOperation, read: Callable[[Expr], Relation]) -> Relation:
    """Both sides, put together. Raises SqlRejected where they have different numbers of columns."""
    left, right = read(query.this), read(query.expression)
    if len(left.columns) != len(right.columns):
        message = (
            f"both sides of {query.key.upper()} need the same columns, but the left one has {len(left.columns)} "
            f"({', '.join(left.columns)}) and the right one {len(right.columns)} ({', '.join(right.columns)})."
        )
        raise SqlRejected(message, query.expression)
    is_distinct = query.args.get("distinct") is not False
    if isinstance(query, exp.Union):
        return _union(left, right, query, is_distinct=is_distinct)
    if not is_distinct:
        message = f"{query.key.upper()} ALL is not supported. Leave out ALL, or join on the columns."
        raise SqlRejected(message, query.expression)
    kind = JoinKind.SEMI if isinstance(query, exp.Intersect) else JoinKind.ANTI
    return distinct(_on_all_columns(left, right, kind, query), query)


def _union(left: Relation, right: Relation, query: Expr, *, is_distinct: bool) -> Relation:
    inputs = [part for side in (left, right) for part in (side.inputs if isinstance(side, Union) else (side,))]
    named = tuple(_called_as(left, part) for part in inputs)
    whole = Union(named, query)
    return distinct(whole, query) if is_distinct else whole


def _called_as(first: Relation, other: Relation) -> Relation:
    if first.columns == other.columns:
        return other
    pairs = zip(first.columns, other.columns, strict=True)
    found = selected(other, tuple((name, ref(column)) for name, column in pairs))
    assert isinstance(found, Select)
    return found


def _on_all_columns(left: Relation, right: Relation, kind: JoinKind, at: Expr) -> Join:
    shape = Join(left, right, kind, (), at)
    conditions = tuple(
        exp.NullSafeEQ(this=ref(a), expression=ref(shape.right_names[b]))
        for a, b in zip(left.columns, right.columns, strict=True)
    )
    return Join(left, right, kind, conditions, at)
