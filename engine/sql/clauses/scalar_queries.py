"""Scalar sub-queries: each becomes a column of a left join, without keys or on the columns shared with the outer row.

So does EXISTS within an expression, below OR or in SELECT: rows without a partner have NULL in a column of TRUE.
Source: Flink's SubQueryRemoveRule and RelDecorrelator. A sub-query that is not a global aggregate is wrapped in MAX:
if it has several rows, Flink fails, and this engine takes the largest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.aggregate_calls import aggregate_function, is_aggregate
from engine.sql.algebra import Aggregate, Expr, Join, Relation, Select, conjuncts, ref, together
from engine.sql.clauses.exists_items import not_computed
from engine.sql.clauses.from_clause import from_clause
from engine.sql.empty import Totals
from engine.sql.names import Names, Read
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope


@dataclass
class Scalars:
    """The scalar sub-queries extracted from expressions; each is replaced by a placeholder with its number."""

    names: Names
    read: Read
    queries: list[exp.Subquery | exp.Exists]

    def taken_out_of(self, expression: Expr) -> Expr:
        """The expression with placeholders for its scalar sub-queries."""

        def swap(node: Expr) -> Expr:
            if not _is_taken_out(node):
                return node
            self.queries.append(node)
            return exp.Placeholder(this=str(len(self.queries) - 1))

        rewritten: Expr = expression.copy().transform(swap, copy=False)
        return rewritten

    def joined_to(self, scope: Scope, expressions: Sequence[Expr]) -> tuple[Scope, list[Expr]]:
        """The scope joined with the sub-queries of these expressions, and the expressions over it."""
        values: dict[str, Expr] = {}
        for expression in expressions:
            for placeholder in expression.find_all(exp.Placeholder):
                if placeholder.name not in values:
                    query = self.queries[int(placeholder.name)]
                    scope, values[placeholder.name] = self._joined(scope, query)

        def fill(node: Expr) -> Expr:
            return values[node.name].copy() if isinstance(node, exp.Placeholder) else node

        return scope, [expression.copy().transform(fill, copy=False) for expression in expressions]

    def _joined(self, scope: Scope, query: exp.Subquery | exp.Exists) -> tuple[Scope, Expr]:
        ties = split_ties(query.this, scope, self.names, self.read)
        if isinstance(query, exp.Exists):
            right, outer = self._any_row(query, ties), [] if ties is None else ties.outer
            self.names.unused.extend(not_computed(query.this, scope, self.names, self.read, is_one_row=False))
        elif ties is None:
            right, outer = _single_row(self.read(query, self.names), query), []
        else:
            right, outer = self._tied(query.this, ties), ties.outer
        shape = Join(scope.relation, right, JoinKind.LEFT, (), query)
        named = [shape.right_names[name] for name in right.columns]
        conditions = [
            exp.EQ(this=mine, expression=ref(name, query)) for mine, name in zip(outer, named[:-1], strict=True)
        ]
        relation = Join(scope.relation, right, JoinKind.LEFT, tuple(conditions), query)
        value: Expr = ref(named[-1], query)
        if isinstance(query, exp.Exists):
            return replace(scope, relation=relation), exp.Not(this=exp.Is(this=value, expression=exp.Null()))
        if ties is not None and _counts(query.this):
            missing = exp.Is(this=value.copy(), expression=exp.Null())
            zero = exp.Cast(this=exp.Literal.number(0), to=exp.DataType.build("BIGINT"))
            value = exp.Case(ifs=[exp.If(this=missing, true=zero)], default=value)
        return replace(scope, relation=relation), value

    def _any_row(self, exists: exp.Exists, ties: Ties | None) -> Relation:
        """A row with TRUE for each tie value of the sub-query's rows, or for all of them."""
        true: tuple[str, Expr] = ("i", exp.Boolean(this=True))
        if ties is None:
            every = Select(self.read(exists.this, self.names), (true,))
            return Aggregate(every, (("i", ref("i", exists)),), (), exists)
        tied = self.read(ties.grouped(exists.this, []), self.names)
        return Select(tied, (*((name, ref(name, exists)) for name in tied.columns), true))

    def _tied(self, query: exp.Select, ties: Ties) -> Relation:
        """The sub-query with one row per tie value. Raises SqlRejected unless it selects one plain aggregate."""
        item = query.expressions[0].unalias() if len(query.expressions) == 1 else None
        is_plain = item is not None and is_aggregate(item) and not query.args.get("group")
        if not is_plain or any(query.args.get(clause) for clause in ("having", "distinct", "limit", "order")):
            message = (
                "a sub-query that uses columns of the outer query must give one aggregate: (SELECT MAX(x) FROM t "
                "WHERE t.k = outer.k). Write anything else as a join with a sub-query in FROM."
            )
            raise SqlRejected(message, query)
        return self.read(ties.grouped(query, query.expressions), self.names)


