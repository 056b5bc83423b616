"""Windows and ranges of processing time, over the arrival times that a source has recorded.

Clock readings cannot be repeated in another run. So PROCTIME() takes its values from a source that declares its event
time as the processing time, and windows over PROCTIME() are windows over that column. Rows that do not come when one
row of a table does, such as those of a join or a group, get the time at which each change comes (`Arrived`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from engine.contract.source import Source
from engine.model.free_names import free_name
from engine.registry import configured
from engine.sql.algebra import (
    Called,
    Computed,
    Expr,
    Filter,
    Join,
    Over,
    Rank,
    Relation,
    Scan,
    Select,
    Unary,
    Union,
    Unnested,
    Windowed,
    plain,
    ref,
)
from engine.sql.rejected import NoClock, SqlRejected


@dataclass(frozen=True)
class Arrived(Unary):
    """Each change with the time at which it comes, as the column `name`."""

    name: str
    at: Expr

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, self.name)


def over_arrival_times(windowed: Windowed) -> Windowed:
    """The windows, over recorded times if their time is a processing time. Raises SqlRejected if there are none."""
    # A group window goes by the processing time of rows below a join, as in Flink; a table function does not.
    if not is_processing_time(windowed.input, windowed.time, has_value=windowed.is_group_window):
        return windowed
    return replace(windowed, input=with_arrival_times(windowed.input, windowed.time, windowed.at))


def range_of_arrival_times(over: Over) -> Over:
    """The aggregates, with a RANGE of processing time over recorded times. Raises SqlRejected if there are none."""
    frame, time = over.frame, plain(over.order[0].expression)
    is_length = frame is not None and frame.args["kind"].upper() == "RANGE" and frame.args.get("start") != "UNBOUNDED"
    if time is None or not is_length or not is_processing_time(over.input, time):
        return over
    return replace(over, input=with_arrival_times(over.input, time, over.at))


def with_arrival_times(relation: Relation, time: str, at: Expr) -> Relation:
    """The relation with recorded times in place of a processing time. Raises SqlRejected if there are none."""
    below, column = _with_time(relation, time, at)
    items = [(name, ref(column if name == time else name, at)) for name in relation.columns]
    return Select(below, tuple(items))


def is_processing_time(relation: Relation, name: str, *, has_value: bool = False) -> bool:
    """Whether a column is a processing time. has_value: also one that the recorded clock tells."""
    match relation:
        case Scan():
            return name in relation.table.proctime or (has_value and name in relation.table.clocked)
        case Filter() | Rank() | Unnested() | Computed() | Over() if name in relation.input.columns:
            return is_processing_time(relation.input, name, has_value=has_value)
        case Union():
            place = relation.columns.index(name)
            return all(is_processing_time(part, part.columns[place], has_value=has_value) for part in relation.inputs)
        case Select():
            item = dict(relation.items)[name]
            column = plain(item)
            if column is None:
                return is_proctime(item)
            return is_processing_time(relation.input, column, has_value=has_value)
        case Join() if (has_value or _keeps_time(relation)) and name in relation.left.columns:
            return is_processing_time(relation.left, name, has_value=has_value)
        case _:
            return False


def _keeps_time(relation: Join) -> bool:
    """Whether joined rows come when the left row does: of a lookup, and of a version by arrival."""
    return relation.as_of is not None


def is_proctime(item: Expr) -> bool:
    """Whether an expression is PROCTIME()."""
    bare = item.unnest()
    return isinstance(bare, exp.Anonymous) and bare.name.upper() == "PROCTIME"


def without_arrival_times(time: str, at: Expr) -> SqlRejected:
    """The error for windows of a processing time that a join or a group passes on: it is a time like others there."""
    message = (
        f"{time!r} is a processing time of rows below a join or a group, and no time attribute above it. Add another "
        "one there: SELECT *, PROCTIME() AS pt FROM ..., and put the windows over pt."
    )
    return SqlRejected(message, at)


def _with_time(relation: Relation, time: str, at: Expr) -> tuple[Relation, str]:
    """The relation with the column of arrival times, and its name there."""
    match relation:
        case Scan():
            return relation, _arrival_of(relation, time, at)
        case Filter() | Unnested() | Computed():
            below, column = _with_time(relation.input, time, at)
            return replace(relation, input=below), column
        case Rank() if _keeps_first(relation):
            below, column = _with_time(relation.input, time, at)
            return replace(relation, input=below), column
        case Join() if _keeps_time(relation):
            below, column = _with_time(relation.left, time, at)
            return replace(relation, left=below), column
        case Union(apart=None):
            return _of_all(relation, time, at)
        case Select():
            below, column = _with_time(relation.input, time, at)
            items = tuple((name, ref(column, at) if is_proctime(item) else item) for name, item in relation.items)
            existing = next((name for name, item in items if plain(item) == column), None)
            name = existing or free_name(column, relation.columns)
            return Select(below, items if existing else (*items, (name, ref(column, at)))), name
    for scan in _scans(relation):
        _arrival_of(scan, time, at, keeps_up=True)
    name = free_name(time, relation.columns)
    return Arrived(relation, name, at), name


def _arrival_of(scan: Scan, time: str, at: Expr, *, keeps_up: bool = False) -> str:
    """The column of a table that says when its rows arrived. Raises NoClock."""
    source = configured(scan.table.node)
    assert isinstance(source, Source)
    arrived = source.event_time
    if arrived is not None and (source.processing_time or arrived in scan.table.clocked):
        return arrived
    name = scan.table.name
    message = (
        f"{time!r} is a processing time, and {name} does not say when its records arrived. Give it a column with these "
        "times: name it as the event time, and switch on Processing time; in a script, "
        f'-- studio.arrived: "its name" above CREATE TABLE {name}.'
    )
    raise NoClock(message, at, name, for_windows=True, keeps_up=keeps_up)


def _scans(relation: Relation) -> Iterator[Scan]:
    """The tables whose rows a relation is made of; not those in which it looks rows up."""
    match relation:
        case Scan():
            yield relation
        case Join() if _keeps_time(relation):
            yield from _scans(relation.left)
        case Join():
            yield from _scans(relation.left)
            yield from _scans(relation.right)
        case Union() | Called():
            for part in relation.inputs:
                yield from _scans(part)
        case Unary():
            yield from _scans(relation.input)


def _keeps_first(relation: Rank) -> bool:
    """Whether rows pass when they arrive, and stay: the first of a key to arrive."""
    key = relation.order[0] if relation.order else None
    time = None if key is None or key.descending else plain(key.expression)
    return time is not None and relation.end == 1 and is_processing_time(relation.input, time, has_value=True)


def _of_all(relation: Union, time: str, at: Expr) -> tuple[Relation, str]:
    """The union of inputs that have one more column, the time of arrival, and the name of that column."""
    place = relation.columns.index(time)
    name = free_name(time, relation.columns)
    inputs = []
    for part in relation.inputs:
        below, column = _with_time(part, part.columns[place], at)
        inputs.append(Select(below, (*((own, ref(own, at)) for own in part.columns), (name, ref(column, at)))))
    return replace(relation, inputs=tuple(inputs)), name
