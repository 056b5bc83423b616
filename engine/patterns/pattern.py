"""The text of a pattern as variables with quantifiers: `A B+ C{2,3}? D`.

Patterns that Flink refuses are refused: quantifiers of groups of several, alternatives, PERMUTE, exclusions, repeated
variables, an optional variable after a greedy one, a greedy one at the end, and patterns that match without any row.
Anchors are refused, too: in Flink they have no effect.
Source: Flink CommonExecMatch.PatternVisitor, NFACompiler.canProduceEmptyMatches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engine.model.types import quote

_WORD: Final = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*|`(?:[^`]|``)+`)|(?P<mark>\{-|-\}|[()|^$,])|"
    r"(?P<quantifier>[*+?]|\{[^{}]*\})(?P<reluctant>\??))\s*"
)
_RANGE: Final = re.compile(r"\{\s*(\d*)\s*(,?)\s*(\d*)\s*\}")
_REFUSED: Final = {
    "|": "alternatives (A | B) are not supported, as in Flink. Define one variable by both conditions, joined by OR",
    "^": "the anchor ^ is not supported; in Flink it has no effect. Leave it out",
    "$": "the anchor $ is not supported; in Flink it has no effect. Leave it out",
    "{-": "exclusions {- A -} are not supported, as in Flink. Leave out the marks: measures show only what they name",
    "-}": "exclusions {- A -} are not supported, as in Flink. Leave out the marks: measures show only what they name",
}


@dataclass(frozen=True)
class Variable:
    """A variable and the number of adjacent rows that are mapped to it. most: None for no limit."""

    name: str
    least: int = 1
    most: int | None = 1
    is_greedy: bool = True

    @property
    def is_optional(self) -> bool:
        """Whether it may have no row."""
        return self.least == 0

    @property
    def takes_as_many_as_it_can(self) -> bool:
        """Whether it is greedy and its number of rows is variable, so that it takes rows before the next variable."""
        return self.is_greedy and self.least != self.most and (self.least, self.most) != (0, 1)

    def __str__(self) -> str:
        name = self.name if re.fullmatch(r"[A-Za-z_]\w*", self.name) else quote(self.name)
        match self.least, self.most:
            case 1, 1:
                return name
            case 0, None:
                count = "*"
            case 1, None:
                count = "+"
            case 0, 1:
                count = "?"
            case least, most if least == most:
                return f"{name}{{{least}}}"
            case least, most:
                count = f"{{{least},{'' if most is None else most}}}"
        return f"{name}{count}{'' if self.is_greedy else '?'}"


def variables_of(text: str) -> tuple[Variable, ...]:
    """The variables of a pattern in order. Raises ValueError with a message for users."""
    variables = _Reader(text).read()
    _check(variables)
    return variables


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.opened: list[int] = []
        self.variables: list[Variable] = []
        self.is_quantified = False

    def read(self) -> tuple[Variable, ...]:
        group: int | None = None
        while self.at < len(self.text):
            word = _WORD.match(self.text, self.at)
            if word is None:
                message = f"{self.text[self.at :].split()[0]!r} is not allowed in a pattern. Write variables: A B+ C"
                raise ValueError(message)
            mark, count = word["mark"], word["quantifier"]
            if count is not None:
                self._quantify(count, is_reluctant=bool(word["reluctant"]), is_group=group == self.at)
            elif mark in _REFUSED:
                raise ValueError(_REFUSED[mark])
            elif mark == "(":
                self.opened.append(len(self.variables))
            elif mark is not None:
                if mark == "," or not self.opened:
                    message = f"a {mark!r} is too much"
                    raise ValueError(message)
                is_single = len(self.variables) == self.opened.pop() + 1 and not self.is_quantified
            else:
                self._name(word["name"], word.end())
            self.at = word.end()
            group = self.at if mark == ")" and not is_single else None
        if self.opened:
            message = "a parenthesis is not closed"
            raise ValueError(message)
        if not self.variables:
            message = "a pattern needs a variable: A B+ C"
            raise ValueError(message)
        return tuple(self.variables)

    def _name(self, name: str, end: int) -> None:
        if name.upper() == "PERMUTE" and self.text[end : end + 1] == "(":
            message = "PERMUTE is not supported, as in Flink. Write the variables in one order"
            raise ValueError(message)
        plain = name[1:-1].replace("``", "`") if name.startswith("`") else name
        if any(variable.name == plain for variable in self.variables):
            message = f"the variable {plain} is used twice. Give the second one another name, with the same condition"
            raise ValueError(message)
        self.variables.append(Variable(plain))
        self.is_quantified = False

    def _quantify(self, text: str, *, is_reluctant: bool, is_group: bool) -> None:
        if is_group:
            message = (
                f"a quantifier of a group ({text}) is not supported, as in Flink. Give the variables quantifiers of "
                "their own"
            )
            raise ValueError(message)
        before = self.text[: self.at].rstrip()
        if not self.variables or before[-1:] in "(*+?}":
            message = f"the quantifier {text} follows no variable"
            raise ValueError(message)
        self.is_quantified = True
        least, most = _bounds(text)
        self.variables[-1] = Variable(self.variables[-1].name, least, most, not is_reluctant)


def _bounds(text: str) -> tuple[int, int | None]:
    if text in ("*", "+", "?"):
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[text]
    parsed = _RANGE.fullmatch(text)
    if parsed is None or not (parsed[1] or parsed[3]):
        message = f"the quantifier {text} is a number of rows, or two: {{2}}, {{2,}}, {{2,3}}"
        raise ValueError(message)
    if not parsed[1]:
        message = f"the quantifier {text} has no least number, which Flink does not support. Write {{0,{parsed[3]}}}"
        raise ValueError(message)
    least = int(parsed[1])
    most = least if not parsed[2] else int(parsed[3]) if parsed[3] else None
    if most == 0:
        message = f"the quantifier {text} lets no row match. Leave the variable out"
        raise ValueError(message)
    if most is not None and most < least:
        message = f"the quantifier {text} ends before it starts"
        raise ValueError(message)
    return least, most


def _check(variables: tuple[Variable, ...]) -> None:
    for variable in variables:
        if (variable.least, variable.most) == (0, 1) and not variable.is_greedy:
            message = f"{variable} is optional and reluctant, which Flink does not support. Write {variable.name}?"
            raise ValueError(message)
    for before, variable in pairwise(variables):
        if before.takes_as_many_as_it_can and (variable.least, variable.most) in ((0, 1), (0, None)):
            message = (
                f"{variable} is optional and stands behind {before}, which is greedy; Flink does not support that. "
                f"Make the first one reluctant: {before}?"
            )
            raise ValueError(message)
    if all(variable.is_optional for variable in variables):
        message = "every variable is optional, so that no row at all would match. Let one of them have a row: A+"
        raise ValueError(message)
    if variables[-1].takes_as_many_as_it_can:
        last = variables[-1]
        message = (
            f"the last variable {last} is greedy: it would never be known to end. Make it reluctant ({last}?), or add "
            f"a variable that ends it, such as one whose condition is that of {last.name} negated"
        )
        raise ValueError(message)
