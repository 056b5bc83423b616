"""Window functions that nothing aggregates, joins or ranks, and aggregates over frames."""

from __future__ import annotations

from engine.sql.algebra import Over, Windowed
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.groups import window_parameters, with_event_time
from engine.sql.rejected import SqlRejected


def windowed(emitter: Emitter, relation: Windowed, needed: frozenset[str]) -> Emitted:
    """Rows with the bounds of their windows."""
    columns = [name for name in relation.input.columns if name in needed or name == relation.time]
    given = with_event_time(emitter, emitter.emit(relation.input, columns), relation)
    node = emitter.add("window_assign", window_parameters(relation.windowing), [given.node], relation.at)
    bounds = emitter.derived[node].schema.names[-3:]
    return Emitted(node, {**given.names, **dict(zip(relation.bounds, bounds, strict=True))}, given.arrival)


def over(emitter: Emitter, relation: Over, needed: frozenset[str]) -> Emitted:
    """Aggregates over the rows before each row."""
    message = "aggregates OVER a frame are not among the operators yet. Use GROUP BY, or a window function."
    raise SqlRejected(message, relation.at)
