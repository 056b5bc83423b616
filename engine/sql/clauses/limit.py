"""ORDER BY ... LIMIT ... OFFSET: a Top N of the whole table; without ORDER BY, the first rows by arrival."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from engine.model.free_names import free_name
from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Join,
    Rank,
    Relation,
    Select,
    Sorted,
    SortKey,
    Union,
    is_free,
    mentioned,
    plain,
    ref,
)
from engine.sql.clauses.row_number import sort_keys, with_columns
from engine.sql.empty import Empty
from engine.sql.pushdown import selected
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope


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
        return selected(Sorted(relation, by, order), tuple((name, ref(name)) for name in columns))
    count = _count(limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression, limit)
    skipped = _count(offset.expression, offset) if offset is not None else 0
    if count < 1:
        return Empty(relation)
    relation, sorted_by = _computed(relation, keys)
    below, sorted_by, items = _below_projection(relation, sorted_by)
    rank = Rank(
        input=below,
        function="ROW_NUMBER",
        partition=(),
        order=sorted_by,
        name=free_name("rank", below.columns),
        at=order or limit,
        start=skipped + 1,
        end=skipped + count,
        keeps=_selected(below, [*items.values(), *(key.expression for key in sorted_by)]),
    )
    return selected(rank, tuple((name, items[name]) for name in columns))


def _below_projection(
    relation: Relation, keys: tuple[SortKey, ...]
) -> tuple[Relation, tuple[SortKey, ...], dict[str, Expr]]:
    """The input of a projection, the sort keys over it, and the projection's items to compute above the limit.

    So a change of an unused column retracts a row and emits it again. The relation itself is returned if a key is
    computed, or if Flink does not find this plan cheaper. Source: Calcite's SortProjectTransposeRule.
    """
    items = dict(relation.items) if isinstance(relation, Select) else {}
    places = [plain(items.get(key.expression.name, exp.Null())) for key in keys]
    if not isinstance(relation, Select) or None in places or not _is_cheaper_below(relation):
        return relation, keys, {name: ref(name) for name in relation.columns}
    moved = (
        SortKey(ref(place or "", key.expression), key.descending, key.nulls_first)
        for place, key in zip(places, keys, strict=True)
    )
    return relation.input, tuple(moved), items


def _is_cheaper_below(relation: Select) -> bool:
    """Whether Flink finds a projection cheaper above the limit than below it.

    Directly above a condition, only computed items cost something; above a limit there are few rows anyway.
    Source: Flink CommonCalc.
    """
    match relation.input:
        case Rank(is_limit=False) | Filter():
            return not all(is_free(item) for _, item in relation.items)
        case _:
            return True


def _selected(below: Relation, items: Iterable[Expr]) -> tuple[str, ...]:
    """The columns below that the limit keeps: all of them, unless a projection moves further down than that.

    Past a filter, a union or a join only the columns go that are read, and those of the join's condition, or the first
    one of a side. A rank keeps its number, an aggregate its groups, a limit what it has.
    Source: Flink PROJECT_RULES, PruneAggregateCallRule.
    """
    read = frozenset().union(*map(mentioned, items))
    match below:
        case Filter() | Union():
            pass
        case Rank(is_limit=True):
            return below.keeps
        case Rank(name=number):
            read |= {number}
        case Aggregate(groups=groups):
            read |= dict(groups).keys()
        case Join(as_of=None, condition=condition):
            read = read.union(*map(mentioned, condition))
            sides = (below.left.columns, tuple(below.right_names.values()))
            read |= {side[0] for side in sides if read.isdisjoint(side)}
        case _:
            return below.columns
    return tuple(name for name in below.columns if name in read)


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
