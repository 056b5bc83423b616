"""What is left of relations without rows: a condition that is never true makes all above it empty, up to a union, an
outer join or an aggregate of all rows.

Source: Calcite PruneEmptyRules, AggregateValuesRule. OVER, UNNEST, MATCH_RECOGNIZE and joins with FOR SYSTEM_TIME stay,
as in Flink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sqlglot import exp

from engine.joins.sides import JoinKind
from engine.sql.aggregate_calls import aggregate_function
from engine.sql.algebra import (
    Aggregate,
    Called,
    Expr,
    Filter,
    Join,
    Matched,
    Numbered,
    Over,
    Rank,
    Relation,
    Repeated,
    Select,
    Sorted,
    Union,
    Unnested,
    Windowed,
    mentioned,
    substituted,
    together,
)
from engine.sql.empty import Empty, Padded, Totals
from engine.sql.rules.inputs import with_inputs
from engine.sql.rules.strong import is_contradiction

Warn = Callable[[Expr], None]
"""Is told the conditions that are never true."""


Seen = dict[int, Relation]
"""By identity, what has been pruned: a view is, before the queries that name it."""


def pruned(relation: Relation, warn: Warn, seen: Seen) -> Relation:
    """The relation without what can have no rows. seen: what needs no second look, to which all of it is added."""
    if id(relation) in seen or isinstance(relation, Empty | Padded | Totals):
        return relation
    has_order = isinstance(relation, Over | Matched | Called)
    below = partial(_pruned_if_rows if has_order else pruned, warn=warn, seen=seen)
    reduced = _with_rows(with_inputs(relation, below), warn)
    seen[id(reduced)] = reduced
    return reduced


def is_empty(relation: Relation, seen: Seen) -> bool:
    """Whether a relation can have no rows. seen: as in `pruned`."""
    return isinstance(pruned(relation, lambda _: None, dict(seen)), Empty)


def _with_rows(relation: Relation, warn: Warn) -> Relation:
    """A relation whose inputs are pruned."""
    match relation:
        case Filter(input=Empty()) | Select(input=Empty()) | Windowed(input=Empty()) | Repeated(input=Empty()):
            return Empty(relation)
        case Unnested(input=Empty(), collection=sets) if not mentioned(sets):
            return Empty(relation)
        case Numbered(input=Empty()) | Rank(input=Empty()) | Sorted(input=Empty()):
            return Empty(relation)
        case Filter(input=below, condition=condition) if _is_never_met(below, condition):
            warn(condition)
            return Empty(relation)
        case Aggregate(input=Empty(), groups=groups) if groups:
            return Empty(relation)
        case Aggregate(input=Empty()):
            return _totals(relation)
        case Union(inputs=inputs) if all(isinstance(part, Empty) for part in inputs):
            return Empty(relation)
        case Join():
            return _joined(relation, warn)
    return relation


def _pruned_if_rows(relation: Relation, warn: Warn, seen: Seen) -> Relation:
    """The pruned relation, but with its event time if it has no rows."""
    reduced = pruned(relation, warn, seen)
    return whole(reduced) if isinstance(reduced, Empty) else reduced


def _is_never_met(below: Relation, condition: Expr) -> bool:
    if isinstance(below, Padded):
        condition = substituted(condition, {name: exp.Null() for name in below.padded})
    return is_contradiction(condition)


def _joined(join: Join, warn: Warn) -> Relation:
    """A join without rows on one side, or on a condition that is never true, which leaves one side without matches."""
    if join.as_of is not None:
        return replace(join, left=whole(join.left), right=whole(join.right))
    kind = join.kind
    if join.condition and is_contradiction(together(join.condition)) and kind is not JoinKind.FULL:
        warn(together(join.condition))
        is_right_kept = kind is JoinKind.RIGHT
        join = replace(join, left=_none_of(join.left)) if is_right_kept else replace(join, right=_none_of(join.right))
    is_left, is_right = (isinstance(side, Empty) for side in (join.left, join.right))
    if not is_left and not is_right:
        return join
    match kind:
        case JoinKind.ANTI if not is_left:
            return join.left
        case JoinKind.LEFT | JoinKind.FULL if not is_left:
            return Padded(join)
        case JoinKind.RIGHT | JoinKind.FULL if not is_right:
            return Padded(join)
    return Empty(join.left if kind.is_left_only else join)


def _none_of(relation: Relation) -> Empty:
    return relation if isinstance(relation, Empty) else Empty(relation)


def _totals(aggregate: Aggregate) -> Relation:
    """One row, if Flink knows all results of no rows."""
    functions = {name: aggregate_function(call) for name, call in aggregate.calls}
    if not all(function is not None and function.is_known_of_no_rows for function in functions.values()):
        return aggregate
    return Totals(
        aggregate, tuple(name for name, function in functions.items() if function is not None and function.counts_rows)
    )


def whole(relation: Relation) -> Relation:
    """The relation with all that was taken away."""
    match relation:
        case Empty(input=below):
            return whole(below)
        case Padded(join=below) | Totals(aggregate=below):
            return whole(below)
    return with_inputs(relation, whole)
