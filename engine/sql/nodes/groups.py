"""Aggregates as nodes: per group, or per group and window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from engine.model.durations import interval
from engine.model.free_names import free_name
from engine.model.types import quote
from engine.model.windowing import Windowing, WindowKind
from engine.sql import state_ttl
from engine.sql.aggregate_calls import aggregate_function
from engine.sql.algebra import Aggregate, Expr, Named, Windowed, mentioned, plain, ref, together
from engine.sql.emit_options import firing
from engine.sql.functions.expressions import Writer
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nodes.group_input import input_of, projected, rows_counted
from engine.sql.nodes.lost_times import with_lost_time
from engine.sql.nodes.processing_time import over_arrival_times, without_arrival_times
from engine.sql.nodes.python_aggregates import any_python, code_of
from engine.sql.nodes.single_rows import is_its_argument, is_one_row_each, may_be_its_argument, ungrouped
from engine.sql.nodes.time_bounds import only_event_time
from engine.sql.nodes.window_bounds import WindowColumns, attached_windows, over_windows
from engine.sql.rejected import SqlRejected
from engine.sql.rules.project_merge import selected
from engine.windows.parameters import BOUNDS


def aggregate(emitter: Emitter, relation: Aggregate, needed: frozenset[str]) -> Emitted:
    """A window aggregate if the groups contain a window's bounds, else a group aggregate."""
    window_parts = over_windows(relation)
    # For Python aggregates, Flink treats the windows of a table function as plain columns.
    is_plain = any_python(relation.calls) and not (window_parts is not None and window_parts[0].is_group_window)
    if window_parts is not None and not is_plain:
        windowed, groups, results = window_parts
        return _per_window(emitter, relation, windowed, groups, results)
    windows = attached_windows(relation)
    if windows is not None and not is_plain:
        return _per_attached_window(emitter, relation, windows)
    read = [aggregate_function(call) for name, call in relation.calls if name in needed]

    def of_single_rows(apart: Emitter) -> Aggregate | None:
        return _of_single_rows(apart, relation, needed)

    may_be_removed = all(map(may_be_its_argument, read))
    if may_be_removed and not needed.issuperset(relation.columns):
        single = emitter.decided(of_single_rows, relation, needed)
        if single is not None:
            return _removed(emitter, single, needed)
    emitted, relation = input_of(emitter, relation, needed)
    group_by, calls = _grouped(emitter, emitted, relation)
    if may_be_removed and _are_single_rows(emitter, emitted, group_by, calls):
        return ungrouped(emitter, emitted, relation, group_by, calls)
    parameters = {"group_by": group_by, "aggregates": calls, **code_of(relation.calls, relation.at)}
    parameters |= state_ttl.of_group(relation.at)
    node = emitter.add("aggregate", parameters, [emitted.node], relation.at)
    names = dict(zip(relation.columns, (column.name for column in emitter.derived[node].schema), strict=True))
    return Emitted(node, names)


def _grouped(emitter: Emitter, emitted: Emitted, relation: Aggregate) -> tuple[list[Any], list[dict[str, Any]]]:
    """The groups and the calls of an aggregate over its input, as parameters."""
    group_by, taken = _group_by(emitter, emitted, relation.groups)
    return group_by, [parameters for _, parameters in _calls(emitter, emitted, relation.calls, taken)]


def _of_single_rows(emitter: Emitter, relation: Aggregate, needed: frozenset[str]) -> Aggregate | None:
    """An aggregate with the calls that are read, if Flink removes it."""
    emitted, relation = input_of(emitter, relation, needed)
    return relation if _are_single_rows(emitter, emitted, *_grouped(emitter, emitted, relation)) else None


def _are_single_rows(
    emitter: Emitter, emitted: Emitted, group_by: Sequence[Any], calls: Sequence[dict[str, Any]]
) -> bool:
    """Whether each group is one row at most, and each result that row's argument."""
    return is_one_row_each(emitter, emitted, group_by) and all(is_its_argument(call, group_by) for call in calls)


