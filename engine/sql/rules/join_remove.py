"""An outer join below an aggregate goes if nothing of its padded side is read, and its rows are not counted.

That is so where a row finds one row at most, or where the aggregate takes each value once.
Source: Calcite AggregateJoinRemoveRule, ProjectJoinRemoveRule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.algebra import Aggregate, Expr, Filter, Join, Relation, Scan, Select, mentioned, plain, ref


def aggregated(aggregate: Aggregate) -> Relation:
    """The aggregate, over the side that it reads."""
    read = frozenset[str]().union(*(mentioned(item) for _, item in (*aggregate.groups, *aggregate.calls)))
    takes_each_once = all(map(_is_distinct, (call for _, call in aggregate.calls)))
    below = _without_join(aggregate.input, read, takes_each_once=takes_each_once)
    return aggregate if below is None else replace(aggregate, input=below)


def _without_join(relation: Relation, read: frozenset[str], *, takes_each_once: bool) -> Relation | None:
    """The relation with the columns that are read, without the join; None if that stays."""
    match relation:
        case Select(input=below, items=items):
            read_items = tuple((name, item) for name, item in items if name in read)
            needed = frozenset[str]().union(*(mentioned(item) for _, item in read_items))
            reduced = _without_join(below, needed, takes_each_once=takes_each_once)
            return None if reduced is None else Select(reduced, read_items) if read_items else reduced
        case Join(kind=JoinKind.LEFT, as_of=None) if read.isdisjoint(relation.right_names.values()):
            return relation.left if takes_each_once or _finds_one(relation, relation.right) else None
        case Join(kind=JoinKind.RIGHT, as_of=None) if read.isdisjoint(relation.left.columns):
            if takes_each_once or _finds_one(relation, relation.left):
                return Select(relation.right, tuple((new, ref(old)) for old, new in relation.right_names.items()))
    return None


def _is_distinct(call: Expr) -> bool:
    """Whether a call takes each value once. With FILTER Flink keeps the join."""
    return isinstance(call, exp.Anonymous) and bool(call.expressions) and isinstance(call.expressions[0], exp.Distinct)


def _finds_one(join: Join, side: Relation) -> bool:
    """Whether a row of the other side finds at most one of this one: its join columns contain a key."""
    own = dict(join.right_names) if side is join.right else {name: name for name in side.columns}
    called = {new: old for old, new in own.items()}
    columns: set[str] = set()
    for conjunct in join.condition:
        if isinstance(conjunct, exp.EQ):
            for key, other in ((conjunct.this, conjunct.expression), (conjunct.expression, conjunct.this)):
                name = plain(key)
                if name in called and mentioned(other) and mentioned(other).isdisjoint(called):
                    columns.add(called[name])
    return any(key <= columns for key in _keys(side))


def _keys(relation: Relation) -> Iterator[frozenset[str]]:
    """The sets of columns that no two rows share, as far as it is easily known."""
    match relation:
        case Aggregate(groups=groups):
            yield frozenset(name for name, _ in groups)
        case Filter(input=below):
            yield from _keys(below)
        case Select(input=below, items=items):
            names = {plain(item): name for name, item in items}
            yield from (frozenset(names[name] for name in key) for key in _keys(below) if key <= names.keys())
        case Scan(table=table) if table.node.parameters.get("primary_key"):
            yield frozenset(table.node.parameters["primary_key"])
