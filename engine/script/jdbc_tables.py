"""Tables of databases: the options of Flink's connector `jdbc` as parameters of a source."""

from __future__ import annotations

import re
from typing import Any, Final

from engine.script.tables import TableDdl

CONNECTOR: Final = "jdbc"
_FILES: Final = ("sqlite", "duckdb")
_URL: Final = re.compile(r"jdbc:([a-z0-9]+):(.*)", re.DOTALL)
_OF_NO_MATTER: Final = re.compile(r"(scan|lookup|sink|connection)\..*|driver")


def jdbc_table(ddl: TableDdl, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """The operator of a table of a database, and its parameters. Raises SqlRejected."""
    options = dict(ddl.options)
    options.pop("connector")
    url = options.pop("url", "")
    known = " or ".join(f"'jdbc:{each}:FILE'" for each in _FILES)
    if not url:
        message = f"'url' is missing: 'url' = {known}."
        raise ddl.rejected(message)
    match = _URL.fullmatch(url)
    if match is None or match[1] not in _FILES:
        message = (
            f"the URL {url!r} is not supported. Available: {known}. Of PostgreSQL, use 'connector' = 'postgres-cdc'."
        )
        raise ddl.rejected(message)
    parameters = {"path": match[2], "table": options.pop("table-name", "")}
    warnings += ddl.ignored(option for option in options if not _OF_NO_MATTER.fullmatch(option))
    return match[1], parameters
