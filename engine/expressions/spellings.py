"""Flink's spellings of types and functions in an expression, as equivalent Spark SQL.

CAST(t AS TIMESTAMP(3))        types as `engine.model.schema.type_from` reads them; a string is cut to its length
FLOOR(ts TO HOUR), ARRAY[1]    syntax that Spark does not have
TO_TIMESTAMP_LTZ(n, 3)         numbers as timestamps
SPLIT_INDEX(t, ',', 0)         functions that Spark does not have, by their rows in `engine.functions`

The rest of a text stays unchanged, but for comments. Syntax of both dialects keeps its meaning in Spark SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from engine.expressions.allowed import same_words
from engine.expressions.parsing import SPARK, UNREADABLE, VALUES, tokens_of, tree_of
from engine.expressions.untyped import Untyped
from engine.functions import FUNCTIONS
from engine.functions.function import BadCall, Function, given
from engine.functions.spark import ALLOWED
from engine.model.schema import Schema
from engine.model.type_texts import type_from
from engine.model.types import Type

_OPENING: Final = {"(": ")", "[": "]"}
_TEXT: Final = re.compile(r"(var)?char(?:acter)?\s*\(\s*(\d+)\s*\)", re.IGNORECASE)
_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_LONGEST: Final = 20_000
_EPOCHS: Final = {"0": "timestamp_seconds", "3": "timestamp_millis", "6": "timestamp_micros"}


@lru_cache(maxsize=8192)
def as_spark(text: str) -> str:
    """The expression in Spark SQL; an unreadable text is returned unchanged."""
    try:
        tokens = tokens_of(text)
        written = _Spelling(text, tokens).rewritten(0, len(tokens))
        spark = text[: tokens[0].start] + written + text[tokens[-1].end + 1 :] if tokens else text
        return same_words(spark) or spark
    except UNREADABLE:
        return text


class _Spelling:
    """A text with its tokens; a range of tokens is [start, end)."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens

    def rewritten(self, start: int, end: int) -> str:
        """A range of tokens and the text between them, rewritten."""
        if start >= end:
            return ""
        written, at = "", start
        place = self.tokens[start].start
        while at < end:
            token = self.tokens[at]
            instead, after = self._instead(at, end)
            if instead is not None:
                written += self.text[place : token.start] + instead
            elif token.end >= place:
                # One word may be several tokens: 10L is a number, a :: and a type.
                written += self.text[place : token.end + 1]
            place = max(place, self.tokens[after - 1].end + 1)
            at = after
        return written

    def _instead(self, at: int, end: int) -> tuple[str | None, int]:
        """The replacement for the call that starts here (None: no change), and the index of the token after it."""
        word = self._word(at)
        if self.text[self.tokens[at].start : self.tokens[at].end + 1] == "::":
            return self._after_colons(at, end)
        if at + 1 >= end or self._word(at + 1) not in _OPENING:
            return None, at + 1
        close = self._closing(at + 1, end)
        if close is None:
            return None, at + 1
        inside = (at + 2, close)
        written: str | None = None
        if self._word(at + 1) == "[":
            written = f"array({self.rewritten(*inside)})" if word == "ARRAY" else None
        elif word in ("CAST", "TRY_CAST"):
            written = self._cast(word, *inside)
        elif word in ("FLOOR", "CEIL"):
            written = self._cut_off(word, *inside)
        elif word == "TO_TIMESTAMP_LTZ":
            arguments = list(self._arguments(*inside))
            if len(arguments) == 2 and arguments[1] in _EPOCHS:
                written = f"{_EPOCHS[arguments[1]]}({arguments[0]})"
        elif word.lower() not in ALLOWED and (function := FUNCTIONS.get(word)) is not None:
            written = self._called(function, *inside)
        return (None, at + 1) if written is None else (written, close + 1)

    def _called(self, function: Function, start: int, end: int) -> str | None:
        """The call of a function that Spark does not have; None if the types of its arguments decide."""
        if function.spark is None:
            inside = self.rewritten(start, end)
            # As it is, if it is not written: a second look at what is inside would double with every call around it.
            as_is = f"{self.tokens[start - 2].text}({inside})"
            try:
                # Each names its argument several times, so that nested calls would fill the memory.
                call = tree_of(as_is) if len(inside) <= _LONGEST else exp.Null()
            except UNREADABLE:
                return as_is
            written = without_types(function, call)
            return as_is if written is None else f"({written})"
        arguments = [f"({argument})" for argument in self._arguments(start, end)]
        return f"({function.written(arguments)})" if function.takes(len(arguments)) else None

    def _cast(self, word: str, start: int, end: int) -> str | None:
        place = next((at for at in self._outside(start, end) if self._word(at) == "AS"), None)
        if place is None or place + 1 >= end:
            return None
        value, written = self.rewritten(start, place), self._between(place + 1, end)
        if (match := _TEXT.fullmatch(written)) is not None:
            as_text = f"{word}({value} AS STRING)"
            return f"left({as_text}, {match[2]})" if match[1] else f"rpad({as_text}, {match[2]}, ' ')"
        return f"{word}({value} AS {_type(written)})"

    def _after_colons(self, at: int, end: int) -> tuple[str | None, int]:
        if at + 1 >= end or self.tokens[at].end == self.tokens[at + 1].end:
            return None, at + 1
        after = at + 2
        if after < end and self._word(after) == "(" and (close := self._closing(after, end)) is not None:
            after = close + 1
        return f"::{_type(self._between(at + 1, after))}", after

    def _cut_off(self, word: str, start: int, end: int) -> str | None:
        """FLOOR or CEIL of a date or timestamp to a unit, with its type. A week begins on Sunday."""
        unit = self._word(end - 1)
        if end - start < 3 or self._word(end - 2) != "TO" or unit not in _UNITS:
            return None
        value = f"({self.rewritten(start, end - 2)})"
        down = f"date_trunc('{unit}', {value})"
        if unit == "WEEK":
            down = f"(date_trunc('WEEK', {value} + INTERVAL '1' DAY) - INTERVAL '1' DAY)"
        by = f"timestampadd(MICROSECOND, timestampdiff(MICROSECOND, {value}, {{}}), {value})"
        if word == "FLOOR":
            return by.format(down)
        up = f"timestampadd({unit}, 1, {down})"
        return f"(CASE WHEN {down} = {value} THEN {value} ELSE {by.format(up)} END)"

    def _arguments(self, start: int, end: int) -> Iterator[str]:
        first = start
        for at in self._outside(start, end):
            if self._word(at) == ",":
                yield self.rewritten(first, at)
                first = at + 1
        if first < end:
            yield self.rewritten(first, end)

    def _outside(self, start: int, end: int) -> Iterator[int]:
        """The indexes of tokens outside of nested brackets."""
        depth = 0
        for at in range(start, end):
            depth -= self._word(at) in _OPENING.values()
            if depth == 0:
                yield at
            depth += self._word(at) in _OPENING

    def _closing(self, at: int, end: int) -> int | None:
        """The index of the bracket that closes the one at this index."""
        closing = self._closings.get(at, end)
        return closing if closing < end else None

    @cached_property
    def _closings(self) -> dict[int, int]:
        """The indexes of all brackets that close one, by its index: found once, as each may stand in many others."""
        closings, opened = dict[int, int](), list[int]()
        for at in range(len(self.tokens)):
            if self._word(at) in _OPENING:
                opened.append(at)
            elif self._word(at) in _OPENING.values() and opened:
                closings[opened.pop()] = at
        return closings

    def _between(self, start: int, end: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[end - 1].end + 1]

    def _word(self, at: int) -> str:
        """A word or an operator in upper case; "" for a literal or a name in backticks."""
        token = self.tokens[at]
        is_bare = token.token_type not in VALUES and not self.text.startswith("`", token.start)
        return token.text.upper() if is_bare else ""


def without_types(function: Function, call: exp.Expr) -> str | None:
    """A call of Spark SQL's values as Spark SQL; None if that depends on their types or on the record, or is wrong."""
    if function.write is None or not function.is_deterministic or not isinstance(call, exp.Anonymous):
        return None
    try:
        return function.write(_UNTYPED, call) if function.takes(len(given(call))) else None
    except (BadCall, Untyped):
        return None


class _Untyped:
    """Writes the arguments of a call whose columns are not known: they are Spark SQL already."""

    schema = Schema(())

    def write(self, expression: exp.Expr) -> str:
        """The argument as it is."""
        return str(expression.sql(dialect=SPARK))

    def type_of(self, expression: str, /) -> Type:
        """Raise Untyped."""
        raise Untyped(expression)


_UNTYPED: Final = _Untyped()


def _type(text: str) -> str:
    try:
        type_ = str(type_from(text)).upper()
    except ValueError:
        return text
    return text if "".join(text.split()).upper() == type_ else type_
