"""Flink SQL queries, read into pipelines.

dialect      sqlglot's grammar with Flink's few deviations; parsing: syntax trees from text
clauses      a SELECT clause by clause (query); from_clause, subqueries, grouping, row_number, order_by, limit,
             set_operations; row_columns: the fields that tables declare
algebra      relations and bound expressions
written      those that a query says and a rule has others for
rules        the rules, in order: where filters and projections go, what can have no rows
nodes        relations as nodes of a pipeline, without unused columns
functions    bound expressions as Spark SQL with Flink's meaning (expressions); periods: OVERLAPS, as comparisons;
             rows: ROW constructors, fields, comparison, casts
rejected     the error for unsupported SQL: its line, its column and an alternative
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.contract.operator import Analyzer
from engine.contract.source import Source
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.model.types import quote
from engine.registry import configured
from engine.sql.algebra import Expr, Table
from engine.sql.clauses.python_calls import Functions, aggregates_of
from engine.sql.clauses.row_columns import rows_in
from engine.sql.emit_options import without_emit_options
from engine.sql.names import Names
from engine.sql.nodes import MAKERS
from engine.sql.nodes.emitter import Emitted, Emitter
from engine.sql.parsing import tokens_of, trees_of
from engine.sql.rejected import NoClock, SqlRejected

__all__ = ["SqlRejected", "Table", "exactly", "pipeline_of", "table_of"]


def table_of(node: Node, folder: Path, proctime: Sequence[str] = ()) -> Table:
    """A source node as a table, named by the node's id. proctime: the columns that represent the arrival order."""
    source = configured(node)
    assert isinstance(source, Source)
    computed = tuple(column.name for column in source.computed)
    schema = source.derive(node.id, folder).schema
    return Table(node, schema.names + computed, tuple(proctime), rows_in(schema))


def pipeline_of(
    sql: str,
    tables: Sequence[Table],
    analyzer: Analyzer,
    folder: Path,
    *,
    views: Mapping[str, str] | None = None,
    sink: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
    arrival: Arrival | None = None,
    name: str = "query",
    functions: Functions | None = None,
) -> Pipeline:
    """The pipeline of a SELECT over named tables. Raises SqlRejected with line, column and an alternative.

    views: SELECTs by name, each over the tables and the views before it. sink: the parameters of the sink; by default
    a changelog sink. functions: the Python functions. Tables that the query does not name are left out.
    """
    names = Names({table.name: table for table in tables}, aggregates=aggregates_of(functions or {}))
    for view, query in (views or {}).items():
        names = names.with_view(view, parsed(query))
    query_ = parsed(sql)
    emitter = Emitter(analyzer, folder, MAKERS, dict(options or {}), functions or {})
    relation, emitted = emitter.read(query_, names)
    node = exactly(emitter, emitted, relation.columns, query_)
    emitter.add("sink", dict(sink or {}), [node], query_)
    return Pipeline(
        name=name,
        nodes=tuple(emitter.nodes),
        edges=tuple(emitter.edges),
        arrival=arrival or Arrival(),
        options=without_emit_options(options or {}),
    )


def parsed(sql: str) -> Expr:
    """The only statement of a text. Raises SqlRejected with the place of the first error."""
    statements = trees_of(tokens_of(sql), sql)
    if len(statements) != 1:
        message = f"one query is read at a time, but there are {len(statements)} statements."
        raise SqlRejected(message, statements[1] if statements else None)
    return statements[0]


def exactly(emitter: Emitter, emitted: Emitted, columns: Sequence[str], at: Expr) -> str:
    """A node with exactly these columns in this order and by these names. Raises SqlRejected for a processing time."""
    # A join keeps no processing time of its sides.
    arrival = [column for column in columns if column in emitted.arrival or column not in emitted.names]
    if arrival:
        message = f"the processing time {arrival[0]!r} has no value to output. Name the other columns in SELECT."
        raise NoClock(message, at)
    actual = [emitted.names[column] for column in columns]
    if actual == list(columns) and emitter.schema(emitted).names == tuple(columns):
        return emitted.node
    return emitter.project(emitted.node, [(column, quote(emitted.names[column])) for column in columns], at)
