"""WHERE: conditions, and EXISTS and IN with a sub-query as semi and anti joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.aggregate_calls import is_aggregate
from engine.sql.algebra import Aggregate, Expr, Filter, Join, Relation, Select, conjuncts, ref, together
from engine.sql.clauses.exists_items import not_computed
from engine.sql.clauses.from_clause import from_clause
from engine.sql.clauses.scalar_queries import Scalars, Ties, is_grouped, is_one_row, is_total, membership, split_ties
from engine.sql.dialect import Flink
from engine.sql.empty import Empty
from engine.sql.names import Names, Read
from engine.sql.rejected import SqlRejected
from engine.sql.rules import has_no_rows
from engine.sql.scope import Scope, Visible


def _require_rows(condition: Expr) -> None:
    """Raises SqlRejected for an aggregate, which WHERE cannot have; that of a sub-query is its own."""
    calls = condition.walk(prune=lambda node: isinstance(node, (exp.Query, exp.Window)))
    if (call := next((node for node in calls if is_aggregate(node)), None)) is not None:
        test = call.find_ancestor(exp.Predicate) or call
        message = (
            f"WHERE looks at single rows, but {call.sql(dialect=Flink)} is of a group. Write HAVING "
            f"{test.sql(dialect=Flink)} after GROUP BY."
        )
        raise SqlRejected(message, call)


def where(clause: exp.Where | None, scope: Scope, scalars: Scalars) -> Scope:
    """The rows of FROM that meet the condition."""
    if clause is None:
        return scope
    names, read, relation = scalars.names, scalars.read, scope.relation
    simple: list[Expr] = []
    with_scalars: list[Expr] = []
    later: list[tuple[Expr, bool]] = []
    _require_rows(clause.this)
    for conjunct in conjuncts(clause.this):
        # WHERE keeps what is TRUE.
        is_true = isinstance(conjunct, exp.Is) and conjunct.expression == exp.Boolean(this=True)
        test, negated = _without_not(conjunct.this.unnest() if is_true else conjunct)
        if isinstance(test, exp.Exists) or (isinstance(test, exp.In) and test.args.get("query") is not None):
            later.append((test, negated))
        else:
            bound = scope.bind(scalars.taken_out_of(conjunct))
            (with_scalars if bound.find(exp.Placeholder) is not None else simple).append(bound)
    if simple:
        relation = Filter(relation, together(simple))
    scope = replace(scope, relation=relation)
    for conjunct in with_scalars:
        scope, (condition,) = scalars.joined_to(scope, [conjunct])
        scope = replace(scope, relation=Filter(scope.relation, condition))
    for test, negated in later:
        kind = JoinKind.ANTI if negated else JoinKind.SEMI
        relation = _joined(scope, test, kind, names, read)
        if isinstance(test, exp.Exists):
            names.unused.extend(not_computed(test.this, scope, names, read, is_one_row=is_one_row(test.this)))
        scope = replace(scope, relation=relation)
    return scope


def _without_not(condition: Expr) -> tuple[Expr, bool]:
    """A condition without its NOT, and whether it had one."""
    test = membership(condition)
    if isinstance(test, exp.Not):
        test, negated = _without_not(test.this.unnest())
        return test, not negated
    return test, False


def _joined(scope: Scope, test: Expr, kind: JoinKind, names: Names, read: Read) -> Relation:
    """The semi or anti join for a test with a sub-query."""
    query = test.this if isinstance(test, exp.Exists) else test.args["query"].this
    if isinstance(test, exp.Exists):
        if is_one_row(query):
            inner = from_clause(query, names, read)
            if not _is_correlated(query, scope, inner):
                return _all_or_none(scope, kind, exists=not has_no_rows(read(query, names), names))
            _check_names(query, scope, inner)
            return _all_or_none(scope, kind, exists=not _has_limit_zero(query))
        ties = split_ties(query, scope, names, read) if is_grouped(query) else None
        if ties is not None:
            return _exists_grouped(scope, query, ties, kind, names, read)
        if ties is None and (is_grouped(query) or not _is_tied(query, names, read)):
            return Join(scope.relation, _any_row(read(query, names), query, names), kind, (), test)
    right, correlated, visible = _inner(query, names, read, of_in=isinstance(test, exp.In))
    shape = Join(scope.relation, right, kind, (), test)
    to_output = shape.right_names
    both = Scope(shape, tuple(replace(entry, column=to_output[entry.column]) for entry in visible) + scope.visible)
    # An inner name hides an outer one.
    conditions = [_bind_inner_first(part, both, len(visible)) for part in correlated]
    if isinstance(test, exp.In):
        if isinstance(test.this, exp.Tuple) and not visible:
            conditions += _tuple_membership(test, scope, shape, right, kind)
            return Join(scope.relation, right, kind, tuple(conditions), test)
        columns = [item.sql(dialect=Flink) for item in query.expressions] if visible else right.columns
        if len(columns) != 1:
            message = f"the query of IN has to give one column, but it gives {', '.join(columns)}."
            raise SqlRejected(message, query)
        conditions.append(_membership(test, query, scope, both, right, visible, kind))
    return Join(scope.relation, right, kind, tuple(conditions), test)


def _has_limit_zero(query: Expr) -> bool:
    limit = query.args.get("limit")
    if limit is None:
        return False
    return str(limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression).strip("0") == ""


def _all_or_none(scope: Scope, kind: JoinKind, *, exists: bool) -> Relation:
    """The semi or anti join for an EXISTS that is the same for all rows."""
    keeps = exists == (kind is JoinKind.SEMI)
    return scope.relation if keeps else Filter(scope.relation, exp.Boolean(this=False))


def _is_correlated(query: exp.Select, outer: Scope, inner: Scope) -> bool:
    """Whether a sub-query names a column that only the outer query knows."""
    return any(inner.find(column) is None and outer.find(column) is not None for column in _own_columns(query))


def _check_names(query: exp.Select, outer: Scope, inner: Scope) -> None:
    """Raises SqlRejected for a column of a sub-query that neither it nor the outer query knows."""
    for column in _own_columns(query):
        if inner.find(column) is None and outer.find(column) is None:
            raise inner.unknown(column)


def _own_columns(query: exp.Select) -> Iterator[exp.Column]:
    """The columns that a query names, without those of its sub-queries and the names of its results in ORDER BY."""
    for column in query.find_all(exp.Column):
        is_result = not column.table and column.name in query.named_selects
        if column.find_ancestor(exp.Select) is query and not (is_result and column.find_ancestor(exp.Order)):
            yield column


def _is_tied(query: Expr, names: Names, read: Read) -> bool:
    return bool(_inner(query, names, read, of_in=False)[1])


def _exists_grouped(scope: Scope, query: exp.Select, ties: Ties, kind: JoinKind, names: Names, read: Read) -> Relation:
    """EXISTS with GROUP BY, joined on its ties. Raises SqlRejected if a tie is not a group key."""
    keys = query.args["group"].expressions
    foreign = next((side for side in ties.inner if not ties.is_among(side, keys)), None)
    if foreign is not None:
        message = (
            "a grouped sub-query can be compared with the outer query only by columns that it groups by. Add the "
            "column to GROUP BY."
        )
        raise SqlRejected(message, foreign)
    right = read(ties.grouped(query, []), names)
    shape = Join(scope.relation, right, kind, (), query)
    conditions: list[Expr] = [
        exp.EQ(this=outer, expression=ref(shape.right_names[name], query))
        for outer, name in zip(ties.outer, right.columns, strict=True)
    ]
    return Join(scope.relation, right, kind, tuple(conditions), query)


def _any_row(relation: Relation, at: Expr, names: Names) -> Relation:
    """One row if the relation has any, as in Flink: MIN of a constant."""
    if has_no_rows(relation, names):
        return Empty(relation)
    constant = Select(relation, (("i", exp.Boolean(this=True)),))
    least = exp.Anonymous(this="MIN", expressions=[ref("i", at)])
    whole = Aggregate(constant, (), (("m", least),), at)
    return Filter(whole, exp.Not(this=exp.Is(this=ref("m", at), expression=exp.Null())))


def _inner(query: Expr, names: Names, read: Read, *, of_in: bool) -> tuple[Relation, list[Expr], tuple[Visible, ...]]:
    """The sub-query's rows, its conditions on outer columns, and its visible columns.

    A query with such conditions is read up to its WHERE. Any other query is read as a whole, without visible columns.
    """
    parts = list(conjuncts(query.args["where"].this)) if query.args.get("where") is not None else []
    if isinstance(query, exp.Select) and query.args.get("from_") is not None:
        inner = from_clause(query, names, read)
        own: list[Expr] = []
        correlated: list[Expr] = []
        for part in parts:
            is_own = all(inner.find(column) is not None for column in part.find_all(exp.Column))
            (own if is_own or part.find(exp.Exists, exp.Select) else correlated).append(part)
        if correlated:
            if of_in and is_total(query):
                message = (
                    "a sub-query of IN with an aggregate cannot use columns of the outer query. Write it as a join."
                )
                raise SqlRejected(message, correlated[0])
            for clause in ("group", "having", "qualify", "distinct", "limit", "offset", "order"):
                if query.args.get(clause):
                    message = (
                        f"a sub-query with {clause.upper()} cannot use columns of the outer query. "
                        "Write it as a join with a sub-query in FROM."
                    )
                    raise SqlRejected(message, correlated[0])
            scope = where(exp.Where(this=together(own)), inner, Scalars(names, read, [])) if own else inner
            return scope.relation, correlated, scope.visible
    return read(query, names), [], ()


def _bind_inner_first(part: Expr, both: Scope, inner_count: int) -> Expr:
    inner = Scope(both.relation, both.visible[:inner_count])
    outer = Scope(both.relation, both.visible[inner_count:])

    def swap(node: Expr) -> Expr:
        if not isinstance(node, exp.Column):
            return node
        value = inner.value_of(node) or outer.value_of(node)
        if value is None:
            raise both.unknown(node)
        return value

    return part.copy().transform(swap, copy=False)


def _tuple_membership(test: exp.In, scope: Scope, shape: Join, right: Relation, kind: JoinKind) -> list[Expr]:
    """(a, b) IN (query): each value equals the query's column at the same position."""
    if kind is JoinKind.ANTI or len(test.this.expressions) != len(right.columns):
        message = (
            f"(a, b) IN takes a query of as many columns, but this one gives {', '.join(right.columns)}. Instead of "
            "NOT IN write NOT EXISTS."
        )
        raise SqlRejected(message, test)
    return [
        exp.EQ(this=scope.bind(item), expression=ref(shape.right_names[name], test))
        for item, name in zip(test.this.expressions, right.columns, strict=True)
    ]


def _membership(
    test: exp.In, query: Expr, scope: Scope, both: Scope, right: Relation, visible: tuple[Visible, ...], kind: JoinKind
) -> Expr:
    """x IN (query) as a condition on pairs; for NOT IN, a NULL on either side also matches."""
    left = scope.bind(test.this)
    if visible:
        (item,) = query.expressions
        bare = item.this if isinstance(item, exp.Alias) else item
        value = _bind_inner_first(bare, both, len(visible))
    else:
        shape = Join(scope.relation, right, kind, (), test)
        value = ref(shape.right_names[right.columns[0]], query)
    equal: Expr = exp.EQ(this=left, expression=value)
    if kind is JoinKind.ANTI:
        for side in (value, left):
            test_null = exp.Is(this=side.copy(), expression=exp.Null())
            equal = exp.Or(this=test_null, expression=equal)
        return exp.Paren(this=equal)
    return equal
