"""Checks Spark SQL expressions before a run and determines their types.

The rules of `engine.expressions.inference` say the type of every expression that they know, without a session. The
others go to Spark's own analyzer: rare functions, and expressions that it refuses, whose error is then Spark's.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import EngineUnavailable, ExpressionError, StudioError, shortened
from engine.expressions import Expression, UnresolvedColumn
from engine.model.schema import Schema
from engine.model.spark_types import type_of_data
from engine.model.types import Type, quote
from engine.spark.session import loss_of

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession


class SparkAnalyzer:
    """Knows the type of an expression or asks Spark, and caches the answers. Starts Spark for the first question."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._asked: SparkSession | None = None
        self._frames: dict[Schema, DataFrame] = {}
        self._known: dict[tuple[Schema, str], Type | tuple[str]] = {}

    def known_type(self, expression: str, schema: Schema, node: str, field: str) -> Type | None:
        """The type of an expression without a session; None if only Spark can tell. Raises ExpressionError."""
        plain = Expression.parse(expression).plain_column(schema)
        if plain is not None and quote(plain.name) == expression:
            return plain.type
        key = (schema, expression)
        if key not in self._known and (judged := _judged(expression, schema)) is not None:
            self._known[key] = judged
        answer = self._known.get(key)
        if isinstance(answer, tuple):
            raise ExpressionError(node, field, expression, answer[0])
        return answer

    def type_of(self, expression: str, schema: Schema, node: str, field: str) -> Type:
        """The type of an expression over these columns. Raises ExpressionError."""
        if (known := self.known_type(expression, schema, node, field)) is not None:
            return known
        try:
            answer = self._known[schema, expression] = self._ask(expression, schema)
        except Exception as error:
            # Not cached: the next question may go to another engine.
            if isinstance(error, StudioError):
                raise
            if self._asked is not None and (loss := loss_of(self._asked, error)) is not None:
                raise EngineUnavailable(loss, node, field) from error
            logging.getLogger(__name__).exception("an expression could not be checked")
            raise ExpressionError(node, field, expression, f"Spark cannot check it: {sentence_of(error)}") from error
        if isinstance(answer, tuple):
            raise ExpressionError(node, field, expression, answer[0])
        return answer

    def _ask(self, expression: str, schema: Schema) -> Type | tuple[str]:
        from pyspark.errors import PySparkException

        parsed = Expression.parse(expression)
        try:
            if (spark := self._session()) is not self._asked:
                # The first question, or the first after a JVM died: frames of that JVM no longer work.
                self._asked, self._frames = spark, {}
            if schema not in self._frames:
                self._frames[schema] = without_rows(spark, schema)
            judged = self._typed(expression, schema)
            if not parsed.is_read:
                return ("it cannot be read. Complete it, simplify it, or quote names with backticks.",)
            # If the studio and Spark could tokenise the text differently, Spark must plan the checked text equally.
            same = parsed.same_words
            if same is not None and not (same and judged.sameSemantics(self._typed(same, schema))):
                return ("Spark would parse it differently from this check. Leave out comments and special characters.",)
        except PySparkException as error:
            if self._asked is not None and loss_of(self._asked, error) is not None:
                raise
            return (_unreadable(expression, error) or sentence_of(error),)
        return type_of_data(judged.schema.fields[-1].dataType)

    def _typed(self, expression: str, schema: Schema) -> DataFrame:
        """An expression beside the other columns, where aggregate functions are errors. Raises PySparkException."""
        from pyspark.sql import functions

        frame = self._frames[schema].select("*", functions.expr(expression).alias("__value"))
        frame.schema  # noqa: B018 - asks Spark
        return frame


def _judged(expression: str, schema: Schema) -> Type | tuple[str] | None:
    """The type of an expression, or why it is refused; None if Spark has to be asked."""
    parsed = Expression.parse(expression)
    if (refusal := parsed.refusal(schema)) is not None:
        return (refusal,)
    try:
        return parsed.type(schema)
    except UnresolvedColumn as error:
        return (str(error),)


def without_rows(spark: SparkSession, schema: Schema) -> DataFrame:
    """A frame with these columns. Unlike `createDataFrame`, it asks the server nothing: a quarter of a question."""
    from pyspark.sql import functions

    columns = (functions.lit(None).cast(str(column.type)).alias(column.name) for column in schema)
    return spark.range(0).select(*columns)


def _unreadable(expression: str, error: PySparkException) -> str | None:
    """What to do about an expression that Spark cannot parse, instead of its parser's message; None if it can."""
    if error.getCondition() != "PARSE_SYNTAX_ERROR":
        return None
    found = dict(error.getMessageParameters() or {})
    place = found.get("error", "").strip("'")
    if place != "end of input":
        return f"it cannot be read from {place!r} on. Leave that out, or write what is missing before it."
    if (missing := expression.count("(") - expression.count(")")) > 0:
        closed = "its parenthesis is closed" if missing == 1 else f"its {missing} parentheses are closed"
        return f"it ends before {closed}. Complete it."
    return f"it ends too early: something is missing after {shortened(expression.split()[-1], 40)!r}. Complete it."


def sentence_of(error: Exception) -> str:
    """Spark's message without its error class, query context, SQLSTATE and logical plan."""
    text = str(error)
    text = re.sub(r"^\s*\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.split(r"\s*SQLSTATE: |\n== SQL|;\s*line \d+ pos|\n\nJVM stacktrace|;\n'", text)[0]
    return " ".join(text.split())
