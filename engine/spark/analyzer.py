"""Checks Spark SQL expressions before a run, with Spark's own analyzer, and gives their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import ExpressionError
from engine.expressions import Expression
from engine.model.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkAnalyzer:
    """Asks Spark for the type of an expression; remembers the answers. Starts Spark at the first question."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._asked: SparkSession | None = None
        self._frames: dict[str, DataFrame] = {}
        self._known: dict[tuple[str, str], str | tuple[str]] = {}

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> str:
        """The type of an expression over these columns, as Spark writes it. Raises ExpressionError."""
        ddl = schema.ddl()
        if (ddl, expression) not in self._known:
            self._known[ddl, expression] = self._ask(expression, ddl)
        answer = self._known[ddl, expression]
        if isinstance(answer, tuple):
            raise ExpressionError(node, field, expression, answer[0])
        return answer

    def _ask(self, expression: str, ddl: str) -> str | tuple[str]:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions

        if not expression.strip():
            return ("it is empty. Write a Spark SQL expression over the columns.",)
        parsed = Expression.parse(expression)
        if (impure := parsed.impure_function) is not None:
            return (f"{impure}() gives another result each time, but the same input must give the same changelog.",)
        if (foreign := parsed.beyond_the_record) is not None:
            return (f"it has {foreign}, but an expression sees one record at a time.",)
        try:
            if (spark := self._session()) is not self._asked:
                # The first one, or the one after a JVM that died: frames of that one answer nothing more.
                self._asked, self._frames = spark, {}
            if ddl not in self._frames:
                self._frames[ddl] = spark.createDataFrame([], ddl)
            # Beside the other columns an aggregate function is an error, as it has to be here.
            result_schema = self._frames[ddl].select("*", functions.expr(expression).alias("__value")).schema
        except PySparkException as error:
            return (sentence_of(error),)
        return result_schema.fields[-1].dataType.simpleString()


def sentence_of(error: Exception) -> str:
    """Spark's complaint without its error class, query context, SQLSTATE and logical plan."""
    text = str(error)
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.split(r"\s*SQLSTATE: |\n== SQL|;\s*line \d+ pos|\n\nJVM stacktrace|;\n'", text)[0]
    return " ".join(text.split())
