"""Checks Spark SQL expressions before a run, with Spark's own analyzer, and gives their types."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import EngineUnavailable, ExpressionError, StudioError
from engine.expressions import Expression
from engine.model.schema import Schema
from engine.spark.session import loss_of

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
        answer = self._known.get((ddl, expression))
        if answer is None:
            try:
                answer = self._known[ddl, expression] = self._ask(expression, ddl)
            except Exception as error:
                # Not remembered: the next one may be asked of another engine.
                if isinstance(error, StudioError):
                    raise
                if self._asked is not None and (loss := loss_of(self._asked, error)) is not None:
                    raise EngineUnavailable(loss, node, field) from error
                logging.getLogger(__name__).exception("an expression could not be checked")
                raise ExpressionError(
                    node, field, expression, f"Spark cannot check it: {sentence_of(error)}"
                ) from error
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
            if self._asked is not None and loss_of(self._asked, error) is not None:
                raise
            return (sentence_of(error),)
        return result_schema.fields[-1].dataType.simpleString()


def sentence_of(error: Exception) -> str:
    """Spark's complaint without its error class, query context, SQLSTATE and logical plan."""
    text = str(error)
    text = re.sub(r"^\s*\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.sub(r"^Cannot resolve routine (`\w+`) on search path .*", r"there is no function \1.", text)
    text = re.split(r"\s*SQLSTATE: |\n== SQL|;\s*line \d+ pos|\n\nJVM stacktrace|;\n'", text)[0]
    return " ".join(text.split())
