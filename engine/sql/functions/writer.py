"""The expression writer, as seen by the files for single kinds of expressions."""

from __future__ import annotations

from typing import Protocol

from engine.model.schema import Schema
from engine.model.types import Type
from engine.sql.algebra import Expr


class ExpressionWriter(Protocol):
    """Writes expressions over one input as Spark SQL."""

    @property
    def schema(self) -> Schema:
        """The columns of the input."""

    def write(self, expression: Expr) -> str:
        """The expression as Spark SQL. Raises SqlRejected for expressions without an equivalent."""

    def type_of(self, expression: str, /) -> Type:
        """The Spark type of a written expression."""

    def digits_of(self, column: str, /) -> int:
        """The digits of a second that a bound column has."""

    def is_nullable(self, column: str, /) -> bool:
        """Whether a bound column can be NULL."""
