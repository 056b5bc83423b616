"""A script whose unread statement says what its reason suggests: the name, option or word that was probably meant.

    line 2, column 8: unknown function 'SUBSTRNG'. The most similar of 161: SUBSTRING, SUBSTR   ->   SUBSTRING(s, 1)

Whoever offers such a script reads it first: a suggestion need not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from sqlglot import TokenType

from engine.script.of_databases import closed
from engine.sql.parsing import tokens_of
from engine.sql.rejected import SqlRejected

_PLACE: Final = re.compile(r"line (\d+), column (\d+): (.*)", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unknown [a-z ]+ '([^']+)'\. (?:Did you mean ([^?]+)\? )?[A-Z][^:]*: ([^.]+)\.")
_OPTION: Final = re.compile(r"has no option '([^']+)'\. Did you mean '([^']+)'\?")
_STATEMENT: Final = re.compile(r"^(\S+(?: \S+)?) is no statement\. Did you mean ([^?]+)\?")
_FUNCTION: Final = re.compile(r"^(\w+) is no function of Flink's\. Write ((?:[^.']|'[^']*')+)\.")
_QUOTES: Final = "names take backticks, texts single quotes"
_WORD: Final = re.compile(r"\w+")
_OF_CALLS: Final = ("TO", "AS", "FROM")
_LIKE: Final = 0.5
_MOST: Final = 3


def suggested(script: str, sentence: str) -> Iterator[tuple[str, str]]:
    """What is written instead, with the script that has it. sentence: the reason, with its place."""
    place_match = _PLACE.match(sentence)
    if place_match is None:
        return
    lines = script.splitlines(keepends=True)
    at, reason = sum(map(len, lines[: int(place_match[1]) - 1])) + int(place_match[2]) - 1, place_match[3]
    if _QUOTES in reason:
        yield from _requoted(script, at)
    elif (function := _FUNCTION.match(reason)) is not None:
        yield from _called(script, at, function[1], function[2])
    else:
        for old, new in _meant(reason):
            here = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE).search(script, at)
            if here is not None:
                yield new, f"{script[: here.start()]}{new}{script[here.end() :]}"


def _meant(reason: str) -> Iterator[tuple[str, str]]:
    """What is written, and what was probably meant."""
    for pattern in (_OPTION, _STATEMENT):
        if (match := pattern.search(reason)) is not None:
            words = min(len(match[1].split()), len(match[2].split()))
            yield " ".join(match[1].split()[:words]) if pattern is _STATEMENT else match[1], match[2]
            return
    if (match := _UNKNOWN.search(reason)) is None:
        return
    # Of a column with its table, only the column is unknown.
    old = match[1].rpartition(".")[2]
    names = [name.strip() for name in match[3].split(",")]
    near = sorted(names, key=lambda name: -_likeness(old, name))
    for new in dict.fromkeys(
        filter(None, [match[2], *(name for name in near if _likeness(old, name) >= _LIKE)][:_MOST])
    ):
        yield old, new


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def _requoted(script: str, at: int) -> Iterator[tuple[str, str]]:
    """The text in double quotes as a name, and as a text."""
    end = script.find('"', at + 1)
    if script[at : at + 1] == '"' and end > 0:
        inside = script[at + 1 : end]
        for quote in "`'":
            new = f"{quote}{inside}{quote}"
            yield new, f"{script[:at]}{new}{script[end + 1 :]}"


def _called(script: str, at: int, name: str, new: str) -> Iterator[tuple[str, str]]:
    """Another call in place of one, if it is made of the same arguments."""
    try:
        tokens = tokens_of(script)
    except SqlRejected:
        return
    first = next((place for place, token in enumerate(tokens) if token.start >= at), None)
    if first is None or tokens[first].text.upper() != name or tokens[first + 1].token_type is not TokenType.L_PAREN:
        return
    old = script[tokens[first].start : tokens[closed(tokens, first + 1) - 1].end + 1]
    given = {word.upper() for word in _WORD.findall(old)}
    function, *words = [word.upper() for word in _WORD.findall(new)]
    if words and all(word in given or word in _OF_CALLS for word in words):
        start = tokens[first].start
        yield new, f"{script[:start]}{new}{script[start + len(old) :]}"
