"""What CURRENT_TIMESTAMP and the like are in a query: the time at which the row arrived, where its table tells it.

Flink reads the clock whenever a row passes an expression, wherever the other rules have put that: in the arguments of
an aggregate and in a condition on one side of a join at the rows below it. A row of a join passes when the later of its
two rows arrives, one of a Top N when it arrives itself, one of a group that counts its rows when the last of these
does. -U and -D have the time of the record that they take back. Where none of this tells, a reading is the time to
which the script sets its clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.model.free_names import free_name
from engine.sql.aggregate_calls import aggregate_function
from engine.sql.algebra import (
    Aggregate,
    Computed,
    Expr,
    Filter,
    Join,
    Named,
    Over,
    Rank,
    Relation,
    Scan,
    Select,
    Sorted,
    Union,
    Unnested,
    Values,
    Windowed,
    mentioned,
    plain,
    ref,
)
from engine.sql.nodes.processing_time import is_processing_time
from engine.sql.rejected import NoClock

NOW: Final = "$now"
"""The column of a table with its rows' times of arrival; `*` does not have it."""
_MARK: Final = "reads_clock"

_READ: Final = ("condition", "items", "groups", "calls")
"""What of a relation has expressions that its rows pass."""

_Found = tuple[Relation, str | None] | None
"""A relation with its rows' times of arrival, and their column.

Without a column: its tables tell none. None: its rows pass at times that none of its columns could have.
"""

Seen = dict[int, tuple[Relation, _Found]]
"""By identity, the relations whose times of arrival have been looked for."""


def marked(instant: Expr) -> Expr:
    """A moment that stands for a reading of the clock."""
    instant.meta[_MARK] = True
    return instant


def reading_in(expression: Expr) -> Expr | None:
    """The first reading of the clock in an expression."""
    return next((node for node in expression.walk() if _MARK in node.meta), None)


def clocked(relation: Relation, seen: Seen) -> Relation:
    """The relation with times of arrival in place of its readings of the clock. Raises NoClock."""
    read = {name: getattr(relation, name) for name in _READ if hasattr(relation, name)}
    at = next(filter(None, map(reading_in, _expressions(tuple(read.values())))), None)
    timed = None if at is None else _below(relation, at, seen)
    if timed is None:
        return relation
    rewritten: Relation = replace(timed[0], **{name: _at(value, timed[1]) for name, value in read.items()})
    return rewritten if rewritten.columns == relation.columns else Select(rewritten, _as_they_are(relation))


