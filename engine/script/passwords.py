"""A password in a script is not kept: nodes and kept texts have the name of an environment variable instead."""

from __future__ import annotations

import re
from typing import Final

from engine.reading.servers.secrets import WORDS, is_named, is_secret
from engine.script.tables import TableDdl

_OPTION: Final = re.compile(r"'([^'\n]*)'(\s*=\s*)'((?:[^']|'')*)'")
_TEXT: Final = re.compile(r"'(?:[^']|'')*'")
# In an address, or in the settings of a login: user:password@host, password=..., password="...".
_WITHIN: Final = re.compile(
    r"(://[^\s/:@']+:)(?!\$\{)[^\s@/\"']+(?=@)"
    rf"|(\b(?:{WORDS})\s*=\s*\"?)(?!\$\{{)[^\s@&;\"']+",
    re.IGNORECASE,
)
_TABLE: Final = re.compile(r"\bCREATE\s+(?:\w+\s+){0,4}?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w`.$-]+)", re.IGNORECASE)


def named_password(ddl: TableDdl, password: str, warnings: list[str]) -> str:
    """The password if it is the name of a variable, else such a name, with a note."""
    if not password or is_named(password):
        return password
    variable = _variable(ddl.name, "password")
    warnings.append(
        f"{ddl.name}: its password is not kept. Put it into the environment variable {variable}, which the node names."
    )
    return f"${{env:{variable}}}"


def kept_options(ddl: TableDdl) -> dict[str, str]:
    """The options of a table without its secrets."""
    return {
        option: value
        if is_named(value) or not is_secret(option)
        else f"${{env:{_variable(ddl.name, option.rpartition('.')[2])}}}"
        for option, value in ((option, _WITHIN.sub(_as_variable, value)) for option, value in ddl.options.items())
    }


def without_passwords(sql: str) -> str:
    """A text of SQL with names of variables in place of its secrets. It is read as the same pipeline."""

    def named(match: re.Match[str]) -> str:
        option, equals, value = match.groups()
        if is_named(value) or not is_secret(option):
            return match[0]
        tables = _TABLE.findall(sql, 0, match.start())
        table = tables[-1].rpartition(".")[2].strip("`") if tables else "studio"
        return f"'{option}'{equals}'${{env:{_variable(table, option.rpartition('.')[2])}}}'"

    return _TEXT.sub(lambda text: _WITHIN.sub(_as_variable, text[0]), _OPTION.sub(named, sql))


def _as_variable(found: re.Match[str]) -> str:
    """What stands before a secret within a text, and a variable instead of it."""
    return f"{found[1] or found[2]}${{env:STUDIO_PASSWORD}}"


def _variable(table: str, option: str) -> str:
    return re.sub(r"\W", "_", f"{table}_{option}".upper())
