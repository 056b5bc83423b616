"""The INSERTs of a script as nodes, each with its sink last, and the tables that they fill for other queries.

A table that the script fills and reads again is one pipeline: its readers read what its INSERTs write, as declared by
the table. Its topic or folder is not read a second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from engine.expressions.coercion import can_cast
from engine.expressions.flink_sql import flink
from engine.model.schema import Column, Schema
from engine.model.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    SMALLINT,
    TINYINT,
    Decimal,
    Timestamp,
    Type,
    quote,
)
from engine.script.computed_columns import computed_columns
from engine.script.connectors import sink_parameters
from engine.script.node_ids import node_id
from engine.script.parts import Insert, Parts
from engine.script.recorded_clock import proctimes_of
from engine.script.tables import TableDdl
from engine.script.views import called
from engine.sql import exactly
from engine.sql.algebra import Table
from engine.sql.clauses.row_columns import rows_in
from engine.sql.functions.digits import cut
from engine.sql.functions.mixed_types import mixed
from engine.sql.identifiers import identifier
from engine.sql.names import Names
from engine.sql.nodes.emitter import Emitter
from engine.sql.nodes.time_bounds import as_value
from engine.sql.rejected import SqlRejected

_EVER_WIDER: Final[tuple[Type, ...]] = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)


@dataclass
class Jobs:
    """The jobs of a script; a query that reads what another one writes makes that one first.

    names: set before the first job is made. below: by sink, the node whose rows it takes, as its table declares them.
    """

    parts: Parts
    emitter: Emitter
    names: Names | None = None
    below: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _sinks: dict[int, str | None] = field(default_factory=dict)

    def sink(self, insert: Insert) -> str:
        """Add the nodes of a job, once. Returns the sink's id. Raises CannotBeRead."""
        sink_id = self._sinks.setdefault(id(insert), None)
        if sink_id is None:
            with self.parts.reading(insert.statement):
                sink_id = self._sinks[id(insert)] = self._made(insert)
        return sink_id

    def _made(self, insert: Insert) -> str:
        assert self.names is not None, "views are known before jobs are made"
        unused = list(self.names.unused)
        relation, emitted = self.emitter.read(self.parts.told(insert.query), self.names)
        self.names.unused[:] = unused
        below = exactly(self.emitter, emitted, relation.columns, insert.query)
        if insert.target is None:
            parameters, target = {"mode": "changelog"}, "result"
        else:
            ddl, target = self.parts.target(insert.target, insert.statement), insert.target
            below = _fitted(below, ddl, insert, self.emitter, self.warnings)
            below = _without_nulls(below, ddl, insert, self.emitter) if insert.session.drops_nulls else below
            parameters = sink_parameters(ddl) | insert.statement.directives.get("parameters", {})
            is_changed = parameters["mode"] == "append" and not self.emitter.derived[below].is_insert_only
            if is_changed and insert.session.is_batch:
                parameters = {"mode": "changelog"}
            elif is_changed:
                message = (
                    f"{target} takes new rows only, but the query also changes rows that it gave. Declare PRIMARY KEY "
                    "(...) NOT ENFORCED in the table (of Kafka, with 'connector' = 'upsert-kafka'), or a format that "
                    "has changes, such as 'debezium-json'."
                )
                raise SqlRejected(message, insert.query)
        wanted = node_id(target, self.emitter)
        self.below[wanted] = below
        if insert.time:
            self.emitter.pinned.add(below)
            items = [(name, quote(name)) for name in self.emitter.derived[below].schema.names if name != insert.time]
            below = self.emitter.project(below, items, insert.query)
        called(self.emitter, self.emitter.add("sink", parameters, [below], insert.query), wanted)
        return wanted

    def is_filled(self, name: str) -> bool:
        """Whether an INSERT ... SELECT fills a table."""
        return any(insert.target == name for insert in self.parts.inserts)

    def filled(self, name: str, inserted: Table | None) -> Table:
        """A table that INSERTs fill. inserted: the rows that the script has for it by VALUES.

        Raises SqlRejected and CannotBeRead.
        """
        self.parts.require_read(name)
        ddl = self.parts.tables[name]
        inserts = [insert for insert in self.parts.inserts if insert.target == name]
        for insert in inserts:
            if id(insert) in self._sinks and self._sinks[id(insert)] is None:
                message = f"{name} is filled from itself, which never ends. Insert into another table."
                raise SqlRejected(message, insert.query, place=insert.statement.place)
        inputs = [self._declared(self.below[self.sink(insert)], ddl, insert) for insert in inserts]
        if inserted is not None:
            self.emitter.source(inserted.node)
            inputs.insert(0, inserted.node.id)
        query = inserts[0].query
        node = inputs[0] if len(inputs) == 1 else self.emitter.add("union", {}, inputs, query)
        if ddl.primary_key and ddl.connector != "kafka":
            node = self.emitter.add("changelog_normalize", {"keys": list(ddl.primary_key)}, [node], query)
        self.emitter.pinned.add(node)
        schema = self.emitter.derived[node].schema
        self._check_watermark(ddl, schema, inserts[0])
        table_node = next(candidate for candidate in self.emitter.nodes if candidate.id == node)
        columns = tuple(column for column in ddl.order if column in schema)
        return Table(table_node, columns, proctimes_of(ddl), rows_in(schema), not_null=ddl.never_null)

    def _declared(self, below: str, ddl: TableDdl, insert: Insert) -> str:
        """The rows with the table's computed columns; without the query's event time, if the table declares none."""
        schema = self.emitter.derived[below].schema
        mark = ddl.watermark
        items = [
            (column.name, quote(column.name) if column.time is None or mark is not None else as_value(column))
            for column in schema
        ]
        computed = computed_columns(ddl, below, self.emitter.analyzer, schema)
        items += [(name, value) for name, value in computed.items() if name not in schema]
        if _is_all(items, schema):
            return below
        return self.emitter.project(below, items, insert.query)

    def _check_watermark(self, ddl: TableDdl, schema: Schema, insert: Insert) -> None:
        mark, time = ddl.watermark, schema.event_time
        if mark is None:
            return
        if time is None or time.name != mark.column:
            message = (
                f"{ddl.name}: its event time {mark.column} has no watermark in the query that fills it. Declare "
                f"WATERMARK FOR {mark.column} in the table that this query reads, and take the column from there."
            )
            raise SqlRejected(message, place=insert.statement.place)
        self.warnings.append(
            f"{ddl.name} is filled and read in one pipeline: its watermark is the one of the query that fills it."
        )


