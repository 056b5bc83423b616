"""Secrets by name: `${env:NAME}` in an option stands for the value of an environment variable of this process.

Documents, the store and exported SQL contain the name; the value is looked up when a source connects. Anyone who can
choose an address could have a value sent there. In a shared studio, where the folders are named, only the variables
in CHANGELOG_STUDIO_SECRETS are looked up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from engine.contract.declared_table import DeclaredTable
from engine.reading.files.named_folders import ENVIRONMENT as FOLDERS

LISTED: Final = "CHANGELOG_STUDIO_SECRETS"
NAMED: Final = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
WORDS: Final = r"password|passwd|passphrase|secret|token|credentials?|access[._-]?key|api[._-]?key|user[._-]info"
"""What secrets are called in options, as alternatives of a pattern."""
_CALLED_SO: Final = re.compile(rf"(?i)(?:{WORDS}|keystore[._-]key$|key[._-]pem$)")
# What only speaks of a secret: an address that gives tokens, the file of a key, a field of generated rows of this name.
_SPEAKS_OF_ONE: Final = re.compile(
    r"(?i)^fields\.|[._-](?:url|uri|location|file|path|provider|class|type|source|(?:client|key)[._-]id|expires?[._-]\w+)$"
)
# In an address, or in the settings of a login: user:password@host, password=..., password="...".
_WITHIN: Final = re.compile(
    r"(://[^\s/:@']+:)(?!\$\{)[^\s@/\"']+(?=@)"
    rf"|(\b(?:{WORDS})\s*=\s*\"?)(?!\$\{{)[^\s@&;\"']+",
    re.IGNORECASE,
)
NOTE: Final = "-- Flink knows no ${env:...}: put the value of the variable there.\n"
"""The comment above a table in Flink SQL whose options name a secret."""


class NotSet(ValueError):
    """A named environment variable has no value, or may not be looked up."""


def is_secret(option: str) -> bool:
    """Whether the value of an option is a secret, by the option's name."""
    return _CALLED_SO.search(option) is not None and _SPEAKS_OF_ONE.search(option) is None


def is_named(text: str) -> bool:
    """Whether a secret is empty or given by name."""
    return not text or NAMED.fullmatch(text) is not None


def names_any(texts: Iterable[str]) -> bool:
    """Whether any of these options names a secret."""
    return any(NAMED.search(text) for text in texts)


def named_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The names of the secrets in these options, in order."""
    return tuple(sorted({match[1] for text in texts for match in NAMED.finditer(text)}))


def resolved(text: str, option: str) -> str:
    """A text in which the named variables are replaced by their values. Raises NotSet."""

    def value(match: re.Match[str]) -> str:
        if not _may_be_named(match[1]):
            message = f"{option} names {match[1]}, which {LISTED} does not list. Ask whoever runs the studio to add it"
            raise NotSet(message)
        variable = os.environ.get(match[1])
        if variable is None:
            message = f"{option} names the environment variable {match[1]}, which is not set. Set it and start again"
            raise NotSet(message)
        return variable

    return NAMED.sub(value, text)


def _may_be_named(name: str) -> bool:
    listed = os.environ.get(LISTED)
    if listed is None:
        return FOLDERS not in os.environ
    return name in [variable.strip() for variable in listed.split(",")]


def hidden(text: str, secrets: Iterable[str]) -> str:
    """A foreign message with the values of secrets removed."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def kept_options(table: DeclaredTable) -> dict[str, str]:
    """The options of a table without its secrets: they name environment variables instead."""
    return {
        option: value
        if is_named(value) or not is_secret(option)
        else f"${{env:{variable_of(table.name, option.rpartition('.')[2])}}}"
        for option, value in ((option, without_secrets(value)) for option, value in table.options.items())
    }


def without_secrets(text: str) -> str:
    """An address, or the settings of a login, with a variable in place of its secrets."""
    return _WITHIN.sub(lambda found: f"{found[1] or found[2]}${{env:STUDIO_PASSWORD}}", text)


def variable_of(table: str, option: str) -> str:
    """The environment variable that is named for a secret of a table."""
    return re.sub(r"\W", "_", f"{table}_{option}".upper())
