"""RAND, RAND_INTEGER and UUID, computed of a record and a seed: the same record gives the same value in every run.

Two calls in one statement differ by their places. Equal records get equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.functions.function import Writing
from engine.functions.spark_text import as_type, column_named, spark_sql
from engine.model.types import STRING

_UNIT: Final = "1.1102230246251565E-16D"
"""2 to the power of -53."""


def rand(writing: Writing, call: exp.Anonymous) -> str:
    """RAND([seed])."""
    return _share(_hashed(writing, call, call.expressions))


def rand_integer(writing: Writing, call: exp.Anonymous) -> str:
    """RAND_INTEGER([seed,] bound)."""
    *seed, bound = call.expressions
    share = _share(_hashed(writing, call, seed))
    return spark_sql("CAST(floor({} * {}) AS INT)", share, writing.write(bound))


def uuid(writing: Writing, call: exp.Anonymous) -> str:
    """UUID()."""
    digits = spark_sql("md5({})", as_type(_hashed(writing, call, ()), STRING))
    parts = (f"substring({{0}}, {at}, {length})" for at, length in ((1, 8), (9, 4), (14, 3), (18, 3), (21, 12)))
    return spark_sql("concat({}, '-', {}, '-4', {}, '-a', {}, '-', {})".format(*parts), digits)


def _hashed(writing: Writing, call: exp.Anonymous, seed: Sequence[exp.Expr]) -> str:
    """A hash of the record. Without a seed, the place of the call is one. A map has no order, and so no hash."""
    written = writing.write(seed[0]) if seed else spark_sql("{start}L", start=call.meta.get("start", 0))
    columns = [column_named(column.name) for column in writing.schema if not column.type.has_map]
    return spark_sql("xxhash64({})", [written, *columns])


def _share(hashed: str) -> str:
    return spark_sql("(shiftrightunsigned({}, 11) * {unit})", hashed, unit=_UNIT)
