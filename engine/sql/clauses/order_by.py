"""ORDER BY of a SELECT: each key is an item of the select list, or one more item, which the query does not output.

A name, also within an expression or a call, is first that of a selected column, and else a column of FROM.
Source: Calcite SqlValidatorImpl.OrderExpressionExpander.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine.sql.aggregate_calls import is_aggregate
from engine.sql.algebra import Expr, ref
from engine.sql.clauses.limit import ordinal
from engine.sql.clauses.scalar_queries import Scalars
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

Item = tuple[str | None, Expr]


def order_items(
    query: exp.Select, items: Sequence[Item], scope: Scope, scalars: Scalars
) -> tuple[list[Item], list[int]]:
    """The items that ORDER BY adds to the select list, and by key the place of its item among all of them."""
    order = query.args.get("order")
    added: list[Item] = []
    places: list[int] = []
    for key in order.expressions if order is not None else ():
        place = ordinal(key.this, len(items))
        if place is None:
            item = _bound(key.this, items, scope, scalars)
            bare_items = [value.unnest() for _, value in (*items, *added)]
            if item.unnest() not in bare_items:
                _check(key.this, item, query, items)
                added.append((f"order{len(added)}", item))
                bare_items.append(item.unnest())
            place = bare_items.index(item.unnest())
        places.append(place)
    return added, places


def ordered_by(query: exp.Select, places: Sequence[int], names: Sequence[str]) -> exp.Select:
    """The query, with the names of its items for the keys of ORDER BY."""
    if not places:
        return query
    rewritten = query.copy()
    for key, place in zip(rewritten.args["order"].expressions, places, strict=True):
        key.set("this", ref(names[place], key.this))
    return rewritten


def _bound(key: Expr, items: Sequence[Item], scope: Scope, scalars: Scalars) -> Expr:
    """The key over the columns of FROM. Raises SqlRejected for a name that two selected columns have."""

    def selected(column: exp.Column) -> Expr | None:
        matches = [item for name, item in items if name == column.name and not column.table]
        if len(matches) > 1:
            message = f"the query selects two columns {column.name!r}. Give one of them another name, with AS."
            raise SqlRejected(message, column)
        if not matches:
            return None
        item: Expr = matches[0].copy()
        return item if isinstance(item, exp.Column | exp.Literal) else exp.Paren(this=item)

    return scope.bind(scalars.taken_out_of(key), selected)


def _check(key: Expr, item: Expr, query: exp.Select, items: Sequence[Item]) -> None:
    """Raises SqlRejected for a key that the query cannot be ordered by."""
    is_grouped = query.args.get("group") is not None or query.args.get("having") is not None
    calls = [node for node in item.walk() if is_aggregate(node) and node.find_ancestor(exp.Window) is None]
    if calls and not is_grouped and not any(is_aggregate(node) for _, value in items for node in value.walk()):
        message = "ORDER BY takes an aggregate of a query that groups. Add GROUP BY, or aggregate in a sub-query."
        raise SqlRejected(message, key)
    if query.args.get("distinct"):
        _check_distinct(key, item, items)


def _check_distinct(key: Expr, item: Expr, items: Sequence[Item]) -> None:
    selected = [value.unnest() for _, value in items]

    def visit(node: Expr) -> None:
        if node.unnest() in selected:
            return
        if isinstance(node, exp.Column) or is_aggregate(node):
            message = (
                f"SELECT DISTINCT has no {key.sql()} to order by: a row can stand for several of its values. Add it to "
                "SELECT, or write GROUP BY."
            )
            raise SqlRejected(message, key)
        for part in node.iter_expressions():
            visit(part)

    visit(item)
