"""RAND, RAND_INTEGER and UUID, computed of a record and a seed: the same record gives the same value in every run.

Two calls in one statement differ by their places. Equal records get equal values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.model.types import quote
from engine.sql.rejected import SqlRejected

if TYPE_CHECKING:
    from engine.sql.functions.writer import ExpressionWriter

_MOST_ARGUMENTS: Final = {"RAND": 1, "RAND_INTEGER": 2, "UUID": 0}
RANDOM: Final = frozenset(_MOST_ARGUMENTS)
_UNIT: Final = "1.1102230246251565E-16D"
"""2 to the power of -53."""


def random(writer: ExpressionWriter, call: exp.Anonymous) -> str:
    """A random value in Spark SQL. Raises SqlRejected for a wrong number of arguments."""
    name, arguments = call.name.upper(), [writer.write(argument) for argument in call.expressions]
    least = 1 if name == "RAND_INTEGER" else 0
    if not least <= len(arguments) <= _MOST_ARGUMENTS[name]:
        message = f"{name} takes {least} to {_MOST_ARGUMENTS[name]} arguments, but it is given {len(arguments)}."
        raise SqlRejected(message, call)
    # Without a seed, the place of the call is one. A map has no order, and so no hash.
    seed = arguments[0] if len(arguments) > least else f"{call.meta.get('start', 0)}L"
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