def _removed(emitter: Emitter, single: Aggregate, needed: frozenset[str]) -> Emitted:
    """An aggregate with one row per group as a projection. The nodes below compute no more than what is read of it.

    single: the aggregate with only the calls that are read.
    """
    single = replace(single, groups=tuple(group for group in single.groups if group[0] in needed))
    emitted = projected(emitter, single)
    if not single.columns:
        return Emitted(emitted.node, {})
    return ungrouped(emitter, emitted, single, *_grouped(emitter, emitted, single))


def _per_window(
    emitter: Emitter, relation: Aggregate, windowed: Windowed, groups: Sequence[Named], calls: Sequence[Named]
) -> Emitted:
    calls = [(name, rows_counted(emitter, windowed, call)) for name, call in calls]
    windowed = over_arrival_times(windowed)
    bounds = dict(zip(windowed.bounds, BOUNDS, strict=True))
    keys = [(name, item) for name, item in groups if plain(item) not in bounds]
    used = {windowed.time}.union(*(mentioned(item) for _, item in (*keys, *calls)))
    below = windowed.input
    if windowed.is_group_window:
        below = selected(below, tuple((name, ref(name)) for name in below.columns if name in used))
    emitted = with_event_time(emitter, emitter.emit(below, used), windowed)
    by_bound = {bounds[plain(item) or ""]: name for name, item in groups if plain(item) in bounds}
    windows = window_parameters(windowed.windowing) | firing(emitter.options, windowed)
    if windowed.is_group_window:
        windows["group_window"] = True
    elif not windowed.windowing.is_even:
        raise _not_even(windowed)
    return _windows_node(emitter, relation, emitted, windows, keys, by_bound, calls)


def _not_even(windowed: Windowed) -> SqlRejected:
    windowing = windowed.windowing
    lengths = f"{quote(windowed.time)}, {interval(windowing.slide_ms)}, {interval(windowing.size_ms)}"
    message = (
        "below an aggregate the table function HOP needs a size that is a multiple of its slide. Aggregate with "
        f"GROUP BY HOP({lengths}), HOP_START and HOP_END."
    )
    return SqlRejected(message, windowed.at)


def _per_attached_window(emitter: Emitter, relation: Aggregate, windows: WindowColumns) -> Emitted:
    at = {name: windows.columns[column] for name, item in relation.groups if (column := plain(item)) in windows.columns}
    bounds = {name: BOUNDS[which] for name, which in at.items() if which < len(BOUNDS)}
    keys = [(name, item) for name, item in relation.groups if name not in bounds]
    by_bound = {bound: name for name, bound in bounds.items()}
    columns = {name: plain(item) or "" for name, item in relation.groups if name in bounds}
    start, end = (columns[by_bound[bound]] for bound in BOUNDS[:2])
    used = {start, end}.union(*(mentioned(item) for _, item in (*keys, *relation.calls)))
    emitted = emitter.emit(relation.input, used)
    parameters = {"window_start": emitted.names[start], "window_end": emitted.names[end]}
    return _windows_node(emitter, relation, emitted, parameters, keys, by_bound, relation.calls)


def _windows_node(
    emitter: Emitter,
    relation: Aggregate,
    emitted: Emitted,
    windows: Mapping[str, Any],
    keys: Sequence[Named],
    by_bound: Mapping[str, str],
    calls: Sequence[Named],
) -> Emitted:
    """The window aggregate. by_bound: by window bound, its column in the relation."""
    group_by, taken = _group_by(emitter, emitted, keys)
    aggregates = _calls(emitter, emitted, calls, [*taken, *BOUNDS])
    parameters = {
        **windows,
        "group_by": group_by,
        "aggregates": [call for _, call in aggregates],
        "window_time": "window_time" in by_bound,
        **code_of(calls, relation.at),
    }
    node = emitter.add("window_aggregate", parameters, [emitted.node], relation.at)
    columns = [column.name for column in emitter.derived[node].schema]
    names = dict(zip([name for name, _ in keys], columns, strict=False))
    for bound, column in zip(BOUNDS, columns[len(keys) :], strict=False):
        if bound in by_bound:
            names[by_bound[bound]] = column
    return Emitted(
        node, names | dict(zip([name for name, _ in calls], columns[len(columns) - len(calls) :], strict=True))
    )


