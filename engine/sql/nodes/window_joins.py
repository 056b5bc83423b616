"""Joins of two windowed relations on equal bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.sql.algebra import Expr, Join, Relation, mentioned, plain
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.groups import window_parameters
from engine.sql.nodes.join_sides import Condition, Side, join_node, own_columns, side
from engine.sql.nodes.unassigned_windows import Unassigned, unassigned
from engine.sql.nodes.window_bounds import END, START, joined_windows


def window_join(emitter: Emitter, relation: Join, condition: Condition, needed: frozenset[str]) -> Emitted | None:
    """The join per window; None if the sides have different windows, or the condition does not equate their bounds."""
    both_windows = joined_windows(relation, condition.equal)
    if both_windows is None:
        return None
    left_windows, right_windows = both_windows
    of_windows = [
        (a, b)
        for a, b in condition.equal
        if plain(a) in left_windows.columns
        and left_windows.columns[plain(a) or ""] in (START, END)
        and left_windows.columns[plain(a) or ""] == right_windows.columns.get(plain(b) or "")
    ]
    keys = [pair for pair in condition.equal if pair not in of_windows]
    assigned = _assigning(emitter, relation, Condition(tuple(keys), condition.rest), needed)
    if assigned is not None:
        return assigned
    left_bounds = [left_windows.bound(which) for which in (START, END)]
    right_bounds = [right_windows.bound(which) for which in (START, END)]
    left_used, right_used = own_columns(relation, condition.used(needed))
    left_used += [name for name in left_bounds if name not in left_used]
    right_used += [name for name in right_bounds if name not in right_used]
    left = side(emitter, relation.left, left_used, [a for a, _ in keys], relation.at)
    right = side(emitter, relation.right, right_used, [b for _, b in keys], relation.at)
    left_window = [left.emitted.names[name] for name in left_bounds]
    right_window = [right.emitted.names[name] for name in right_bounds]
    return join_node(
        emitter,
        "window_join",
        relation,
        (left, right),
        condition.rest,
        left_window=left_window,
        right_window=right_window,
    )


def _assigning(emitter: Emitter, relation: Join, condition: Condition, needed: frozenset[str]) -> Emitted | None:
    """The join with windows that it assigns by itself; None if something other than their equality is asked of them.

    condition: without the equal bounds.
    """
    right_needed = frozenset(name for name, in_pair in relation.right_names.items() if in_pair in needed)
    left, right = unassigned(relation.left, needed), unassigned(relation.right, right_needed)
    if left is None or right is None:
        return None
    right_bounds = {relation.right_names[name] for name in right.roles}
    compared = [frozenset().union(*(mentioned(pair[at]) for pair in condition.equal)) for at in (0, 1)]
    tested = frozenset().union(*(mentioned(conjunct) for conjunct in condition.rest))
    # Here, the bounds of a padded side are not NULL.
    of_padded = (left.roles.keys() if relation.kind.keeps_right else set()) | (
        right_bounds if relation.kind.keeps_left else set()
    )
    if compared[0] & left.roles.keys() or compared[1] & right.roles.keys():
        return None
    if needed & of_padded or tested & (left.roles.keys() | right_bounds):
        return None
    left_used, right_used = own_columns(relation, condition.used(needed))
    sides = (
        _rows(emitter, left, relation.left, left_used, [a for a, _ in condition.equal], relation.at),
        _rows(emitter, right, relation.right, right_used, [b for _, b in condition.equal], relation.at),
    )
    parameters = window_parameters(left.windowed.windowing)
    joined = join_node(
        emitter, "window_join", relation, sides, condition.rest, windows=parameters.pop("kind"), **parameters
    )
    bound_names = emitter.derived[joined.node].schema.names[-3:]
    names = {**joined.names, **left.named(bound_names)}
    if not relation.kind.is_left_only:
        names |= {relation.right_names[name]: column for name, column in right.named(bound_names).items()}
    return replace(joined, names=names)


def _rows(
    emitter: Emitter, below: Unassigned, relation: Relation, used: Sequence[str], keys: Sequence[Expr], at: Expr
) -> Side:
    """A side without its windows. relation: the side as the join has it."""
    own = [name for name in used if name not in below.roles]
    input_side = side(emitter, below.rows, [*own, below.time], keys, at)
    emitted = below.only_event_time(emitter, input_side.emitted)
    names = {name: column for name, column in emitted.names.items() if name in relation.columns}
    return Side(replace(emitted, names=names), input_side.keys)
