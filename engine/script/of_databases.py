"""CREATE TABLE as databases have it, in a script of Flink SQL: what is theirs, and what Flink has in its place.

    id SERIAL PRIMARY KEY, at TIMESTAMPTZ DEFAULT now()   ->   id INT PRIMARY KEY, at TIMESTAMP_LTZ(6)

Source: the types of PostgreSQL, MySQL, Oracle and SQL Server, and Flink's tables of them in its JDBC connector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

_TYPES: Final = {
    **dict.fromkeys(("SERIAL", "SERIAL4", "INT4", "MEDIUMINT", "AUTOINCREMENT"), "INT"),
    **dict.fromkeys(("BIGSERIAL", "SERIAL8", "INT8"), "BIGINT"),
    **dict.fromkeys(("SMALLSERIAL", "SERIAL2", "INT2"), "SMALLINT"),
    **dict.fromkeys(("FLOAT8", "BINARY_DOUBLE"), "DOUBLE"),
    **dict.fromkeys(("FLOAT4", "BINARY_FLOAT"), "FLOAT"),
    **dict.fromkeys(("NUMBER", "MONEY"), "DECIMAL"),
    **dict.fromkeys(("TIMESTAMPTZ", "DATETIMEOFFSET"), "TIMESTAMP_LTZ(6)"),
    **dict.fromkeys(("SMALLDATETIME", "DATETIME2"), "TIMESTAMP(6)"),
    **dict.fromkeys(("NVARCHAR", "VARCHAR2", "NVARCHAR2", "NCHAR", "BPCHAR", "CITEXT", "ENUM"), "STRING"),
    **dict.fromkeys(("TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "CLOB", "NTEXT", "JSONB", "JSON", "UUID"), "STRING"),
    **dict.fromkeys(("INET", "XML"), "STRING"),
    **dict.fromkeys(("BYTEA", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB"), "BYTES"),
}
# They are read as Flink's.
_READ_TYPES: Final = {"TEXT": "STRING", "DATETIME": "TIMESTAMP(6)"}
_AFTER_A_TYPE: Final = (
    *("DEFAULT", "REFERENCES", "AUTO_INCREMENT", "AUTOINCREMENT", "IDENTITY", "UNIQUE", "CHECK", "GENERATED"),
    *("COLLATE", "UNSIGNED", "ON"),
)
_GO_ON: Final = ("NOT", "NULL", "PRIMARY KEY", "COMMENT", *_AFTER_A_TYPE)
_AFTER_A_NAME: Final = ("(", "AS", "WITH", "LIKE")
_ELEMENTS: Final = ("UNIQUE", "FOREIGN", "FOREIGN KEY", "INDEX", "KEY", "CHECK")


@dataclass(frozen=True)
class OfDatabases:
    """A part of CREATE TABLE that is no Flink SQL. instead: what takes its place, maybe nothing.

    is_read: it is read as if it were.
    """

    tokens: tuple[Token, ...]
    instead: str
    is_read: bool = False

    @property
    def first(self) -> Token:
        """Its first word, in front of which may be a comma."""
        return next(token for token in self.tokens if token.token_type is not TokenType.COMMA)

    @property
    def word(self) -> str:
        """Its first word, in capitals."""
        return self.first.text.upper()


def of_databases(tokens: Sequence[Token]) -> Iterator[OfDatabases]:
    """What a statement that creates a table has of other databases, in its order."""
    for comma, element in _elements(tokens):
        named = 2 if _word(element[0]) == "CONSTRAINT" else 0
        words = [_word(token) for token in element[named:]]
        # A column may be called key: its type follows.
        if len(words) > 1 and words[0] in _ELEMENTS and (words[1] in ("(", "KEY") or words[2:3] == ["("]):
            yield OfDatabases((*comma, *element), "")
        elif not named and len(words) > 1 and words[1] not in ("AS", "FOR"):
            yield from _of_column(element, words)


def _of_column(element: Sequence[Token], words: Sequence[str]) -> Iterator[OfDatabases]:
    """What follows a column's name. words: of the element, in capitals."""
    after = 2
    if words[2:3] == ["("]:
        after = closed(element, 2)
    if words[1] in _TYPES:
        type_, sizes = _TYPES[words[1]], "".join(token.text for token in element[2:after])
        yield OfDatabases(tuple(element[1:after]), f"{type_}{sizes}" if type_ == "DECIMAL" else type_)
    elif words[1] in _READ_TYPES:
        yield OfDatabases(tuple(element[1:after]), _READ_TYPES[words[1]], is_read=True)
    at = after
    while at < len(element):
        start, at = at, at + 1
        if words[start] in _AFTER_A_TYPE:
            while at < len(element) and (words[at] not in _GO_ON or words[start] == words[at - 1] == "ON"):
                at = closed(element, at) if words[at] == "(" else at + 1
            yield OfDatabases(tuple(element[start:at]), "")


def _elements(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], Sequence[Token]]]:
    """The elements between the parentheses, each with the comma before it."""
    start = next((at for at, token in enumerate(tokens) if _word(token) in _AFTER_A_NAME), len(tokens))
    if tokens[start : start + 1] and tokens[start].token_type is not TokenType.L_PAREN:
        # The query of a table without columns has parentheses of its own.
        return
    comma, first, depth, nested = tokens[:0], start + 1, 0, 0
    for at in range(start + 1, len(tokens)):
        token = tokens[at]
        if depth == nested == 0 and token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            if first < at:
                yield comma, tokens[first:at]
            if token.token_type is TokenType.R_PAREN:
                return
            comma, first = tokens[at : at + 1], at + 1
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        # In parentheses they compare.
        nested += token.text.count("<") - token.text.count(">") if depth == 0 else 0


def closed(tokens: Sequence[Token], at: int) -> int:
    """The place after the parenthesis that closes the one here."""
    depth = 0
    for place in range(at, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return place + 1
    return len(tokens)


def _word(token: Token) -> str:
    """A token in capitals; empty for a quoted name and a text."""
    return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()
