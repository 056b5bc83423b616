"""What a published statement leaves to others, and double quotes, which mean nothing in any of them.

Its reader writes what stands for three dots or <a name>, a tool fills in a variable, and Java has the function of a
table.
"""

from __future__ import annotations

from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.script.statements import Statement, place_of_token
from engine.sql.parsing import DOUBLE_QUOTES, require_plain
from engine.sql.rejected import SqlRejected

_DOTS: Final = [TokenType.DOT] * 3
_FILLED_IN: Final = {"${": "}", "{{": "}}"}
# What a name follows.
_NAMED: Final = (
    *(TokenType.TABLE, TokenType.VIEW, TokenType.EXISTS),
    *(TokenType.INTO, TokenType.FROM, TokenType.JOIN),
)
_READ: Final = ("INSERT", "SELECT", "WITH", "VALUES", "ALTER", "EXPLAIN")
_BRACKETS: Final = {TokenType.LT: ">", TokenType.L_BRACE: "}"}
# Functions that take a table, and have places of their own that read them, or say why they are not.
_KNOWN: Final = (
    *("TUMBLE", "HOP", "CUMULATE", "SESSION", "FROM_CHANGELOG", "TO_CHANGELOG"),
    *("ML_PREDICT", "VECTOR_SEARCH"),
)


def require_whole(statement: Statement) -> None:
    """Raise SqlRejected for a statement that leaves something to others, or has characters that are none of SQL's."""
    tokens = statement.tokens
    # Other statements are left out, or said to be another database's.
    is_read = statement.creates("TABLE") or statement.creates("VIEW") or any(map(statement.begins, _READ))
    if is_read or tokens[0].text.upper().startswith(_READ):
        require_plain(tokens)
    for at, token in enumerate(tokens):
        message = _left_to_others(tokens[at : at + 5], statement.text)
        closing = _BRACKETS.get(token.token_type)
        if is_read and token.text == '"' and token.token_type is not TokenType.STRING:
            message = DOUBLE_QUOTES
        elif message is None and closing is not None and at and tokens[at - 1].token_type in _NAMED:
            named = statement.text[token.start :].partition(closing)[0]
            message = f"{named}{closing} stands for a name. Write the name itself."
        if message is not None:
            raise SqlRejected(message, place=place_of_token(token))


def _left_to_others(tokens: tuple[Token, ...], text: str) -> str | None:
    """What is left to whom where some tokens begin."""
    if [token.token_type for token in tokens[:3]] == _DOTS:
        return "'...' stands for what the text leaves out. Write it, or remove it."
    if (closing := _FILLED_IN.get("".join(token.text for token in tokens[:2]))) is not None:
        named = text[tokens[0].start :].splitlines()[0]
        named = named[: named.find(closing) + len(closing)]
        return f"another tool fills in {named}, which Flink does not know. Write the value itself."
    words = [token.text.upper() for token in tokens]
    if words[1::2] == ["(", "=>"] and words[4:] == ["TABLE"] and words[0] not in _KNOWN:
        return (
            f"{tokens[0].text} is a function over a table, which Flink runs in Java, and which is not read here. Write "
            "a query, or a function in Python of the table's columns: LATERAL TABLE(f(x)) AS t (a, b)."
        )
    return None
