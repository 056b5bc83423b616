"""Database tables: the options of Flink's `jdbc` connector as parameters of a source."""

from __future__ import annotations

import re
from typing import Any, Final

from engine.script.passwords import named_password
from engine.script.tables import TableDdl

CONNECTOR: Final = "jdbc"
_FILES: Final = ("sqlite", "duckdb")
_SERVERS: Final = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_USERS: Final = {"postgres": "postgres", "mysql": "root"}
"""The first user of a server."""
_URL: Final = re.compile(r"jdbc:([a-z0-9]+):(.*)", re.DOTALL)
_PLACE: Final = re.compile(r"//(\[[^\]]+\]|[^/:?\[\]]+)(?::(\d{1,5}))?/([^/?]+)(?:\?(.*))?", re.DOTALL)
_KNOWN: Final = " or ".join(
    [
        *(f"'jdbc:{database}:FILE'" for database in _FILES),
        *(f"'jdbc:{database}://HOST:PORT/DATABASE'" for database in ("postgresql", "mysql")),
    ]
)
_OF_NO_MATTER: Final = re.compile(r"(scan|lookup|sink|connection)\..*|driver")


def is_postgres(ddl: TableDdl) -> bool:
    """Whether a table is one of a PostgreSQL server."""
    match = _URL.fullmatch(ddl.options.get("url", ""))
    return match is not None and match[1] == "postgresql" and _PLACE.fullmatch(match[2]) is not None


def why_elsewhere(ddl: TableDdl) -> str | None:
    """Why a table of a database is not read here; None if it is."""
    url = ddl.options.get("url", "")
    match, place = _address(url)
    if not url or (match is not None and (place is not None or match[1] in _FILES)):
        return None
    # The rest of it may have a password.
    kind = match[1] if match is not None else ""
    return f"the URL 'jdbc:{kind}:...' is not read here (available: {_KNOWN})."


def _address(url: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """The parts of a URL: the kind of database and the rest, and of a server its place."""
    match = _URL.fullmatch(url)
    return match, _PLACE.fullmatch(match[2]) if match is not None and match[1] in _SERVERS else None


def jdbc_table(ddl: TableDdl, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """The operator of a table of a database, and its parameters. Raises SqlRejected."""
    options = dict(ddl.options)
    options.pop("connector")
    match, place = _address(options.pop("url", ""))
    if match is None:
        message = f"'url' is missing: 'url' = {_KNOWN}."
        raise ddl.rejected(message)
    table = options.pop("table-name", "")
    if place is None:
        operator, parameters = match[1], {"path": match[2], "table": table}
    else:
        operator, parameters = _SERVERS[match[1]], _served(ddl, place, options)
        if not parameters["user"]:
            parameters["user"] = _USERS[operator]
            warnings.append(f"{ddl.name}: without a 'username', the user {parameters['user']} is asked for its rows.")
        parameters["password"] = named_password(ddl, str(parameters["password"]), warnings)
        parameters |= _table(operator, table)
        if place[4]:
            warnings.append(f"{ddl.name}: the parameters of the URL are ignored: {place[4]}.")
    warnings += ddl.ignored(option for option in options if not _OF_NO_MATTER.fullmatch(option))
    return operator, parameters


def _served(ddl: TableDdl, place: re.Match[str], options: dict[str, str]) -> dict[str, Any]:
    """The address of a server, the user, and the columns."""
    parameters: dict[str, Any] = {"host": place[1].strip("[]"), "database": place[3]}
    if place[2]:
        parameters["port"] = int(place[2])
    parameters |= {"user": options.pop("username", ""), "password": options.pop("password", "")}
    return parameters | {"columns": ddl.column_parameters}


def _table(operator: str, name: str) -> dict[str, str]:
    """The name of a table, for PostgreSQL with its schema."""
    schema, dot, table = name.partition(".")
    if operator != "postgres" or not dot:
        return {"table_name": name}
    return {"schema_name": schema, "table_name": table}
