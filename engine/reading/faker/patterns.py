"""Texts that match a regular expression, for `#{regexify '[A-Z]{3}(red|blue)'}`.

Python's own parser reads the pattern; the parts of its tree from which a text can be chosen become plain values, which
are sent to workers. Source: DataFaker's regexify, which repeats * and + ten times at most.
"""

from __future__ import annotations

import re._constants as codes
import re._parser as parser
import string
from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final

from engine.reading.faker.choosing import Chooser

_MOST_REPEATS: Final = 10
_LONGEST: Final = 1000
_MOST_PARTS: Final = 10_000
_CATEGORIES: Final = {
    codes.CATEGORY_DIGIT: string.digits,
    codes.CATEGORY_WORD: f"{string.ascii_letters}{string.digits}_",
    codes.CATEGORY_SPACE: " ",
}
_ANY: Final = string.ascii_letters + string.digits
Tree = tuple[Any, ...]
"""("text", t), ("one of", characters), ("either", trees), ("all", trees), ("repeat", least, most, tree)."""


def tree_of(pattern: str) -> Tree:
    """The tree of a pattern. Raises ValueError with the reason."""
    try:
        return _all(parser.parse(pattern))
    except (re_error, OverflowError, RecursionError) as error:
        message = f"{pattern[:60]!r} is no regular expression: {error}"
        raise ValueError(message) from error


re_error: Final = parser.error


def text_of(tree: Tree, choose: Chooser) -> str:
    """A text that matches, of at most 1,000 characters; the rest of a pattern with more parts than that is left out."""
    return _text(tree, choose, [_MOST_PARTS])[:_LONGEST]


def _text(tree: Tree, choose: Chooser, left: list[int]) -> str:
    """left: the parts that may still be made, as repetitions of nothing make no text."""
    left[0] -= 1
    match tree:
        case "text", text:
            return str(text)
        case "one of", characters:
            return str(choose.one_of(characters))
        case "either", trees:
            return _text(choose.one_of(trees), choose, left)
        case "all", trees:
            return _joined(trees, choose, left)
        case "repeat", least, most, inner:
            return _joined(repeat(inner, choose.between(least, most + 1)), choose, left)
    message = f"{tree[0]} is no part of a pattern"
    raise ValueError(message)


def _joined(trees: Iterable[Tree], choose: Chooser, left: list[int]) -> str:
    text = ""
    for tree in trees:
        if len(text) >= _LONGEST or left[0] <= 0:
            break
        text += _text(tree, choose, left)
    return text


def _all(parsed: Any) -> Tree:
    return ("all", tuple(_part(code, argument) for code, argument in parsed))


def _part(code: Any, argument: Any) -> Tree:
    if code is codes.LITERAL:
        return ("text", chr(argument))
    if code is codes.ANY:
        return ("one of", _ANY)
    if code is codes.IN:
        return ("one of", _characters(argument))
    if code is codes.NOT_LITERAL:
        return ("one of", _ANY.replace(chr(argument), ""))
    if code is codes.BRANCH:
        return ("either", tuple(_all(branch) for branch in argument[1]))
    if code is codes.SUBPATTERN:
        return _all(argument[3])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, inner = argument
        most = max(least, _MOST_REPEATS) if most is codes.MAXREPEAT else most
        return ("repeat", least, most, _all(inner))
    if code is codes.AT:
        return ("text", "")
    message = f"a pattern with {str(code).lower().replace('_', ' ')} cannot be turned into texts"
    raise ValueError(message)


def _characters(parts: Any) -> str:
    """The characters of a class such as `[a-z0-9_]` or `[^ab]`."""
    characters: list[str] = []
    is_negated = False
    for code, argument in parts:
        if code is codes.NEGATE:
            is_negated = True
        elif code is codes.LITERAL:
            characters.append(chr(argument))
        elif code is codes.RANGE:
            characters += [chr(at) for at in range(argument[0], min(argument[1], argument[0] + 1000) + 1)]
        elif code is codes.CATEGORY and argument in _CATEGORIES:
            characters += _CATEGORIES[argument]
        else:
            message = f"a class of characters with {str(argument).lower()} cannot be turned into texts"
            raise ValueError(message)
    chosen = [char for char in _ANY if char not in characters] if is_negated else characters
    if not chosen:
        message = "a class of characters is empty"
        raise ValueError(message)
    return "".join(chosen)