@dataclass(frozen=True)
class Ties:
    """The ties between a sub-query and its outer query: equal pairs of an inner and a bound outer expression."""

    scope: Scope
    inner: list[Expr]
    outer: list[Expr]
    own: list[Expr]

    def is_among(self, key: Expr, keys: Sequence[Expr]) -> bool:
        """Whether an inner expression equals one of these keys once their columns are bound."""
        return any(self.scope.bind(key) == self.scope.bind(other) for other in keys)

    def grouped(self, query: exp.Select, items: Sequence[Expr]) -> exp.Select:
        """The sub-query without ties: grouped by their inner sides, which come before the items."""
        subquery = query.copy()
        group = subquery.args.get("group")
        group_keys = list(group.expressions) if group is not None else []
        more = [side.copy() for side in self.inner if not self.is_among(side, group_keys)]
        subquery.set("where", exp.Where(this=together(self.own)) if self.own else None)
        subquery.set("group", exp.Group(expressions=[*group_keys, *more]))
        keys = [exp.alias_(side.copy(), f"tie{at}") for at, side in enumerate(self.inner)]
        subquery.set("expressions", [*keys, *(item.copy() for item in items)])
        return subquery


def split_ties(query: Expr, scope: Scope, names: Names, read: Read) -> Ties | None:
    """The ties of a query to its outer query, or None without any. Raises SqlRejected for ties other than equality."""
    where = query.args.get("where")
    if not isinstance(query, exp.Select) or query.args.get("from_") is None or where is None:
        return None
    inner = from_clause(query, names, read)

    def side(part: Expr) -> str:
        are_inner = [inner.find(column) is not None for column in part.find_all(exp.Column)]
        return "inner" if all(are_inner) else "outer" if not any(are_inner) else "both"

    ties = Ties(inner, [], [], [])
    for part in conjuncts(where.this):
        if part.find(exp.Select) is not None or side(part) == "inner":
            ties.own.append(part)
            continue
        sides = {side(term): term for term in (part.this, part.args.get("expression")) if isinstance(term, exp.Expr)}
        if not isinstance(part, exp.EQ) or sides.keys() != {"inner", "outer"}:
            message = (
                "a sub-query and the outer query are related by equality of a column of each: WHERE u.k = t.k. Write "
                "other conditions as a join with a sub-query in FROM."
            )
            raise SqlRejected(message, part)
        ties.inner.append(sides["inner"])
        ties.outer.append(scope.bind(sides["outer"]))
    return ties if ties.inner else None


def _single_row(relation: Relation, at: exp.Subquery) -> Relation:
    """The relation reduced to one row. Raises SqlRejected for more than one column."""
    if len(relation.columns) != 1:
        message = f"a scalar sub-query gives one column, but this one gives {', '.join(relation.columns)}."
        raise SqlRejected(message, at.this)
    below: Relation = relation
    while isinstance(below, Select):
        below = below.input
    if isinstance(below, Totals) or (isinstance(below, Aggregate) and not below.groups):
        return relation
    (name,) = relation.columns
    call = exp.Anonymous(this="MAX", expressions=[ref(name, at)])
    return Aggregate(relation, (), ((name, call),), at)


def _counts(query: exp.Select) -> bool:
    function = aggregate_function(query.expressions[0].unalias())
    return function is not None and function.counts_rows


def _is_taken_out(node: Expr) -> TypeGuard[exp.Subquery | exp.Exists]:
    """Whether an expression is a scalar sub-query, or an EXISTS that can be a column of a join."""
    if isinstance(node, exp.Exists):
        return _gives_its_rows(node.this)
    return isinstance(node, exp.Subquery) and not _is_of_a_test(node)


def _gives_its_rows(query: Expr) -> bool:
    """Whether a query has just the rows of its FROM that meet its WHERE."""
    others = ("group", "having", "qualify", "distinct", "limit", "offset")
    is_plain = isinstance(query, exp.Select) and not any(query.args.get(clause) for clause in others)
    return is_plain and not any(is_aggregate(node) for item in query.expressions for node in item.walk())


def _is_of_a_test(node: exp.Subquery) -> bool:
    """Whether a sub-query belongs to IN, EXISTS, ANY or ALL."""
    parent = node.parent
    if isinstance(parent, exp.In):
        return parent.args.get("query") is node
    return isinstance(parent, exp.Exists | exp.Any | exp.All | exp.From | exp.Join)
