"""Tables of one name in several databases are several tables: all but the first have a name of their own here.

CREATE TABLE a.t ...; CREATE TABLE b.t ...; SELECT t.x FROM b.t     reads b_t AS t
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.model.free_names import free_id
from engine.script.statements import Cursor, Statement

Path = tuple[str, str, str]
"""Catalog, database, name."""

_HOME: Final = ("default_catalog", "default_database")
# Behind these words stands a table, and behind a comma may stand one with its database.
_READ: Final = ("FROM", "JOIN")
_NAMED: Final = ("TABLE", "VIEW", "EXISTS", "INTO", "OVERWRITE", "LIKE", "DESCRIBE", "DESC")


def told_apart(statements: Sequence[Statement]) -> tuple[list[Statement], list[str]]:
    """The statements with one name for each table, and notes about those that got another one."""
    homes = list(_homes(statements))
    names: dict[Path, str] = {}
    warnings = []
    for statement, home in zip(statements, homes, strict=True):
        if (path := _created(statement, home)) is None or path in names:
            continue
        others = [other for other in names if other[2] == path[2]]
        names[path] = free_id(f"{path[1]}_{path[2]}", [*names.values()]) if others else path[2]
        if others:
            warnings.append(
                f"line {statement.place[0]}: {path[2]} of {path[1]} is another table than that of {others[0][1]}, and "
                f"is called {names[path]} here."
            )
    if not warnings:
        return list(statements), []
    shared = {path[2] for path, name in names.items() if name != path[2]}
    names = {path: name for path, name in names.items() if path[2] in shared}
    return [
        replace(statement, tokens=tuple(_renamed(statement.tokens, names, home)))
        for statement, home in zip(statements, homes, strict=True)
    ], warnings


def _homes(statements: Sequence[Statement]) -> Iterator[tuple[str, str]]:
    """By statement, the catalog and the database of the names that it writes without them."""
    home = _HOME
    for statement in statements:
        yield home
        if not statement.begins("USE"):
            continue
        is_catalog = statement.begins("USE", "CATALOG")
        path = _chain(statement.tokens, 2 if is_catalog else 1)
        if is_catalog and path:
            home = (path[0], _HOME[1])
        elif path:
            home = (home[0], *path) if len(path) == 1 else (path[0], path[1])


def _created(statement: Statement, home: tuple[str, str]) -> Path | None:
    kind = next((kind for kind in ("TABLE", "VIEW") if statement.creates(kind)), None)
    if kind is None:
        return None
    cursor = Cursor(statement)
    cursor.created(kind)
    first = cursor.at - 1
    while first >= 2 and statement.tokens[first - 1].token_type is TokenType.DOT:
        first -= 2
    return _whole(_chain(statement.tokens, first), home)


def _renamed(tokens: Sequence[Token], names: Mapping[Path, str], home: tuple[str, str]) -> Iterator[Token]:
    """The tokens with the names of tables; one that a query reads without an alias has its own as its alias."""
    at, before = 0, ""
    while at < len(tokens):
        chain = _chain(tokens, at) if before != "." else ()
        path, length = _named(chain, names, home, before)
        if not length:
            before = tokens[at].text.upper()
            yield tokens[at]
            at += 1
            continue
        written = tokens[at + 2 * length - 2]
        is_part = len(chain) > length
        at += 2 * length - 1
        yield _name(written, written.text if is_part else names[path])
        if not is_part and before in (*_READ, ",") and not _is_alias(tokens[at : at + 1]):
            yield Token(TokenType.ALIAS, "AS", written.line, written.col, written.start, written.end)
            yield _name(written, written.text)
        before = ""


def _named(chain: Sequence[str], names: Mapping[Path, str], home: tuple[str, str], before: str) -> tuple[Path, int]:
    """The table that the first parts of a name are, and how many they are; none if it is none of these tables."""
    nowhere = ("", "", "")
    for length in range(min(len(chain), 3), 1, -1):
        path = _whole(chain[:length], home)
        if path in names and (before in (*_READ, *_NAMED, ",") or len(chain) > length):
            return path, length
    path = _whole(chain[:1], home)
    return (path, 1) if len(chain) == 1 and before in (*_READ, *_NAMED) and path in names else (nowhere, 0)


def _whole(chain: Sequence[str], home: tuple[str, str]) -> Path:
    """A name with its catalog and database."""
    catalog, database, name = (*home[: max(0, 3 - len(chain))], *chain) if chain else (*home, "")
    return catalog, database, name


def _chain(tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    """The parts of the name that begins here."""
    parts = []
    while at < len(tokens) and tokens[at].token_type in (TokenType.VAR, TokenType.IDENTIFIER):
        parts.append(tokens[at].text)
        if at + 1 >= len(tokens) or tokens[at + 1].token_type is not TokenType.DOT:
            break
        at += 2
    return tuple(parts)


def _is_alias(after: Sequence[Token]) -> bool:
    kinds = (TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER)
    return bool(after) and (after[0].token_type in kinds or after[0].text.upper() == "FOR")


def _name(written: Token, text: str) -> Token:
    return Token(TokenType.IDENTIFIER, text, written.line, written.col, written.start, written.end)