def window_parameters(windowing: Windowing) -> dict[str, Any]:
    """The windows as parameters of an operator."""
    match windowing.kind:
        case WindowKind.SESSION:
            return {"kind": "session", "gap_ms": windowing.size_ms}
        case WindowKind.HOP:
            lengths = {"slide_ms": windowing.slide_ms}
        case WindowKind.CUMULATE:
            lengths = {"step_ms": windowing.slide_ms}
        case _:
            lengths = {}
    return {"kind": windowing.kind.value, "size_ms": windowing.size_ms, **lengths, "offset_ms": windowing.offset_ms}


def with_event_time(emitter: Emitter, emitted: Emitted, windowed: Windowed) -> Emitted:
    """The input with the window's time as its only event time. Raises SqlRejected if it is not an event time."""
    if windowed.time not in emitted.names:
        raise without_arrival_times(windowed.time, windowed.at)
    if emitter.schema(emitted).column(emitted.names[windowed.time]).time is None:
        if windowed.is_group_window:
            again = with_lost_time(emitter, emitted, windowed.time, windowed.at)
            if again is not None:
                return again
        raise not_an_event_time(emitter, emitted, windowed.time, windowed.at)
    return only_event_time(emitter, emitted, windowed.time, windowed.at)


def not_an_event_time(emitter: Emitter, emitted: Emitted, column: str, at: Expr) -> SqlRejected:
    """The error about a column without a watermark: which has one, where its time was lost, or how to declare one."""
    if times := ", ".join(time_column.name for time_column in emitter.schema(emitted) if time_column.time is not None):
        return SqlRejected(f"{column!r} is not an event time; {times} is one.", at)
    add = f"Add WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND to its CREATE TABLE."
    return SqlRejected(f"{column!r} is not an event time. {emitter.lost_time(emitted.node) or add}", at)


def _group_by(emitter: Emitter, emitted: Emitted, groups: Sequence[Named]) -> tuple[list[Any], list[str]]:
    """The group columns, by name or with an expression, and their output names."""
    writer = emitter.writer(emitted)
    group_by: list[Any] = []
    taken: list[str] = []
    for name, item in groups:
        column = plain(item)
        if column is not None and column in emitted.names and emitted.names[column] not in taken:
            group_by.append(emitted.names[column])
            taken.append(emitted.names[column])
        else:
            output_name = free_name(name, taken)
            group_by.append({"name": output_name, "expression": writer.result(item)})
            taken.append(output_name)
    return group_by, taken


def _calls(
    emitter: Emitter, emitted: Emitted, calls: Sequence[Named], taken: Sequence[str]
) -> list[tuple[str, dict[str, Any]]]:
    aggregates: list[tuple[str, dict[str, Any]]] = []
    for name, item in calls:
        output_name = free_name(name, [*taken, *(other for other, _ in aggregates)])
        aggregates.append((output_name, {**call_parameters(emitter, emitted, item), "name": output_name}))
    return aggregates


