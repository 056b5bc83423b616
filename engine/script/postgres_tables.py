"""Tables over changes in PostgreSQL: the options of Flink CDC's `postgres-cdc` connector as parameters of a source."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.script.passwords import named_password
from engine.script.tables import Computed, TableDdl, cast_to
from engine.sql.algebra import Expr

CONNECTOR: Final = "postgres-cdc"
_PLACES: Final = ("database_name", "schema_name", "table_name")
_CHANGED_AT: Final = "op_ts"
_SCHEMA: Final = "public"
_TEXTS: Final = {
    "hostname": "host",
    "database-name": "database",
    "schema-name": "schema_name",
    "table-name": "table_name",
    "username": "user",
    "password": "password",
    "slot.name": "slot",
}
_CHOICES: Final = {
    "changelog-mode": ("changelog_mode", ("all", "upsert")),
    "scan.startup.mode": ("start", ("initial", "latest-offset")),
}
_OF_NO_MATTER: Final = re.compile(
    r"debezium\.(snapshot|slot|plugin)\..*|scan\.(incremental|snapshot|newly-added).*|heartbeat\.interval\.ms|chunk-.*"
    r"|split-key\..*|connect\..*|connection\..*"
)


def with_constants(ddl: TableDdl, warnings: list[str]) -> TableDdl:
    """The table with its metadata as computed columns: where its rows come from, which the options say.

    Raises SqlRejected for unknown metadata.
    """
    computed = []
    for column in ddl.metadata:
        option = column.key.replace("_", "-")
        value: Expr = exp.Literal.string(ddl.options.get(option, _SCHEMA))
        if column.key == _CHANGED_AT:
            value = exp.Null()
            warnings.append(f"{ddl.name}: the metadata column {column.name} is NULL; the time of a change is not read.")
        elif column.key not in _PLACES:
            available = ", ".join((*_PLACES, _CHANGED_AT))
            message = f"the metadata {column.key!r} of {column.name} is not supported. Available: {available}."
            raise ddl.rejected(message)
        computed.append(Computed(column.name, cast_to(value, column.type)))
    return replace(ddl, metadata=(), computed=(*computed, *ddl.computed))


def changes(ddl: TableDdl, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """The operator of a table over changes, and its parameters. Raises SqlRejected."""
    options = dict(ddl.options)
    options.pop("connector")
    parameters: dict[str, Any] = {field: options.pop(option) for option, field in _TEXTS.items() if option in options}
    if "password" in parameters:
        parameters["password"] = named_password(ddl, parameters["password"], warnings)
    parameters = {"slot": "flink", **parameters, "columns": ddl.column_parameters}
    if (port := options.pop("port", None)) is not None:
        if not port.isdecimal():
            message = f"the option 'port' is a number, not {port!r}."
            raise ddl.rejected(message)
        parameters["port"] = int(port)
    for option, (field, choices) in _CHOICES.items():
        text = options.pop(option, choices[0])
        if text not in choices:
            message = f"{option!r} is {text!r}. Available: {', '.join(choices)}."
            raise ddl.rejected(message)
        parameters[field] = text
    if (plugin := options.pop("decoding.plugin.name", "pgoutput")) != "pgoutput":
        warnings.append(f"{ddl.name}: changes are decoded with pgoutput, not with {plugin}.")
    warnings += ddl.ignored(option for option in options if not _OF_NO_MATTER.fullmatch(option))
    return "postgres_cdc", parameters
