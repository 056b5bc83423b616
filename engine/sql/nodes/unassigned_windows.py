"""Window functions directly below a ranking or a join, which then assign the windows by themselves: one node, one edge.

Source: Flink PullUpWindowTableFunctionIntoWindowAggregateRule does this for aggregates (`window_bounds.over_windows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.model.free_names import free_name
from engine.model.windowing import WindowKind
from engine.sql.algebra import Relation, Select, Windowed, plain, ref
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.groups import with_event_time
from engine.sql.nodes.processing_time import over_arrival_times
from engine.sql.nodes.window_bounds import END, START, TIME
from engine.sql.rules.project_merge import selected


@dataclass(frozen=True)
class Unassigned:
    """Rows without their windows. roles: by column of the relation with windows, the bound that it is.

    time: the column of the rows that assigns the windows.
    """

    rows: Relation
    windowed: Windowed
    time: str
    roles: Mapping[str, int]

    def only_event_time(self, emitter: Emitter, rows: Emitted) -> Emitted:
        """The emitted rows, with this time as the only event time. Raises SqlRejected if it is not one."""
        return with_event_time(emitter, rows, replace(self.windowed, time=self.time))

    def named(self, bounds: Sequence[str]) -> dict[str, str]:
        """By column, its name in an output. bounds: the names of window_start, window_end and window_time there."""
        return {name: bounds[role] for name, role in self.roles.items()}


def unassigned(relation: Relation, needed: frozenset[str]) -> Unassigned | None:
    """The rows below a window function, of whose columns the relation picks some; None if it is something else.

    None also for sessions, and if the event time is needed above: only rows that have their windows keep it as one.
    """
    names = {name: name for name in relation.columns}
    while isinstance(relation, Select):
        items = {name: plain(item) for name, item in relation.items}
        picked = {name: column for name, below in names.items() if (column := items[below]) is not None}
        if len(picked) < len(names):
            return None
        names, relation = picked, relation.input
    if not isinstance(relation, Windowed) or relation.windowing.kind is WindowKind.SESSION:
        return None
    bounds = dict(zip(relation.bounds, (START, END, TIME), strict=True))
    roles = {name: bounds[column] for name, column in names.items() if column in bounds}
    time = next((name for name, column in names.items() if column == relation.time), None)
    if any(column == relation.time for name, column in names.items() if name in needed):
        return None
    windowed = over_arrival_times(relation)
    items_of_rows = [(name, ref(column, windowed.at)) for name, column in names.items() if name not in roles]
    if time is None:
        time = free_name(windowed.time, names)
        items_of_rows.append((time, ref(windowed.time, windowed.at)))
    return Unassigned(selected(windowed.input, tuple(items_of_rows)), windowed, time, roles)
