"""The rows that a script inserts into a table, as the rows of its source."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.model.changelog import INSERT, SYMBOLS
from engine.model.schema import Column
from engine.model.types import DATE, DOUBLE, MILLISECONDS, STRING, Array, Map, Row, Timestamp, Type
from engine.reading.kafka.declared import TIMES_OF_CHANGES
from engine.reading.servers.secrets import kept_options
from engine.reading.tables.jdbc import CONNECTOR
from engine.script.tables import TableDdl
from engine.sql.algebra import Expr
from engine.sql.dialect import Flink
from engine.sql.functions.digits import cut_text
from engine.sql.functions.mixed_types import mixed
from engine.sql.rejected import SqlRejected

_CHANGES: Final = ("debezium-", "canal-", "maxwell-", "ogg-")
_UPSERTS: Final = ("upsert-kafka", "mongodb-cdc")


def computed_rows(query: exp.Values) -> Expr:
    """VALUES with expressions of any kind as a query of numbered rows, which says per column what each of them has.

    Raises SqlRejected.
    """
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
    if len({len(row) for row in rows}) != 1:
        message = "the rows of VALUES have different numbers of values."
        raise SqlRejected(message, query)
    numbers = [exp.Literal.number(at) for at in range(len(rows))]
    of_rows = exp.Values(
        expressions=[exp.Tuple(expressions=[number]) for number in numbers],
        alias=exp.TableAlias(this=exp.to_identifier("r"), columns=[exp.to_identifier("n")]),
    )
    columns = [
        exp.Case(
            this=exp.column("n"),
            ifs=[exp.If(this=number.copy(), true=value) for number, value in zip(numbers, values, strict=True)],
        )
        for values in zip(*rows, strict=True)
    ]
    return exp.select(*columns).from_(of_rows)


def as_declared(value: Any, type_: Type) -> Any:
    """An inserted value with no more digits of a second than its column has, as Flink's implicit cast leaves it."""
    match type_, value:
        case Timestamp(), str():
            return cut_text(value, type_.precision)
        case Timestamp(), int() if type_.precision < MILLISECONDS:
            return value - value % 10 ** (MILLISECONDS - type_.precision)
        case Array(), list():
            return [as_declared(member, type_.element) for member in value]
        case Map(), list() if all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            return [[as_declared(key, type_.key), as_declared(mapped, type_.value)] for key, mapped in value]
        case Row(), list() if len(value) == len(type_.fields):
            return [as_declared(field, part) for field, (_, part) in zip(value, type_.fields, strict=True)]
    return value


def check_kinds(row: Expr, wanted: Sequence[str], table: TableDdl) -> None:
    """Raise SqlRejected for a text where a number or a truth value belongs, and the other way; texts may be times."""
    types = {column.name: column.type for column in table.written}
    for name, item in zip(wanted, row.expressions if isinstance(row, exp.Tuple) else [row], strict=False):
        if not isinstance(item, exp.Literal) or not mixed(STRING if item.is_string else DOUBLE, types[name]):
            continue
        is_time = not mixed(DATE, types[name])
        if item.is_string and is_time:
            continue
        if item.is_string:
            is_number = types[name].is_number and item.name.lstrip("+-").replace(".", "", 1).isdecimal()
            what, right = "a text", item.name if is_number else "another value"
        else:
            right = f"TO_TIMESTAMP_LTZ({item.name}, 3)" if is_time else f"'{item.name}'"
            what = "a number"
        given = item.sql(dialect=Flink)
        message = f"{table.name}.{name} is {types[name].flink}, but {given} is {what}. Write {right}."
        raise SqlRejected(message, item)


def with_metadata(ddl: TableDdl, rows: list[list[Any]], clock_ms: int) -> tuple[TableDdl, list[list[Any]]]:
    """The table with its metadata as columns of the rows: as inserted, or what a topic of one partition would say."""
    columns = list(ddl.written)
    for column in ddl.metadata:
        if column.is_virtual:
            columns.append(Column(column.name, column.type))
            rows = [[*row, None] for row in rows]
        if column.key in _MESSAGE:
            place, said = columns.index(Column(column.name, column.type)), _MESSAGE[column.key]
            rows = [
                [*row[:place], said(at, ddl, clock_ms) if row[place] is None else row[place], *row[place + 1 :]]
                for at, row in enumerate(rows)
            ]
    return replace(ddl, columns=tuple(columns), metadata=()), rows


_MESSAGE: Final[Mapping[str, Callable[[int, TableDdl, int], Any]]] = {
    "partition": lambda at, ddl, ms: 0,
    "offset": lambda at, ddl, ms: at,
    "topic": lambda at, ddl, ms: ddl.options.get("topic"),
    **dict.fromkeys(("timestamp", *TIMES_OF_CHANGES), lambda at, ddl, ms: ms),
    "timestamp-type": lambda at, ddl, ms: "CreateTime",
}
"""What a topic of one partition tells of the rows of a script, all of which are written when the clock stands at ms."""


def rows_of(ddl: TableDdl, rows: list[list[Any]]) -> dict[str, Any]:
    """The rows, of an upsert source as such. A database has the last row of each key, in the place of the first one."""
    names = [column.name for column in ddl.columns]
    if ddl.connector == CONNECTOR and set(ddl.primary_key) <= set(names) and ddl.primary_key:
        places = [names.index(name) for name in ddl.primary_key]
        rows = list({json.dumps([row[at] for at in places], default=str): row for row in rows}.values())
    parameters: dict[str, Any] = {"columns": ddl.column_parameters, "rows": rows}
    is_upsert = ddl.connector in _UPSERTS and bool(ddl.primary_key)
    if is_upsert or _has_changes(ddl):
        parameters |= {"rows": [[SYMBOLS[INSERT], *row] for row in rows], "changelog": True}
        parameters |= {"updates_by_key": True} if is_upsert else {}
    return parameters


def stand_in(ddl: TableDdl, clock_ms: int) -> tuple[TableDdl, dict[str, Any]]:
    """A table whose rows are not read, with its metadata as columns, and a source of rows that are entered instead."""
    table, _ = with_metadata(ddl, [], clock_ms)
    stands_for = {"options": kept_options(ddl), "metadata": {column.name: column.key for column in ddl.metadata}}
    return table, {**rows_of(table, []), "stands_for": stands_for}


def _has_changes(ddl: TableDdl) -> bool:
    """Whether its connector or its format reads changes of a database."""
    format_ = ddl.options.get("value.format", ddl.options.get("format", ""))
    return ddl.connector.endswith("-cdc") or format_.startswith(_CHANGES)
