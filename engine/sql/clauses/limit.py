"""ORDER BY ... LIMIT ... OFFSET: a Top N of the whole table; without ORDER BY, the first rows by arrival."""

from __future__ import annotations

from sqlglot import exp

from engine.sql.algebra import (
    Expr,
    Relation,
    Select,
    Sorted,
    SortKey,
    ref,
)
from engine.sql.clauses.row_number import sort_keys, with_columns
from engine.sql.empty import Empty
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope
from engine.sql.written import Limit


def limited(relation: Relation, query: Expr, scope: Scope) -> Relation:
    """The relation with its query's ORDER BY, LIMIT and OFFSET. Raises SqlRejected for OFFSET alone."""
    order, limit, offset = (query.args.get(clause) for clause in ("order", "limit", "offset"))
    if order is None and limit is None and offset is None:
        return relation
    columns = relation.columns
    keys = [
        SortKey(scope.bind(_by_place(key.expression, columns)), key.descending, key.nulls_first)
        for key in (sort_keys(order, query) if order is not None else ())
    ]
    if limit is None:
        if order is None or offset is not None:
            message = "OFFSET needs LIMIT: a stream has no end. Add a limit, for example LIMIT 10."
            raise SqlRejected(message, offset)
        relation, by = _computed(relation, keys)
        return Select(Sorted(relation, by, order), tuple((name, ref(name)) for name in columns))
    count = _count(count_of(limit), limit)
    skipped = _count(offset.expression, offset) if offset is not None else 0
    if count < 1:
        return Empty(relation)
    relation, sorted_by = _computed(relation, keys)
    first = Limit(relation, sorted_by, skipped + 1, skipped + count, order or limit)
    return Select(first, tuple((name, ref(name)) for name in columns))


def count_of(limit: Expr) -> Expr:
    """What LIMIT n or FETCH FIRST n ROWS ONLY has as n; of FETCH FIRST ROW ONLY it is 1."""
    count: Expr | None = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    return count if count is not None else exp.Literal.number(1)


def _computed(relation: Relation, keys: list[SortKey]) -> tuple[Relation, tuple[SortKey, ...]]:
    """The relation with a column for each key, and the keys as columns."""
    relation, names = with_columns(relation, [key.expression for key in keys])
    by = (
        SortKey(ref(name, key.expression), key.descending, key.nulls_first)
        for name, key in zip(names, keys, strict=True)
    )
    return relation, tuple(by)


def ordinal(key: Expr, columns: int) -> int | None:
    """The index of the column that a key names by its place, as in ORDER BY 2; None for other keys.

    Raises SqlRejected if there is no such column.
    """
    if not isinstance(key, exp.Literal) or not key.is_int:
        return None
    place = int(key.name)
    if not 1 <= place <= columns:
        message = f"ORDER BY {place} means the column at that place, but there are {columns}. Name a column instead."
        raise SqlRejected(message, key)
    return place - 1


def _by_place(expression: Expr, columns: tuple[str, ...]) -> Expr:
    place = ordinal(expression, len(columns))
    return expression if place is None else ref(columns[place], expression)


def _count(expression: Expr | None, at: Expr) -> int:
    bare = expression.unnest() if expression is not None else None
    if isinstance(bare, exp.Literal) and bare.is_int:
        return int(bare.name)
    message = "LIMIT and OFFSET take a number."
    raise SqlRejected(message, at)
