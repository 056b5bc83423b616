"""The computed columns of a table."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from engine.contract.operator import Analyzer
from engine.errors import unknown_name
from engine.expressions.flink_sql import FlinkSql
from engine.model.schema import Schema
from engine.script.tables import TableDdl
from engine.sql.algebra import Expr, ref
from engine.sql.functions.expressions import Writer
from engine.sql.nodes.processing_time import is_proctime


def computed_columns(ddl: TableDdl, node_id: str, analyzer: Analyzer, schema: Schema) -> dict[str, FlinkSql]:
    """The computed columns of a table over its physical ones, without processing times. Raises SqlRejected."""
    names = {name: name for name in schema.names}
    writer = Writer(names, lambda text: analyzer.type_of(text, schema, node_id, "computed"), schema)
    expressions: dict[str, Expr] = {}
    values: dict[str, FlinkSql] = {}
    for column in ddl.computed:
        if is_proctime(column.value):
            continue
        value = column.value.copy().transform(lambda node: inlined(node, expressions), copy=False)
        for mentioned in value.find_all(exp.Column):
            if mentioned.name not in schema.names:
                message = f"{column.name}: {unknown_name('column', mentioned.name, schema.names)}."
                raise ddl.rejected(message)
        values[column.name] = writer.write(value)
        expressions[column.name] = value
    return values


def inlined(node: Expr, columns: Mapping[str, Expr]) -> Expr:
    """A column of the table, or a field of one. An earlier computed column is replaced by its expression."""
    if not isinstance(node, exp.Column):
        return node
    first, *fields = node.parts
    value: Expr = exp.Paren(this=columns[first.name].copy()) if first.name in columns else ref(first.name, node)
    for field in fields:
        value = exp.Dot(this=value, expression=field.copy())
    return value
