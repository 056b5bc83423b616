"""LATERAL with a sub-query, as a join: its comparisons with the left side become the join's, its LIMIT a rank per key.

    FROM states AS s, LATERAL (SELECT city FROM t WHERE t.state = s.state ORDER BY n DESC LIMIT 2)

Source: Flink's plan of the same query is a rank per state, joined to the states.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.aggregate_calls import is_aggregate
from engine.sql.algebra import Expr, conjuncts, together
from engine.sql.clauses.limit import count_of
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

_KEY: Final = "lateral_key_"
_RANK: Final = "lateral_rank"
_TABLE: Final = "lateral"


def decorrelated(join: exp.Join, left: Scope) -> exp.Join:
    """The join with a sub-query that does not see the left side. Raises SqlRejected if it cannot do without."""
    lateral, whole = join.this, join.copy()
    query = lateral.this.this.copy()
    if not isinstance(query, exp.Select) or any(query.args.get(name) for name in ("group", "having", "distinct")):
        raise _unsupported(join)
    if any(is_aggregate(node) for item in query.expressions for node in item.walk()):
        raise _unsupported(join)
    own = {table.alias_or_name for table in query.find_all(exp.Table, exp.Subquery)}
    inner_conditions: list[Expr] = []
    keys: list[tuple[Expr, Expr]] = []
    clause = query.args.get("where")
    for condition in conjuncts(clause.this) if clause is not None else ():
        sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
        outer = [side for side in sides if _is_of(side, left, own)]
        if len(outer) == 1:
            keys.append((outer[0], next(side for side in sides if side is not outer[0])))
        elif any(_is_of(column, left, own) for column in condition.find_all(exp.Column)):
            raise _unsupported(join)
        else:
            inner_conditions.append(condition)
    query.set("where", exp.Where(this=together(inner_conditions)) if inner_conditions else None)
    alias = lateral.args.get("alias")
    columns = alias.args.get("columns") if alias is not None else None
    names = [item.alias_or_name for item in query.expressions]
    key_items = [exp.alias_(inner.copy(), f"{_KEY}{at}") for at, (_, inner) in enumerate(keys)]
    query.set("expressions", [*query.expressions, *key_items])
    query = _with_rank(query, [inner for _, inner in keys], [*names, *(key_item.alias for key_item in key_items)])
    table = alias.name if alias is not None and alias.name else _TABLE
    called = exp.TableAlias(this=exp.to_identifier(table, quoted=True))
    if columns:
        called.set(
            "columns",
            [*(column.copy() for column in columns), *(exp.to_identifier(key_item.alias) for key_item in key_items)],
        )
    on = [exp.EQ(this=outer.copy(), expression=exp.column(f"{_KEY}{at}", table)) for at, (outer, _) in enumerate(keys)]
    given = join.args.get("on")
    if given is not None and not isinstance(given.unnest(), exp.Boolean):
        on.append(given.copy())
    whole.set("this", exp.Subquery(this=query, alias=called))
    whole.set("on", together(on) if on else None)
    return whole


def is_hidden(name: str) -> bool:
    """Whether a column is only there for the join."""
    return name.startswith(_KEY)


def _with_rank(query: exp.Select, keys: list[Expr], names: list[str]) -> exp.Select:
    """The first rows per key, if the query has a LIMIT."""
    limit, order = query.args.get("limit"), query.args.get("order")
    query.set("limit", None)
    query.set("order", None)
    if limit is None:
        return query
    by_alias = {item.alias: item.this for item in query.expressions if isinstance(item, exp.Alias)}
    if order is not None:
        order = order.copy().transform(
            lambda node: (
                by_alias[node.name].copy()
                if isinstance(node, exp.Column) and not node.table and node.name in by_alias
                else node
            )
        )
    call = exp.Anonymous(this="ROW_NUMBER", expressions=[])
    window = exp.Window(this=call, partition_by=[key.copy() for key in keys], order=order)
    query.set("expressions", [*query.expressions, exp.alias_(window, _RANK)])
    condition = exp.LTE(this=exp.column(_RANK), expression=count_of(limit).copy())
    below = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(f"{_TABLE}_ranked")))
    columns = [exp.column(name, quoted=True) for name in names]
    return exp.Select(expressions=columns, from_=exp.From(this=below), where=exp.Where(this=condition))


def _is_of(node: Expr, left: Scope, own: set[str]) -> bool:
    """Whether it is a column of the left side."""
    return isinstance(node, exp.Column) and bool(node.table) and node.table not in own and left.has_table(node.table)


def _unsupported(join: exp.Join) -> SqlRejected:
    message = (
        "LATERAL takes a SELECT without aggregates whose WHERE compares a column with one of the left side by =, and "
        "perhaps ORDER BY and LIMIT. Write other ones as a join with a sub-query that groups by that column."
    )
    return SqlRejected(message, join)
