"""RAND, RAND_INTEGER and UUID, computed of a record and a seed: the same record gives the same value in every run.

Two calls in one statement differ by their places. Equal records get equal values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.functions import FUNCTIONS
from engine.model.types import quote

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_UNIT: Final = "1.1102230246251565E-16D"
"""2 to the power of -53."""


def random(writer: ExpressionWriter, call: exp.Anonymous) -> str:
    """A random value in Spark SQL."""
    name, arguments = call.name.upper(), [writer.write(argument) for argument in call.expressions]
    # Without a seed, the place of the call is one. A map has no order, and so no hash.
    seed = arguments[0] if len(arguments) > FUNCTIONS[name].least else f"{call.meta.get('start', 0)}L"
    columns = [quote(column.name) for column in writer.schema if not column.type.has_map]
    hashed = f"xxhash64({', '.join([seed, *columns])})"
    share = f"(shiftrightunsigned({hashed}, 11) * {_UNIT})"
    match name:
        case "RAND":
            return share
        case "RAND_INTEGER":
            return f"CAST(floor({share} * {arguments[-1]}) AS INT)"
    digits = f"md5(CAST({hashed} AS STRING))"
    parts = [f"substring({digits}, {at}, {length})" for at, length in ((1, 8), (9, 4), (14, 3), (18, 3), (21, 12))]
    return f"concat({parts[0]}, '-', {parts[1]}, '-4', {parts[2]}, '-a', {parts[3]}, '-', {parts[4]})"
