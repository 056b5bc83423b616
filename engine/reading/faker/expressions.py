"""flink-faker's expressions: texts with calls such as `#{number.numberBetween '1','100'}`.

Names of functions are compared without case and underscores: `GameOfThrones.character` is `game_of_thrones.character`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ARGUMENT: Final = re.compile(r"'((?:[^']|'')*)'")
_NAME: Final = re.compile(r"\s*([A-Za-z_][\w.]*)")


@dataclass(frozen=True)
class Call:
    """A function with its arguments. name: in lower case, without underscores. written: as its user wrote it."""

    name: str
    arguments: tuple[str, ...]
    written: str


def parts_of(expression: str) -> tuple[str | Call, ...]:
    """The texts and calls of an expression, in order. Raises ValueError with the reason."""
    parts: list[str | Call] = []
    at = 0
    while (start := expression.find("#{", at)) >= 0:
        end = _end(expression, start + 2)
        if start > at:
            parts.append(expression[at:start])
        parts.append(_call(expression[start + 2 : end]))
        at = end + 1
    if at < len(expression):
        parts.append(expression[at:])
    return tuple(parts)


def _end(expression: str, start: int) -> int:
    """The place of the brace that closes a call; braces in quotes do not count."""
    is_quoted = False
    for at in range(start, len(expression)):
        if expression[at] == "'":
            is_quoted = not is_quoted
        elif expression[at] == "}" and not is_quoted:
            return at
    message = f"{expression[start - 2 :][:60]!r} has no closing brace"
    raise ValueError(message)


def _call(text: str) -> Call:
    named = _NAME.match(text)
    if named is None:
        message = f"'#{{{text[:60]}}}' names no function; write #{{Name.fullName}}"
        raise ValueError(message)
    arguments = tuple(argument.replace("''", "'") for argument in _ARGUMENT.findall(text[named.end() :]))
    return Call(named[1].replace("_", "").lower(), arguments, named[1])
