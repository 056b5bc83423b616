"""ROW_NUMBER per window as a node: the partition contains both bounds of a window."""

from __future__ import annotations

from typing import Any

from engine.model.free_names import free_name
from engine.sql.algebra import Rank, SortKey, plain
from engine.sql.nodes.emitter import Emitted, Emitter, order_by
from engine.sql.nodes.groups import window_parameters
from engine.sql.nodes.unassigned_windows import Unassigned, unassigned
from engine.sql.nodes.window_bounds import END, EVENT_TIME, START, TIME, WindowColumns, windows_of
from engine.sql.rejected import SqlRejected
from engine.windows.parameters import BOUNDS


def window_rank(
    emitter: Emitter, relation: Rank, used: list[str], needed: frozenset[str], *, wants_number: bool
) -> Emitted | None:
    """The rank per window; None if the partition does not contain both bounds. Raises SqlRejected.

    used, needed: the columns of its input that are used at all, and above the ranking.
    """
    windows = windows_of(relation.input)
    if windows is None:
        return None
    bounds = {name: windows.columns[name] for name in relation.partition if windows.columns.get(name) in (START, END)}
    if set(bounds.values()) != {START, END}:
        return None
    if relation.function != "ROW_NUMBER" or not isinstance(relation.end, int):
        message = "ROW_NUMBER in a window needs constant ranks: WHERE rn <= 3."
        raise SqlRejected(message, relation.at)
    below = _unassigned(relation, needed)
    of_windows: dict[str, Any]
    if below is None:
        emitted = emitter.narrowed(emitter.emit(relation.input, used), used, relation.at)
        at = {which: emitted.names[name] for name, which in bounds.items()}
        of_windows = {"window_start": at[START], "window_end": at[END]}
    else:
        own = [*used, below.time]
        emitted = below.only_event_time(emitter, emitter.emit(below.rows, own))
        emitted = emitter.narrowed(emitted, own, relation.at)
        of_windows = window_parameters(below.windowed.windowing)
        bounds |= below.roles
    for key in relation.order:
        if plain(key.expression) not in emitted.names:
            message = "the ORDER BY of a ranking in a window takes columns of its input."
            raise SqlRejected(message, key.expression)
    of_windows["partition_by"] = [emitted.names[name] for name in relation.partition if name not in bounds]
    parameters: dict[str, Any] = {
        **of_windows,
        "order_by": [order_by(key, emitted) for key in relation.order],
        "rank_start": relation.start,
        "rank_end": relation.end,
        "with_rank": wants_number,
        "later_first": relation.end == 1 and relation.order[0].descending and _is_time(windows, relation.order),
    }
    names = dict(emitted.names)
    if wants_number:
        taken = (*emitter.schema(emitted).names, *BOUNDS)
        names[relation.name] = parameters["rank_column"] = free_name(relation.name, taken)
    node = emitter.add("window_topn", parameters, [emitted.node], relation.at)
    if below is not None:
        names |= below.named(emitter.derived[node].schema.names[len(emitter.schema(emitted)) :])
    return Emitted(node, names)


def _unassigned(relation: Rank, needed: frozenset[str]) -> Unassigned | None:
    """The rows below a window function that the ranking can assign by itself: its order is not by a bound."""
    below = unassigned(relation.input, needed)
    if below is None or any(plain(key.expression) in below.roles for key in relation.order):
        return None
    return below


def _is_time(windows: WindowColumns, order: tuple[SortKey, ...]) -> bool:
    """Whether the order is by a time alone: then it is a deduplication."""
    return len(order) == 1 and windows.columns.get(plain(order[0].expression) or "") in (TIME, EVENT_TIME)
