"""Scalar sub-queries: each becomes a column of a left join, without keys or on the columns shared with the outer row.

So do EXISTS and IN within an expression, below OR or in SELECT: rows without a partner have NULL in a column of TRUE.
Source: Flink's SubQueryRemoveRule and RelDecorrelator. A sub-query that is not a global aggregate is wrapped in MAX:
if it has several rows, Flink fails, and this engine takes the largest value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.aggregate_calls import aggregate_function, is_aggregate
from engine.sql.algebra import Aggregate, Expr, Join, Relation, Select, Table, conjuncts, ref, together
from engine.sql.clauses.exists_items import not_computed
from engine.sql.clauses.from_clause import from_clause
from engine.sql.empty import Totals
from engine.sql.names import Names, Read
from engine.sql.nullability import is_never_null
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope


@dataclass
class Scalars:
    """The sub-queries extracted from expressions; each is replaced by a placeholder with its number.

    That of x IN (query) stands in place of the query, so that x is read like any other expression. values: by number,
    those of the sub-queries that are joined.
    """

    names: Names
    read: Read
    queries: list[exp.Subquery | exp.Exists]
    values: dict[str, Expr] = field(default_factory=dict)

    def taken_out_of(self, expression: Expr) -> Expr:
        """The expression with placeholders for its sub-queries."""

        def swap(node: Expr) -> Expr:
            test = membership(node)
            if isinstance(test, exp.In) and test.args.get("query") is not None:
                return exp.In(this=self.taken_out_of(test.this), query=self._placeholder(test.args["query"]))
            is_value = isinstance(node, exp.Exists) or (isinstance(node, exp.Subquery) and not _is_of_a_test(node))
            return self._placeholder(node) if is_value else node

        rewritten: Expr = expression.copy().transform(swap, copy=False)
        return rewritten

    def _placeholder(self, query: Expr) -> exp.Placeholder:
        assert isinstance(query, exp.Subquery | exp.Exists)
        self.queries.append(query)
        return exp.Placeholder(this=str(len(self.queries) - 1))

    def joined_to(self, scope: Scope, expressions: Sequence[Expr]) -> tuple[Scope, list[Expr]]:
        """The scope joined with the sub-queries of these expressions, and the expressions over it."""
        for expression in expressions:
            # The value that IN looks for comes before its query.
            for placeholder in expression.find_all(exp.Placeholder, bfs=False):
                if placeholder.name not in self.values:
                    query, test = self.queries[int(placeholder.name)], placeholder.parent
                    if isinstance(test, exp.In) and placeholder.arg_key == "query":
                        scope, self.values[placeholder.name] = self._member(scope, self.filled(test.this), query)
                    else:
                        scope, self.values[placeholder.name] = self._joined(scope, query)
        return scope, list(map(self.filled, expressions))

    def joined_to_arguments(self, scope: Scope, expressions: Iterable[Expr | None]) -> Scope:
        """The scope joined with the sub-queries in arguments of aggregates, which come before the groups."""
        calls = [node for part in expressions if part is not None for node in part.walk() if is_aggregate(node)]
        whole = [call.parent if isinstance(call.parent, exp.Filter) else call for call in calls]
        return self.joined_to(scope, whole)[0]

    def filled(self, expression: Expr) -> Expr:
        """The expression with the values of the sub-queries that are joined."""

        def fill(node: Expr) -> Expr:
            placeholder = node.args.get("query") if isinstance(node, exp.In) else node
            value = self.values.get(placeholder.name) if isinstance(placeholder, exp.Placeholder) else None
            return node if value is None else value.copy()

        filled: Expr = expression.copy().transform(fill, copy=False)
        return filled

    def _joined(self, scope: Scope, query: exp.Subquery | exp.Exists) -> tuple[Scope, Expr]:
        ties = split_ties(query.this, scope, self.names, self.read)
        outer = [] if ties is None else ties.outer
        if isinstance(query, exp.Exists):
            self.names.unused.extend(not_computed(query.this, scope, self.names, self.read, is_one_row=False))
            if is_one_row(query.this) and query.this.args.get("limit") is None:
                return scope, exp.Boolean(this=True)
            scope, named = _beside(scope, self._any_row(query, ties), JoinKind.LEFT, outer, query)
            return scope, _is_there(named[-1], query)
        right = _single_row(self.read(query, self.names), query) if ties is None else self._tied(query.this, ties)
        scope, named = _beside(scope, right, JoinKind.LEFT, outer, query)
        value: Expr = ref(named[-1], query)
        if ties is not None and _counts(query.this):
            missing = exp.Is(this=value.copy(), expression=exp.Null())
            zero = exp.Cast(this=exp.Literal.number(0), to=exp.DataType.build("BIGINT"))
            value = exp.Case(ifs=[exp.If(this=missing, true=zero)], default=value)
        return scope, value

    def _member(self, scope: Scope, value: Expr, query: Expr) -> tuple[Scope, Expr]:
        """x IN (query): TRUE if a row equals x, NULL if one might, and FALSE without rows.

        Where x or a row can be NULL, rows are counted. As in Flink, there is no result before the first row then, and
        each row updates all results.
        """
        sought = list(value.expressions) if isinstance(value, exp.Tuple) else [value]
        ties = split_ties(query.this, scope, self.names, self.read)
        if ties is None:
            rows, outer = self.read(query, self.names), []
        else:
            rows, outer = self.read(ties.listed(_of_rows(query.this)), self.names), ties.outer
        tied, own = rows.columns[: len(outer)], rows.columns[len(outer) :]
        if len(own) != len(sought):
            expected = "one column" if len(sought) == 1 else f"{len(sought)} columns"
            message = f"the query of IN has to give {expected}, but it gives {', '.join(own)}."
            raise SqlRejected(message, query.this)
        columns = tuple((name, ref(name, query)) for name in rows.columns)
        never_null = [is_never_null(scope.relation, part, _is_declared) for part in sought]
        never_null += [is_never_null(rows, ref(name), _is_declared) for name in own]
        counts: list[Expr] = []
        if not all(never_null):
            are_known = together([_is_there(name, query) for name in own])
            first: Expr = ref(own[0], query) if len(own) == 1 else exp.Case(ifs=[exp.If(this=are_known, true=_true())])
            calls = (("c", _count(exp.Star())), ("ck", _count(first)))
            kind = JoinKind.INNER if ties is None else JoinKind.LEFT
            scope, named = _beside(scope, Aggregate(rows, columns[: len(tied)], calls, query), kind, outer, query)
            counts = [ref(name, query) for name in named[-2:]]
        by_columns = Select(Aggregate(rows, columns, (), query), (*columns, ("i", _true())))
        scope, named = _beside(scope, by_columns, JoinKind.LEFT, [*outer, *sought], query)
        is_found = _is_there(named[-1], query)
        if not counts:
            return scope, is_found
        null = exp.Cast(this=exp.Null(), to=exp.DataType.build("BOOLEAN"))
        cases: list[tuple[Expr, Expr]] = [
            (exp.EQ(this=counts[0], expression=exp.Literal.number(0)), exp.Boolean(this=False)),
            *((exp.Is(this=part.copy(), expression=exp.Null()), null) for part in sought),
            (is_found, _true()),
            (exp.LT(this=counts[1], expression=counts[0].copy()), null),
        ]
        branches = [exp.If(this=test, true=result.copy()) for test, result in cases]
        return scope, exp.Case(ifs=branches, default=exp.Boolean(this=False))

    def _any_row(self, exists: exp.Exists, ties: Ties | None) -> Relation:
        """A row with TRUE for each tie value of the sub-query's rows, or for all of them."""
        if ties is None:
            every = Select(self.read(exists.this, self.names), (("i", _true()),))
            return Aggregate(every, (("i", ref("i", exists)),), (), exists)
        tied = self.read(ties.grouped(_of_rows(exists.this), []), self.names)
        return Select(tied, (*((name, ref(name, exists)) for name in tied.columns), ("i", _true())))

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
        subquery = self.listed(query, items)
        group = subquery.args.get("group")
        group_keys = list(group.expressions) if group is not None else []
        more = [side.copy() for side in self.inner if not self.is_among(side, group_keys)]
        subquery.set("group", exp.Group(expressions=[*group_keys, *more]))
        return subquery

    def listed(self, query: exp.Select, items: Sequence[Expr] | None = None) -> exp.Select:
        """The sub-query without ties: their inner sides come before the items, by default those that it has."""
        subquery = query.copy()
        subquery.set("where", exp.Where(this=together(self.own)) if self.own else None)
        keys = [exp.alias_(side.copy(), f"tie{at}") for at, side in enumerate(self.inner)]
        subquery.set("expressions", [*keys, *(item.copy() for item in (query.expressions if items is None else items))])
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


