"""Joins as nodes: temporal joins, window joins, interval joins, and joins over all rows.

The query determines the kind, as in Flink. FOR SYSTEM_TIME AS OF makes a temporal join. Equal bounds of two
window functions make a window join. Two bounds on the difference of event times make an interval join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql import state_ttl
from engine.sql.algebra import Expr, Join, mentioned, plain, ref, together
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.join_sides import (
    Condition,
    Side,
    computable,
    join_node,
    own_columns,
    pair_names,
    side,
    taken_apart,
    with_comparable_keys,
)
from engine.sql.nodes.temporal_joins import temporal_join
from engine.sql.nodes.time_bounds import TimeBounds, event_times, only_event_time, time_bounds
from engine.sql.nodes.window_joins import window_join
from engine.sql.rules.project_merge import selected


def join(emitter: Emitter, relation: Join, needed: frozenset[str]) -> Emitted:
    """The join as the kind of node that the query determines."""
    condition = taken_apart(relation)
    if relation.as_of is not None:
        return temporal_join(emitter, relation, condition, needed)
    per_window = window_join(emitter, relation, condition, needed)
    return per_window if per_window is not None else _over_rows(emitter, relation, condition, needed)


def _over_rows(emitter: Emitter, relation: Join, condition: Condition, needed: frozenset[str]) -> Emitted:
    condition = with_comparable_keys(emitter, relation, condition)
    left_used, right_used = own_columns(relation, condition.used(needed))
    left = side(emitter, relation.left, left_used, [a for a, _ in condition.equal], relation.at)
    below = relation.right
    if relation.kind.is_left_only:
        # A sub-query is read through a projection of its compared columns.
        read = frozenset(right_used).union(*(mentioned(b) for _, b in condition.equal))
        below = selected(below, tuple((name, ref(name)) for name in below.columns if name in read)) if read else below
    right = side(emitter, below, right_used, [b for _, b in condition.equal], relation.at)
    same_time = _equal_times(emitter, condition, left, right)
    times = [
        exp.EQ(this=a.copy(), expression=ref(relation.right_names[b.name], b))
        for at, (a, b) in enumerate(condition.equal)
        if at in same_time
    ]
    bounds = time_bounds(emitter, relation, (*times, *condition.rest), left.emitted, right.emitted)
    if bounds is not None and not relation.kind.is_left_only:
        return _within_interval(emitter, relation, bounds, left.without(same_time), right.without(same_time))
    ttls = state_ttl.of_join(relation.at)
    return _join_and_filter(emitter, "join", relation, (left, right), condition.rest, **ttls)


def _equal_times(emitter: Emitter, condition: Condition, left: Side, right: Side) -> set[int]:
    """The places of equal pairs that are event times: equal times are an interval of length 0."""
    left_times, right_times = event_times(emitter, left.emitted), event_times(emitter, right.emitted)
    return {at for at, (a, b) in enumerate(condition.equal) if plain(a) in left_times and plain(b) in right_times}


def _within_interval(emitter: Emitter, relation: Join, bounds: TimeBounds, left: Side, right: Side) -> Emitted:
    left = Side(only_event_time(emitter, left.emitted, bounds.left_time, relation.at), left.keys)
    right = Side(only_event_time(emitter, right.emitted, bounds.right_time, relation.at), right.keys)
    return _join_and_filter(
        emitter,
        "interval_join",
        relation,
        (left, right),
        bounds.rest,
        lower_ms=bounds.lower_ms,
        upper_ms=bounds.upper_ms,
    )


def _join_and_filter(
    emitter: Emitter, operator: str, relation: Join, sides: tuple[Side, Side], rest: Sequence[Expr], **more: Any
) -> Emitted:
    """The join, below a filter with the conditions that it cannot compute. more: its other parameters."""
    above: Sequence[Expr] = ()
    if relation.kind is JoinKind.INNER:
        # A filter above an inner join keeps the same pairs, and takes any function.
        names = pair_names(emitter, relation, *(side.emitted for side in sides))
        rest, above = computable(emitter, *sides, names, rest)
    emitted = join_node(emitter, operator, relation, sides, rest, **more)
    if above:
        condition = emitter.writer(emitted).write(together(above))
        node = emitter.add("filter", {"condition": condition}, [emitted.node], relation.at)
        return replace(emitted, node=node)
    return emitted
