"""The allowed functions and parts of expressions, by tokens and tree, compared with Spark's registry."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from engine.errors import ExpressionError
from engine.expressions.allowed import refusal
from engine.expressions.analyzer import TypeRules
from engine.expressions.spellings import as_spark
from engine.functions import ROWS
from engine.functions.spark import ALLOWED, REFUSED
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, INT, STRING
from tests.analyzing import types_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Operators that Spark's registry lists as functions. All of them are allowed.
OPERATORS = frozenset("! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~".split())  # noqa: SIM905

SCHEMA = Schema((Column("k", STRING), Column("n", BIGINT), Column("user", STRING), Column("from", INT)))

REFUSALS = [
    ("java_method('java.lang.System', 'getenv', 'HOME')", "java_method() calls Java"),
    ("k = REFLECT ('java.lang.System', 'getenv')", "reflect() calls Java"),
    ("coalesce(n, `try_reflect`('a', 'b'))", "try_reflect() calls Java"),
    ("system.builtin.reflect('a', 'b')", "reflect() calls Java"),
    ("builtin.upper(k)", "names a schema"),
    ("array(java_method('a', 'b'))[0]", "java_method() calls Java"),
    ("identifier('reflect')('a', 'b')", "there is no function `identifier`"),
    ("from_protobuf(k, 'A', '/etc/passwd')", "from_protobuf() may read files"),
    ("`rand`() > 0.5", "rand() gives another result each time"),
    ("rand(", "rand() gives another result each time"),
    ("n > unix_timestamp()", "unix_timestamp() without arguments"),
    ("`current_timestamp`", "current_timestamp() gives another result each time"),
    ("session_user = k", "session_user() tells of the engine"),
    ("k = timestamp'now'", "not a fixed date or time"),
    ("timestamp_ntz ' NOW UTC'", "not a fixed date or time"),
    ("date r'today'", "not a fixed date or time"),
    ("date'\\u0074oday'", "not a fixed date or time"),
    ("n = (/**/select max(value) from text.`/etc/passwd`)", "a subquery"),
    ("n in (from text.`/etc/passwd`)", "a subquery"),
    ("n = (values 1)", "a subquery"),
    ("array((table t))[0]", "a subquery"),
    ("exists(with x as (select 1) from x)", "a subquery"),
    ("(map (k) using 'cat' as x from t)", "a subquery"),
    ("sum(n) OVER (PARTITION BY k)", "sum() aggregates several rows"),
    ("n over ()", "a window function"),
    ("upper(k) OVER (ORDER BY n)", "a window function"),
    ("lag(n) IGNORE NULLS OVER (ORDER BY n)", "lag() looks at several rows"),
    ("explode(array(1))", "explode() makes several rows"),
    ("posexplode_outer (array(1))", "posexplode_outer() makes several rows"),
    ("n = :limit", "a parameter"),
    ("uper(k)", "there is no function `uper`. Did you mean upper()?"),
    ("k = 'open", "cannot be split into words"),
]


@pytest.mark.parametrize(("expression", "sentence"), REFUSALS)
def test_what_is_not_allowed_is_refused_by_name(expression: str, sentence: str) -> None:
    assert sentence in (refusal(expression, SCHEMA) or "")


@pytest.mark.parametrize(
    "expression",
    [
        "user = 'rand()' and `from` > 1",
        "n /* rand() */ > 1 -- now()",
        "s.user or struct(k AS user).user",
        "trim(BOTH 'x' FROM k) || extract(DAY FROM date'2024-01-31') || position('a' IN k) || `user`",
        "transform(array(1, 2), (x, i) -> x + i)[0] > 1 AND k LIKE ANY ('a%', 'b')",
        "CAST(k AS DECIMAL(10, 2)) BETWEEN 1 AND (2) OR k RLIKE r'\\d' OR (map(1, k))[1] IS NULL",
        "overlay(k PLACING 'x' FROM 2 FOR 3) IS NOT DISTINCT FROM k",
        "unix_timestamp(k) + timestampdiff(DAY, k, k)",
        "CASE WHEN (n) > 1 THEN (k) ELSE (k) END",
        "interval '1' day + interval (n) day",
        "CAST(k AS struct<user: string>)",
    ],
)
def test_what_depends_on_the_record_alone_is_allowed(expression: str) -> None:
    assert refusal(expression, SCHEMA) is None


def test_every_function_of_the_registry_is_allowed_or_refused_by_name(spark: SparkSession) -> None:
    registry = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert ALLOWED | OPERATORS | set(REFUSED) == registry
    assert not ALLOWED & set(REFUSED)


def test_what_flink_sql_becomes_is_allowed() -> None:
    # The Spark form of the others depends on their arguments.
    for row in (row for row in ROWS if row.spark is not None):
        for count in (row.least, row.most or row.least + 1):
            text = row.written(["k", "n", "n"][:count])
            assert refusal(text, SCHEMA) is None, row.name


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n /* one /* two */ */ + 1 -- it's three", "bigint"),
        ("concat(k, 'größer', '\\'', \"it's\", r'\\')", "string"),
        ("k = '100\\%'\t\n", "boolean"),
        ("n\u00a0+ 1", "bigint"),
        ("/*+ hint */ n", "bigint"),
    ],
)
def test_spark_reads_the_words_that_were_judged(spark: SparkSession, expression: str, expected: str) -> None:
    given = as_spark(expression)
    assert str(TypeRules().type_of(given, SCHEMA, "x", "condition")) == expected
    assert types_on(spark, SCHEMA, [given]) == {given: expected}


@pytest.mark.parametrize("expression", ["größe", "n + 1 \\", "n # 1"])
def test_what_the_two_could_read_differently_is_refused(expression: str) -> None:
    schema = Schema((*SCHEMA, Column("größe", INT)))
    with pytest.raises(ExpressionError):
        TypeRules().type_of(as_spark(expression), schema, "x", "condition")


def test_a_text_is_not_replaced_by_what_the_environment_holds(spark: SparkSession) -> None:
    assert os.environ["PATH"]
    frame = spark.range(1).selectExpr("'${env:PATH}' AS a", "'${spark:spark.app.name}' AS b")
    assert frame.first() == ("${env:PATH}", "${spark:spark.app.name}")
