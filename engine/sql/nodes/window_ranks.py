"""ROW_NUMBER per window as a node: the partition holds both bounds of a window."""

from __future__ import annotations

from typing import Any

from engine.schema import TimeUnit
from engine.sql.algebra import Rank, SortKey, plain
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.groups import with_event_time
from engine.sql.nodes.window_bounds import bounds_of
from engine.sql.nodes.window_joins import unwindowed
from engine.sql.rejected import SqlRejected
from engine.windows import WindowKind


def window_rank(emitter: Emitter, relation: Rank, used: list[str], *, wants_number: bool) -> Emitted | None:
    """The rank per window; None where the partition does not hold both bounds of one."""
    bounds = bounds_of(relation.input)
    if not {0, 1} <= {bounds[name] for name in relation.partition if name in bounds}:
        return None
    if relation.function != "ROW_NUMBER" or not isinstance(relation.end, int):
        message = "in a window ROW_NUMBER goes from one number to another: WHERE rn <= 3."
        raise SqlRejected(message, relation.at)
    below = unwindowed(relation.input)
    if below is not None and below.windowed.windowing.kind is not WindowKind.SESSION:
        given = emitter.emit(
            below.windowed.input, {name for name in used if name not in below.bounds} | {below.windowed.time}
        )
        given = with_event_time(emitter, given, below.windowed)
        windowing = below.windowed.windowing
        parameters: dict[str, Any] = {
            "kind": windowing.kind.value,
            "size_ms": windowing.size_ms,
            "offset_ms": windowing.offset_ms,
        }
        if windowing.slide_ms:
            parameters["slide_ms"] = windowing.slide_ms
        columns = [name for name in used if name in given.names] + [below.windowed.time]
        given = emitter.narrowed(given, columns, relation.at)
        names = dict(given.names)
    else:
        given = emitter.narrowed(emitter.emit(relation.input, used), used, relation.at)
        at = {bounds[name]: given.names[name] for name in relation.partition if name in bounds}
        parameters = {"window_start": at[0], "window_end": at[1]}
        names = dict(given.names)
    by_time = _is_time(emitter, given, relation.order)
    parameters |= {
        "partition_by": [given.names[name] for name in relation.partition if name not in bounds],
        "order_by": [_order(key, given) for key in relation.order],
        "rank_start": relation.start,
        "rank_end": relation.end,
        "with_rank": wants_number,
        "later_first": by_time and relation.end == 1 and relation.order[0].descending,
    }
    if wants_number:
        names[relation.name] = parameters["rank_column"] = emitter.free_name(relation.name, given)
    node = emitter.add("window_topn", parameters, [given.node], relation.at)
    if below is not None and "kind" in parameters:
        made = emitter.derived[node].schema.names[len(emitter.schema(given)) :]
        names |= {name: made[place] for name, place in below.bounds.items()}
    return Emitted(node, names)


def _is_time(emitter: Emitter, given: Emitted, order: tuple[SortKey, ...]) -> bool:
    """Whether the order is by the event time alone: then it is a deduplication."""
    name = plain(order[0].expression)
    if len(order) != 1 or name not in given.names:
        return False
    time: TimeUnit | None = emitter.schema(given).column(given.names[name or ""]).time
    return time is not None


def _order(key: SortKey, given: Emitted) -> dict[str, Any]:
    name = plain(key.expression)
    if name is None or name not in given.names:
        message = "the rows of a window are ordered by columns that they have; a window's bounds are the same for all."
        raise SqlRejected(message, key.expression)
    nulls = "lowest" if key.nulls_first is None else "first" if key.nulls_first else "last"
    return {"column": given.names[name], "descending": key.descending, "nulls": nulls}
