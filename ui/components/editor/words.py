"""The words of Flink SQL that the editor colours and completes: keywords, types, functions with their signatures."""

from __future__ import annotations

from functools import cache
from typing import Final

from engine.aggregates.registry import functions
from engine.errors import ExpressionError
from engine.expressions.analyzer import TypeRules
from engine.functions import FUNCTIONS
from engine.model.schema import Schema
from engine.sql.identifiers import RESERVED
from engine.sql.typed import spark_of

TYPES: Final = tuple(
    "ARRAY BIGINT BINARY BOOLEAN BYTES CHAR DATE DECIMAL DOUBLE FLOAT INT INTEGER INTERVAL MAP NUMERIC REAL ROW "  # noqa: SIM905
    "SMALLINT STRING TIME TIMESTAMP TIMESTAMP_LTZ TINYINT VARBINARY VARCHAR".split()
)
_NOT_RESERVED: Final = tuple(
    "CATALOG CUMULATE DATABASE DESCRIPTOR ENFORCED FIRST FUNCTION HOP IF INCLUDING EXCLUDING INTERVAL JSON KEY LAST "  # noqa: SIM905
    "METADATA OVERWRITE OPTIONS SESSION SETS TEMPORARY TUMBLE VIEW VIRTUAL WATERMARK WITH WITHIN".split()
)


@cache
def notes() -> dict[str, str]:
    """What is told of every function, by name: the first line is its signature."""
    scalars = {name: _told(name) for name in FUNCTIONS}
    aggregates = {name: f"{name}(value)" for name in functions()}
    return dict(sorted({**aggregates, **scalars}.items()))


@cache
def in_expressions() -> dict[str, str]:
    """What is told of the functions that the expression of a form may call."""
    return {name: _told(name) for name, row in sorted(FUNCTIONS.items()) if _is_bound(row.example)}


def _is_bound(example: str) -> bool:
    rules, nothing = TypeRules(), Schema(())
    try:
        rules.type_of(spark_of(example, nothing, rules), nothing, "", "")
    except ExpressionError:
        return False
    return True


def _told(name: str) -> str:
    return "\n".join(FUNCTIONS[name].told(name))


KEYWORDS: Final = tuple(sorted({*RESERVED, *_NOT_RESERVED} - {*TYPES} - {*notes()}))
