"""The aggregate functions by name, and the types of their results, as Flink SQL has them."""

from __future__ import annotations

from enum import Enum
from typing import Final

from engine.model.schema import decimal_scale


class Function(Enum):
    """The functions that Flink SQL and this studio have in common."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    ARRAY_AGG = "ARRAY_AGG"
    COLLECT = "COLLECT"
    LISTAGG = "LISTAGG"
    FIRST_VALUE = "FIRST_VALUE"
    LAST_VALUE = "LAST_VALUE"
    STDDEV_POP = "STDDEV_POP"
    STDDEV_SAMP = "STDDEV_SAMP"
    VAR_POP = "VAR_POP"
    VAR_SAMP = "VAR_SAMP"


NUMERIC: Final = frozenset(
    {
        Function.SUM,
        Function.AVG,
        Function.STDDEV_POP,
        Function.STDDEV_SAMP,
        Function.VAR_POP,
        Function.VAR_SAMP,
    }
)
NEVER_NULL: Final = frozenset({Function.COUNT, Function.COLLECT})


def result_type(function: Function, type_: str) -> str:
    """The type of a result. type_: that of the argument. Integers average to integers, sums keep their type."""
    scale = decimal_scale(type_)
    match function:
        case Function.COUNT:
            return "bigint"
        case Function.ARRAY_AGG:
            return f"array<{type_}>"
        case Function.COLLECT:
            return f"map<{type_},int>"
        case Function.LISTAGG:
            return "string"
        case Function.SUM:
            return type_ if scale is None else f"decimal(38,{scale})"
        case Function.MIN | Function.MAX | Function.FIRST_VALUE | Function.LAST_VALUE:
            return type_
        case _:
            return type_ if scale is None else f"decimal(38,{max(6, scale)})"
