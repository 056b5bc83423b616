"""An expression in Flink SQL as its user typed it.

In a document it is {"flink": "a / b"}. A text alone is Spark SQL, in which former versions wrote expressions: it is
evaluated as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from engine.functions.spark_text import SparkText

_MARK: Final = "flink"


class FlinkSql(SparkText):
    """The expression as Spark SQL once it is bound to columns, before that as it was typed.

    flink: as it was typed. digits: of a bound moment, those of its seconds, which Spark's types do not tell.
    """

    flink: str
    digits: int | None

    def __new__(cls, flink: str, spark: str | None = None, digits: int | None = None) -> Self:
        """A typed expression, bound if there is Spark SQL for it."""
        if isinstance(spark, SparkText):
            expression = super().__new__(cls, spark, spark.shape, spark.parts, spark.leaf)
        else:
            expression = super().__new__(cls, flink if spark is None else spark)
        expression.flink, expression.digits = str(flink), digits
        return expression

    def bound(self, spark: str) -> Self:
        """The same with other Spark SQL."""
        return type(self)(self.flink, spark, self.digits)


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


def as_typed(expression: str) -> str:
    """An expression as its user typed it."""
    return expression.flink if isinstance(expression, FlinkSql) else expression
