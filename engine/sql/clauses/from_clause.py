"""FROM: tables, views, sub-queries, window table functions, and joins of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from engine.errors import unknown_name
from engine.functions.refused import called_elsewhere
from engine.joins.sides import JoinKind
from engine.model.free_names import free_name
from engine.model.types import quote
from engine.sql.algebra import (
    Expr,
    Filter,
    Join,
    Numbered,
    Over,
    Relation,
    Scan,
    Select,
    Sorted,
    Unnested,
    Values,
    conjuncts,
    ref,
    renamed,
)
from engine.sql.clauses.changelog_functions import FROM, TO, changelog_function
from engine.sql.clauses.lateral import decorrelated, is_hidden
from engine.sql.clauses.match_recognize import matched
from engine.sql.clauses.row_columns import fields_in
from engine.sql.clauses.table_functions import table_function
from engine.sql.clauses.window_functions import window_function
from engine.sql.dialect import TABLE_ARGUMENT, WINDOW_FUNCTIONS, Flink
from engine.sql.match_grammar import NAME as MATCH_RECOGNIZE
from engine.sql.names import Names, Read
from engine.sql.rejected import SqlRejected
from engine.sql.rules import rewritten
from engine.sql.scope import Scope, Visible

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
_READERS: Mapping[str, Callable[..., Relation]] = {
    **dict.fromkeys(WINDOW_FUNCTIONS, window_function),
    **dict.fromkeys((FROM, TO), changelog_function),
}


def from_clause(query: exp.Select, names: Names, read: Read) -> Scope:
    """All items of FROM, joined; without FROM, one row without visible columns. Raises SqlRejected."""
    first = query.args.get("from_")
    if first is None:
        return Scope(Values(("ROW",), ((exp.Literal.number(1),),), query), ())
    version = first.this.args.get("version")
    if version is not None:
        message = "FOR SYSTEM_TIME AS OF must follow JOIN: FROM l JOIN v FOR SYSTEM_TIME AS OF l.rt ON l.k = v.k."
        raise SqlRejected(message, version.expression)
    scope = _item(first.this, names, read)
    for join in query.args.get("joins") or ():
        scope = _join(scope, join, names, read)
    return scope


def _item(item: Expr, names: Names, read: Read) -> Scope:
    """One item of FROM, with the joins inside its parentheses."""
    alias = item.alias or None
    if isinstance(item, exp.Unnest):
        nothing = Values(("ROW",), ((exp.Literal.number(1),),), item)
        return _unnested(Scope(nothing, ()), item, keeps_empty=False)
    if isinstance(item, exp.Values):
        relation: Relation = values(item)
    elif isinstance(item, exp.Subquery):
        relation = _unsorted(read(item, names))
    elif isinstance(item, exp.Table) and isinstance(item.this, exp.Anonymous):
        call: Expr = item.this
        if call.name == MATCH_RECOGNIZE:
            relation = matched(item.this, _item(call.expressions[0], names, read))
            return _with_column_names(Scope.of(relation, alias), item)
        if call.name.upper() == TABLE_ARGUMENT and len(call.expressions) == 1:
            call = call.expressions[0]
        if not isinstance(call, exp.Anonymous):
            message = f"{call.sql()} is not a table function. Use FROM TABLE(TUMBLE(TABLE t, ...))."
            raise SqlRejected(message, item)
        reads = _READERS.get(call.name.upper(), table_function)
        relation = reads(call, lambda table: _table(table, names, read), lambda query: _unsorted(read(query, names)))
    elif isinstance(item, exp.Table):
        relation = _table(item, names, read)
        alias = alias or item.name
    else:
        message = f"{item.key.upper()} in FROM is not supported. Use a table, a sub-query or a window function."
        raise SqlRejected(message, item)
    scope = _with_column_names(_with_repeated_names(Scope.of(relation, alias), item, names), item)
    for join in item.args.get("joins") or ():
        scope = _join(scope, join, names, read)
    return scope


def _unsorted(relation: Relation) -> Relation:
    """A sub-query without its order, unless that is fixed. As in Flink, only the order of the whole query counts."""
    match relation:
        case Sorted(is_fixed=False):
            return _unsorted(relation.input)
        case Select() | Filter() | Over() | Numbered():
            return replace(relation, input=_unsorted(relation.input))
        case _:
            return relation


def _with_fixed_order(relation: Relation) -> Relation:
    """A view with an order below its other clauses: the order becomes fixed and stays in every reader, as in Flink."""
    match relation:
        case Sorted():
            return replace(relation, is_fixed=True)
        case Select() | Filter() | Over() | Numbered():
            below = _with_fixed_order(relation.input)
            return relation if below is relation.input else replace(relation, input=below)
        case _:
            return relation


def _table(table: exp.Table, names: Names, read: Read) -> Relation:
    name = table.name
    if name in names.views:
        relation = names.views[name].relation(lambda query, known: rewritten(read(query, known), known))
        return relation if isinstance(relation, Sorted) else _with_fixed_order(relation)
    if name in names.tables:
        return Scan(names.tables[name])
    message = f"{unknown_name('table', name, names.known)}. Create it above: CREATE TABLE {quote(name)} (...)."
    raise SqlRejected(message, table)


def values(item: exp.Values) -> Values:
    """VALUES (...), (...). Raises SqlRejected if the rows differ in their number of values."""
    rows = tuple(tuple(row.expressions) if isinstance(row, exp.Tuple) else (row.unnest(),) for row in item.expressions)
    for row, values_ in zip(item.expressions, rows, strict=True):
        if len(values_) != len(rows[0]):
            message = f"the first row of VALUES has {len(rows[0])} values, this one has {len(values_)}."
            raise SqlRejected(message, row if values_ else item)
    return Values(tuple(f"EXPR${at}" for at in range(len(rows[0]))), rows, item)


def _with_repeated_names(scope: Scope, item: Expr, names: Names) -> Scope:
    """The scope with the names that a query gives to several columns, which are ambiguous, as in Flink."""
    query = names.views[item.name].query if isinstance(item, exp.Table) and item.name in names.views else item.this
    items = query.expressions if isinstance(query, exp.Select) else []
    bare = [selected.unnest() for selected in items]
    called = [
        selected.alias or (at.name if isinstance(at, exp.Column) else "")
        for selected, at in zip(items, bare, strict=True)
    ]
    if len(called) != len(scope.visible) or any(selected.is_star for selected in items):
        return scope
    visible = [
        replace(entry, name=name) if name and called.count(name) > 1 else entry
        for entry, name in zip(scope.visible, called, strict=True)
    ]
    return replace(scope, visible=tuple(visible))


def _with_column_names(scope: Scope, item: Expr) -> Scope:
    """The scope with the column names from the alias: `AS t(a, b)`."""
    alias = item.args.get("alias")
    names = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return scope
    if len(names) != len(scope.visible):
        message = f"{len(names)} names are given for {len(scope.visible)} columns."
        raise SqlRejected(message, alias)
    if isinstance(scope.relation, Values):
        return Scope.of(replace(scope.relation, columns=tuple(names)), item.alias)
    visible = (replace(entry, name=name) for entry, name in zip(scope.visible, names, strict=True))
    return replace(scope, visible=tuple(visible))


def _join(left: Scope, join: exp.Join, names: Names, read: Read) -> Scope:
    side, word = join.side.upper(), join.kind.upper()
    if join.method not in ("", "NATURAL") or (side, word) not in _KINDS:
        message = (
            f"{' '.join(filter(None, (join.method, side, word)))} JOIN is not supported. Use [LEFT|RIGHT|FULL] JOIN."
        )
        raise SqlRejected(message, join)
    kind = _KINDS[side, word]
    if isinstance(join.this, exp.Lateral) and isinstance(join.this.this, exp.Subquery):
        both = _join(left, decorrelated(join, left), names, read)
        return replace(both, visible=tuple(entry for entry in both.visible if not is_hidden(entry.name)))
    if isinstance(join.this, exp.Lateral):
        join = _without_lateral(join)
    if isinstance(join.this, exp.Unnest):
        return _with_elements(left, join, kind)
    version = join.this.args.get("version") if isinstance(join.this, exp.Table) else None
    right = _item(join.this, names, read)
    if called := {entry.table for entry in left.visible} & {entry.table for entry in right.visible} - {None}:
        name = called.pop()
        message = f"two tables of FROM are called {name}. Give one of them another name, with AS."
        raise SqlRejected(message, join)
    if version is not None and version.expression is None:
        message = "FOR SYSTEM_TIME needs the time of the left side: FOR SYSTEM_TIME AS OF l.rowtime."
        raise SqlRejected(message, join)
    as_of = _as_of(version.expression, left) if version is not None else None
    shape = Join(left.relation, right.relation, kind, (), join, as_of)
    both = Scope(shape, left.visible + right.renamed(shape.right_names))
    using = [column.name for column in join.args.get("using") or ()]
    if join.method:
        using = [entry.name for entry in left.visible if any(entry.name == other.name for other in right.visible)]
    if using:
        return _using(left, right, join, shape, both, using)
    on = join.args.get("on")
    conditions = tuple(conjuncts(both.bind(on))) if on is not None else ()
    return Scope(replace(shape, condition=conditions), both.visible)


def _as_of(time: Expr, left: Scope) -> Expr:
    """The time of a temporal join. Raises SqlRejected for a column that the left side does not have."""
    if isinstance(time, exp.Column) and left.find(time) is None:
        message = (
            f"FOR SYSTEM_TIME AS OF takes a time of the left side of the join, and {time.sql(Flink)} is none of its "
            "columns. Select it there as well, or declare it in the left table: pt AS PROCTIME()."
        )
        raise SqlRejected(message, time)
    return left.bind(time)


def _without_lateral(join: exp.Join) -> exp.Join:
    """LATERAL TABLE(f(x)) AS t (a, b), rewritten as UNNEST of the function's result."""
    lateral = join.this
    call = lateral.this
    is_call = isinstance(call, exp.Anonymous) and call.name.upper() == TABLE_ARGUMENT and len(call.expressions) == 1
    alias = lateral.args.get("alias")
    if not is_call or alias is None or not alias.args.get("columns"):
        inner = call.expressions[0] if is_call else None
        if isinstance(inner, exp.Anonymous) and (why := called_elsewhere(inner.name)) is not None:
            raise SqlRejected(why, inner)
        message = "LATERAL takes a table function, and names for its columns: LATERAL TABLE(f(x)) AS t (a, b)."
        raise SqlRejected(message, join)
    whole = join.copy()
    whole.set("this", exp.Unnest(expressions=[call.expressions[0].copy()], alias=alias.copy()))
    return whole


