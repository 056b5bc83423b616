"""TUMBLE, HOP, CUMULATE and SESSION, as table functions and as the group windows of older Flink SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from engine.errors import unknown_name
from engine.model.windowing import Windowing, WindowKind
from engine.sql.algebra import Expr, Relation, Windowed, plain
from engine.sql.dialect import TABLE_ARGUMENT
from engine.sql.functions.intervals import interval_ms
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

_ARGUMENTS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
_GROUP_WINDOWS = {"TUMBLE": ("SIZE",), "HOP": ("SLIDE", "SIZE"), "SESSION": ("GAP",)}
_LENGTH = {"TUMBLE": "SIZE", "HOP": "SIZE", "CUMULATE": "SIZE", "SESSION": "GAP"}
_SLIDE = {"HOP": "SLIDE", "CUMULATE": "STEP"}


def window_function(
    call: exp.Anonymous, table: Callable[[exp.Table], Relation], read: Callable[[Expr], Relation]
) -> Windowed:
    """A window table function with its arguments by position or by name. Raises SqlRejected."""
    name = call.name.upper()
    arguments = _by_name(call, _ARGUMENTS[name])
    for needed in _ARGUMENTS[name][: -1 if name != "SESSION" else None]:
        if needed not in arguments:
            message = f"{name} needs the argument {needed}; it takes {', '.join(_ARGUMENTS[name])}."
            raise SqlRejected(message, call)
    data = arguments["DATA"]
    keys: Sequence[Expr] = ()
    if isinstance(data, exp.Anonymous) and data.name == TABLE_ARGUMENT:
        relation, keys = table(data.expressions[0]), data.expressions[1:]
    elif isinstance(data.unnest(), exp.Subquery | exp.Select | exp.SetOperation):
        relation = read(data.unnest())
    else:
        message = f"the first argument of {name} is TABLE t, or a query in parentheses."
        raise SqlRejected(message, data)
    if keys and name != "SESSION":
        message = f"PARTITION BY is for SESSION; {name} windows are the same for all keys. Leave it out."
        raise SqlRejected(message, data)
    scope = Scope.of(relation, None)
    descriptor = arguments["TIMECOL"]
    is_descriptor = isinstance(descriptor, exp.Anonymous) and descriptor.name.upper() == "DESCRIPTOR"
    columns = [plain(scope.bind(column)) for column in descriptor.expressions] if is_descriptor else []
    if len(columns) != 1 or columns[0] is None:
        message = f"the time of {name} is DESCRIPTOR(column)."
        raise SqlRejected(message, descriptor)
    time = columns[0]
    partition = tuple(column for key in keys if (column := plain(scope.bind(key))) is not None)
    if len(partition) < len(keys):
        message = "PARTITION BY takes columns here. Compute the expression in a sub-query."
        raise SqlRejected(message, data)
    return Windowed(relation, _windowing(name, arguments, call), time, call, partition)


def group_window(call: exp.Anonymous) -> tuple[Expr, Windowing]:
    """The time and the windows of a group window: TUMBLE(rt, INTERVAL '10' SECOND) in GROUP BY."""
    name = call.name.upper()
    if name not in _GROUP_WINDOWS:
        message = f"{unknown_name('group window', name, _GROUP_WINDOWS)}. Use {name} in FROM TABLE(...)."
        raise SqlRejected(message, call)
    lengths = _GROUP_WINDOWS[name]
    if len(call.expressions) != len(lengths) + 1:
        message = f"{name} in GROUP BY takes the time column and {', '.join(lengths)}."
        raise SqlRejected(message, call)
    return call.expressions[0], _windowing(name, dict(zip(lengths, call.expressions[1:], strict=True)), call)


def _by_name(call: exp.Anonymous, names: Sequence[str]) -> dict[str, Expr]:
    arguments: dict[str, Expr] = {}
    for at, argument in enumerate(call.expressions):
        if isinstance(argument, exp.Kwarg):
            name, value = argument.this.name.upper(), argument.expression
        elif at < len(names):
            name, value = names[at], argument
        else:
            name, value = "", argument
        if name not in names:
            message = f"{call.name} has no argument {name or at + 1}; it takes {', '.join(names)}."
            raise SqlRejected(message, value)
        arguments[name] = value
    return arguments


def _windowing(name: str, arguments: dict[str, Expr], call: Expr) -> Windowing:
    slide = arguments.get(_SLIDE.get(name, ""))
    offset = arguments.get("OFFSET")
    try:
        return Windowing(
            WindowKind[name],
            interval_ms(arguments[_LENGTH[name]]),
            interval_ms(slide) if slide is not None else 0,
            interval_ms(offset) if offset is not None else 0,
        )
    except ValueError as error:
        message = str(error)
        raise SqlRejected(message, call) from error
