"""Window functions that nothing aggregates, joins or ranks, and aggregates over frames."""

from __future__ import annotations

from engine.schema import quote
from engine.sql.algebra import Over, Windowed, free_name
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.groups import with_event_time
from engine.sql.rejected import SqlRejected
from engine.windows import WindowKind


def windowed(emitter: Emitter, relation: Windowed, needed: frozenset[str]) -> Emitted:
    """Rows with the bounds of the one window that each is in."""
    windowing = relation.windowing
    if windowing.kind is not WindowKind.TUMBLE:
        message = (
            f"{windowing.kind.name} puts a row into several windows, and is read where GROUP BY, a join or ROW_NUMBER "
            "has window_start and window_end. Use TUMBLE, or group by both."
        )
        raise SqlRejected(message, relation.at)
    columns = [name for name in relation.input.columns if name in needed or name == relation.time]
    given = with_event_time(emitter, emitter.emit(relation.input, columns), relation)
    schema = emitter.schema(given)
    time = schema.column(given.names[relation.time]).milliseconds
    start = f"{time} - pmod({time} - {windowing.offset_ms}, {windowing.size_ms})"
    bounds = {
        relation.bounds[0]: f"timestamp_millis({start})",
        relation.bounds[1]: f"timestamp_millis({start} + {windowing.size_ms})",
        relation.bounds[2]: f"timestamp_millis({start} + {windowing.size_ms - 1})",
    }
    names = dict(given.names)
    items = [(column.name, quote(column.name)) for column in schema]
    for bound in relation.bounds:
        if bound in needed:
            names[bound] = free_name(bound, [name for name, _ in items])
            items.append((names[bound], bounds[bound]))
    return Emitted(emitter.project(given.node, items, relation.at), names, given.arrival)


def over(emitter: Emitter, relation: Over, needed: frozenset[str]) -> Emitted:
    """Aggregates over the rows before each row."""
    message = "aggregates OVER a frame are not among the operators yet. Use GROUP BY, or a window function."
    raise SqlRejected(message, relation.at)
