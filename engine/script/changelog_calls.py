"""FROM_CHANGELOG: a table whose rows are changes, as a source with their kinds.

    SELECT id FROM FROM_CHANGELOG(input => TABLE t, op => DESCRIPTOR(op))

A view of such a call alone is the source; a call within another query becomes a view of its own, t_changes.
Source: Flink FromChangelogTypeStrategy, and what Flink 2.3 answers.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.model.changelog import SYMBOLS
from engine.model.free_names import free_name
from engine.reading.typed.kinds import WORDS
from engine.script.parts import Parts
from engine.script.statements import Statement, raw

_NAME: Final = "FROM_CHANGELOG"
_CALL: Final = re.compile(rf"{_NAME}\s*\(\s*input\s*=>\s*TABLE\s+(`[^`]+`|\w+)\s*([,)])", re.IGNORECASE)
_KIND: Final = re.compile(r"\bop\s*=>\s*DESCRIPTOR\s*\(\s*(`[^`]+`|\w+)", re.IGNORECASE)
_MAPPING: Final = re.compile(r"\bop_mapping\s*=>\s*MAP\s*\[((?:[^\]']|'[^']*')*)\]", re.IGNORECASE)
_TEXT: Final = re.compile(r"'([^']*)'")


@dataclass(frozen=True)
class Changelog:
    """The table of a call, and its column of kinds."""

    table: str
    kind: str

    def with_symbols(self, rows: list[list[Any]], at: int) -> list[list[Any]]:
        """The rows of a script with symbols for their kinds. at: the place of the column of kinds."""
        return [[*row[:at], _symbol(row[at]), *row[at + 1 :]] for row in rows]


def changelog_of(statement: Statement, tables: Container[str]) -> Changelog | None:
    """The changelog that a view's query is; None for any other query.

    Of a view or a query, and with words of its own for the kinds, the call is an operator of its query.
    """
    if not any(token.text.upper() == _NAME for token in statement.tokens):
        return None
    text = raw(statement.tokens, statement.text)
    call = _CALL.search(text)
    if call is None or (table := call[1].strip("`")) not in tables:
        return None
    kind, mapping = _KIND.search(text), _MAPPING.search(text)
    texts = _TEXT.findall(mapping[1]) if mapping is not None else []
    told = ((word.strip(), to) for given, to in zip(texts[::2], texts[1::2], strict=False) for word in given.split(","))
    if any(_symbol(word) != _symbol(to) for word, to in told):
        return None
    return Changelog(table, kind[1].strip("`") if kind is not None else "op")


def with_changelog_views(statement: Statement, parts: Parts) -> Statement:
    """The statement with names of views in place of its calls; those views are added to the script's."""
    tokens = statement.tokens
    at = next((at for at, token in enumerate(tokens) if token.text.upper() == _NAME), None)
    if at is None or (end := _closing(tokens, at + 1)) is None:
        return statement
    call = replace(statement, tokens=tokens[at : end + 1])
    before = [token.text.upper() for token in tokens[:at]]
    is_argument = before[-2:] == ["TABLE", "("]
    is_whole = end + 1 == len(tokens) and before[-4:] == ["AS", "SELECT", "*", "FROM"] and statement.creates("VIEW")
    if is_whole or is_argument or (changelog := changelog_of(call, parts.tables)) is None:
        return statement
    names = (
        name for name, view in parts.views.items() if _is_call(view) and changelog_of(view, parts.tables) == changelog
    )
    name = next(names, None) or free_name(f"{changelog.table}_changes", [*parts.tables, *parts.views])
    if name not in parts.views:
        parts.views[name] = call
        parts.order.append(name)
    first = tokens[at]
    named = Token(TokenType.IDENTIFIER, name, first.line, first.col, first.start, first.end)
    return with_changelog_views(replace(statement, tokens=(*tokens[:at], named, *tokens[end + 1 :])), parts)


def _symbol(text: Any) -> Any:
    """The symbol of a kind, which rows of a script have; another text as it is."""
    return next((SYMBOLS[kind] for kind, words in WORDS.items() if str(text).strip().lower() in words), text)


def _is_call(view: Statement) -> bool:
    return view.tokens[0].text.upper() == _NAME


def _closing(tokens: Sequence[Token], at: int) -> int | None:
    """The place of the parenthesis that closes the one at a place; None if there is none."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].token_type is TokenType.L_PAREN) - (tokens[place].token_type is TokenType.R_PAREN)
        if not depth:
            return place
    return None
