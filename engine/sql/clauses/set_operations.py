"""UNION, INTERSECT and EXCEPT, with and without ALL."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from engine.sql.algebra import Expr, Relation
from engine.sql.rejected import SqlRejected
from engine.sql.written import SetKind, SetOperation


def set_operation(query: exp.SetOperation, read: Callable[[Expr], Relation]) -> Relation:
    """Both sides, combined. Raises SqlRejected if their numbers of columns differ."""
    left, right = read(query.this), read(query.expression)
    if len(left.columns) != len(right.columns):
        message = (
            f"both sides of {query.key.upper()} need the same columns, but the left one has {len(left.columns)} "
            f"({', '.join(left.columns)}) and the right one {len(right.columns)} ({', '.join(right.columns)})."
        )
        raise SqlRejected(message, query.expression)
    kind = SetKind(query.key.upper())
    return SetOperation(kind, left, right, query.args.get("distinct") is not False, query)
