"""The values of a match that a measure or a condition uses, extracted from its text.

    v, A.v              of the last row of the match or of a variable; in a condition the current row is the last
    FIRST(A.v * 2, 1)   of a row counted from the first one; LAST(A.v, 1) counts from the last one
    SUM(A.v * B)        an aggregate over the rows of a variable, or over all rows: SUM(v), COUNT(*)
    MATCH_ROWTIME()     the time of the row that completes the match; MATCH_ROWTIME(rt) with the type of rt

Their arguments are Spark SQL over the columns of one row. The text around them is an expression over their values.
Source: Flink MatchCodeGenerator.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.aggregates.registry import functions
from engine.expressions.parsing import UNREADABLE, VALUES, tokens_of
from engine.model.types import quote

ROWTIME: Final = "MATCH_ROWTIME"
_NO_SUCH: Final = {
    "PREV": "PREV looks at rows of the input, which Flink does not support. Use LAST(A.v, 1): the row of A before",
    "NEXT": "NEXT looks at rows to come, which Flink does not support. Define a variable for the next row",
    "CLASSIFIER": "CLASSIFIER() is not supported, as in Flink. Compare the measures of the variables with NULL",
    "MATCH_NUMBER": "MATCH_NUMBER() is not supported, as in Flink. Number the matches: ROW_NUMBER() OVER (...)",
    "RUNNING": "RUNNING is not supported, as in Flink. Leave it out: a condition sees the rows so far",
}


class Position(Enum):
    """The kind of value that a reference is."""

    FIRST = "FIRST"
    LAST = "LAST"
    AGGREGATE = "aggregate"
    ROWTIME = ROWTIME


@dataclass(frozen=True)
class Reference:
    """A value of a match.

    variable: the variable whose rows are used; None: all rows. expression: over the columns of a row; None: COUNT(*).
    offset: the number of rows after the first, or before the last. function, distinct: of an aggregate.
    """

    position: Position
    variable: str | None = None
    expression: str | None = None
    offset: int = 0
    function: str = ""
    distinct: bool = False


@dataclass(frozen=True)
class Referring:
    """A text with columns `__r0`, `__r1`, ... instead of its references, in their order."""

    text: str
    references: tuple[Reference, ...]

    @property
    def is_reference(self) -> bool:
        """Whether the text is just one reference."""
        return self.text.strip(" ()") == placeholder(0)


def placeholder(at: int) -> str:
    """The column that replaces a reference, as written in a text."""
    return quote(f"__r{at}")


def referring(text: str, variables: Collection[str], columns: Collection[str]) -> Referring:
    """The references of a measure or a condition. Raises ValueError with a message for users."""
    try:
        tokens = tokens_of(text)
    except UNREADABLE as error:
        message = f"{text!r} cannot be read"
        raise ValueError(message) from error
    return _Scanner(text, tokens, variables, columns).scanned()


def without_variables(text: str, variables: Collection[str]) -> str:
    """The text over the columns of a row, readable for the analyzer: A.v as v, LAST(A.v, 1) as v."""
    try:
        tokens = tokens_of(text)
    except UNREADABLE:
        return text
    return _Scanner(text, tokens, variables, ()).stripped()


class _Scanner:
    """Scans the words of a text and rewrites it with columns instead of references."""

    def __init__(
        self, text: str, tokens: Sequence[Token], variables: Collection[str], columns: Collection[str]
    ) -> None:
        self.text = text
        self.tokens = tokens
        self.variables = frozenset(variables)
        self.columns = {name.lower() for name in columns}
        self.references: dict[Reference, int] = {}

    def scanned(self) -> Referring:
        written, place, at = "", 0, 0
        while at < len(self.tokens):
            reference, after = self._reference(at)
            if reference is None:
                at += 1
                continue
            number = self.references.setdefault(reference, len(self.references))
            written += self.text[place : self.tokens[at].start] + placeholder(number)
            place = self.tokens[after - 1].end + 1
            at = after
        return Referring(written + self.text[place:], tuple(self.references))

    def stripped(self) -> str:
        written, place, at = "", 0, 0
        while at < len(self.tokens):
            after = at + 1
            if self._is_variable(at):
                written += self.text[place : self.tokens[at].start]
                after = at + 2
                place = self.tokens[after].start
            elif (name := self._called(at)) in ("FIRST", "LAST"):
                close = self._closing(at + 1)
                arguments = self._arguments(at + 2, close)
                inner = _Scanner(self.text, self.tokens[slice(*arguments[0])], self.variables, ())
                written += self.text[place : self.tokens[at].start] + f"({inner._stripped_range()})"
                place, after = self.tokens[close].end + 1, close + 1
            elif name == ROWTIME:
                close = self._closing(at + 1)
                written += self.text[place : self.tokens[at].start] + "current_timestamp()"
                place, after = self.tokens[close].end + 1, close + 1
            at = after
        return written + self.text[place:]

    def _stripped_range(self) -> str:
        """The text of only this scanner's words, without variables."""
        if not self.tokens:
            return ""
        whole = self.text[self.tokens[0].start : self.tokens[-1].end + 1]
        return without_variables(whole, self.variables)

    def _reference(self, at: int) -> tuple[Reference | None, int]:
        """The reference that begins at a word (None: there is none), and the index of the word after it."""
        name = self._called(at)
        if name in _NO_SUCH:
            raise ValueError(_NO_SUCH[name])
        if name == "MATCH_PROCTIME":
            message = "MATCH_PROCTIME() depends on the clock of the machine. Use MATCH_ROWTIME()"
            raise ValueError(message)
        if name == ROWTIME:
            close = self._closing(at + 1)
            return Reference(Position.ROWTIME, None, self._written(at + 2, close) or None), close + 1
        if name in ("FIRST", "LAST"):
            close = self._closing(at + 1)
            return self._positioned(Position[name], at, close), close + 1
        if name in functions():
            close = self._closing(at + 1)
            return self._aggregate(name, at, close), close + 1
        if self._is_variable(at):
            variable, expression = self._of_one_row(at, at + 3)
            return Reference(Position.LAST, variable, expression), at + 3
        if self._is_column(at):
            return Reference(Position.LAST, None, self._written(at, at + 1)), at + 1
        return None, at + 1

    def _positioned(self, position: Position, at: int, close: int) -> Reference:
        name, arguments = position.name, self._arguments(at + 2, close)
        if not 1 <= len(arguments) <= 2:
            message = f"{name} takes a value and maybe a number of rows: {name}(A.v, 1)"
            raise ValueError(message)
        offset = "0" if len(arguments) == 1 else self._written(*arguments[1]).strip()
        if not offset.isdigit():
            message = f"{name} counts a number of rows, such as {name}(A.v, 1), but got {offset!r}"
            raise ValueError(message)
        variable, expression = self._of_one_row(*arguments[0])
        return Reference(position, variable, expression, int(offset))

    def _aggregate(self, name: str, at: int, close: int) -> Reference:
        arguments = self._arguments(at + 2, close)
        distinct = bool(arguments) and self.tokens[at + 2].text.upper() == "DISTINCT"
        if len(arguments) != 1:
            message = f"{name} takes one value of a row: {name}(A.v)"
            raise ValueError(message)
        start, end = arguments[0]
        start += distinct
        if self._written(start, end).strip() == "*" and functions()[name].counts_rows and not distinct:
            return Reference(Position.AGGREGATE, None, None, function=name)
        variable, expression = self._of_one_row(start, end)
        return Reference(Position.AGGREGATE, variable, expression, function=name, distinct=distinct)

    def _of_one_row(self, start: int, end: int) -> tuple[str | None, str]:
        """The variable in a range of words (None: all rows), and the words as an expression over a row's columns."""
        variables: set[str | None] = set()
        written, place, at = "", self.tokens[start].start, start
        while at < end:
            name = self._called(at)
            if name in _NO_SUCH:
                raise ValueError(_NO_SUCH[name])
            if name in ("FIRST", "LAST", ROWTIME) or name in functions():
                message = f"{name} cannot stand within another of FIRST, LAST or an aggregate"
                raise ValueError(message)
            if self._is_variable(at):
                variables.add(self.tokens[at].text)
                written += self.text[place : self.tokens[at].start]
                at += 2
                place = self.tokens[at].start
            elif self._is_column(at):
                variables.add(None)
            at += 1
        written += self.text[place : self.tokens[end - 1].end + 1]
        if len(variables) > 1:
            names = " and ".join(sorted("all rows" if name is None else name for name in variables))
            message = f"{written.strip()!r} is about rows of {names}. Name one variable in FIRST, LAST and aggregates"
            raise ValueError(message)
        return next(iter(variables), None), written.strip()

    def _called(self, at: int) -> str:
        """The name of the function that is called at a word, in upper case; "" if there is no call."""
        token = self.tokens[at]
        is_word = token.token_type not in VALUES and token.token_type is not TokenType.IDENTIFIER
        follows = at + 1 < len(self.tokens) and self.tokens[at + 1].text == "("
        is_field = at > 0 and self.tokens[at - 1].text == "."
        return token.text.upper() if is_word and follows and not is_field else ""

    def _is_variable(self, at: int) -> bool:
        """Whether a word is a variable followed by a column."""
        if at + 2 >= len(self.tokens) or self.tokens[at + 1].text != "." or self.tokens[at].token_type in VALUES:
            return False
        is_field = at > 0 and self.tokens[at - 1].text == "."
        return not is_field and self.tokens[at].text in self.variables

    def _is_column(self, at: int) -> bool:
        """Whether a word is a column of the input without a variable."""
        token = self.tokens[at]
        if token.token_type in VALUES or token.text.lower() not in self.columns or self._called(at):
            return False
        is_field = at > 0 and self.tokens[at - 1].text == "."
        is_type = at > 0 and self.tokens[at - 1].text.upper() == "AS" and token.token_type is not TokenType.IDENTIFIER
        return not is_field and not is_type

    def _arguments(self, start: int, close: int) -> list[tuple[int, int]]:
        """The arguments of a call as ranges of words."""
        ranges: list[tuple[int, int]] = []
        depth, first = 0, start
        for at in range(start, close):
            text = "" if self.tokens[at].token_type in VALUES else self.tokens[at].text
            depth += text == "("
            depth -= text == ")"
            if text == "," and depth == 0:
                ranges.append((first, at))
                first = at + 1
        return [*ranges, (first, close)] if first < close else ranges

    def _closing(self, opening: int) -> int:
        """The index of the parenthesis that closes a call. Raises ValueError if it is not closed."""
        depth = 0
        for at in range(opening, len(self.tokens)):
            if self.tokens[at].token_type in VALUES:
                continue
            depth += self.tokens[at].text == "("
            depth -= self.tokens[at].text == ")"
            if depth == 0:
                return at
        message = f"a parenthesis is not closed in {self.text!r}"
        raise ValueError(message)

    def _written(self, start: int, end: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[end - 1].end + 1] if start < end else ""
