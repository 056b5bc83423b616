"""A script as statements: tokens with their places, and the directives in the comments above each statement.

A directive is a comment that the studio reads and Flink skips: `-- studio.arrival: {"mode": "in_turn"}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.tokenizer_core import Token

from engine.errors import shortened
from engine.sql.algebra import Expr
from engine.sql.parsing import tokens_of, trees_of
from engine.sql.rejected import SqlRejected

_DIRECTIVE: Final = re.compile(r"^\s*--\s*studio\.(\w+):\s*(.+?)\s*$", re.MULTILINE)
_KINDS: Final[dict[str, type]] = {
    "pipeline": str,
    "description": str,
    "arrival": dict,
    "arrived": str,
    "node": dict,
    "parameters": dict,
    "python": dict,
    "rows": list,
}
_PARTS_OF_A_NODE: Final[dict[str, type]] = {"id": str, "operator": str, "parameters": dict}
_CALLED: Final[dict[type, str]] = {str: "a text", dict: "a JSON object", list: "a JSON list"}
_OPENING: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


# What people copy along: a byte order mark, the prompts of Flink's client and its answers, comments of other languages,
# commands of a shell.
# Texts and comments are kept.
_NOT_SQL: Final = re.compile(
    r"(?P<kept>'(?:[^']|'')*'|`[^`\n]*`|\"[^\"\n]*\"|--[^\n]*|/\*(?s:.*?)\*/)"
    r"|(?P<slashes>//[^\n]*)"
    r"|^[ \t]*(?P<shell>(?:[$] |[.]{1,2}/\w|(?:[\w.-]+/)+[\w.-]+[.]sh\b|cat [~./]|cd [~./]|curl -|git clone |kubectl "
    r"|docker (?:compose|exec|run) |docker-compose |%{1,2}[a-z][\w.]*(?:\([^)\n]*\))?[ \t]*$)[^\n]*)"
    r"|^[\ufeff \t]*Flink SQL>|\ufeff|^>(?= )|^[ \t]*#(?=[ \n#!=]).*$|^[ \t]*#$"
    r"|^\[(?:INFO|WARNING|ERROR)\].*$|^(?:org|java)\.[\w.$]+(?:Exception|Error)\b.*$"
    r"|^!(?:ok|info|warning|error)[ \t]*$|^\+(?:-+\+)+[ \t]*$|^\| .* \|[ \t]*$"
    r"|^(?:\d+ rows? in set|Empty set|Received a total of \d+ rows?).*$",
    re.IGNORECASE | re.MULTILINE,
)
_BEGIN: Final = ("CREATE", "INSERT", "DROP", "ALTER", "EXECUTE")
# They begin a statement only after a whole one, as they stand within others, too.
_MAY_BEGIN: Final = ("SELECT", "WITH", "SET", "SHOW", "DESCRIBE", "USE", "EXPLAIN")
_ONE_LINERS: Final = ("SET", "SHOW", "DESCRIBE", "USE")
_QUERY: Final = ("SELECT", "VALUES")
# Before one of them, these go on with the same statement.
_GO_ON: Final = ("UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS", "AS", "UPDATE", ",")
# They begin parts of a query: after a semicolon they go on with the query before it, and alone they are no statement.
_PARTS_OF_A_QUERY: Final = frozenset(
    ("FROM", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "ON", "WHERE", "AND", "OR", "GROUP", "HAVING", "WINDOW")
    + ("OVER", "PARTITION", "MEASURES", "PATTERN", "DEFINE", "UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT")
)
_REST: Final = re.compile(r"(?:[ \t]*(?:--[^\n]*)?\r?\n)?")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\r?\n")
_GAP: Final = re.compile(r"\n[ \t]*\r?\n\s*$")
_COMMENT: Final = re.compile(r"^(?:--|/\*+|\*/|\*(?!/))\s?|\s*\*/$")
_OURS: Final = re.compile(r"--\s*studio[.:]")
_LEAD_TO_ANOTHER: Final = ("BEGIN", "SET", "PLAN", "FOR", "EXECUTE", "EXPLAIN")


@dataclass(frozen=True)
class Statement:
    """One statement. text: the whole script, to which the tokens' offsets refer. end: the place of its last token.

    comment: what stands above it. lacks_semicolon: another statement follows without one between. strays: semicolons
    within it, after which its query goes on. reads: what a view reads by other names (`engine.script.two_tables`).
    """

    tokens: tuple[Token, ...]
    text: str
    directives: Mapping[str, Any] = field(default_factory=dict)
    end: tuple[int, int] = (0, 0)
    comment: str = ""
    lacks_semicolon: bool = False
    strays: tuple[Token, ...] = ()
    reads: Mapping[str, str] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        """Its text, without a semicolon; without tokens, the text is its own."""
        return raw(self.tokens, self.text) or self.text

    @property
    def description(self) -> str:
        """The comment directly above it, without those of the studio."""
        if _GAP.search(self.comment):
            return ""
        block = _BLANK_LINE.split(self.comment.rstrip())[-1]
        lines = [line.strip() for line in block.splitlines()]
        return "\n".join(_COMMENT.sub("", line) for line in lines if not _OURS.match(line)).strip()

    @property
    def place(self) -> tuple[int, int]:
        """The line and column at which it begins."""
        return place_of_token(self.tokens[0]) if self.tokens else self.end

    def begins(self, *words: str) -> bool:
        """Whether it begins with these words."""
        return _count(self.tokens, words) > 0

    def creates(self, *what: str) -> bool:
        """Whether it is CREATE [OR REPLACE] [TEMPORARY] and this kind of object."""
        cursor = Cursor(self)
        if not cursor.skip("CREATE"):
            return False
        cursor.skip("OR", "REPLACE")
        cursor.skip("TEMPORARY")
        return cursor.sees(*what)

    def after(self, count: int) -> Statement:
        """The statement without its first tokens."""
        return replace(self, tokens=self.tokens[count:])


def statements(text: str) -> list[Statement]:
    """The statements of a script. Raises SqlRejected for text that cannot be tokenized."""
    tokens = tokens_of(text)
    all_statements: list[Statement] = []
    current: list[Token] = []
    strays: list[Token] = []
    end = 0
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON:
            if _goes_on(current, tokens[at + 1 : at + 2]):
                strays.append(token)
                continue
            if current:
                all_statements.append(replace(_statement(current, text, end), strays=tuple(strays)))
            # What follows the semicolon in its line is about the statement before it.
            rest = _REST.match(text, token.end + 1)
            current, strays, end = [], [], rest.end() if rest is not None else token.end + 1
            continue
        if current and _begins_another(current, token):
            whole = _statement(current, text, end)
            all_statements.append(replace(whole, lacks_semicolon=True, strays=tuple(strays)))
            current, strays, end = [], [], current[-1].end + 1
        current.append(token)
    if current:
        all_statements.append(replace(_statement(current, text, end), strays=tuple(strays)))
    return all_statements


def _goes_on(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Whether what follows a semicolon can only go on with the query before it."""
    is_query = any(_is_word(token) and token.text.upper() == "SELECT" for token in before)
    return is_query and any(map(begins_part_of_query, after))


