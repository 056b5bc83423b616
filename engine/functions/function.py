"""A function of Flink SQL as a value: all that the studio knows of it stands in its row of the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from sqlglot import exp

from engine.functions.spark_text import SparkText, place
from engine.model.schema import Schema
from engine.model.types import Type

_PLACEHOLDER: Final = re.compile(r"\{(\d|[*+&])\}")


class BadCall(Exception):
    """A call that means nothing; its text is a sentence. at: the part of it that is wrong."""

    def __init__(self, sentence: str, at: exp.Expr) -> None:
        super().__init__(sentence)
        self.at = at


class Writing(Protocol):
    """Writes expressions over one input as Spark SQL."""

    @property
    def schema(self) -> Schema:
        """The columns of the input."""

    def write(self, expression: exp.Expr) -> str:
        """The expression as Spark SQL."""

    def type_of(self, expression: str, /) -> Type:
        """The Spark type of a written expression."""


Write = Callable[[Writing, exp.Anonymous], str | None]
"""Writes a call in Spark SQL; None: as the row's `spark` says. Raises BadCall."""


def names(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


def given(call: exp.Anonymous) -> list[exp.Expr]:
    """The arguments of a call, without clauses such as RETURNING."""
    return [argument for argument in call.expressions if not isinstance(argument, exp.Kwarg)]


@dataclass(frozen=True)
class Parameter:
    """One argument. type: as a line of `engine.functions.spark` names it. mark: `?` may be left out, `*` repeated."""

    name: str
    type: str
    mark: str


@dataclass(frozen=True)
class Function:
    """A scalar function.

    signature: `name type, ... -> type`; a type as in `engine.functions.spark`, `?` if the argument may be left out, `*`
        if it may be repeated. They are those of Spark's function, if that is the same.
    sentence: what it gives.
    example: a call, and `result` its value as CAST(... AS STRING) shows it; "" if each run has another one.
    spark: the call in Spark SQL. {0}, {1} are the arguments, {*} all of them, {+} all but the first, {&} the condition
        that none is NULL. "" if Spark has the same function, None if the call decides.
    write: writes a call whose values or types decide; None for a syntax of its own (`engine.sql.functions`).
    fuller: `spark` of a call with more arguments than it needs, if it is another one.
    syntax: the call, if it is not NAME(value, value).
    null: what the example gives if its first argument is NULL, as `result`; "" if that is no value of one row.
    bad: a call with an argument that is no good, and what it gives, as `example` and `result`.
    """

    name: str
    signature: str
    sentence: str
    example: str
    result: str
    spark: str | None = ""
    write: Write | None = None
    fuller: str = ""
    aliases: tuple[str, ...] = ()
    syntax: str = ""
    null: str = "NULL"
    bad: tuple[str, str] | None = None
    is_deterministic: bool = True

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments in order."""
        given = self.signature.partition("->")[0].strip()
        # A type may have a comma: map<K,V>.
        words = (parameter.partition(" ") for parameter in given.split(", ")) if given else ()
        return tuple(
            Parameter(name, type_.rstrip("?*"), type_[-1] if type_[-1] in "?*" else "") for name, _, type_ in words
        )

    @property
    def types(self) -> str:
        """The signature without names, as a line of `engine.functions.spark` has it."""
        given = ", ".join(parameter.type + parameter.mark for parameter in self.parameters)
        return f"{given} -> {self.signature.rpartition('->')[2].strip()}"

    @property
    def least(self) -> int:
        """The arguments that it needs."""
        return sum(not parameter.mark for parameter in self.parameters)

    @property
    def most(self) -> int | None:
        """The arguments that it takes at most; None for any number."""
        return None if any(parameter.mark == "*" for parameter in self.parameters) else len(self.parameters)

    def shown(self, name: str) -> str:
        """The call as an editor shows it. name: the one of its names that is shown."""
        words = [parameter.name for parameter in self.parameters]
        if self.most is None:
            words = [*words[: -1 if words[-2:-1] == words[-1:] else None], "…"]
        return self.syntax or f"{name}({', '.join(words)})"

    def told(self, name: str) -> tuple[str, ...]:
        """The call, what it gives, and an example with its result: a line each. name: the one that is shown."""
        example = (f"{self.example} is {self.result}",) if self.result else ()
        return self.shown(name), self.sentence, *example

    def takes(self, count: int) -> bool:
        """Whether it is called with so many arguments."""
        return self.least <= count and (self.most is None or count <= self.most)

    def written(self, arguments: list[str]) -> str:
        """The call in Spark SQL; only for one with a template."""
        places = [place(at) for at in range(len(arguments))]
        return SparkText(self._with(arguments), self._with(places), arguments)

    def _with(self, arguments: Sequence[str]) -> str:
        template = self.fuller if self.fuller and len(arguments) > self.least else self.spark
        values = {str(at): argument for at, argument in enumerate(arguments)}
        values["*"] = ", ".join(arguments)
        values["+"] = ", ".join(arguments[1:])
        values["&"] = " AND ".join(f"{argument} IS NOT NULL" for argument in arguments)
        # In one pass: an argument may contain what looks like a placeholder, such as the pattern '[0-9]{2}'.
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template or f"{self.name}({{*}})")