def _of_rows(query: Expr) -> exp.Select:
    """The query. Raises SqlRejected unless it has just the rows of its FROM that meet its WHERE."""
    others = ("group", "having", "qualify", "distinct", "limit", "offset")
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in others) or is_total(query):
        message = (
            "outside the AND of a WHERE, a sub-query of EXISTS or IN that uses columns of the outer query has a FROM "
            "and a WHERE only. Write it as a join with a sub-query in FROM."
        )
        raise SqlRejected(message, query)
    return query


def membership(node: Expr) -> Expr:
    """x = ANY (query) and x <> ALL (query) as IN and NOT IN; any other node as it is."""
    match node:
        case exp.EQ(expression=exp.Any(this=exp.Query() as query)):
            return exp.In(this=node.this, query=exp.Subquery(this=query))
        case exp.NEQ(expression=exp.All(this=exp.Query() as query)):
            return exp.Not(this=exp.In(this=node.this, query=exp.Subquery(this=query)))
    return node


def is_grouped(query: Expr) -> bool:
    """Whether a query has a GROUP BY."""
    return query.args.get("group") is not None


def is_total(query: Expr) -> bool:
    """Whether a query aggregates all of its rows into one: its items call aggregate functions, without GROUP BY."""
    return not is_grouped(query) and any(
        is_aggregate(node) and node.find_ancestor(exp.Select) is query and node.find_ancestor(exp.Window) is None
        for item in query.args.get("expressions") or ()
        for node in item.walk()
    )


