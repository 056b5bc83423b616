"""The types of Spark's functions: by name, what it takes and what it gives.

They stand in the table of functions, and in `engine.functions.spark` for functions that only Spark has. Functions whose
result depends on more than types are in `calls`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from engine.expressions.coercion import accepts, alike, common, is_ordered
from engine.functions.function import names
from engine.functions.spark import TYPED
from engine.model.type_texts import spark_type
from engine.model.types import (
    BIGINT,
    BINARY,
    DATE,
    INT,
    INTEGERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    Array,
    Map,
    Plain,
    Row,
    Timestamp,
    Type,
)

_LETTER: Final = re.compile(r"[A-Z]")
_GROUPS: Final = {
    "text": (STRING, BINARY, VOID),
    "hexed": (BIGINT, INT, SMALLINT, TINYINT, BINARY, STRING, VOID),
    "instant": (TIMESTAMP, TIMESTAMP_NTZ, VOID),
    "day": (DATE, VOID),
    "days": (TINYINT, SMALLINT, INT, STRING, VOID),
    "wide": (BIGINT,),
    "bytes": (BINARY,),
    "characters": (STRING, VOID),
    "count": (INT,),
    "index": (TINYINT, SMALLINT, INT),
    "whole": (TINYINT, SMALLINT, INT, BIGINT, VOID),
    "moment": (TIMESTAMP, TIMESTAMP_NTZ, DATE, STRING, VOID),
}
_IN_WORDS: Final = {
    **{"any": "any value", "T": "a value", "E": "a value", "K": "a key", "V": "a value", "Number": "a number"},
    **{"text": "STRING or BYTES", "hexed": "a number, STRING or BYTES", "characters": "STRING", "bytes": "BYTES"},
    **{"instant": "TIMESTAMP", "day": "DATE", "moment": "a time", "days": "INT", "count": "INT", "index": "INT"},
    **{"whole": "a whole number", "wide": "BIGINT", "sized": "ARRAY or MAP", "object": "ARRAY, MAP or ROW"},
    **{"row": "ROW", "hashed": "any value without a MAP"},
}
# These have no order, so that none of their values can be found, compared or sorted.
_ORDERS: Final = names(
    """
    array_contains array_position array_remove array_union array_except array_intersect arrays_overlap array_distinct
    array_sort sort_array array_max array_min
    """
)


@dataclass(frozen=True)
class Signature:
    """One way to call a function. least: how many arguments it needs. repeats: whether the last may be repeated."""

    parameters: tuple[Type, ...]
    least: int
    repeats: bool
    result: Type

    def __str__(self) -> str:
        """What it takes, in words."""
        words = [_IN_WORDS.get(str(parameter), parameter.flink) for parameter in self.parameters]
        optional = [f"[{word}]" if at >= self.least else word for at, word in enumerate(words)]
        return ", ".join(optional) + (", ..." if self.repeats else "")

    def result_of(self, arguments: Sequence[Type], *, ordered: bool) -> Type | None:
        """The type of a call; None if the function does not take these arguments. ordered: it compares them."""
        if len(arguments) < self.least or (len(arguments) > len(self.parameters) and not self.repeats):
            return None
        places = range(len(arguments))
        parameters = [self.parameters[min(at, len(self.parameters) - 1)] for at in places]
        letter_types: dict[str, Type] = {}
        for parameter, argument in zip(parameters, arguments, strict=True):
            if not _fits(parameter, argument, letter_types):
                return None
        if ordered and not all(map(is_ordered, letter_types.values())):
            return None
        return _filled(self.result, letter_types)


def result_of(name: str, arguments: Sequence[Type]) -> Type | None:
    """The type of a call by the function's name in lower case; None if it is not known."""
    for signature in signatures().get(name, ()):
        result = signature.result_of(arguments, ordered=name in _ORDERS)
        if result is not None:
            return result
    return None


@cache
def signatures() -> dict[str, list[Signature]]:
    """By name, the ways to call a function."""
    return {name: [_signature(shape) for shape in shapes] for name, shapes in TYPED.items()}


def _signature(shape: str) -> Signature:
    given, _, result = shape.partition("->")
    words = given.strip().split(", ") if given.strip() else []
    least = sum(not word.endswith(("?", "*")) for word in words)
    types = tuple(spark_type(word.rstrip("?*")) for word in words)
    return Signature(types, least, given.strip().endswith("*"), spark_type(result.strip()))


def _fits(parameter: Type, argument: Type, letters: dict[str, Type]) -> bool:
    """Whether an argument fits. letters: the types of those so far, to which the argument may add."""
    match parameter:
        case Plain(name="any"):
            return True
        case Plain(name="Number"):
            letters["Number"] = argument
            return argument.is_number
        case Plain(name="sized"):
            return isinstance(argument, Array | Map)
        case Plain(name="hashed"):
            return not argument.has_map
        case Plain(name="row"):
            return isinstance(argument, Row)
        case Plain(name="object"):
            return isinstance(argument, Array | Map | Row) or argument == VARIANT
        case Plain(name=name) if name in _GROUPS:
            group = _GROUPS[name]
            return argument in group or (isinstance(argument, Timestamp) and TIMESTAMP in group)
        case Plain(name=name) if _LETTER.fullmatch(name):
            joined = common if name == "T" else alike
            shared = joined(letters[name], argument) if name in letters else argument
            is_same = name != "E" or shared == argument == letters.get(name, argument) or shared in INTEGERS
            if shared is None or not is_same or (name == "E" and argument == VOID):
                return False
            letters[name] = shared
            return True
        case Array():
            return isinstance(argument, Array) and _fits(parameter.element, argument.element, letters)
        case Map():
            if not isinstance(argument, Map):
                return False
            return _fits(parameter.key, argument.key, letters) and _fits(parameter.value, argument.value, letters)
        case _:
            return accepts(parameter, argument)


def _filled(result: Type, letters: dict[str, Type]) -> Type:
    """The result with the types of its letters."""
    match result:
        case Plain():
            return letters.get(result.name, result)
        case Array():
            return Array(_filled(result.element, letters))
        case Map():
            return Map(_filled(result.key, letters), _filled(result.value, letters))
        case Row():
            return Row(tuple((name, _filled(field_type, letters)) for name, field_type in result.fields))
        case _:
            return result
