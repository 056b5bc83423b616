"""Watermarks of tables that a script fills from tables without one: they are made where rows arrive.

    CREATE TABLE clicks (ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, ...);
    INSERT INTO clicks SELECT TO_TIMESTAMP(t), ... FROM raw;        raw has a computed event time, which clicks takes

Flink's first job writes, and the second one makes the watermark of what it reads. In one pipeline a watermark begins at
a source, so the expression becomes a column of the table that the query reads: also if it is one that the filled table
computes. Rows that the query filters out move the watermark, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from engine.contract.declared_table import Watermark
from engine.model.free_names import free_name
from engine.script.computed_columns import inlined
from engine.script.parts import Insert, Parts
from engine.script.tables import Computed, TableDdl, cast_to
from engine.sql.algebra import Expr

_OF_SEVERAL_ROWS = (
    "joins",
    "laterals",
    "group",
    "having",
    "distinct",
    "limit",
    "offset",
    "windows",
    "qualify",
    "order",
)


def pass_on_watermarks(parts: Parts) -> None:
    """Give the tables that fill others the watermarks of these, as far as a query takes one row for one."""
    read = {table.name for insert in parts.inserts for table in insert.query.find_all(exp.Table)}
    read |= {token.text for view in parts.views.values() for token in view.tokens}
    for at, insert in enumerate(parts.inserts):
        target = parts.tables.get(insert.target or "")
        if target is not None and target.watermark is not None and target.name in read:
            parts.inserts[at] = _with_time(insert, target, target.watermark, parts)


def _with_time(insert: Insert, target: TableDdl, mark: Watermark, parts: Parts) -> Insert:
    source = _only_table(insert.query, parts.tables)
    names = target.targets(insert.columns, insert.statement.place)
    if source is None or source.watermark is not None or source.name in parts.targets:
        return insert
    items = insert.query.expressions
    if len(items) == 1 and isinstance(items[0], exp.Star):
        columns = [name for name in source.order if name not in source.hidden]
        items = [exp.column(name, quoted=True) for name in columns]
    if len(items) != len(names) or any(item.is_star for item in items):
        return insert
    given = dict(zip(names, items, strict=True))
    is_computed = any(column.name == mark.column for column in target.computed)
    if not is_computed and mark.column not in given:
        return insert
    value = _computed(target, given, mark.column) if is_computed else given[mark.column].unalias()
    mentioned = {column.name for column in value.find_all(exp.Column)}
    if not mentioned <= {*source.order} or value.find(exp.Window, exp.Query, exp.Subquery) is not None:
        return insert
    if isinstance(value, exp.Column):
        parts.tables[source.name] = replace(source, watermark=Watermark(value.name, mark.delay_ms))
        return _noted(insert, source, target, parts)
    name = free_name(mark.column, source.order)
    computed = Computed(name, value.transform(_unqualified))
    parts.tables[source.name] = replace(
        source,
        computed=(*source.computed, computed),
        order=(*source.order, name),
        hidden=(*source.hidden, name),
        watermark=Watermark(name, mark.delay_ms),
    )
    query = insert.query.copy()
    given[mark.column] = exp.alias_(exp.column(name, quoted=True), mark.column, quoted=True)
    query.set("expressions", list(given.values()))
    return replace(_noted(insert, source, target, parts), query=query, time=mark.column if is_computed else "")


def _computed(target: TableDdl, given: Mapping[str, Expr], name: str) -> Expr:
    """A computed column over what the query gives. given: by column."""
    by_column: dict[str, Expr] = {}
    for column in target.written:
        by_column[column.name] = cast_to(given.get(column.name, exp.Null()).unalias().copy(), column.type)
    for computed in target.computed:
        by_column[computed.name] = computed.value.copy().transform(lambda node: inlined(node, by_column), copy=False)
    return by_column[name]


def _noted(insert: Insert, source: TableDdl, target: TableDdl, parts: Parts) -> Insert:
    note = f"{target.name}: its watermark is made where the rows of {source.name} arrive."
    if note not in parts.warnings:
        parts.warnings.append(note)
    return insert


def _only_table(query: Expr, tables: Mapping[str, TableDdl]) -> TableDdl | None:
    """The table of which a query takes row for row; None for any other query."""
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in _OF_SEVERAL_ROWS):
        return None
    table = query.args["from_"].this if query.args.get("from_") else None
    return tables.get(table.name) if isinstance(table, exp.Table) and not table.args.get("joins") else None


def _unqualified(node: Expr) -> Expr:
    """A column without the name of its table."""
    return exp.column(node.this.copy()) if isinstance(node, exp.Column) and node.table else node