def is_one_row(query: Expr) -> bool:
    """Whether a query has one row whatever it reads, unless its LIMIT is 0. Source: Calcite RelMdMinRowCount."""
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in ("having", "qualify", "offset")):
        return False
    return is_total(query)


def _beside(
    scope: Scope, right: Relation, kind: JoinKind, outer: Sequence[Expr], at: Expr
) -> tuple[Scope, Sequence[str]]:
    """The scope with a relation joined to it, and what its columns are called. outer: what its first columns equal."""
    shape = Join(scope.relation, right, kind, (), at)
    named = [shape.right_names[name] for name in right.columns]
    pairs = zip(outer, named, strict=False)
    conditions = tuple(exp.EQ(this=mine.copy(), expression=ref(name, at)) for mine, name in pairs)
    return replace(scope, relation=replace(shape, condition=conditions)), named


def _is_declared(table: Table, column: str) -> bool:
    return column in table.not_null


def _is_there(name: str, at: Expr) -> Expr:
    return exp.Not(this=exp.Is(this=ref(name, at), expression=exp.Null()))


def _count(counted: Expr) -> Expr:
    return exp.Anonymous(this="COUNT", expressions=[counted])


def _true() -> Expr:
    return exp.Boolean(this=True)


def _is_of_a_test(node: exp.Subquery) -> bool:
    """Whether a sub-query belongs to IN, EXISTS, ANY or ALL."""
    parent = node.parent
    if isinstance(parent, exp.In):
        return parent.args.get("query") is node
    return isinstance(parent, exp.Exists | exp.Any | exp.All | exp.From | exp.Join)
