"""LIMIT as a rank of the whole table, below a projection where that is cheaper.

Source: Flink FlinkLogicalSort to Rank, Calcite SortProjectTransposeRule.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from engine.model.free_names import free_name
from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Join,
    Rank,
    Relation,
    Select,
    SortKey,
    Union,
    is_free,
    mentioned,
    plain,
    ref,
)
from engine.sql.rules.project_merge import selected
from engine.sql.written import Limit


def ranked_limit(limit: Limit) -> Relation:
    """The rank, with the columns of the limit."""
    below, keys, items = _below_projection(limit.input, limit.order)
    rank = Rank(
        input=below,
        function="ROW_NUMBER",
        partition=(),
        order=keys,
        name=free_name("rank", below.columns),
        at=limit.at,
        start=limit.start,
        end=limit.end,
        keeps=_selected(below, [*items.values(), *(key.expression for key in keys)]),
    )
    return selected(rank, tuple((name, items[name]) for name in limit.columns))


def _below_projection(
    relation: Relation, keys: tuple[SortKey, ...]
) -> tuple[Relation, tuple[SortKey, ...], dict[str, Expr]]:
    """The input of a projection, the sort keys over it, and the projection's items to compute above the limit.

    So a change of an unused column retracts a row and emits it again. The relation itself is returned if a key is
    computed, or if Flink does not find this plan cheaper. Source: Calcite's SortProjectTransposeRule.
    """
    items = dict(relation.items) if isinstance(relation, Select) else {}
    places = [plain(items.get(key.expression.name, exp.Null())) for key in keys]
    if not isinstance(relation, Select) or None in places or not _is_cheaper_below(relation):
        return relation, keys, {name: ref(name) for name in relation.columns}
    moved = (
        SortKey(ref(place or "", key.expression), key.descending, key.nulls_first)
        for place, key in zip(places, keys, strict=True)
    )
    return relation.input, tuple(moved), items


def _is_cheaper_below(relation: Select) -> bool:
    """Whether Flink finds a projection cheaper above the limit than below it.

    Directly above a condition, only computed items cost something; above a limit there are few rows anyway.
    Source: Flink CommonCalc.
    """
    match relation.input:
        case Rank(is_limit=False) | Filter():
            return not all(is_free(item) for _, item in relation.items)
        case _:
            return True


def _selected(below: Relation, items: Iterable[Expr]) -> tuple[str, ...]:
    """The columns below that the limit keeps: all of them, unless a projection moves further down than that.

    Past a filter, a union or a join only the columns go that are read, and those of the join's condition, or the first
    one of a side. A rank keeps its number, an aggregate its groups, a limit what it has.
    Source: Flink PROJECT_RULES, PruneAggregateCallRule.
    """
    read = frozenset().union(*map(mentioned, items))
    match below:
        case Filter() | Union():
            pass
        case Rank(is_limit=True):
            return below.keeps
        case Rank(name=number):
            read |= {number}
        case Aggregate(groups=groups):
            read |= dict(groups).keys()
        case Join(as_of=None, condition=condition):
            read = read.union(*map(mentioned, condition))
            sides = (below.left.columns, tuple(below.right_names.values()))
            read |= {side[0] for side in sides if read.isdisjoint(side)}
        case _:
            return below.columns
    return tuple(name for name in below.columns if name in read)
