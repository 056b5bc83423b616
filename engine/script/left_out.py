"""What a published statement leaves to its reader: three dots, and places that another tool fills in."""

from __future__ import annotations

from sqlglot import TokenType

from engine.script.statements import Statement, place_of_token
from engine.sql.rejected import SqlRejected

_DOTS = (TokenType.DOT,) * 3
_FILLED_IN = {"${": "}", "{{": "}}"}


def require_nothing_left_out(statement: Statement) -> None:
    """Raise SqlRejected where a statement is not whole: Flink reads it only once that is written."""
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        if tuple(each.token_type for each in tokens[at : at + 3]) == _DOTS:
            message = "'...' stands for what the text leaves out. Write it, or remove it."
            raise SqlRejected(message, place=place_of_token(token))
        opened = "".join(each.text for each in tokens[at : at + 2])
        if opened in _FILLED_IN and token.token_type is not TokenType.STRING:
            rest = statement.text[token.start :]
            named = rest[: rest.find(_FILLED_IN[opened]) + len(_FILLED_IN[opened])].splitlines()[0]
            message = f"another tool fills in {named}, which Flink does not know. Write the value itself."
            raise SqlRejected(message, place=place_of_token(token))