def _narrows(given: Type, takes: Type) -> bool:
    """Whether Flink converts a value only by a CAST that is written. Source: Flink LogicalTypeCasts."""
    if takes in _EVER_WIDER:
        is_narrower = given in _EVER_WIDER and _EVER_WIDER.index(given) > _EVER_WIDER.index(takes)
        return is_narrower or (isinstance(given, Decimal) and takes in INTEGERS)
    return (given == DATE and isinstance(takes, Timestamp)) or (given.is_instant and takes == DATE)


def _fitted(below: str, ddl: TableDdl, insert: Insert, emitter: Emitter, warnings: list[str]) -> str:
    """The rows as declared by the sink: matched by position, with its column names and types."""
    schema = emitter.derived[below].schema
    wanted = ddl.targets(insert.columns, insert.statement.place)
    wanted += (insert.time,) if insert.time else ()
    if len(wanted) != len(schema):
        message = (
            f"{ddl.name} takes {len(wanted)} column{'' if len(wanted) == 1 else 's'} ({', '.join(wanted)}), but the "
            f"query gives {len(schema)} ({', '.join(schema.names)})."
        )
        raise SqlRejected(message, insert.query)
    given = dict(zip(wanted, schema, strict=True))
    for own in ddl.written:
        if own.name in given and mixed(given[own.name].type, own.type):
            column, takes = given[own.name], own.type.flink
            message = (
                f"{ddl.name}.{own.name} is {takes}, but the query gives {column.name} as {column.type.flink}, "
                f"which Flink does not convert by itself. Write CAST({column.name} AS {takes})."
            )
            raise SqlRejected(message, insert.query)
        if own.name in given and not can_cast(given[own.name].type, own.type):
            column = given[own.name]
            message = (
                f"{ddl.name}.{own.name} is {own.type.flink}, but the query gives {column.name} as {column.type.flink}, "
                "which is never converted to it. Take another column, or declare the table with this type."
            )
            raise SqlRejected(message, insert.query)
        if own.name in given and _narrows(given[own.name].type, own.type):
            column, takes = given[own.name], own.type.flink
            warnings.append(
                f"line {insert.statement.place[0]}: Flink would refuse this: {ddl.name}.{own.name} is {takes}, but the "
                f"query gives {column.name} as {column.type.flink}. Write CAST({column.name} AS {takes})."
            )
    items = [
        (own.name, _as(given[own.name], own, emitter) if own.name in given else emitter.cast("NULL", own.type))
        for own in ddl.written
    ]
    items += [(insert.time, quote(insert.time))] if insert.time else []
    if _is_all(items, schema):
        return below
    return emitter.project(below, items, insert.query)


def _without_nulls(below: str, ddl: TableDdl, insert: Insert, emitter: Emitter) -> str:
    """The records without those that have NULL where the table takes none. Source: Flink ConstraintEnforcer."""
    schema = emitter.derived[below].schema
    names = [column.name for column in schema if column.nullable and column.name in ddl.never_null]
    if not names:
        return below
    condition = " AND ".join(f"{identifier(name)} IS NOT NULL" for name in names)
    return emitter.add("filter", {"condition": flink(condition)}, [below], insert.query)


def _is_all(items: list[tuple[str, str]], schema: Schema) -> bool:
    return items == [(column.name, quote(column.name)) for column in schema]


def _as(column: Column, wanted: Column, emitter: Emitter) -> str:
    """The implicit cast of an INSERT; none between TIMESTAMP and TIMESTAMP_LTZ, which are the same instant in UTC."""
    value = quote(column.name)
    if isinstance(column.type, Timestamp) and isinstance(wanted.type, Timestamp):
        digits = wanted.type.precision
        return cut(value, column.type, digits) if digits < column.type.precision else value
    return value if column.type == wanted.type else emitter.cast(value, wanted.type)
