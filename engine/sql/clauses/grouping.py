"""GROUP BY, aggregates, HAVING and DISTINCT.

The select list may use group keys and aggregate calls. Each becomes a column of the aggregation, with the
select list's name if it has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.functions.refused import no_function
from engine.model.free_names import free_name
from engine.sql.aggregate_calls import aggregate_function, is_aggregate
from engine.sql.algebra import Aggregate, Expr, Named, Relation, Select, Windowed, plain, ref
from engine.sql.clauses.grouping_sets import expanded, grouping_sets, in_order, with_grouping
from engine.sql.clauses.window_functions import group_window
from engine.sql.nodes.processing_time import is_proctime
from engine.sql.rejected import SqlRejected
from engine.sql.scope import Scope

_BOUNDS = {"START": 0, "END": 1, "ROWTIME": 2, "PROCTIME": 2}

Item = tuple[str | None, Expr]


@dataclass(frozen=True)
class Grouped:
    """The relation below the select list, and the expressions left to compute above it."""

    relation: Relation
    items: list[Item]
    having: Expr | None


def grouped(query: exp.Select, items: list[Item], scope: Scope, condition: Expr | None) -> Grouped:
    """Put an aggregation between FROM and SELECT if the query has one. condition: HAVING."""
    group = query.args.get("group")
    if group is None and condition is None and not any(_calls(item) for _, item in items):
        return Grouped(scope.relation, items, None)
    shown = len(items)
    items = items if condition is None else [*items, (None, condition)]
    sets = grouping_sets(group)
    # GROUP BY () is one group of all rows.
    written = [key for key in group.expressions if key != exp.Tuple()] if group is not None else []
    keys = [scope.bind(key) for key in (written if sets is None else dict.fromkeys(chain.from_iterable(sets)))]
    relation, keys, items = _with_group_window(scope.relation, keys, items)
    if sets is not None:
        keys = in_order(relation, keys, [read for _, item in items for read in _arguments(item)], _is_computed_above)
    groups = by_key = _group_names(keys, items)
    if sets is not None:
        bound = [tuple(scope.bind(key) for key in key_set) for key_set in sets]
        relation, columns = expanded(relation, keys, bound, query)
        number = (columns[-1].name, columns[-1])
        groups = [*((name, column) for (name, _), column in zip(by_key, columns, strict=False)), number]
        by_key = [*by_key, number]
        items = [(name, with_grouping(item, keys, columns)) for name, item in items]
    # A result without a name is called by its place, as in Flink. What is computed of calls leaves them these names.
    unnamed = [at for at, (name, item) in enumerate(items[:shown]) if name is None and is_aggregate(item.unnest())]
    by_place = [f"EXPR${at}" for at in unnamed]
    taken = [name for name, _ in groups]
    calls: list[Named] = []
    for at, (name, item) in enumerate(items):
        for call in _calls(item):
            if any(call == earlier for _, earlier in calls):
                continue
            if call == item.unnest() and at < shown:
                calls.append((free_name(name or f"EXPR${at}", [*taken, *dict(calls)]), call))
            else:
                others = [*taken, *dict(calls), *by_place]
                calls.append((free_name(f"EXPR${len(groups) + len(calls)}", others), call))
    named = [*by_key, *calls]
    aggregate = Aggregate(relation, tuple(groups), tuple(calls), query)
    above = [(name or plain(item), _over(item, named)) for name, item in items]
    return Grouped(aggregate, above[:shown], above[-1][1] if condition is not None else None)


def _is_computed_above(call: Expr) -> bool:
    function = aggregate_function(call)
    return function is not None and function.is_computed_above


def _calls(item: Expr) -> list[Expr]:
    """The aggregate calls in an expression. Raises SqlRejected for nested ones."""
    calls: list[Expr] = []

    def visit(node: Expr) -> None:
        if isinstance(node, exp.Window):
            for part in (*node.this.iter_expressions(), *(p for p in node.iter_expressions() if p is not node.this)):
                visit(part)
        elif is_aggregate(node):
            call = node.this if isinstance(node, exp.Filter) else node
            if aggregate_function(call) is None:
                raise _no_aggregate(call)
            for inner in (*call.iter_expressions(), *([node.expression] if call is not node else [])):
                if _calls(inner):
                    message = "an aggregate cannot stand inside another. Compute the inner one in a sub-query."
                    raise SqlRejected(message, node)
            calls.append(node)
        else:
            if isinstance(node, exp.Anonymous) and (instead := _instead_of(node.name.upper())) is not None:
                message = f"{node.name.upper()} is not supported. Use {instead}."
                raise SqlRejected(message, node)
            for part in node.iter_expressions():
                visit(part)

    visit(item.unnest())
    return calls


def _no_aggregate(call: Expr) -> SqlRejected:
    name = call.name.upper() if isinstance(call, exp.Anonymous) else call.sql()
    return SqlRejected(no_function("aggregate function", name, sorted(functions())), call)


def _instead_of(name: str) -> str | None:
    """The replacement for a function of another dialect."""
    return next((function.replaces[name] for function in functions().values() if name in function.replaces), None)


def _arguments(item: Expr) -> list[Expr]:
    """What the calls of an expression read; a call with FILTER stands for itself, as its condition is computed."""
    read: list[Expr] = []
    for call in _calls(item):
        for part in [call] if isinstance(call, exp.Filter) else call.expressions:
            read += part.expressions if isinstance(part, exp.Distinct) else [] if isinstance(part, exp.Star) else [part]
    return read


def _group_names(keys: Sequence[Expr], items: Sequence[Item]) -> list[Named]:
    """Every key with a name: its column's, the one in the select list, or EXPR$0."""
    names: list[Named] = []
    for at, key in enumerate(keys):
        if any(key == earlier for _, earlier in names):
            continue
        called = next((name for name, item in items if name is not None and item.unnest() == key.unnest()), None)
        wanted = plain(key) or called or f"EXPR${at}"
        names.append((free_name(wanted, [name for name, _ in names]), key))
    return names


