"""What the files of one kind of expression each ask of the writer of all of them."""

from __future__ import annotations

from typing import Protocol

from engine.sql.algebra import Expr


class ExpressionWriter(Protocol):
    """Writes expressions over one input as Spark SQL."""

    def write(self, expression: Expr) -> str:
        """The expression as Spark SQL. Raises SqlRejected for what has no equal there."""

    def type_of(self, expression: str, /) -> str:
        """Spark's answer which type a written expression has."""

    def is_nullable(self, column: str, /) -> bool:
        """Whether a bound column can be NULL."""
