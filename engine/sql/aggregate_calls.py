"""Calls of aggregate functions in expressions, and the aggregate that calls none: DISTINCT."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.aggregates.function import AggregateFunction
from engine.aggregates.registry import functions
from engine.sql.algebra import Aggregate, Expr, Relation, ref
from engine.sql.names import Aggregates

_SYNONYMS: Final = {"STDDEV": "STDDEV_SAMP", "VARIANCE": "VAR_SAMP"}
_AGGREGATE: Final = "aggregate"


def distinct(relation: Relation, at: Expr) -> Relation:
    """SELECT DISTINCT: groups by all columns, without aggregates."""
    return Aggregate(relation, tuple((name, ref(name, at)) for name in relation.columns), (), at)


def is_aggregate(node: Expr) -> bool:
    """True for a call of an aggregate function that is not an OVER aggregate."""
    if isinstance(node, exp.Filter):
        return True
    return aggregate_function(node) is not None


def aggregate_function(node: Expr) -> AggregateFunction | None:
    """The aggregate function that a node calls, ignoring its FILTER; None for any other node."""
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.Anonymous):
        return None
    name = call.name.upper()
    function: AggregateFunction | None = functions().get(_SYNONYMS.get(name, name)) or call.meta.get(_AGGREGATE)
    return function


def mark_aggregates(query: Expr, aggregates: Aggregates) -> None:
    """Mark the calls of Python aggregate functions in a query."""
    for call in query.find_all(exp.Anonymous) if aggregates else ():
        if (function := aggregates.get(call.name.upper())) is not None:
            call.meta[_AGGREGATE] = function