def _over(item: Expr, named: Sequence[Named]) -> Expr:
    """The item with keys and calls replaced by columns of the aggregation. Raises SqlRejected for any other column."""

    def swap(node: Expr) -> Expr:
        for name, expression in named:
            if node == expression:
                return ref(name, node)
        if isinstance(node, exp.Column):
            message = (
                f"the column {node.name!r} is neither grouped by nor aggregated. Add it to GROUP BY, or take one "
                f"value of the group: MAX({node.name})."
            )
            raise SqlRejected(message, node)
        return node

    return item.copy().transform(swap, copy=False)


def _with_group_window(
    relation: Relation, keys: list[Expr], items: list[Item]
) -> tuple[Relation, list[Expr], list[Item]]:
    """GROUP BY TUMBLE(rt, ...), rewritten as GROUP BY window_start, window_end over the window table function."""
    windows = [
        key for key in keys if isinstance(key, exp.Anonymous) and key.name.upper() in ("TUMBLE", "HOP", "SESSION")
    ]
    if not windows:
        return relation, keys, items
    if len(windows) > 1:
        message = "a query can group by one window only. Join two queries, or nest them."
        raise SqlRejected(message, windows[1])
    window = windows[0]
    time, windowing = group_window(window)
    if is_proctime(time):
        added = free_name("proctime", relation.columns)
        own = tuple((column, ref(column, time)) for column in relation.columns)
        relation, time = Select(relation, (*own, (added, time))), ref(added, time)
    elif plain(time) is None:
        message = "a group window takes a column as its time."
        raise SqlRejected(message, time)
    partition = tuple(name for key in keys if key is not window and (name := plain(key)) is not None)
    windowed = Windowed(relation, windowing, plain(time) or "", window, partition, is_group_window=True)
    start, end, _ = windowed.bounds
    group_keys = [key for key in keys if key is not window]
    group_keys += [ref(start, window), ref(end, window)]

    def swap(node: Expr) -> Expr:
        if isinstance(node, exp.Anonymous):
            name, _, bound = node.name.upper().partition("_")
            if name == window.name.upper() and bound in _BOUNDS and node.expressions == window.expressions:
                return ref(windowed.bounds[_BOUNDS[bound]], node)
        return node

    changed = [(name, item.copy().transform(swap, copy=False)) for name, item in items]
    if any(column.name == windowed.bounds[2] for _, item in changed for column in item.find_all(exp.Column)):
        group_keys.append(ref(windowed.bounds[2], window))
    return windowed, group_keys, changed
