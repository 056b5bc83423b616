"""Joins as nodes: per window, within an interval of event time, or over all rows.

Which one it is, the conditions say, as in Flink: equal bounds of two window functions make a window join,
an event time of one side between two bounds of the other's an interval join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from engine.joins import JoinKind, joined
from engine.schema import Schema, quote
from engine.sql.algebra import Expr, Join, Relation, mentioned, plain, ref, substituted, together
from engine.sql.expressions import Writer
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.time_bounds import TimeBounds, only_event_time, time_bounds
from engine.sql.rejected import SqlRejected


@dataclass(frozen=True)
class Condition:
    """A join's condition taken apart: pairs of expressions that are equal, and what else has to hold."""

    equal: tuple[tuple[Expr, Expr], ...]
    rest: tuple[Expr, ...]


@dataclass(frozen=True)
class Side:
    """One side of a join as a node, with its key columns as they are called there."""

    emitted: Emitted
    keys: tuple[str, ...]


def join(emitter: Emitter, relation: Join, needed: frozenset[str]) -> Emitted:
    """The join that the conditions make of it."""
    from engine.sql.nodes.window_joins import window_join

    if relation.as_of is not None:
        message = "a join FOR SYSTEM_TIME AS OF is not among the operators yet. Join without it, or within an interval."
        raise SqlRejected(message, relation.as_of)
    condition = taken_apart(relation)
    found = window_join(emitter, relation, condition, needed)
    return found if found is not None else _over_rows(emitter, relation, condition, needed)


def taken_apart(relation: Join) -> Condition:
    """The condition's equalities between the sides, with right columns by their own names, and the rest."""
    left = set(relation.left.columns)
    right = {new: old for old, new in relation.right_names.items()}
    equal: list[tuple[Expr, Expr]] = []
    same: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for one in relation.condition:
        if isinstance(one, exp.EQ | exp.NullSafeEQ):
            a, b = one.this, one.expression
            if mentioned(b) <= left and mentioned(a) <= right.keys():
                a, b = b, a
            if mentioned(a) and mentioned(b) and mentioned(a) <= left and mentioned(b) <= right.keys():
                own = substituted(b, {new: ref(old, b) for new, old in right.items()})
                (equal if isinstance(one, exp.EQ) else same).append((a, own))
                continue
        rest.append(one)
    if same:
        # One key that is never NULL, so that NULL meets NULL.
        a, b = (exp.Struct(expressions=[pair[side].copy() for pair in same]) for side in (0, 1))
        equal.append((a, b))
    return Condition(tuple(equal), tuple(rest))


def side(emitter: Emitter, relation: Relation, used: Sequence[str], keys: Sequence[Expr], at: Expr) -> Side:
    """One side with the columns that are used and its keys; a key that is computed becomes a column."""
    given = emitter.emit(relation, frozenset(used).union(*(mentioned(key) for key in keys)))
    computed = {number: key for number, key in enumerate(keys) if plain(key) is None}
    if not computed:
        columns = [*used, *(name for key in keys if (name := plain(key)) is not None)]
        narrow = emitter.narrowed(given, columns or list(given.names)[:1], at)
        return Side(narrow, tuple(narrow.names[plain(key) or ""] for key in keys))
    kept = [name for name in given.names if name in used or any(plain(key) == name for key in keys)]
    items = {given.names[name]: quote(given.names[name]) for name in kept}
    writer = emitter.writer(given)
    called: dict[int, str] = {}
    for number, key in computed.items():
        called[number] = emitter.free_name(f"key{number}", given)
        items[called[number]] = writer.write(key)
    node = emitter.project(given.node, list(items.items()), at)
    names = {name: given.names[name] for name in kept}
    found = tuple(called.get(number) or given.names[plain(key) or ""] for number, key in enumerate(keys))
    return Side(Emitted(node, names, given.arrival), found)


def pair_names(emitter: Emitter, relation: Join, left: Emitted, right: Emitted) -> Mapping[str, str]:
    """What the columns of both sides are called in a joined row."""
    schemas = emitter.schema(left), emitter.schema(right)
    columns = joined(*schemas, JoinKind.INNER)[len(schemas[0]) :]
    in_pair = dict(zip(schemas[1].names, (column.name for column in columns), strict=True))
    return {
        **left.names,
        **{relation.right_names[name]: in_pair[actual] for name, actual in right.names.items()},
    }


def _over_rows(emitter: Emitter, relation: Join, condition: Condition, needed: frozenset[str]) -> Emitted:
    used = needed.union(*(mentioned(one) for one in condition.rest)) if condition.rest else needed
    left_used = [name for name in relation.left.columns if name in used]
    right_used = [name for name in relation.right.columns if relation.right_names[name] in used]
    left = side(emitter, relation.left, left_used, [a for a, _ in condition.equal], relation.at)
    right = side(emitter, relation.right, right_used, [b for _, b in condition.equal], relation.at)
    bounds = time_bounds(emitter, relation, condition.rest, left.emitted, right.emitted)
    if bounds is not None and condition.equal and not relation.kind.is_left_only:
        return _within_interval(emitter, relation, bounds, left, right)
    return _node(emitter, "join", relation, left, right, condition.rest, {})


def _within_interval(emitter: Emitter, relation: Join, bounds: TimeBounds, left: Side, right: Side) -> Emitted:
    left = Side(only_event_time(emitter, left.emitted, bounds.left_time, relation.at), left.keys)
    right = Side(only_event_time(emitter, right.emitted, bounds.right_time, relation.at), right.keys)
    lengths = {"lower_ms": bounds.lower_ms, "upper_ms": bounds.upper_ms}
    return _node(emitter, "interval_join", relation, left, right, bounds.rest, lengths)


def _node(  # noqa: PLR0913
    emitter: Emitter,
    operator: str,
    relation: Join,
    left: Side,
    right: Side,
    rest: Sequence[Expr],
    more: Mapping[str, Any],
) -> Emitted:
    names = pair_names(emitter, relation, left.emitted, right.emitted)
    parameters = {"kind": relation.kind.value, "left_keys": left.keys, "right_keys": right.keys, **more}
    if rest:
        pair = Schema(joined(emitter.schema(left.emitted), emitter.schema(right.emitted), JoinKind.INNER))
        writer = Writer(names, lambda text: emitter.analyzer.type_of(text, pair, operator, "condition"))
        parameters["condition"] = writer.write(together(rest))
    node = emitter.add(operator, parameters, [left.emitted.node, right.emitted.node], relation.at)
    return Emitted(node, {name: names[name] for name in relation.columns if name in names})
