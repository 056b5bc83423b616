"""Windows of processing time: of the times at which records arrived, which a source has to have recorded.

What a clock showed is gone when a run is repeated. So a source that says that its event time is the processing time
gives PROCTIME() its values, and windows over PROCTIME() are windows over that column.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from engine.contract.source import Source
from engine.registry import configured
from engine.sql.algebra import Expr, Filter, Relation, Scan, Select, Windowed, free_name, plain, ref
from engine.sql.rejected import SqlRejected


def over_arrival_times(windowed: Windowed) -> Windowed:
    """The same windows, over recorded times where their time is a processing time. Raises SqlRejected without any."""
    if not is_processing_time(windowed.input, windowed.time):
        return windowed
    below, column = _with_time(windowed.input, windowed)
    items = [(name, ref(column if name == windowed.time else name, windowed.at)) for name in windowed.input.columns]
    return replace(windowed, input=Select(below, tuple(items)))


def is_processing_time(relation: Relation, name: str) -> bool:
    """Whether a column stands for the time at which a record arrives."""
    match relation:
        case Scan():
            return name in relation.table.proctime
        case Filter():
            return is_processing_time(relation.input, name)
        case Select():
            item = dict(relation.items)[name]
            column = plain(item)
            return is_proctime(item) if column is None else is_processing_time(relation.input, column)
        case _:
            return False


def is_proctime(item: Expr) -> bool:
    """Whether an expression is PROCTIME()."""
    bare = item.unnest()
    return isinstance(bare, exp.Anonymous) and bare.name.upper() == "PROCTIME"


def without_arrival_times(windowed: Windowed) -> SqlRejected:
    """What is said of windows of processing time over something that is made of rows."""
    message = (
        f"{windowed.time!r} is a processing time; its windows are for the rows of a table, picked and filtered. Use "
        "the event time for what is made of them."
    )
    return SqlRejected(message, windowed.at)


def _with_time(relation: Relation, windowed: Windowed) -> tuple[Relation, str]:
    """The relation with the column of arrival times, and its name there."""
    match relation:
        case Scan():
            source = configured(relation.table.node)
            if isinstance(source, Source) and source.processing_time and source.event_time is not None:
                return relation, source.event_time
            name = relation.table.name
            message = (
                f"{windowed.time!r} is a processing time, and {name} does not say when its records arrived. Give it a "
                "column with these times: name it as the event time, and switch on Processing time; in a script, "
                f'-- studio.arrived: "its name" above CREATE TABLE {name}.'
            )
            raise SqlRejected(message, windowed.at)
        case Filter():
            below, column = _with_time(relation.input, windowed)
            return replace(relation, input=below), column
        case Select():
            below, column = _with_time(relation.input, windowed)
            name = free_name(column, relation.columns)
            return Select(below, (*relation.items, (name, ref(column, windowed.at)))), name
    raise without_arrival_times(windowed)
