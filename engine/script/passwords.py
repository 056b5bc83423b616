"""A password in a script is not kept: a kept text has the name of an environment variable instead."""

from __future__ import annotations

import re
from typing import Final

from engine.reading.servers.secrets import is_named, is_secret, variable_of, without_secrets

_OPTION: Final = re.compile(r"'([^'\n]*)'(\s*=\s*)'((?:[^']|'')*)'")
_TEXT: Final = re.compile(r"'(?:[^']|'')*'")
_TABLE: Final = re.compile(r"\bCREATE\s+(?:\w+\s+){0,4}?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w`.$-]+)", re.IGNORECASE)


def without_passwords(sql: str) -> str:
    """A text of SQL with names of variables in place of its secrets. It is read as the same pipeline."""

    def named(match: re.Match[str]) -> str:
        option, equals, value = match.groups()
        if is_named(value) or not is_secret(option):
            return match[0]
        tables = _TABLE.findall(sql, 0, match.start())
        table = tables[-1].rpartition(".")[2].strip("`") if tables else "studio"
        return f"'{option}'{equals}'${{env:{variable_of(table, option.rpartition('.')[2])}}}'"

    return _TEXT.sub(lambda text: without_secrets(text[0]), _OPTION.sub(named, sql))