def _expressions(value: Any) -> Iterator[Expr]:
    if isinstance(value, exp.Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _expressions(part)


def _at(value: Any, now: Expr) -> Any:
    """Expressions, in tuples with their names or without, with a value in place of their readings of the clock."""
    if isinstance(value, tuple):
        return tuple(_at(part, now) for part in value)
    if isinstance(value, str):
        return value
    return value.copy().transform(lambda node: now.copy() if _MARK in node.meta else node, copy=False)


def _as_they_are(relation: Relation) -> tuple[Named, ...]:
    return tuple((name, ref(name)) for name in relation.columns)


def _below(relation: Any, at: Expr, seen: Seen) -> tuple[Any, Expr] | None:
    """The relation over inputs with times of arrival, and that of its own rows; None where nothing tells them."""
    if isinstance(relation, Join):
        return _both(relation, at, seen) if relation.as_of is None else None
    timed = None if _shows_rank(relation) else _with_now(relation.input, at, seen)
    return (replace(relation, input=timed[0]), ref(timed[1], at)) if timed and timed[1] else None


def _with_now(relation: Relation, at: Expr, seen: Seen) -> _Found:
    if id(relation) not in seen:
        seen[id(relation)] = relation, _made_with_now(relation, at, seen)
    return seen[id(relation)][1]


def _made_with_now(relation: Relation, at: Expr, seen: Seen) -> _Found:
    match relation:
        case Values():
            return relation, None
        case Scan(table=table):
            if NOW not in table.columns and table.tells_arrival:
                message = f"{table.name} has no column with the times at which its rows arrived."
                raise NoClock(message, at, table.name, for_queries=True)
            return relation, NOW if NOW in table.columns else None
        case Over() if not _is_by_arrival(relation):
            return None
        case Rank() if _is_by_arrival(relation) and relation.order[0].descending:
            # Flink passes no row on that is as the one before it, and a time would tell them apart.
            return None
        case Filter() | Windowed() | Unnested() | Computed() | Sorted() | Rank() | Over():
            timed = _with_now(relation.input, at, seen)
            return timed and (replace(relation, input=timed[0]), timed[1])
        case Join() if _looks_up(relation) or relation.kind.is_left_only:
            timed = _with_now(relation.left, at, seen)
            return timed and (replace(relation, left=timed[0]), timed[1])
        case Select() if not _shows_rank(relation):
            timed = _with_now(relation.input, at, seen)
            if timed is None or timed[1] is None:
                return timed and (relation, None)
            existing = next((name for name, item in relation.items if plain(item) == timed[1]), None)
            name = existing or free_name(NOW, relation.columns)
            own = () if existing else ((name, ref(timed[1], at)),)
            return Select(timed[0], (*relation.items, *own)), name
        case Aggregate() if _counts_its_rows(relation):
            timed = _with_now(relation.input, at, seen)
            if timed is None or timed[1] is None:
                return timed and (relation, None)
            name = free_name(NOW, relation.columns)
            last = exp.Anonymous(this="LAST_VALUE", expressions=[ref(timed[1], at)])
            return replace(relation, input=timed[0], calls=(*relation.calls, (name, last))), name
        case Union(inputs=inputs, apart=None):
            branches = [_with_now(part, at, seen) for part in inputs]
            times = [None if timed is None or timed[1] is None else ref(timed[1], at) for timed in branches]
            if None in branches or not any(times):
                return None if None in branches else (relation, None)
            name = free_name(NOW, relation.columns)
            below = (
                Select(timed[0], (*_as_they_are(part), (name, time or at.copy())))
                for part, timed, time in zip(inputs, branches, times, strict=True)
                if timed
            )
            return replace(relation, inputs=tuple(below)), name
        case Join(as_of=None):
            both = _both(relation, at, seen)
            if both is None:
                return None
            name = free_name(NOW, relation.columns)
            return Select(both[0], (*_as_they_are(relation), (name, both[1]))), name
        case _:
            return None


def _both(join: Join, at: Expr, seen: Seen) -> tuple[Join, Expr] | None:
    """A join of sides with times of arrival, and the later one. Tables that tell none leave the clock as it is."""
    left, right = _with_now(join.left, at, seen), _with_now(join.right, at, seen)
    if left is None or right is None:
        return None
    joined = replace(join, left=left[0], right=right[0])
    times: list[Expr] = [ref(left[1], at)] if left[1] else []
    times += [ref(joined.right_names[right[1]], at)] if right[1] else []
    if len(times) < 2:
        return (joined, times[0]) if times else None
    # One of them is NULL in a padded row.
    later = exp.Anonymous(this="GREATEST", expressions=times)
    return joined, exp.Anonymous(this="COALESCE", expressions=[later, *(time.copy() for time in times)])


def _counts_its_rows(aggregate: Aggregate) -> bool:
    """Whether every row changes the results of its group, and that at once: with COUNT(*), without windows."""
    below = aggregate.input
    while isinstance(below, Select | Filter):
        below = below.input
    return not isinstance(below, Windowed) and any(
        isinstance(call, exp.Anonymous)
        and (function := aggregate_function(call)) is not None
        and function.counts_rows
        and all(isinstance(argument, exp.Star) for argument in call.expressions)
        for _, call in aggregate.calls
    )


def _shows_rank(relation: Relation) -> bool:
    """Whether rows pass when others move their ranks."""
    if not isinstance(relation, Select):
        return False
    below = relation.input
    while isinstance(below, Filter):
        below = below.input
    return isinstance(below, Rank) and any(below.name in mentioned(item) for _, item in relation.items)


def _is_by_arrival(ordered: Over | Rank) -> bool:
    """Whether the order is that of arrival: OVER gives a row its results then."""
    time = plain(ordered.order[0].expression) if ordered.order else None
    return time is not None and is_processing_time(ordered.input, time, has_value=True)


def _looks_up(join: Join) -> bool:
    """Whether a join looks rows up when a row of its left side arrives."""
    time = None if join.as_of is None else plain(join.as_of)
    return time is not None and is_processing_time(join.left, time, has_value=True)
