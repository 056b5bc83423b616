"""The window parameters of operators.

MadeWindows     windows assigned here by the rows' event time: a kind and its lengths
GivenWindows    the same, or attached windows: two columns of the rows hold the bounds
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Self

from pydantic import model_validator

from engine.contract.derived import Derived
from engine.contract.late_port import RoutesLate
from engine.contract.late_rule import EndOfWindow, LateRule
from engine.contract.operator import StepContext
from engine.contract.parameters import ColumnOrNone, parameter
from engine.contract.requirements import require_event_time
from engine.errors import PipelineError, PlanRejected
from engine.model.durations import interval
from engine.model.free_names import free_name
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.types import Timestamp, quote
from engine.model.windowing import Windowing, WindowKind
from engine.model.zones import Zone

LENGTHS: Final = {
    WindowKind.TUMBLE: ("size_ms",),
    WindowKind.HOP: ("size_ms", "slide_ms"),
    WindowKind.CUMULATE: ("size_ms", "step_ms"),
    WindowKind.SESSION: ("gap_ms",),
}
BOUNDS: Final = ("window_start", "window_end", "window_time")


def _length(title: str, description: str, *kinds: str) -> Any:
    """A length of windows assigned here. kinds: those that have it."""
    return parameter(title, description, gt=0, duration=True, only=list(kinds), unless="window_start")


Size = Annotated[
    int | None,
    _length(
        "Window size", "The length of a window; for cumulating windows, of the longest.", "tumble", "hop", "cumulate"
    ),
]
Slide = Annotated[
    int | None,
    _length("Slide", "Hop: the time between the starts of two windows.", "hop"),
]
Step = Annotated[
    int | None,
    _length("Step", "Cumulate: by how much a window grows; the size is a multiple of it.", "cumulate"),
]
Gap = Annotated[int | None, _length("Gap", "Session: it ends when no record came for longer than this.", "session")]
Offset = Annotated[
    int,
    parameter(
        "Window offset",
        "Moves all windows: with size 1 h and offset 15 min they start at a quarter past.",
        duration=True,
        only=["tumble", "hop", "cumulate"],
        unless="window_start",
        last=True,
    ),
]


WINDOW_WORDS: Final = ("tumble", "hop", "session", "cumulate", "tumbling", "hopping", "sliding")
"""What windows are called in SQL and elsewhere, for the search of operators."""


class MadeWindows(RoutesLate):
    """Windows assigned by event time."""

    kind: WindowKind = parameter(
        "Windows",
        "Tumble: one after the other. Hop: overlapping. Cumulate: growing step by step. "
        "Session: as long as records keep coming.",
        default=WindowKind.TUMBLE,
        unless="window_start",
    )
    size_ms: Size = None
    slide_ms: Slide = None
    step_ms: Step = None
    gap_ms: Gap = None
    offset_ms: Offset = 0

    @model_validator(mode="after")
    def _windows_are_whole(self) -> Self:
        self._check_windows()
        return self

    def _check_windows(self) -> None:
        self._check_lengths()

    def _check_lengths(self) -> None:
        needed = LENGTHS[self.kind]
        for name in ("size_ms", "slide_ms", "step_ms", "gap_ms"):
            is_set = getattr(self, name) is not None
            if is_set != (name in needed):
                verb = "is not used" if is_set else "is needed"
                taken = "" if needed == (name,) else f", which take {' and '.join(needed)}"
                message = f"{name} {verb} with {self.kind.value} windows{taken}."
                raise ValueError(message)
        if self.kind is WindowKind.SESSION and self.offset_ms:
            message = "offset_ms is not used with session windows, which start with their first record."
            raise ValueError(message)
        _ = self.windowing

    @property
    def windowing(self) -> Windowing:
        """The windows. Raises ValueError if the size is not a multiple of the step."""
        size_ms = self.gap_ms if self.kind is WindowKind.SESSION else self.size_ms
        assert size_ms is not None
        return Windowing(self.kind, size_ms, self.slide_ms or self.step_ms or 0, self.offset_ms)

    def table_function(self, table: str, schema: Schema, partition_by: Sequence[str] = ()) -> str:
        """The window table function over a table, in Flink SQL."""
        return windows_over(self.windowing, table, schema, partition_by)

    def late_rule(self) -> LateRule | None:
        """A record is late once its first window has closed; approximate for sessions, which can merge."""
        return LateRule(EndOfWindow(self.windowing), is_exact=self.kind is not WindowKind.SESSION)


class GivenWindows(MadeWindows):
    """Windows assigned here, or attached ones."""

    window_start: ColumnOrNone = parameter(
        "Window start", "If rows already have a window: the column of its start. Then leave the lengths empty."
    )
    window_end: ColumnOrNone = parameter("Window end", "The column of its end.")

    @property
    def window_columns(self) -> tuple[str, ...]:
        """The columns with the bounds of attached windows; () if windows are assigned here."""
        return () if self.window_start is None or self.window_end is None else (self.window_start, self.window_end)

    def _check_windows(self) -> None:
        if (self.window_start is None) != (self.window_end is None):
            message = "set both window_start and window_end, or neither."
            raise ValueError(message)
        if self.window_start is None:
            self._check_lengths()
            return
        lengths = [name for name in ("size_ms", "slide_ms", "step_ms", "gap_ms") if getattr(self, name) is not None]
        if lengths or self.offset_ms:
            message = (
                f"{lengths[0] if lengths else 'offset_ms'} is not used with window_start and window_end: the rows "
                "already have windows."
            )
            raise ValueError(message)

    def late_rule(self) -> LateRule | None:
        """The rule of windows assigned here; None for attached windows."""
        return None if self.window_columns else super().late_rule()

    def require_windows(self, node: str, input_: Derived) -> None:
        """Raise if neither the event time nor the columns exist."""
        schema = input_.schema
        if self.window_columns:
            require_bounds(node, schema, ("window_start", "window_end"), self.window_columns)
            return
        has_bounds = all(name in schema for name in BOUNDS[:2])
        if schema.event_time is None and has_bounds:
            message = (
                "its rows have windows already: set Window start to window_start and Window end to window_end, and "
                "clear the lengths."
            )
            raise PlanRejected(message, node)
        require_event_time(node, "a window", input_)


def windows_over(windowing: Windowing, table: str, schema: Schema, partition_by: Sequence[str] = ()) -> str:
    """A window table function over the event time of a table, in Flink SQL.

    Bounds of other windows in the table are renamed there, since the function's own columns have the same names.
    """
    time = schema.event_time
    assert time is not None
    source, name = quote(table), time.name
    if any(column.name in BOUNDS for column in schema):
        other = {column.name: f"{column.name}_" if column.name in BOUNDS else column.name for column in schema}
        source = f"(SELECT {', '.join(f'{quote(old)} AS {quote(new)}' for old, new in other.items())} FROM {source})"
        name = other[name]
    return windowing.table_function(source, quote(name), partition_by)


def group_window_over(windowing: Windowing, schema: Schema) -> str:
    """The arguments of a group window in GROUP BY, in Flink SQL: its time and its lengths."""
    time = schema.event_time
    assert time is not None
    slide = [interval(windowing.slide_ms)] if windowing.kind is WindowKind.HOP else []
    return ", ".join([quote(time.name), *slide, interval(windowing.size_ms)])


def require_bounds(node: str, schema: Schema, fields: Sequence[str], columns: Sequence[str]) -> None:
    """Raise UnknownColumn, or PipelineError if a bound is not a time."""
    for field, name in zip(fields, columns, strict=True):
        column = schema.column(name, node, field)
        if not isinstance(column.type, Timestamp):
            message = f"{field}: {name} is of type {column.type.flink}, not a timestamp."
            raise PipelineError(message, node, field)


def bound_columns(taken: Sequence[Column], rows: Schema, *, window_time: bool = True) -> tuple[Column, ...]:
    """The columns window_start and window_end, which are local times, and window_time.

    window_time is the event time downstream, and of the type of the rows' event time.
    """
    columns = list(taken)
    for name in BOUNDS if window_time else BOUNDS[:2]:
        is_time = name == BOUNDS[2]
        type_ = Timestamp(is_zoned=is_time and (rows.event_time is None or rows.event_time.is_instant))
        time = TimeUnit.TIMESTAMP if is_time else None
        columns.append(Column(free_name(name, [column.name for column in columns]), type_, nullable=False, time=time))
    return tuple(columns[len(taken) :])


def milliseconds(columns: Sequence[str], rows: Schema, zone: Zone | None) -> tuple[str, ...]:
    """Bound columns in ms, as Spark SQL: those that are instants in local time."""
    return tuple(replace(rows.column(name), time=TimeUnit.TIMESTAMP).milliseconds_in(zone) for name in columns)


def in_zone(context: StepContext, window_time: int) -> tuple[int, ...]:
    """The place of window_time among the output columns, if a kernel of local times makes it of instants."""
    is_instant = context.zone is not None and context.schema.columns[window_time].type.is_instant
    return (window_time,) if is_instant else ()


def has_window(columns: Sequence[str]) -> str:
    """The condition that a row has a window: the padded side of an outer join has none."""
    return " AND ".join(f"{quote(name)} IS NOT NULL" for name in columns)
