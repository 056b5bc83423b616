"""Which columns of a relation are the bounds of windows, so that what is above it works per window too.

Rows that come out of a window have the window's last millisecond as their event time: windows of the same
length over that time are the same windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Named,
    Rank,
    Relation,
    Select,
    Windowed,
    free_name,
    mentioned,
    plain,
    ref,
    substituted,
)
from engine.windows import WindowKind


def bounds_of(relation: Relation) -> dict[str, int]:
    """Which columns are the start (0), the end (1) and the time (2) of a row's window."""
    match relation:
        case Windowed():
            return {name: at for at, name in enumerate(relation.bounds)}
        case Select(input=below):
            known = bounds_of(below)
            return {name: known[plain(item) or ""] for name, item in relation.items if plain(item) in known}
        case Filter(input=below) | Rank(input=below):
            return bounds_of(below)
        case Aggregate():
            found = over_windows(relation)
            if found is None:
                return {}
            windowed, groups, *_ = found
            known = {name: at for at, name in enumerate(windowed.bounds)}
            return {name: known[plain(item) or ""] for name, item in groups if plain(item) in known}
        case _:
            return {}


def over_windows(relation: Aggregate) -> tuple[Windowed, Sequence[Named], Sequence[Named], Expr | None] | None:
    """The window function below, with groups and calls over its columns; None where the groups do not name both bounds.

    A condition on the bounds alone can be tested once per window.
    """
    below: Relation = relation.input
    groups, calls = relation.groups, relation.calls
    condition: Expr | None = None
    if isinstance(below, Select):
        values = dict(below.items)
        groups = tuple((name, substituted(item, values)) for name, item in groups)
        calls = tuple((name, substituted(item, values)) for name, item in calls)
        below = below.input
    match below:
        case Filter(Windowed() as windowed, test) if mentioned(test) <= set(windowed.bounds[:2]):
            condition, below = test, windowed
    if not isinstance(below, Windowed) or not {plain(item) for _, item in groups} >= set(below.bounds[:2]):
        return None
    return below, groups, calls, condition


def _mentioned(item: Expr) -> frozenset[str]:
    return mentioned(item)


def attached(relation: Relation) -> Relation:
    """The rows of an aggregation over tumbling windows, with their bounds as those of a window function again.

    Any other relation is given back as it is.
    """
    bounds = bounds_of(relation)
    if isinstance(_core(relation), Windowed) or not {0, 1} <= set(bounds.values()):
        return relation
    found = _with_time(relation)
    if found is None:
        return relation
    timed, time, below = found
    windowed = Windowed(timed, below.windowing, time, below.at)
    items = tuple((name, ref(windowed.bounds[bounds[name]] if name in bounds else name)) for name in relation.columns)
    return Select(windowed, items)


def _core(relation: Relation) -> Relation:
    """What is below projections and filters."""
    while isinstance(relation, Select | Filter):
        relation = relation.input
    return relation


def _with_time(relation: Relation) -> tuple[Relation, str, Windowed] | None:
    """The relation with its window's time as one more column, that column, and the window function."""
    match relation:
        case Select(input=below) | Filter(input=below):
            found = _with_time(below)
            if found is None:
                return None
            timed, time, windowed = found
            if isinstance(relation, Filter):
                return replace(relation, input=timed), time, windowed
            name = free_name(time, relation.columns)
            return Select(timed, (*relation.items, (name, ref(time)))), name, windowed
        case Aggregate():
            over = over_windows(relation)
            if over is None or over[0].windowing.kind is not WindowKind.TUMBLE:
                return None
            windowed, groups, calls, condition = over
            name = free_name("window_time", relation.columns)
            below_calls: Relation = windowed if condition is None else Filter(windowed, condition)
            timed_groups = (*groups, (name, ref(windowed.bounds[2])))
            return Aggregate(below_calls, timed_groups, tuple(calls), relation.at), name, windowed
        case _:
            return None
