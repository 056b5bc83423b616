"""Checks Spark SQL expressions before a run, with Spark's own analyzer, and gives their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from engine.errors import ExpressionError
from engine.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_IMPURE: Final = re.compile(
    r"\b(rand|randn|random|uuid|shuffle|randstr|uniform|current_timestamp|current_date|current_time|now|localtimestamp"
    r"|curdate|unix_timestamp\s*\(\s*\)|monotonically_increasing_id|spark_partition_id|input_file_name"
    r"|current_user|session_user|current_database|current_catalog|version)\b\s*(\(|$)?",
    re.IGNORECASE,
)

_BEYOND: Final = (
    (re.compile(r"\)\s*over\s*\(", re.IGNORECASE), "a window function"),
    (re.compile(r"\(\s*select\b", re.IGNORECASE), "a subquery"),
    (re.compile(r"\b((pos)?explode|inline)(_outer)?\s*\(", re.IGNORECASE), "a function that makes several rows"),
)


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
        if (impure := _impure_function(expression)) is not None:
            return (f"{impure}() gives another answer each time, and the same input must give the same changelog.",)
        if (foreign := _beyond_the_record(expression)) is not None:
            return (f"it has {foreign}, and an expression sees one record at a time.",)
        try:
            if (spark := self._session()) is not self._asked:
                # The first one, or the one after a JVM that died: frames of that one answer nothing more.
                self._asked, self._frames = spark, {}
            if ddl not in self._frames:
                self._frames[ddl] = spark.createDataFrame([], ddl)
            # Beside the other columns an aggregate function is an error, as it has to be here.
            found = self._frames[ddl].select("*", functions.expr(expression).alias("__value")).schema
        except PySparkException as error:
            return (sentence_of(error),)
        return found.fields[-1].dataType.simpleString()


def _beyond_the_record(expression: str) -> str | None:
    """What Spark would take in a SELECT, but what reads more than the record or makes several of it."""
    without_text = _without_text(expression)
    return next((name for pattern, name in _BEYOND if pattern.search(without_text)), None)


def _without_text(expression: str) -> str:
    return re.sub(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`", "''", expression)


def _impure_function(expression: str) -> str | None:
    for match in _IMPURE.finditer(_without_text(expression)):
        name = match.group(1).split("(")[0].strip().lower()
        bare = name in ("current_timestamp", "current_date", "current_time", "localtimestamp", "current_user")
        if match.group(2) == "(" or bare or "(" in match.group(1):
            return name
    return None


def sentence_of(error: Exception) -> str:
    """Spark's complaint without its error class, query context, SQLSTATE and logical plan."""
    text = str(error)
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.split(r"\s*SQLSTATE: |\n== SQL|;\s*line \d+ pos|\n\nJVM stacktrace|;\n'", text)[0]
    return " ".join(text.split())
