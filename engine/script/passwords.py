"""A password in a script is not kept: the node has the name of an environment variable instead."""

from __future__ import annotations

import re

from engine.reading.servers.secrets import is_named
from engine.script.tables import TableDdl


def named_password(ddl: TableDdl, password: str, warnings: list[str]) -> str:
    """The password if it is the name of a variable, else such a name, with a note."""
    if not password or is_named(password):
        return password
    variable = re.sub(r"\W", "_", f"{ddl.name}_password".upper())
    warnings.append(
        f"{ddl.name}: its password is not kept. Put it into the environment variable {variable}, which the node names."
    )
    return f"${{env:{variable}}}"
