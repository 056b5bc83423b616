"""Joins of two windowed relations on equal bounds."""

from __future__ import annotations

from engine.sql.algebra import Join, plain
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.join_sides import Condition, join_node, own_columns, side
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
