"""An expression in Flink SQL as its user typed it.

In a document it is {"flink": "a / b"}. A text alone is Spark SQL, in which former versions wrote expressions: it is
evaluated as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, Self

from engine.functions.spark_text import SparkText
from engine.model.types import Timestamp, Type

_MARK: Final = "flink"


class Said(Protocol):
    """What is written in Flink SQL when it is asked for."""

    @property
    def flink(self) -> str:
        """Flink SQL."""

    @property
    def is_flink(self) -> bool:
        """Whether its Flink SQL is bound to the same."""


class FlinkSql(SparkText):
    """The expression as Spark SQL once it is bound to columns, before that as it was typed.

    said: as it was typed, or what a script says. digits: of a bound moment, those of its seconds, which Spark's types
    do not tell.
    """

    said: str | Said
    digits: int | None
    is_bound: bool

    def __new__(cls, said: str | Said, spark: str | None = None, digits: int | None = None) -> Self:
        """An expression, bound if there is Spark SQL for it."""
        if isinstance(spark, SparkText):
            expression = super().__new__(cls, spark, spark.shape, spark.parts, spark.leaf)
        else:
            expression = super().__new__(cls, str(said) if spark is None else spark)
        expression.said, expression.digits, expression.is_bound = said, digits, spark is not None
        return expression

    @property
    def flink(self) -> str:
        """Flink SQL."""
        return str(self.said) if isinstance(self.said, str) else self.said.flink

    @property
    def is_flink(self) -> bool:
        """Whether a document may keep its Flink SQL."""
        return isinstance(self.said, str) or self.said.is_flink

    def typed(self, flink: str) -> Self:
        """The same as its user typed it."""
        return type(self)(flink, self, self.digits)

    def bound(self, spark: str, digits: int | None = None) -> Self:
        """The same with other Spark SQL."""
        return type(self)(self.said, spark, self.digits if digits is None else digits)


def flink(text: str) -> dict[str, str]:
    """An expression in Flink SQL as documents have it."""
    return {_MARK: text}


def flink_in(value: Any) -> str | None:
    """The text of an expression in Flink SQL of a document; None for any other value."""
    is_marked = isinstance(value, Mapping) and len(value) == 1 and isinstance(value.get(_MARK), str)
    return value[_MARK] if is_marked else None


def text_in(value: Any) -> str:
    """The text of an expression of a document, in whichever language."""
    typed = flink_in(value)
    return str(value) if typed is None else typed


def digits_in(type_: Type) -> int | None:
    """The digits of a second of a moment, as a bound expression has them."""
    return type_.precision if isinstance(type_, Timestamp) else None


def as_typed(expression: str) -> str:
    """An expression as its user typed it."""
    return expression.flink if isinstance(expression, FlinkSql) else expression
