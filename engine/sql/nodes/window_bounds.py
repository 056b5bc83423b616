"""The columns of a relation that are window bounds, so that operators above it work per window too.

Source: Flink FlinkRelMdWindowProperties, WindowUtil.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.joins.sides import JoinKind
from engine.model.windowing import Windowing, WindowKind
from engine.sql.algebra import (
    Aggregate,
    Computed,
    Expr,
    Filter,
    Join,
    Named,
    Rank,
    Relation,
    Select,
    Unnested,
    Windowed,
    mentioned,
    plain,
    substituted,
)
from engine.sql.nodes.join_sides import taken_apart
from engine.sql.rules.filter_pushdown import filtered

START: Final = 0
END: Final = 1
TIME: Final = 2
EVENT_TIME: Final = 3


@dataclass(frozen=True)
class WindowColumns:
    """The windows of a relation's rows, and the roles of its columns.

    columns: by name, its role: START, END or TIME of the window, or the EVENT_TIME that assigned it. partition: the
    PARTITION BY columns of sessions; None if the relation does not have all of them.
    """

    windowing: Windowing
    columns: dict[str, int]
    partition: frozenset[str] | None = frozenset()

    @property
    def is_whole(self) -> bool:
        """Whether both bounds of the windows are among the columns."""
        return {START, END} <= set(self.columns.values())

    def bound(self, which: int) -> str:
        """The first column with this role."""
        return next(name for name, at in self.columns.items() if at == which)

    def renamed(self, names: dict[str, str]) -> WindowColumns:
        """The windows of a relation above with renamed columns. names: by new name, the current name."""
        columns = {new: self.columns[old] for new, old in names.items() if old in self.columns}
        return replace(self, columns=columns, partition=self._renamed_partition(names))

    def _renamed_partition(self, names: dict[str, str]) -> frozenset[str] | None:
        if self.partition is None or not self.partition <= set(names.values()):
            return None
        return frozenset(new for new, old in names.items() if old in self.partition)


def windows_of(relation: Relation) -> WindowColumns | None:
    """The windows of a relation's rows; None without windows, or if they are unknown."""
    match relation:
        case Windowed():
            columns = dict(zip(relation.bounds, (START, END, TIME), strict=True))
            return WindowColumns(
                relation.windowing, {**columns, relation.time: EVENT_TIME}, frozenset(relation.partition_by)
            )
        case Select(input=below):
            return _renamed(below, {name: column for name, item in relation.items if (column := plain(item))})
        case Filter(input=below) | Rank(input=below) | Computed(input=below) | Unnested(input=below):
            return windows_of(below)
        case Aggregate():
            return _of_aggregate(relation)
        case Join():
            return _of_join(relation)
        case _:
            return None


def over_windows(relation: Aggregate) -> tuple[Windowed, Sequence[Named], Sequence[Named]] | None:
    """The window function directly below, with groups and calls over its columns: windows and aggregates in one node.

    None if the groups do not contain both bounds, or if a bound is used in another expression.
    """
    below: Relation = relation.input
    groups, calls = relation.groups, relation.calls
    source = below.input if isinstance(below, Select) else below
    if not isinstance(source.input if isinstance(source, Filter) else source, Windowed):
        return None
    if isinstance(below, Select):
        values = dict(below.items)
        groups = tuple((name, substituted(item, values)) for name, item in groups)
        calls = tuple((name, substituted(item, values)) for name, item in calls)
        below = below.input
    match below:
        case Filter(Windowed() as windowed, test) if not mentioned(test) & set(windowed.bounds):
            # Only sessions keep a condition above them; Flink builds them from the rows that meet it.
            below = replace(windowed, input=filtered(windowed.input, test))
    if not isinstance(below, Windowed) or not {plain(item) for _, item in groups} >= set(below.bounds[:2]):
        return None
    bounds = set(below.bounds)
    others = [item for _, item in (*groups, *calls) if plain(item) not in bounds]
    if any(mentioned(item) & bounds for item in others) or any(plain(item) in bounds for _, item in calls):
        return None
    keys = [plain(item) for _, item in groups if plain(item) not in bounds]
    return (below, groups, calls) if _has_its_sessions(below.windowing, frozenset(below.partition_by), keys) else None


def attached_windows(relation: Aggregate) -> WindowColumns | None:
    """The existing windows of an aggregate's input rows if its groups contain both bounds, else None."""
    windows = windows_of(relation.input)
    named = [plain(item) for _, item in relation.groups]
    if windows is None or not {START, END} <= {windows.columns[name] for name in named if name in windows.columns}:
        return None
    keys = [name for name in named if windows.columns.get(name or "", EVENT_TIME) == EVENT_TIME]
    return windows if _has_its_sessions(windows.windowing, windows.partition, keys) else None


def joined_windows(relation: Join, pairs: Sequence[tuple[Expr, Expr]]) -> tuple[WindowColumns, WindowColumns] | None:
    """The windows of both sides if they are the same and the join equates both bounds, else None."""
    left, right = windows_of(relation.left), windows_of(relation.right)
    if left is None or right is None or left.windowing != right.windowing:
        return None
    equal = {
        left.columns[plain(a) or ""]
        for a, b in pairs
        if plain(a) in left.columns and left.columns[plain(a) or ""] == right.columns.get(plain(b) or "")
    }
    return (left, right) if {START, END} <= equal else None


def _has_its_sessions(windowing: Windowing, partition: frozenset[str] | None, keys: Sequence[str | None]) -> bool:
    """Whether the windows fit the groups: sessions require their PARTITION BY columns as group keys."""
    return windowing.kind is not WindowKind.SESSION or (partition is not None and partition == set(keys))


def _renamed(below: Relation, names: dict[str, str]) -> WindowColumns | None:
    windows = windows_of(below)
    return None if windows is None else windows.renamed(names)


def _of_aggregate(relation: Aggregate) -> WindowColumns | None:
    groups: Sequence[Named] = relation.groups
    window_parts = over_windows(relation)
    if window_parts is not None:
        windowed, groups, _ = window_parts
        windows = windows_of(windowed)
    else:
        windows = attached_windows(relation)
    if windows is None:
        return None
    # Result rows have no event time except the window's.
    timeless = replace(windows, columns={name: at for name, at in windows.columns.items() if at != EVENT_TIME})
    return timeless.renamed({name: column for name, item in groups if (column := plain(item))})


def _of_join(relation: Join) -> WindowColumns | None:
    both_windows = joined_windows(relation, taken_apart(relation).equal)
    if both_windows is None:
        return None
    left, right = both_windows
    if relation.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
        return left
    if relation.kind is JoinKind.RIGHT:
        return right.renamed({new: old for old, new in relation.right_names.items()})
    return None