def _with_elements(left: Scope, join: exp.Join, kind: JoinKind) -> Scope:
    """A join with the elements of a collection in the row. Raises SqlRejected unless inner, or left with ON TRUE."""
    on = join.args.get("on")
    is_always = on is None or (isinstance(on.unnest(), exp.Boolean) and bool(on.unnest().this))
    if kind not in (JoinKind.INNER, JoinKind.LEFT) or (kind is JoinKind.LEFT and not is_always):
        message = "UNNEST is joined by CROSS JOIN, by JOIN, or by LEFT JOIN ... ON TRUE, as in Flink."
        raise SqlRejected(message, join)
    both = _unnested(left, join.this, keeps_empty=kind is JoinKind.LEFT)
    return both if is_always or on is None else replace(both, relation=Filter(both.relation, both.bind(on)))


def _unnested(left: Scope, unnest: exp.Unnest, *, keeps_empty: bool) -> Scope:
    """The columns so far, then the element's columns, then its position WITH ORDINALITY."""
    alias = unnest.args.get("alias")
    called = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    offset = unnest.args.get("offset")
    if len(unnest.expressions) != 1 or (offset and not called):
        message = "UNNEST takes one array or map, and names for what is in it: UNNEST(items) AS u (item)."
        raise SqlRejected(message, unnest)
    collection = left.bind(unnest.expressions[0])
    if not called:
        called = list(fields_in(left.relation, collection))
    if not called:
        # Without column names, the element of an array gets the name of the table, as in Flink.
        called = [alias.name if alias is not None and alias.name else "EXPR$0"]
    called += [offset.name] if isinstance(offset, exp.Identifier) else []
    names = list(renamed(left.relation.columns, called).values())
    columns = tuple(names)
    position = names.pop() if isinstance(offset, exp.Identifier) else None
    relation = Unnested(left.relation, collection, tuple(names), position, keeps_empty, unnest)
    table = alias.name or None if alias is not None else None
    shown = (Visible(table, name, column) for name, column in zip(called, columns, strict=True))
    return Scope(relation, (*left.visible, *shown))


