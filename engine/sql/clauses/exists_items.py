"""What EXISTS does not compute: the items of its SELECT, and conditions of a query that has one row in any case.

Flink validates them all the same. They are read as relations of their own, whose nodes are made for their errors only
(`Names.unused`). Expressions that mix columns of both queries are checked in parts, each with columns of one query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sqlglot import exp

from engine.sql.aggregate_calls import is_aggregate
from engine.sql.algebra import Expr, Relation, Select, conjuncts, together
from engine.sql.clauses.from_clause import from_clause
from engine.sql.names import Names, Read
from engine.sql.scope import Scope

# The kinds of expressions whose operands are values of their own.
_OF_VALUES: Final = (exp.Binary, exp.Unary, exp.Between, exp.Case, exp.If, exp.Cast, exp.Anonymous)
_NOT_OF_FROM: Final = ("where", "group", "having", "distinct", "order", "limit", "offset", "windows", "with_")


def not_computed(query: Expr, outer: Scope, names: Names, read: Read, *, is_one_row: bool) -> Iterator[Relation]:
    """The relations to check for an EXISTS. is_one_row: its conditions are not computed either.

    Raises SqlRejected for an unknown column.
    """
    if not isinstance(query, exp.Select):
        yield read(query, names)
        return
    inner = from_clause(query, names, read)
    where = query.args.get("where")
    conditions = [] if where is None else list(conjuncts(where.this))
    is_correlated = any(
        inner.find(column) is None and outer.find(column) is not None
        for part in (*query.expressions, *conditions)
        for column in part.find_all(exp.Column)
        if column.find_ancestor(exp.Select) is query
    )
    whole, items = query.copy(), list[Expr]()
    of_outer: list[Expr] = []
    for item in query.expressions:
        if item.find(exp.Window) is not None:
            continue
        if not is_correlated or item.is_star or _is_of(item, inner):
            items.append(item.copy())
            continue
        split = _split(item.unalias(), inner, outer)
        items += [exp.alias_(part.copy(), f"item{len(items)}") for part, is_inner in split if is_inner]
        of_outer += [part for part, is_inner in split if not is_inner]
    whole.set("expressions", items or [exp.Literal.number(1)])
    if whole.args.get("limit") is None:
        # Without LIMIT, EXISTS does not depend on an order; for rows, it would be refused.
        whole.set("order", None)
    if is_correlated:
        own = [part for part in conditions if _is_of(part, inner)]
        whole.set("where", exp.Where(this=together([part.copy() for part in own])) if own else None)
        if is_one_row:
            split = [piece for part in conditions if part not in own for piece in _split(part, inner, outer)]
            of_outer += [part for part, is_inner in split if not is_inner]
            if of_inner := [part for part, is_inner in split if is_inner]:
                yield read(_select(query, of_inner), names)
    yield read(whole, names)
    if of_outer:
        yield Select(outer.relation, tuple((f"item{at}", outer.bind(part)) for at, part in enumerate(of_outer)))


def _is_of(part: Expr, scope: Scope) -> bool:
    columns = part.find_all(exp.Column)
    return part.find(exp.Select) is None and all(scope.find(column) is not None for column in columns)


def _split(part: Expr, inner: Scope, outer: Scope) -> list[tuple[Expr, bool]]:
    """The largest parts with columns of one query, each with whether it is the inner one."""
    if part.find(exp.Select) is not None or part.find(exp.Column) is None:
        return []
    if _is_of(part, inner):
        return [(part, True)]
    # An inner name hides an outer one.
    is_outer = not any(inner.find(column) is not None for column in part.find_all(exp.Column))
    if is_outer and not any(is_aggregate(node) for node in part.walk()):
        missing = next((column for column in part.find_all(exp.Column) if outer.find(column) is None), None)
        if missing is not None:
            raise inner.unknown(missing)
        return [(part, False)]
    if not isinstance(part, _OF_VALUES):
        return []
    return [piece for child in part.iter_expressions() for piece in _split(child, inner, outer)]


def _select(query: exp.Select, items: Iterable[Expr]) -> exp.Select:
    """These items of a query's FROM."""
    selected = query.copy()
    for clause in _NOT_OF_FROM:
        selected.set(clause, None)
    selected.set("expressions", [exp.alias_(item.copy(), f"item{at}") for at, item in enumerate(items)])
    return selected
