"""What Flink's planner makes of a query before it has operators: rules, each in its file with its source in Calcite or
Flink.

A query is read as it is written, without orders that nobody sees (`sort_remove`: that depends on what stands above).
Then RULES are applied to each of its relations, those below first, each to the relations of its type; what they make
may have no rows, and is left out last (`empty_pruning`). A view is a query of its own, for which this is done once,
however many queries name it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from engine.sql.algebra import Aggregate, Expr, Filter, Join, Relation, Select
from engine.sql.names import Names
from engine.sql.rejected import place_of
from engine.sql.rules.clock_readings import clocked
from engine.sql.rules.empty_pruning import is_empty, pruned
from engine.sql.rules.filter_pushdown import filtered, joined
from engine.sql.rules.inputs import with_inputs
from engine.sql.rules.join_remove import aggregated
from engine.sql.rules.limit_rank import ranked_limit
from engine.sql.rules.project_merge import selected
from engine.sql.rules.set_operations import combined
from engine.sql.rules.sort_remove import ordered
from engine.sql.written import Limit, SetOperation

RULES: Final[tuple[tuple[type, Callable[[Any], Relation]], ...]] = (
    (Select, lambda one: selected(one.input, one.items)),
    (Filter, lambda one: filtered(one.input, one.condition)),
    (Join, lambda one: joined(one.left, one.right, one.kind, one.condition, one.at, one.as_of)),
    (Aggregate, aggregated),
    (Limit, ranked_limit),
    (SetOperation, combined),
)


def rewritten(relation: Relation, names: Names) -> Relation:
    """A query by its rules, without what can have no rows and orders that nobody sees. Raises SqlRejected."""
    read = _changed(moved(ordered(relation), names), names, partial(clocked, seen={}))
    return pruned(read, partial(_warn, names), names.rewritten)


def moved(relation: Relation, names: Names | None = None) -> Relation:
    """A query by RULES alone. names: whose views need no second look. Raises SqlRejected."""

    def move(one: Relation) -> Relation:
        return next((rule(one) for kind, rule in RULES if isinstance(one, kind)), one)

    return _changed(relation, names, move)


def _changed(relation: Relation, names: Names | None, change: Callable[[Relation], Relation]) -> Relation:
    """A query with each of its relations changed, those below first, but for views that need no second look."""
    settled = names.rewritten if names is not None else {}
    changed_by_id: dict[int, tuple[Relation, Relation]] = {}

    def visit(one: Relation) -> Relation:
        if id(one) in settled:
            return one
        if id(one) not in changed_by_id:
            changed_by_id[id(one)] = one, change(with_inputs(one, visit))
        return changed_by_id[id(one)][1]

    return visit(relation)


def has_no_rows(relation: Relation, names: Names) -> bool:
    """Whether a query can have no rows."""
    return is_empty(moved(relation, names), names.rewritten)


def _warn(names: Names, condition: Expr) -> None:
    line, column = place_of(condition)
    which = f"line {line}, column {column}: the condition" if line else "a condition"
    sentence = f"{which} is never true, so no row meets it."
    if sentence not in names.warnings:
        names.warnings.append(sentence)
