"""Joins of two window functions on equal bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.joins import JoinKind, joined
from engine.schema import quote
from engine.sql.algebra import Expr, Join, Relation, Select, Windowed, free_name, mentioned, plain, ref
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.groups import window_parameters, with_event_time
from engine.sql.nodes.join_sides import Condition, Side, own_columns, pair_condition, side
from engine.sql.nodes.window_bounds import attached
from engine.sql.pushdown import selected
from engine.sql.rejected import SqlRejected
from engine.windows import WindowKind

_BOUNDS = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class Unwindowed:
    """A relation of windows as the rows below, still with their time, and which of its columns are bounds."""

    windowed: Windowed
    bounds: dict[str, int]


def unwindowed(relation: Relation) -> Unwindowed | None:
    """The rows below a window function, with the projection above it put below; None where that cannot be."""
    if isinstance(relation, Windowed):
        return Unwindowed(relation, {name: at for at, name in enumerate(relation.bounds)})
    if not isinstance(relation, Select) or not isinstance(relation.input, Windowed):
        return None
    windowed = relation.input
    bounds: dict[str, int] = {}
    items: list[tuple[str, Expr]] = []
    for name, item in relation.items:
        if plain(item) in windowed.bounds:
            bounds[name] = windowed.bounds.index(plain(item) or "")
        elif mentioned(item) & set(windowed.bounds):
            return None
        else:
            items.append((name, item))
    time = next((name for name, item in items if plain(item) == windowed.time), None)
    if time is None:
        time = free_name(windowed.time, [*bounds, *(name for name, _ in items)])
        items.append((time, ref(windowed.time)))
    return Unwindowed(replace(windowed, input=selected(windowed.input, tuple(items)), time=time), bounds)


def window_join(emitter: Emitter, relation: Join, condition: Condition, needed: frozenset[str]) -> Emitted | None:
    """The join per window; None where the sides are no windows, or their bounds are not held equal."""
    left, right = unwindowed(attached(relation.left)), unwindowed(attached(relation.right))
    if left is None or right is None:
        return None
    equal_bounds = {
        left.bounds[plain(a) or ""]
        for a, b in condition.equal
        if plain(a) in left.bounds
        and plain(b) in right.bounds
        and left.bounds[plain(a) or ""] == right.bounds[plain(b) or ""]
    }
    if not equal_bounds >= {0, 1}:
        return None
    _check(relation, condition, left, right)
    keys = [(a, b) for a, b in condition.equal if plain(a) not in left.bounds]
    left_needed, right_needed = own_columns(relation, condition.used(needed))
    kind = relation.kind
    sides = (
        _side(emitter, left, left_needed, [a for a, _ in keys], relation, pads=kind.keeps_right),
        _side(emitter, right, right_needed, [b for _, b in keys], relation, pads=kind.keeps_left),
    )
    return _node(emitter, relation, condition, needed, (left, right), sides)


def _check(relation: Join, condition: Condition, left: Unwindowed, right: Unwindowed) -> None:
    one, other = left.windowed.windowing, right.windowed.windowing
    if one != other:
        both = f"{one.described()} and {other.described()}"
        message = f"both sides of a window join need the same windows, but they are {both}. Make them equal."
        raise SqlRejected(message, relation.at)
    if one.kind is not WindowKind.TUMBLE:
        message = f"windows are joined if they tumble, not {one.kind.value} windows. Use TUMBLE."
        raise SqlRejected(message, relation.at)
    bounds = set(left.bounds) | {relation.right_names[name] for name in right.bounds}
    for rest in condition.rest:
        if mentioned(rest) & bounds:
            message = "a window join compares the bounds of its windows for equality only. Put this into WHERE."
            raise SqlRejected(message, rest)


def _side(  # noqa: PLR0913
    emitter: Emitter, side_: Unwindowed, asked: list[str], keys: list[Expr], relation: Join, *, pads: bool
) -> tuple[Side, str | None]:
    """A side with its event time, and a column that is only NULL where the side is padded.

    The column is there if the side is ever padded and its bounds are asked for: they are NULL there too.
    """
    used = [name for name in asked if name not in side_.bounds] + [side_.windowed.time]
    found = side(emitter, side_.windowed.input, list(dict.fromkeys(used)), keys, relation.at)
    given = with_event_time(emitter, found.emitted, side_.windowed)
    if not pads or not any(name in side_.bounds for name in asked):
        return Side(given, found.keys), None
    marker = emitter.free_name("is_there", given)
    items = [(column.name, quote(column.name)) for column in emitter.schema(given)]
    node = emitter.project(given.node, [*items, (marker, "TRUE")], relation.at)
    return Side(Emitted(node, given.names, given.arrival), found.keys), marker


def _node(  # noqa: PLR0913
    emitter: Emitter,
    relation: Join,
    condition: Condition,
    needed: frozenset[str],
    unwindowed_: tuple[Unwindowed, Unwindowed],
    sides: tuple[tuple[Side, str | None], tuple[Side, str | None]],
) -> Emitted:
    (left, left_marker), (right, right_marker) = sides
    parameters = window_parameters(unwindowed_[0].windowed.windowing)
    parameters |= {"kind": relation.kind.value, "left_keys": left.keys, "right_keys": right.keys}
    schemas = emitter.schema(left.emitted), emitter.schema(right.emitted)
    pair = [column.name for column in joined(*schemas, JoinKind.INNER)]
    in_pair = dict(zip(schemas[1].names, pair[len(schemas[0]) :], strict=True))
    names = dict(left.emitted.names)
    # The time that windows are made of may be a column that the query never named.
    names |= {
        relation.right_names[name]: in_pair[actual]
        for name, actual in right.emitted.names.items()
        if name in relation.right_names
    }
    if condition.rest:
        parameters["condition"] = pair_condition(emitter, left, right, names, condition.rest)
    node = emitter.add("window_join", parameters, [left.emitted.node, right.emitted.node], relation.at)
    bounds = emitter.derived[node].schema.names[-len(_BOUNDS) :]
    padded: dict[str, str] = {}
    for number, (side_, marker) in enumerate(zip(unwindowed_, (left_marker, right_marker), strict=True)):
        for own, at in side_.bounds.items():
            name = own if number == 0 else relation.right_names[own]
            names[name] = bounds[at]
            if marker is not None and name in needed:
                there = marker if number == 0 else in_pair[marker]
                padded[name] = f"CASE WHEN {quote(there)} THEN {quote(bounds[at])} END"
    if padded:
        schema = emitter.derived[node].schema
        free = {name: free_name(name, schema.names) for name in padded}
        items = [(column.name, quote(column.name)) for column in schema]
        items += [(free[name], expression) for name, expression in padded.items()]
        node = emitter.project(node, items, relation.at)
        names |= free
    return Emitted(node, {name: names[name] for name in relation.columns if name in names and name in needed})
