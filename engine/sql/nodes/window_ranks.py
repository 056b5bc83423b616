"""ROW_NUMBER per window as a node: the partition contains both bounds of a window."""

from __future__ import annotations

from typing import Any

from engine.sql.algebra import Rank, SortKey, plain
from engine.sql.nodes.emitter import Emitted, Emitter, order_by
from engine.sql.nodes.window_bounds import END, EVENT_TIME, START, TIME, WindowColumns, windows_of
from engine.sql.rejected import SqlRejected


def window_rank(emitter: Emitter, relation: Rank, used: list[str], *, wants_number: bool) -> Emitted | None:
    """The rank per window; None if the partition does not contain both bounds. Raises SqlRejected."""
    windows = windows_of(relation.input)
    if windows is None:
        return None
    bounds = {name: windows.columns[name] for name in relation.partition if windows.columns.get(name) in (START, END)}
    if set(bounds.values()) != {START, END}:
        return None
    if relation.function != "ROW_NUMBER" or not isinstance(relation.end, int):
        message = "ROW_NUMBER in a window needs constant ranks: WHERE rn <= 3."
        raise SqlRejected(message, relation.at)
    emitted = emitter.narrowed(emitter.emit(relation.input, used), used, relation.at)
    for key in relation.order:
        if plain(key.expression) not in emitted.names:
            message = "the ORDER BY of a ranking in a window takes columns of its input."
            raise SqlRejected(message, key.expression)
    at = {which: emitted.names[name] for name, which in bounds.items()}
    names = dict(emitted.names)
    parameters: dict[str, Any] = {
        "window_start": at[START],
        "window_end": at[END],
        "partition_by": [emitted.names[name] for name in relation.partition if name not in bounds],
        "order_by": [order_by(key, emitted) for key in relation.order],
        "rank_start": relation.start,
        "rank_end": relation.end,
        "with_rank": wants_number,
        "later_first": relation.end == 1 and relation.order[0].descending and _is_time(windows, relation.order),
    }
    if wants_number:
        names[relation.name] = parameters["rank_column"] = emitter.free_name(relation.name, emitted)
    return Emitted(emitter.add("window_topn", parameters, [emitted.node], relation.at), names)


def _is_time(windows: WindowColumns, order: tuple[SortKey, ...]) -> bool:
    """Whether the order is by a time alone: then it is a deduplication."""
    return len(order) == 1 and windows.columns.get(plain(order[0].expression) or "") in (TIME, EVENT_TIME)