def begins_part_of_query(token: Token) -> bool:
    """Whether a word begins a part of a query, and never a statement. GROUP BY is one token."""
    return _is_word(token) and token.text.upper().split()[0] in _PARTS_OF_A_QUERY


def _is_word(token: Token) -> bool:
    return token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)


def without_prompts(text: str) -> str:
    """The text with blanks instead of what people copy along, so that all places stay the same."""
    return _NOT_SQL.sub(lambda match: match["kept"] or " " * len(match[0]), text)


def of_others(text: str) -> Iterator[tuple[str, int]]:
    """The offsets of "slashes", which begin a comment as in other languages, and of commands of a "shell"."""
    for match in _NOT_SQL.finditer(text):
        kind = match.lastgroup
        if kind is not None and kind != "kept":
            yield kind, match.start(kind)


def _begins_another(before: Sequence[Token], token: Token) -> bool:
    """Whether a token begins another statement, in a line of its own, although the one before did not end."""
    last, word = before[-1], token.text.upper()
    if word not in (*_BEGIN, *_MAY_BEGIN) or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return False
    if token.line == last.line or last.text.upper() in _LEAD_TO_ANOTHER:
        return False
    depth, has_query = 0, False
    is_whole = before[0].text.upper() in _ONE_LINERS or (_count(before, ("CREATE", "TABLE")) > 0 and word != "WITH")
    for earlier in before:
        depth += (earlier.token_type in _OPENING) - (earlier.token_type in _CLOSING)
        if depth == 0:
            # What CREATE TABLE ... AS begins goes on until its query has.
            has_query = has_query or earlier.text.upper() in _QUERY
            is_whole = has_query or (is_whole and earlier.text.upper() != "AS")
    first = before[0].text.upper()
    if depth or first in ("ADD", "COMPILE", "EXECUTE"):
        return False
    return (word not in _MAY_BEGIN and first != "EXPLAIN") or (is_whole and last.text.upper() not in _GO_ON)


def _statement(tokens: Sequence[Token], text: str, comment_at: int) -> Statement:
    """A statement with the comment that begins at an offset."""
    return Statement(tuple(tokens), text, end=place_of_token(tokens[-1]), comment=text[comment_at : tokens[0].start])


def directives(comment: str) -> dict[str, Any]:
    """The directives in comments. A directive with invalid JSON is ignored.

    Raises SqlRejected for a value of the wrong type.
    """
    by_name: dict[str, Any] = {}
    for match in _DIRECTIVE.finditer(comment):
        try:
            value = json.loads(match[2])
        except (ValueError, RecursionError):
            continue
        _require(f"studio.{match[1]}", value, _KINDS.get(match[1], object))
        # Many rows stand in several lines.
        by_name[match[1]] = [*by_name.get("rows", ()), *value] if match[1] == "rows" else value
        if match[1] == "node":
            for part, kind in _PARTS_OF_A_NODE.items():
                _require(f"{part} of studio.node", value.get(part, kind()), kind)
    return by_name


