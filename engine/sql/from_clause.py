"""FROM: tables, views, sub-queries, window table functions, and joins of them."""

from __future__ import annotations

from sqlglot import exp

from engine.joins import JoinKind
from engine.sql.algebra import Expr, Join, Relation, Scan, conjuncts, ref
from engine.sql.dialect import TABLE_ARGUMENT, WINDOW_FUNCTIONS
from engine.sql.names import Names, Read
from engine.sql.pushdown import joined
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope
from engine.sql.window_functions import window_function

_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
}


def from_clause(query: exp.Select, names: Names, read: Read) -> Scope:
    """Everything that FROM names, joined. Raises SqlRejected without FROM."""
    first = query.args.get("from_")
    if first is None:
        message = "a query without FROM has no rows that could arrive. Name a table."
        raise SqlRejected(message, query)
    version = first.this.args.get("version")
    if version is not None:
        message = "FOR SYSTEM_TIME AS OF is read after JOIN: FROM l JOIN v FOR SYSTEM_TIME AS OF l.rt ON l.k = v.k."
        raise SqlRejected(message, version.expression)
    scope = _item(first.this, names, read)
    for join in query.args.get("joins") or ():
        scope = _join(scope, join, names, read)
    return scope


def _item(item: Expr, names: Names, read: Read) -> Scope:
    """One table, with the joins that stand in its parentheses."""
    alias = item.alias or None
    _refuse_column_names(item)
    if isinstance(item, exp.Subquery):
        relation = read(item, names)
    elif isinstance(item, exp.Table) and isinstance(item.this, exp.Anonymous):
        call = item.this
        if call.name.upper() == TABLE_ARGUMENT and len(call.expressions) == 1:
            call = call.expressions[0]
        if not isinstance(call, exp.Anonymous) or call.name.upper() not in WINDOW_FUNCTIONS:
            message = f"there is no table function {call.sql()!r}; there are {', '.join(WINDOW_FUNCTIONS)}."
            raise SqlRejected(message, item)
        relation = window_function(call, lambda table: _table(table, names, read), lambda query: read(query, names))
    elif isinstance(item, exp.Table):
        relation = _table(item, names, read)
        alias = alias or item.name
    else:
        message = f"{item.key.upper()} in FROM is not supported. Use a table, a sub-query or a window function."
        raise SqlRejected(message, item)
    scope = Scope.of(relation, alias)
    for join in item.args.get("joins") or ():
        scope = _join(scope, join, names, read)
    return scope


def _table(table: exp.Table, names: Names, read: Read) -> Relation:
    name = table.name
    if name in names.views:
        query, within = names.views[name]
        return read(query, within)
    if name in names.tables:
        return Scan(names.tables[name])
    message = f"there is no table {name!r}; there are {names.listed()}."
    raise SqlRejected(message, table)


def _refuse_column_names(item: Expr) -> None:
    alias = item.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        message = "column names after an alias are not read. Name the columns in the sub-query with AS."
        raise SqlRejected(message, alias)


def _join(left: Scope, join: exp.Join, names: Names, read: Read) -> Scope:
    side, word = join.side.upper(), join.kind.upper()
    if join.method or (side, word) not in _KINDS:
        message = (
            f"{' '.join(filter(None, (join.method, side, word)))} JOIN is not supported. Use [LEFT|RIGHT|FULL] JOIN."
        )
        raise SqlRejected(message, join)
    kind = _KINDS[side, word]
    version = join.this.args.get("version") if isinstance(join.this, exp.Table) else None
    right = _item(join.this, names, read)
    as_of = left.bind(version.expression) if version is not None else None
    shape = Join(left.relation, right.relation, kind, (), join, as_of)
    both = Scope(shape, left.visible + right.renamed(shape.right_names))
    if join.args.get("using"):
        return _using(left, right, join, shape, both)
    on = join.args.get("on")
    conditions = tuple(conjuncts(both.bind(on))) if on is not None else ()
    return Scope(joined(left.relation, right.relation, kind, conditions, join, as_of), both.visible)


def _using(left: Scope, right: Scope, join: exp.Join, shape: Join, both: Scope) -> Scope:
    """USING (k): the columns are equal, and the result has them once, from the side that is never padded."""
    conditions: list[Expr] = []
    visible = list(both.visible)
    for name in join.args["using"]:
        pair = [scope.find(exp.Column(this=exp.to_identifier(name.name))) for scope in (left, right)]
        if pair[0] is None or pair[1] is None:
            message = f"USING names {name.name!r}, which is not a column of both sides. Write ON instead."
            raise SqlRejected(message, name)
        if shape.kind is JoinKind.FULL:
            message = "FULL JOIN with USING is not supported. Write ON, and COALESCE in the SELECT."
            raise SqlRejected(message, name)
        right_column = shape.right_names[pair[1].column]
        conditions.append(exp.EQ(this=ref(pair[0].column, name), expression=ref(right_column, name)))
        dropped = pair[0].column if shape.kind is JoinKind.RIGHT else right_column
        visible = [one for one in visible if one.column != dropped]
    relation = joined(left.relation, right.relation, shape.kind, tuple(conditions), join, None)
    return Scope(relation, tuple(visible))
