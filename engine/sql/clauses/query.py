"""A query, clause by clause in their order of effect.

FROM, WHERE, GROUP BY, HAVING, OVER, SELECT, DISTINCT, ORDER BY with LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from engine.errors import shortened, unknown_name
from engine.model.free_names import free_name
from engine.sql import state_ttl
from engine.sql.aggregate_calls import distinct, mark_aggregates
from engine.sql.algebra import Expr, Filter, Named, Relation, Select, plain, ref
from engine.sql.clauses.from_clause import from_clause, values
from engine.sql.clauses.grouping import grouped
from engine.sql.clauses.limit import limited
from engine.sql.clauses.order_by import order_items, ordered_by
from engine.sql.clauses.row_columns import fields_in
from engine.sql.clauses.row_number import numbered
from engine.sql.clauses.scalar_queries import Scalars
from engine.sql.clauses.set_operations import set_operation
from engine.sql.clauses.subqueries import where
from engine.sql.dialect import Flink
from engine.sql.functions.json_aggregates import with_json_aggregates
from engine.sql.names import Names
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

_UNKNOWN_CLAUSES = {
    "laterals": "LATERAL VIEW",
    "connect": "CONNECT BY",
    "pivots": "PIVOT",
    "into": "INTO",
    "sample": "TABLESAMPLE",
    "cluster": "CLUSTER BY",
    "sort": "SORT BY",
}


def read(query: Expr, names: Names) -> Relation:
    """A query as relational algebra, as it is written. Raises SqlRejected."""
    mark_aggregates(query, names.aggregates)
    with_ = query.args.get("with_")
    for common in with_.expressions if with_ is not None else ():
        own = _itself(common) if common.parent.args.get("recursive") else None
        if own is not None:
            message = f"{own.name} names itself, and Flink plans no WITH RECURSIVE. Write a view for each step."
            raise SqlRejected(message, own)
        columns = common.args["alias"].args.get("columns") or ()
        names = names.with_view(common.alias, _with_columns(_unordered(common.this), common.alias, columns))
    match query:
        case exp.Subquery():
            inner = read(query.this, names)
            return limited(inner, query, Scope.of(inner, None))
        case exp.SetOperation():
            whole = set_operation(query, lambda part: read(part, names))
            return limited(whole, query, Scope.of(whole, None))
        case exp.Select():
            return _select(query, names)
        case exp.Values():
            return values(query)
        case _:
            message = f"{shortened(query.sql(dialect=Flink), 40)} is not a query. Write SELECT ..., or VALUES (...)."
            raise SqlRejected(message, query)


def _unordered(query: Expr) -> Expr:
    """A common table expression without ORDER BY, unless it has LIMIT: Flink ignores the order otherwise."""
    if query.args.get("order") is None or query.args.get("limit") is not None:
        return query
    unordered: Expr = query.copy()
    unordered.set("order", None)
    return unordered


def _itself(common: exp.CTE) -> exp.Table | None:
    """Where a common table expression reads itself."""
    return next((table for table in common.this.find_all(exp.Table) if table.name == common.alias), None)


def _with_columns(query: Expr, name: str, columns: Sequence[Expr]) -> Expr:
    """The query of a common table expression with the column names after its name: `WITH t(a, b) AS`."""
    if not columns:
        return query
    alias = exp.TableAlias(this=exp.to_identifier(name), columns=list(columns))
    return exp.select("*").from_(exp.Subquery(this=query, alias=alias))


def _select(query: exp.Select, names: Names) -> Relation:
    for clause, name in _UNKNOWN_CLAUSES.items():
        if query.args.get(clause):
            message = f"{name} is not supported. Use sub-queries, joins and window functions."
            raise SqlRejected(message, query)
    state_ttl.check(query)
    if not query.expressions:
        message = "SELECT names no columns. Write SELECT * for all of them."
        raise SqlRejected(message, query.args.get("from_") or query)
    query = with_json_aggregates(query)
    scalars = Scalars(names, read, [])
    scope = from_clause(query, names, read)
    scope = where(query.args.get("where"), scope, scalars)
    items = _items(query, scope, scalars)
    added, places = order_items(query, items, scope, scalars)
    selected_count = len(items)
    items = [*items, *added, *_qualify(query, scope, scalars)]
    having = query.args.get("having")
    condition = scope.bind(scalars.taken_out_of(having.this)) if having is not None else None
    if scalars.queries:
        scope = scalars.joined_to_arguments(scope, [*(item for _, item in items), condition])
        items = [(name, scalars.filled(item)) for name, item in items]
        condition = scalars.filled(condition) if condition is not None else None
    aggregated = grouped(query, items, scope, condition)
    relation, items = aggregated.relation, aggregated.items
    if scalars.queries:
        parts = [*(item for _, item in items), *([aggregated.having] if aggregated.having is not None else [])]
        above, parts = scalars.joined_to(replace(scope, relation=relation), parts)
        relation = above.relation
        items = [(name, item) for (name, _), item in zip(items, parts, strict=False)]
        aggregated = replace(aggregated, having=parts[-1] if aggregated.having is not None else None)
    if aggregated.having is not None:
        relation = Filter(relation, aggregated.having)
    relation, items = numbered(relation, items, query)
    if query.args.get("qualify") is not None:
        *items, (_, condition) = items
        relation = Filter(relation, condition)
    named = _named(items)
    relation = Select(relation, named)
    if query.args.get("distinct"):
        relation = distinct(relation, query)
    relation = limited(relation, ordered_by(query, places, [name for name, _ in named]), Scope.of(relation, None))
    return Select(relation, tuple((name, ref(name)) for name, _ in named[:selected_count])) if added else relation


def _items(query: exp.Select, scope: Scope, scalars: Scalars) -> list[tuple[str | None, Expr]]:
    """The bound select list with expanded `*`; the name is None for unnamed expressions."""
    items: list[tuple[str | None, Expr]] = []
    for item in query.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            items += _star(item, scope)
            continue
        name = item.alias if isinstance(item, exp.Alias) else None
        bare = item.this if isinstance(item, exp.Alias) else item
        if name is None and isinstance(bare.unnest(), exp.Column):
            name = bare.unnest().name
        items.append((name, scope.bind(scalars.taken_out_of(_with_windows(bare, query)))))
    return items


def _qualify(query: exp.Select, scope: Scope, scalars: Scalars) -> list[tuple[str | None, Expr]]:
    """The condition of QUALIFY with its window functions as one more item. It may use names of the select list."""
    clause = query.args.get("qualify")
    if clause is None:
        return []
    named = {item.alias: item.this for item in query.expressions if isinstance(item, exp.Alias)}

    def spell_out(node: Expr) -> Expr:
        is_name = isinstance(node, exp.Column) and not node.table and node.name in named
        return exp.Paren(this=named[node.name].copy()) if is_name else node

    condition = _with_windows(clause.this.copy().transform(spell_out, copy=False), query)
    if not any(condition.find_all(exp.Window)):
        message = (
            "QUALIFY needs a window function, such as ROW_NUMBER() OVER (...) = 1. Write other conditions into WHERE."
        )
        raise SqlRejected(message, clause)
    return [(None, scope.bind(scalars.taken_out_of(condition)))]


def _star(item: Expr, scope: Scope) -> list[tuple[str | None, Expr]]:
    """The columns of `*` and `t.*`, or the fields of a row in `r.*`."""
    parts = item.parts[:-1] if isinstance(item, exp.Column) else []
    if not parts or (len(parts) == 1 and scope.has_table(parts[0].name)):
        return [(entry.name, ref(entry.column, item)) for entry in scope.star(parts[0].name if parts else None, item)]
    path = exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False)))
    value = scope.value_of(path)
    if value is None:
        raise scope.unknown(path)
    fields = fields_in(scope.relation, value)
    if not fields:
        message = f"the fields of {parts[-1].name!r} are not known here. Name them one by one: {parts[-1].name}.a."
        raise SqlRejected(message, item)
    return [(name, exp.Dot(this=value.copy(), expression=exp.to_identifier(name, quoted=True))) for name in fields]


def _with_windows(item: Expr, query: exp.Select) -> Expr:
    """The item with names of the WINDOW clause replaced by their definitions."""
    windows = {window.name: window for window in query.args.get("windows") or ()}

    def spell_out(node: Expr) -> Expr:
        if isinstance(node, exp.Window) and node.alias:
            if node.alias not in windows:
                message = f"{unknown_name('window', node.alias, windows)}."
                raise SqlRejected(message, node)
            window: Expr = windows[node.alias].copy()
            window.set("this", node.this.copy())
            window.set("alias", None)
            return window
        return node

    rewritten: Expr = item.copy().transform(spell_out, copy=False)
    return rewritten


def _named(items: list[tuple[str | None, Expr]]) -> tuple[Named, ...]:
    """Every item with a unique name: its own, its column's, or EXPR$0 and so on, as in Flink."""
    named: list[Named] = []
    for at, (name, expression) in enumerate(items):
        wanted = name or plain(expression) or f"EXPR${at}"
        named.append((free_name(wanted, [taken for taken, _ in named]), expression))
    return tuple(named)
