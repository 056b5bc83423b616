"""RAND, RAND_INTEGER and UUID, computed of a record and a seed: the same record gives the same value in every run.

Two calls in one statement differ by their places. Equal records get equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.functions.function import Writing
from engine.model.types import quote

_UNIT: Final = "1.1102230246251565E-16D"
"""2 to the power of -53."""


def rand(writing: Writing, call: exp.Anonymous) -> str:
    """RAND([seed])."""
    return _share(_hashed(writing, call, call.expressions))


def rand_integer(writing: Writing, call: exp.Anonymous) -> str:
    """RAND_INTEGER([seed,] bound)."""
    *seed, bound = call.expressions
    return f"CAST(floor({_share(_hashed(writing, call, seed))} * {writing.write(bound)}) AS INT)"


def uuid(writing: Writing, call: exp.Anonymous) -> str:
    """UUID()."""
    digits = f"md5(CAST({_hashed(writing, call, ())} AS STRING))"
    parts = [f"substring({digits}, {at}, {length})" for at, length in ((1, 8), (9, 4), (14, 3), (18, 3), (21, 12))]
    return f"concat({parts[0]}, '-', {parts[1]}, '-4', {parts[2]}, '-a', {parts[3]}, '-', {parts[4]})"


def _hashed(writing: Writing, call: exp.Anonymous, seed: Sequence[exp.Expr]) -> str:
    """A hash of the record. Without a seed, the place of the call is one. A map has no order, and so no hash."""
    written = writing.write(seed[0]) if seed else f"{call.meta.get('start', 0)}L"
    columns = [quote(column.name) for column in writing.schema if not column.type.has_map]
    return f"xxhash64({', '.join([written, *columns])})"


def _share(hashed: str) -> str:
    return f"(shiftrightunsigned({hashed}, 11) * {_UNIT})"
