"""Syntax errors in words: what sqlglot's descriptions say, without its classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

_EMPTY: Final = re.compile(r"Required keyword: 'expressions' missing for <class '[^']*Bracket'>")
_REQUIRED: Final = re.compile(r"Required keyword: ")
_EXPECTING: Final = re.compile(r"Expecting (.+)")
_EXPECTED: Final = re.compile(r"Expected (.+) after (.+)")
_INSTEAD: Final = re.compile(r"Expected (.+?) but got <Token")
_NOT_HERE: Final = re.compile(r"Invalid expression|Unexpected token|Failed to parse", re.IGNORECASE)
_CALLED: Final = {"TYPE": "a type", ")": "a closing parenthesis", "(": "an opening parenthesis"}


def in_words(description: str, near: str, *, is_last: bool) -> str:
    """A description of sqlglot's as a part of a sentence. near: the token; is_last: the text ends with it."""
    where = f"{'after' if is_last else 'before'} {near!r}"
    if _EMPTY.match(description):
        return f"the brackets {where} are empty"
    if _REQUIRED.match(description):
        return f"something is missing {where}"
    if (expected := _EXPECTED.match(description)) is not None:
        return f"{_called(expected[1])} is missing after {expected[2]} ({where})"
    if (instead := _INSTEAD.match(description)) is not None:
        return f"{_a(instead[1])} is missing {where}"
    if (expecting := _EXPECTING.match(description)) is not None:
        return f"{_called(expecting[1])} is missing {where}"
    if _NOT_HERE.search(description):
        return f"the text ends {where}, where more is needed" if is_last else f"{near!r} does not belong here"
    if any(mark in description for mark in ("<class", "<Token", "sqlglot")):
        return f"the text near {near!r} is not understood"
    return f"{description} (at {near!r})"


_KEYWORDS: Final = (
    "SELECT",
    "FROM",
    "WHERE",
    "HAVING",
    "LIMIT",
    "UNION",
    "JOIN",
    "INNER",
    "OUTER",
    "BETWEEN",
    "DISTINCT",
)
_OF_OTHERS: Final = {
    "EMIT": "EMIT CHANGES is of ksqlDB. Leave it out: every query of a stream gives changes.",
    "TOP": "TOP is of other databases. Write LIMIT n at the end.",
}


def slip_in(words: Sequence[str]) -> str:
    """A sentence about a word that is of others, or that is nearly a keyword; empty if there is none.

    words: those of a statement that is not read, in capitals, without texts and quoted names.
    """
    for word in words:
        if word in _OF_OTHERS:
            return _OF_OTHERS[word]
    for word in words:
        near = get_close_matches(word, _KEYWORDS, n=1, cutoff=0.75)
        if near and word != near[0] and abs(len(word) - len(near[0])) <= 1:
            return f"Did you mean {near[0]} for {word}?"
    return ""


def _called(what: str) -> str:
    return _CALLED.get(what, what)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