def _require(what: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        message = f"{what} is {shortened(json.dumps(value))}, not {_CALLED[kind]}. Remove the line, or copy it again."
        raise SqlRejected(message)


def parsed(tokens: Sequence[Token], text: str) -> Expr:
    """Tokens, of which there are some, as one query or expression. Raises SqlRejected with the first error's place."""
    return trees_of(tokens, text)[0]


def place_of_token(token: Token) -> tuple[int, int]:
    """Line and column of a token's first character, from 1."""
    return token.line, max(1, token.col - (token.end - token.start))


def raw(tokens: Sequence[Token], text: str) -> str:
    """The original text of some tokens."""
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def _count(tokens: Sequence[Token], words: Sequence[str]) -> int:
    """The number of tokens for these words if the tokens begin with them, else 0. PRIMARY KEY is one token."""
    got: list[str] = []
    for count, token in enumerate(tokens, start=1):
        is_word = token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        got += token.text.upper().split() if is_word else [""]
        if len(got) >= len(words):
            return count if got == list(words) else 0
    return 0


class Cursor:
    """A position in the tokens of one statement."""

    def __init__(self, statement: Statement) -> None:
        self.tokens = statement.tokens
        self.text = statement.text
        self.at = 0
        self._end = statement.end

    @property
    def here(self) -> Token:
        """The next token; at the end the last one. An empty statement has none."""
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    @property
    def is_done(self) -> bool:
        """True after the last token."""
        return self.at >= len(self.tokens)

    def sees(self, *words: str) -> bool:
        """Whether these words come next."""
        return _count(self.tokens[self.at :], words) > 0

    def skip(self, *words: str) -> bool:
        """Skip these words if they come next. Returns whether they did."""
        count = _count(self.tokens[self.at :], words)
        self.at += count
        return count > 0

    def expect(self, *words: str) -> None:
        """Skip these words. Raises SqlRejected if other words come next."""
        if not self.skip(*words):
            got = "the end" if self.is_done else repr(self.here.text)
            message = f"expected {' '.join(words)}, but got {got}."
            raise self.rejected(message)

    def take(self) -> Token:
        """Take the next token. Raises SqlRejected at the end."""
        if self.is_done:
            message = "the statement is incomplete."
            raise self.rejected(message)
        self.at += 1
        return self.tokens[self.at - 1]

    def name(self) -> str:
        """An identifier, without its catalog and database."""
        identifier = self.take().text
        while self.skip("."):
            identifier = self.take().text
        return identifier

    def created(self, *what: str) -> str:
        """The name after CREATE [TEMPORARY] and the kind of object. Raises SqlRejected."""
        self.expect("CREATE")
        self.skip("OR", "REPLACE")
        self.skip("TEMPORARY")
        self.expect(*what)
        self.skip("IF", "NOT", "EXISTS")
        return self.name()

    def until(self, *words: str) -> tuple[Token, ...]:
        """The tokens up to a comma, a closing parenthesis or one of the words, outside of all parentheses."""
        start, depth = self.at, 0
        while not self.is_done:
            token = self.here
            if depth == 0 and (token.token_type in (TokenType.COMMA, *_CLOSING) or token.text.upper() in words):
                break
            depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
            self.at += 1
        return self.tokens[start : self.at]

    def listed(self) -> Iterator[str]:
        """Names in parentheses."""
        self.expect("(")
        while True:
            yield self.name()
            if not self.skip(","):
                break
        self.expect(")")

    def assigned(self) -> dict[str, Expr]:
        """Names with constants in parentheses: (day = '2024-01-01', land = 'ch')."""
        constants: dict[str, Expr] = {}
        self.expect("(")
        while True:
            name = self.name()
            self.expect("=")
            constants[name] = self.expression()
            if not self.skip(","):
                break
        self.expect(")")
        return constants

    def query(self) -> Expr:
        """The query that the rest is. Raises SqlRejected."""
        if self.is_done:
            message = "a query is missing here."
            raise self.rejected(message)
        return parsed(self.tokens[self.at :], self.text)

    def expression(self, *words: str) -> Expr:
        """The expression up to a comma, a closing parenthesis or one of the words. Raises SqlRejected."""
        tokens = self.until(*words)
        if not tokens:
            message = "an expression is missing here."
            raise self.rejected(message)
        select = Token(TokenType.SELECT, "SELECT", tokens[0].line, 1, 0, 0)
        query = parsed([select, *tokens], self.text)
        if not isinstance(query, exp.Select) or len(query.expressions) != 1:
            message = "exactly one expression is expected here."
            raise self.rejected(message, tokens[0])
        item: Expr = query.expressions[0]
        return item

    def rejected(self, sentence: str, token: Token | None = None) -> SqlRejected:
        """The error, with the place of the token, by default of the next one."""
        if token is None and self.is_done:
            return SqlRejected(sentence, place=self._end)
        return SqlRejected(sentence, place=place_of_token(token or self.here))
