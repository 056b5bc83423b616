"""Window functions without an aggregate directly above, aggregates over frames, and sorted rows."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from engine.model.free_names import free_name
from engine.model.types import Timestamp
from engine.sql.algebra import Numbered, Over, Sorted, Windowed, mentioned
from engine.sql.clauses.row_number import row_count
from engine.sql.functions.intervals import interval_ms
from engine.sql.nodes.emitter import Emitted, Emitter, order_by
from engine.sql.nodes.groups import call_parameters, not_an_event_time, window_parameters, with_event_time
from engine.sql.nodes.processing_time import (
    is_processing_time,
    over_arrival_times,
    range_of_arrival_times,
    without_arrival_times,
)
from engine.sql.nodes.python_aggregates import require_known
from engine.sql.nodes.ranks import with_results
from engine.sql.nodes.time_bounds import only_event_time
from engine.sql.rejected import SqlRejected


def windowed(emitter: Emitter, relation: Windowed, needed: frozenset[str]) -> Emitted:
    """Rows with the bounds of their windows."""
    relation = over_arrival_times(relation)
    used = {relation.time, *relation.partition_by}
    columns = [name for name in relation.input.columns if name in needed or name in used]
    emitted = with_event_time(emitter, emitter.emit(relation.input, columns), relation)
    emitted = emitter.narrowed(emitted, columns, relation.at)
    parameters = window_parameters(relation.windowing)
    if relation.partition_by:
        parameters["partition_by"] = [emitted.names[name] for name in relation.partition_by]
    node = emitter.add("window_assign", parameters, [emitted.node], relation.at)
    bound_names = emitter.derived[node].schema.names[len(emitter.schema(emitted)) :]
    return Emitted(node, {**emitted.names, **dict(zip(relation.bounds, bound_names, strict=True))}, emitted.arrival)


def over(emitter: Emitter, relation: Over, needed: frozenset[str]) -> Emitted:
    """Aggregates over the rows before each row."""
    if len(relation.order) != 1 or relation.order[0].descending:
        message = (
            "an aggregate OVER rows is ordered by one column, ascending: an event time, a processing time, or another."
        )
        raise SqlRejected(message, relation.at)
    relation = range_of_arrival_times(relation)
    time = relation.order[0].expression.name
    arguments = frozenset().union(*(mentioned(call) for _, call in relation.calls))
    used = [
        name
        for name in relation.input.columns
        if name in needed or name in arguments or name in relation.partition or name == time
    ]
    below, results = with_results(relation.input, is_narrow=relation.is_narrow)
    emitted = emitter.emit(below, [*used, *results])
    if emitter.derived[emitted.node].is_insert_only:
        results = ()
    emitted = emitter.narrowed(emitted, [*used, *results], relation.at)
    frame = _frame(relation)
    # Rows of one moment of the recorded clock arrived one after the other, too.
    is_clocked = "preceding_ms" not in frame and is_processing_time(relation.input, time, has_value=True)
    is_arrival = is_clocked or time in emitted.arrival
    if not is_arrival and time not in emitted.names:
        # A range of the processing time of a side of a join.
        raise without_arrival_times(time, relation.at)
    is_time = not is_arrival and emitter.schema(emitted).column(emitted.names[time]).time is not None
    if is_time:
        emitted = only_event_time(emitter, emitted, time, relation.at)
    is_moment = not is_arrival and isinstance(emitter.schema(emitted).column(emitted.names[time]).type, Timestamp)
    if is_moment and not is_time and {"preceding_ms", "preceding_rows"} & frame.keys():
        raise not_an_event_time(emitter, emitted, time, relation.at)
    calls: list[dict[str, Any]] = []
    names = dict(emitted.names)
    require_known(relation.calls)
    for name, call in relation.calls:
        names[name] = free_name(name, [*emitter.schema(emitted).names, *(earlier["name"] for earlier in calls)])
        calls.append({**call_parameters(emitter, emitted, call), "name": names[name]})
    by_value = {"order_column": emitted.names.get(time)}
    parameters = {
        "partition_by": [emitted.names[name] for name in relation.partition],
        **({"order": "arrival" if is_arrival else "event_time"} if is_arrival or is_time else by_value),
        **frame,
        "aggregates": calls,
    }
    return Emitted(emitter.add("over_aggregate", parameters, [emitted.node], relation.at), names, emitted.arrival)


def sorted_(emitter: Emitter, relation: Sorted, needed: frozenset[str]) -> Emitted:
    """The rows unchanged if ordered by arrival, else sorted by event time. Raises SqlRejected for other orders."""
    names = [key.expression.name for key in relation.order]
    used = [name for name in relation.input.columns if name in needed or name in names]
    emitted = emitter.narrowed(emitter.emit(relation.input, used), used, relation.at)
    first = relation.order[0]
    is_arrival = names[0] in emitted.arrival
    is_time = not is_arrival and emitter.schema(emitted).column(emitted.names[names[0]]).time is not None
    if first.descending or not (is_time or is_arrival):
        message = (
            "ORDER BY needs LIMIT: a stream has no end after which it could be sorted. Add a limit, for example LIMIT "
            "10; without LIMIT, the first order column must be an event time, ascending."
        )
        raise SqlRejected(message, relation.at)
    if is_arrival and len(relation.order) > 1:
        message = "rows of one processing time depend on the clock of the machine. Leave out the columns after it."
        raise SqlRejected(message, relation.at)
    if is_arrival:
        return emitted
    emitted = only_event_time(emitter, emitted, names[0], relation.at)
    parameters = {"then_by": [order_by(key, emitted) for key in relation.order[1:]]}
    return Emitted(emitter.add("sort", parameters, [emitted.node], relation.at), emitted.names, emitted.arrival)


def numbered(emitter: Emitter, relation: Numbered, needed: frozenset[str]) -> Emitted:
    """A row number without a last rank: by a time it counts the rows so far. Raises SqlRejected for other orders."""
    message = (
        f"{relation.function} needs a last rank: without it all rows would have to be kept. Add, for example, WHERE "
        f"{relation.name} <= 10 in a query around this one."
    )
    by_row = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    frame = by_row if relation.function == "ROW_NUMBER" else None
    calls = ((relation.name, row_count()),)
    try:
        rows = Over(relation.input, calls, relation.partition, relation.order, frame, relation.at, relation.is_narrow)
        return over(emitter, rows, needed)
    except SqlRejected as error:
        raise SqlRejected(message, relation.at) from error


def _frame(relation: Over) -> dict[str, Any]:
    """The parameters of ROWS or RANGE. Without a frame: all rows up to this one, and all rows of its time."""
    frame = relation.frame
    if frame is None:
        return {"frame": "range"}
    kind = frame.args["kind"].lower()
    start, end = frame.args.get("start"), frame.args.get("end")
    if frame.args.get("start_side") != "PRECEDING" or end not in (None, "CURRENT ROW") or kind not in ("rows", "range"):
        message = "a frame reaches from rows before to the current row: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."
        raise SqlRejected(message, relation.at)
    if start == "UNBOUNDED":
        return {"frame": kind}
    if kind == "range" and isinstance(start, exp.Expr):
        return {"frame": kind, "preceding_ms": interval_ms(start)}
    if not isinstance(start, exp.Literal) or not start.is_int:
        message = "ROWS counts rows: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."
        raise SqlRejected(message, relation.at)
    return {"frame": kind, "preceding_rows": int(start.name)}
