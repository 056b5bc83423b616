"""What CURRENT_TIMESTAMP and the like are in a query: the time at which the row arrived, where its table tells it.

Flink reads the clock whenever a row passes an expression. A row that comes from its table through filters,
projections, window functions, lookups and OVER by arrival alone passes at once, so the clock then shows the row's
arrival. Rows of groups, joins and ranks come of several, at other times: there a reading is the time to which the
script sets its clock.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.model.free_names import free_name
from engine.sql.algebra import Expr, Filter, Join, Over, Relation, Scan, Select, Windowed, plain, ref
from engine.sql.nodes.processing_time import is_processing_time
from engine.sql.rejected import NoClock

NOW: Final = "$now"
"""The column of a table with its rows' times of arrival; `*` does not have it."""
_MARK: Final = "reads_clock"


def marked(instant: Expr) -> Expr:
    """A moment that stands for a reading of the clock."""
    instant.meta[_MARK] = True
    return instant


def clocked(relation: Filter | Select) -> Relation:
    """The relation with times of arrival in place of its readings of the clock. Raises NoClock."""
    read = [relation.condition] if isinstance(relation, Filter) else [item for _, item in relation.items]
    reading = next((node for each in read for node in each.walk() if _MARK in node.meta), None)
    found = None if reading is None else _with_now(relation.input, reading)
    if found is None:
        return relation
    below, now = found
    if isinstance(relation, Select):
        return Select(below, tuple((name, _at(item, now)) for name, item in relation.items))
    passing = Filter(below, _at(relation.condition, now))
    if passing.columns == relation.columns:
        return passing
    return Select(passing, tuple((name, ref(name)) for name in relation.columns))


def _at(expression: Expr, now: str) -> Expr:
    """The expression with a column in place of its readings of the clock."""
    return expression.copy().transform(lambda node: ref(now, node) if _MARK in node.meta else node, copy=False)


def _with_now(relation: Relation, at: Expr) -> tuple[Relation, str] | None:
    """The relation with its rows' times of arrival, and their column; None where nothing tells them."""
    match relation:
        case Scan():
            if NOW in relation.table.columns:
                return relation, NOW
            if relation.table.tells_arrival:
                name = relation.table.name
                message = f"{name} has no column with the times at which its rows arrived."
                raise NoClock(message, at, name, for_queries=True)
            return None
        case Filter() | Windowed() | Over() if not isinstance(relation, Over) or _is_by_arrival(relation):
            found = _with_now(relation.input, at)
            return None if found is None else (replace(relation, input=found[0]), found[1])
        case Select():
            found = _with_now(relation.input, at)
            if found is None:
                return None
            known = next((name for name, item in relation.items if plain(item) == found[1]), None)
            name = known or free_name(NOW, relation.columns)
            own = () if known else ((name, ref(found[1], at)),)
            return Select(found[0], (*relation.items, *own)), name
        case Join() if _looks_up(relation):
            found = _with_now(relation.left, at)
            return None if found is None else (replace(relation, left=found[0]), found[1])
        case _:
            return None


def _is_by_arrival(over: Over) -> bool:
    """Whether a row gets its results when it arrives."""
    time = plain(over.order[0].expression) if over.order else None
    return time is not None and is_processing_time(over.input, time, has_value=True)


def _looks_up(join: Join) -> bool:
    """Whether a join looks rows up when a row of its left side arrives."""
    time = None if join.as_of is None else plain(join.as_of)
    return time is not None and is_processing_time(join.left, time, has_value=True)
