"""The expression writer, as seen by the files for single kinds of expressions."""

from __future__ import annotations

from typing import Protocol

from engine.functions.function import Writing


class ExpressionWriter(Writing, Protocol):
    """Writes expressions over one input as Spark SQL; `write` raises SqlRejected for those without an equivalent."""

    def digits_of(self, column: str, /) -> int:
        """The digits of a second that a bound column has."""

    def is_nullable(self, column: str, /) -> bool:
        """Whether a bound column can be NULL."""