def call_parameters(emitter: Emitter, emitted: Emitted, item: Expr) -> dict[str, Any]:
    """A call as the parameters of an aggregate: function, argument, DISTINCT, FILTER, separator."""
    writer = emitter.writer(emitted)
    parameters: dict[str, Any] = {}
    call = item.unnest()
    conditions: list[Expr] = []
    if isinstance(call, exp.Filter):
        conditions.append(call.expression.this)
        call = call.this
    assert isinstance(call, exp.Anonymous)
    function = aggregate_function(call)
    assert function is not None
    parameters["function"] = function.name
    arguments = list(call.expressions)
    if arguments and isinstance(arguments[0], exp.Distinct):
        parameters["distinct"] = True
        arguments = list(arguments[0].expressions) + arguments[1:]
    if arguments and isinstance(arguments[0], exp.Order):
        # Flink ignores this ORDER BY in streaming.
        arguments[0] = arguments[0].this
    if arguments and isinstance(arguments[0], exp.IgnoreNulls | exp.RespectNulls):
        ignores = isinstance(arguments[0], exp.IgnoreNulls)
        arguments[0] = arguments[0].this
        # LAG counts NULLs all the same, as in Flink.
        if ignores and function.sees_nulls and not function.has_offset:
            conditions.append(exp.Not(this=exp.Is(this=arguments[0].copy(), expression=exp.Null())))
    if conditions:
        parameters = {"filter": writer.write(together(conditions)), **parameters}
    if function.has_separator and len(arguments) == 2:
        separator = arguments.pop()
        if not isinstance(separator, exp.Literal) or not separator.is_string:
            message = f"the separator of {function.name} is a text, such as ', '."
            raise SqlRejected(message, call)
        parameters["separator"] = separator.name
    if function.has_offset and len(arguments) == 2:
        offset = arguments.pop().unnest()
        if not isinstance(offset, exp.Literal) or not offset.is_int:
            message = f"{function.name} looks back a number of rows, such as 2."
            raise SqlRejected(message, call)
        parameters["offset"] = int(offset.name)
    if function.has_percentage and len(arguments) in (2, 3):
        if len(arguments) == 3:
            frequency = arguments.pop()
            parameters["frequency"] = emitted.names.get(plain(frequency) or "") or writer.write(frequency)
        parameters["percentage"] = _shares(function.name, arguments.pop().unnest())
    if function.counts_rows and not arguments:
        message = f"{function.name}() counts nothing. Write {function.name}(*) for rows, or a column."
        raise SqlRejected(message, call)
    if function.counts_rows and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        arguments = []
    if function.is_python:
        return parameters | given_to(arguments, emitted, writer)
    if len(arguments) > 1:
        message = (
            f"{function.name} takes one argument here. Put the values together in a sub-query: CONCAT_WS('|', a, b)."
        )
        raise SqlRejected(message, call)
    if arguments and (not isinstance(arguments[0], exp.Literal) or not function.counts_rows):
        parameters["argument"] = _written(arguments[0], emitted, writer)
    return parameters


def given_to(arguments: Sequence[Expr], emitted: Emitted, writer: Writer) -> dict[str, Any]:
    """The arguments of a Python function, as parameters of its call."""
    written = [_written(argument, emitted, writer) for argument in arguments]
    parameters: dict[str, Any] = {"argument": written[0]} if written else {}
    if written[1:]:
        parameters["others"] = [{"expression": other} for other in written[1:]]
    return parameters


def _written(argument: Expr, emitted: Emitted, writer: Writer) -> str:
    column = plain(argument)
    is_column = column is not None and column in emitted.names
    return emitted.names[column or ""] if is_column else writer.argument(argument)


def _shares(function: str, written: Expr) -> float | list[float]:
    """The percentage of PERCENTILE, or a list of percentages. Raises SqlRejected for other values."""
    if isinstance(written, exp.Array):
        shares = [_shares(function, element.unnest()) for element in written.expressions]
        return [share for share in shares if isinstance(share, float)]
    is_number = isinstance(written, exp.Literal) and not written.is_string
    if not is_number or not 0 <= float(written.name) <= 1:
        message = f"the percentage of {function} is a number from 0 to 1, such as 0.5, or ARRAY[0.25, 0.75]."
        raise SqlRejected(message, written)
    return float(written.name)
