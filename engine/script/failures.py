"""Statements that could not be read: what is left of the script is a pipeline, and each of them is a node of it.

A query of something that could not be read fails, too, and says so. Its node is connected to what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sqlglot import TokenType

from engine.errors import PipelineError, PlanRejected, SourceError, StudioError, TooDeep
from engine.script.statements import Cursor, Statement
from engine.sql.parsing import tokens_of
from engine.sql.rejected import SqlRejected

REFUSALS: Final = (SqlRejected, PipelineError, PlanRejected, SourceError)
"""The errors about a text; all others are about an engine, and the same text may be read later."""
_CHUNK: Final = re.compile(r"(?s:.*?)(?:;[ \t]*(?:--[^\n]*)?(?:\n|\Z)|\Z)")
_NOT_NEW_LINE: Final = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Failure:
    """A statement that could not be read, and why."""

    statement: Statement
    error: StudioError

    @property
    def place(self) -> tuple[int, int]:
        """The line and column at which reading failed."""
        if isinstance(self.error, SqlRejected) and self.error.line:
            return self.error.line, self.error.column
        return self.statement.place

    @property
    def sentence(self) -> str:
        """Why, with the place."""
        reason = self.error.reason if isinstance(self.error, SqlRejected) else self.error.sentence
        return SqlRejected(reason, place=self.place).sentence

    @property
    def defines(self) -> str | None:
        """The table or view that it would have created."""
        return _created(self.statement, "TABLE", "VIEW")

    @property
    def function(self) -> str | None:
        """The function that it would have created."""
        return _created(self.statement, "FUNCTION", "SYSTEM FUNCTION")

    @property
    def fills(self) -> str | None:
        """The table into which it would have inserted."""
        cursor = Cursor(self.statement)
        try:
            is_insert = cursor.skip("INSERT", "INTO") or cursor.skip("INSERT", "OVERWRITE")
            return cursor.name() if is_insert else None
        except SqlRejected:
            return None


class CannotBeRead(Exception):
    """Reading stopped at a statement; it starts anew without it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


@contextmanager
def at_statement(statement: Statement, among: Sequence[Statement], failed: Sequence[Failure]) -> Iterator[None]:
    """Blame an error on the statement that has its place, such as a view that a query reads, else on this one.

    failed: those that could not be read; the function of one is not unknown. Raises CannotBeRead.
    """
    try:
        yield
    except (*REFUSALS, RecursionError) as caught:
        error = caught if isinstance(caught, StudioError) else TooDeep("the script, or an expression in it,")
        place = (error.line, error.column) if isinstance(error, SqlRejected) and error.line else statement.end
        # One that failed is left out already: blamed again, it would be left out and read anew for ever.
        left_out = {failure.statement.place for failure in failed}
        there = (owner for owner in among if owner.place <= place <= owner.end and owner.place not in left_out)
        blamed = next(there, statement)
        called = {name.upper() for name in names_in(blamed)}
        needed = [failure for failure in failed if failure.function is not None and failure.function.upper() in called]
        if needed:
            error = unread(str(needed[0].function), needed[0])
        raise CannotBeRead(Failure(blamed, error)) from caught


def tokenizable(text: str) -> tuple[str, list[Failure]]:
    """The text with blanks instead of statements that are no tokens, such as one with an open quote, and those.

    Where the text as a whole has no tokens, a semicolon at the end of a line ends a statement, so that the quote of one
    does not hide the next ones.
    """
    try:
        tokens_of(text)
    except SqlRejected:
        readable, failures = "", list[Failure]()
        for chunk in _CHUNK.findall(text):
            try:
                tokens_of(chunk)
                readable += chunk
            except SqlRejected as error:
                at = text.count("\n", 0, len(readable))
                place = (at + (error.line or 1), error.column or 1)
                statement = Statement((), _whole(chunk.strip("; \n\t")), end=place)
                failures.append(Failure(statement, SqlRejected(error.reason, place=place)))
                readable += _NOT_NEW_LINE.sub(" ", chunk)
        return readable, failures
    return text, []


def _whole(text: str) -> str:
    """The text without halves of characters."""
    return text.encode(errors="backslashreplace").decode()


def _created(statement: Statement, *kinds: str) -> str | None:
    try:
        for kind in kinds:
            if statement.creates(*kind.split()):
                return Cursor(statement).created(*kind.split())
    except SqlRejected:
        pass
    return None


_BEFORE_TABLES: Final = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.TABLE, TokenType.LIKE})
_ALIAS: Final = frozenset({TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER})


def names_in(statement: Statement) -> Iterator[str]:
    """The words of a statement that may be names: all but texts."""
    return (token.text for token in statement.tokens if token.token_type is not TokenType.STRING)


def tables_in(statement: Statement) -> Iterator[str]:
    """The words of a statement that may be names of tables that it reads; it need not be whole."""
    is_next = is_list = False
    for token in statement.tokens:
        kind = token.token_type
        if kind in _BEFORE_TABLES or (is_list and kind in (TokenType.COMMA, TokenType.DOT)):
            is_next, is_list = True, False
        elif is_next and kind is not TokenType.L_PAREN:
            yield token.text
            is_next, is_list = False, True
        else:
            is_next = False
            is_list = is_list and kind in _ALIAS


def unread(name: str, failure: Failure) -> SqlRejected:
    """The error of a statement that needs another one, which could not be read."""
    return SqlRejected(f"it needs {name}, whose statement in line {failure.statement.place[0]} could not be read.")