def _using(left: Scope, right: Scope, join: exp.Join, shape: Join, both: Scope, names: Sequence[str]) -> Scope:
    """USING (k), NATURAL: equal columns, once and first: the right one in RIGHT, COALESCE in FULL, else the left."""
    conditions: list[Expr] = []
    pairs: list[tuple[Visible, str]] = []
    for name in names:
        pair = [scope.find(exp.Column(this=exp.to_identifier(name))) for scope in (left, right)]
        if pair[0] is None or pair[1] is None:
            message = f"USING names {name!r}, which is not a column of both sides. Write ON instead."
            raise SqlRejected(message, join.args["using"][names.index(name)])
        pairs.append((pair[0], shape.right_names[pair[1].column]))
        conditions.append(exp.EQ(this=ref(pair[0].column, join), expression=ref(pairs[-1][1], join)))
    relation: Relation = replace(shape, condition=tuple(conditions), as_of=None)
    once: list[Visible] = []
    for own, other in pairs:
        column = other if shape.kind is JoinKind.RIGHT else own.column
        if shape.kind is JoinKind.FULL:
            value = exp.Anonymous(this="COALESCE", expressions=[ref(own.column, join), ref(other, join)])
            column = free_name(own.name, relation.columns)
            relation = Select(relation, (*((name, ref(name)) for name in relation.columns), (column, value)))
        once.append(replace(own, column=column))
    hidden = {column for own, other in pairs for column in (own.column, other)}
    return Scope(relation, (*once, *(entry for entry in both.visible if entry.column not in hidden)))
