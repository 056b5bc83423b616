"""Comparisons as others that say the same: 1 < v is v > 1, NOT v > 1 is v <= 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

MIRRORED: Final[Mapping[type[exp.Expr], type[exp.Expr]]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
"""The comparison with its sides exchanged."""

NEGATED: Final[Mapping[type[exp.Expr], type[exp.Expr]]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}
"""The comparison that is true where it is false."""
