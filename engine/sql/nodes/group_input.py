"""The input of an aggregate: the columns that it reads, and the additional ones in Flink.

An unread result is not computed, so it causes no updates. The columns of its argument are still in the input, and
their changes update rows.
Source: Flink PruneAggregateCallRule, FlinkAggregateProjectMergeRule, by the cost of CommonCalc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from engine.contract.source import Source
from engine.operators.filter import Filter as Kept
from engine.registry import configured
from engine.sql.aggregate_calls import aggregate_function
from engine.sql.algebra import (
    Aggregate,
    Expr,
    Filter,
    Named,
    Rank,
    Relation,
    Select,
    Table,
    is_free,
    mentioned,
    plain,
    ref,
    substituted,
    together,
)
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.nullability import is_never_null, without_certain
from engine.sql.rules.project_merge import selected


def input_of(emitter: Emitter, relation: Aggregate, needed: frozenset[str]) -> tuple[Emitted, Aggregate]:
    """The input as nodes, and the aggregate over it with only the calls that are read."""
    calls = tuple((name, rows_counted(emitter, relation.input, call)) for name, call in relation.calls)
    read_calls = tuple(call for call in calls if call[0] in needed) or calls[: not relation.groups]
    unread = [call for name, call in calls if name not in dict(read_calls)]
    relation = replace(relation, calls=read_calls)
    merged = _merged(relation, unread)
    if merged is not None:
        relation, unread = merged
    used = _columns([*relation.groups, *relation.calls]).union(*map(mentioned, unread))
    if merged is not None and (number := _number(relation.input)) is not None:
        used |= {number}
    emitted = _emitted(emitter, relation, used)
    if unread and _is_normalised(emitter, emitted.node):
        # A normaliser keeps the columns that are read above it; the aggregate does not show those of unread calls.
        emitted = emitter.narrowed(emitted, tuple(used))
    return emitted, relation


def projected(emitter: Emitter, relation: Aggregate) -> Emitted:
    """The input as nodes, with the columns that the groups and calls read, and no others."""
    return _emitted(emitter, relation, _columns([*relation.groups, *relation.calls]))


def _emitted(emitter: Emitter, relation: Aggregate, used: frozenset[str]) -> Emitted:
    # COUNT(*) alone reads no column, so there is nothing to project.
    read = tuple((name, ref(name)) for name in relation.input.columns if name in used)
    return emitter.emit(selected(relation.input, read) if read else relation.input, used)


def _is_normalised(emitter: Emitter, node: str) -> bool:
    """Whether a node is a source with updates by key, or a filter on one."""
    below = emitter.node(node)
    if below.operator == Kept.operator:
        return _is_normalised(emitter, emitter.input_of(node))
    derived = emitter.derived[node]
    return isinstance(configured(below), Source) and derived.has_updates and bool(derived.upsert_keys)


def _merged(relation: Aggregate, unread: Sequence[Expr]) -> tuple[Aggregate, list[Expr]] | None:
    """The aggregate and the unread calls over the input of a projection that computes for unread calls only.

    Flink drops such a projection because that is cheaper; a Top N below it then numbers its rows. None if it stays.
    """
    below = relation.input
    values: Mapping[str, Expr] = dict(below.items) if isinstance(below, Select) else {}
    groups = tuple((name, substituted(item, values)) for name, item in relation.groups)
    calls = tuple((name, substituted(item, values)) for name, item in relation.calls)
    given = [substituted(call, values) for call in unread]
    is_plain = all(plain(item) is not None for _, item in groups) and not any(_computes(call) for _, call in calls)
    if not is_plain or not any(map(_computes, given)):
        return None
    over = below.input if isinstance(below, Select) else below
    return replace(relation, input=over, groups=groups, calls=calls), given


def _computes(call: Expr) -> bool:
    """Whether a call needs computed arguments or a filter; a CAST is free in Flink."""
    if isinstance(call.unnest(), exp.Filter):
        return True
    arguments = list(call.expressions)
    while arguments and isinstance(arguments[0], exp.Distinct | exp.Order | exp.IgnoreNulls | exp.RespectNulls):
        first = arguments.pop(0)
        arguments = [*(first.expressions or [first.this]), *arguments]
    return not all(is_free(argument) for argument in arguments)


def _number(relation: Relation) -> str | None:
    """The rank column of a Top N; None for other relations and for a single rank."""
    rank = relation.input if isinstance(relation, Filter) else relation
    is_numbered = isinstance(rank, Rank) and not rank.is_limit and rank.start != rank.end
    return rank.name if isinstance(rank, Rank) and is_numbered else None


def _columns(items: Sequence[Named]) -> frozenset[str]:
    return frozenset().union(*(mentioned(item) for _, item in items))


def rows_counted(emitter: Emitter, below: Relation, call: Expr) -> Expr:
    """The call with COUNT(x) as COUNT(*) if x is never NULL, and without FILTER conditions that are true by type."""
    rewritten: Expr = call.copy()
    if isinstance(rewritten, exp.Filter):
        asked = without_certain(below, rewritten.expression.this)
        rewritten.expression.set("this", together(asked) if asked else None)
        rewritten = rewritten if asked else rewritten.this
    count = rewritten.this if isinstance(rewritten, exp.Filter) else rewritten
    function = aggregate_function(count)
    if function is not None and function.counts_rows and len(count.expressions) == 1:
        counted = count.expressions[0]
        if is_never_null(below, counted, partial(_is_declared, emitter)):
            count.set("expressions", [exp.Star()])
    return rewritten


def _is_declared(emitter: Emitter, table: Table, column: str) -> bool:
    """Whether a table declares a column NOT NULL."""
    emitter.source(table.node)
    schema = emitter.derived[table.name].schema
    return column in schema.names and not schema.column(column).nullable
