"""Tables over changes in PostgreSQL: the options of Flink CDC's `postgres-cdc` connector as parameters of a source."""

from __future__ import annotations

import re
from typing import Any, Final

from engine.script.passwords import named_password
from engine.script.tables import TableDdl

CONNECTOR: Final = "postgres-cdc"
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


def changes(ddl: TableDdl, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """The operator of a table over changes, and its parameters. Raises SqlRejected."""
    options = dict(ddl.options)
    options.pop("connector")
    if ddl.metadata:
        message = f"{ddl.metadata[0].name}: the metadata of {CONNECTOR} is not supported. Leave the column out."
        raise ddl.rejected(message)
    parameters: dict[str, Any] = {field: options.pop(option) for option, field in _TEXTS.items() if option in options}
    if "password" in parameters:
        parameters["password"] = named_password(ddl, parameters["password"], warnings)
    parameters = {"slot": "flink", **parameters, "columns": ddl.column_parameters}
    if (port := options.pop("port", None)) is not None:
        if not port.isdecimal():
            message = f"the option 'port' is a number, not {port!r}."
            raise ddl.rejected(message)
        parameters["port"] = int(port)
    for option, (field, known) in _CHOICES.items():
        text = options.pop(option, known[0])
        if text not in known:
            message = f"{option!r} is {text!r}. Available: {', '.join(known)}."
            raise ddl.rejected(message)
        parameters[field] = text
    if (plugin := options.pop("decoding.plugin.name", "pgoutput")) != "pgoutput":
        warnings.append(f"{ddl.name}: changes are decoded with pgoutput, not with {plugin}.")
    warnings += ddl.ignored(option for option in options if not _OF_NO_MATTER.fullmatch(option))
    return "postgres_cdc", parameters
