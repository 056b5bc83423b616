"""Types of expressions: Spark is asked about what the rules here do not know, and about what may be an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.errors import EngineUnavailable, ExpressionError
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import DATE, INT, STRING, quote
from engine.spark.analyzer import SparkAnalyzer
from tests.analyzing import analyzer_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = (
    *("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)"),
    *("date", "timestamp", "timestamp_ntz", "binary", "array<int>", "map<string,array<double>>"),
    "struct<`a b`:int,`c`:array<string>>",
)
TYPED = Schema(tuple(Column(f"c{at}", spark_type(type_)) for at, type_ in enumerate(TYPES)))
NAMES = Schema((Column("a", INT), Column("a.b", STRING), Column("a`b", DATE), Column("É", INT)))
CASES = Schema((Column("a", INT), Column("A", STRING), Column("b", DATE)))


def nobody() -> SparkSession:
    msg = "nobody was to ask Spark"
    raise EngineUnavailable(msg)


def typed(schema: Schema, expression: str, analyzer: SparkAnalyzer | None = None) -> str:
    return str((analyzer or SparkAnalyzer(nobody)).type_of(expression, schema, "node", "field"))


@pytest.mark.parametrize(("name", "type_"), [("a", "int"), ("a.b", "string"), ("a`b", "date"), ("É", "int")])
def test_a_column_in_backticks_is_no_question(name: str, type_: str) -> None:
    assert typed(NAMES, quote(name)) == type_
    assert typed(CASES, "`b`") == "date"


@pytest.mark.parametrize(
    ("expression", "type_"),
    [("a", "int"), ("`A`", "int"), ("`é`", "int"), ("`a` + 1.5", "decimal(12,1)"), ("'`a`'", "string"), ("1", "int")],
)
def test_what_the_rules_know_is_none_either(expression: str, type_: str) -> None:
    assert typed(NAMES, expression) == type_


@pytest.mark.parametrize("expression", ["`a`.`b`", "``", "a + '1'", "make_dt_interval(a)", "a /* + 1 */"])
def test_everything_else_is_one(expression: str) -> None:
    with pytest.raises(EngineUnavailable, match="nobody was to ask Spark"):
        typed(NAMES, expression)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("none", "none"),
        ("`none` + 1", "none"),
        ("upper(t.a)", "t.a"),
        ("CASE WHEN a > 1 THEN nobody END", "nobody"),
        ("aggregate(array(a), 0, (x, y) -> x + z)", "z"),
    ],
)
def test_an_unknown_column_is_told_with_those_there_are_and_without_spark(expression: str, name: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        typed(NAMES, expression)
    assert refused.value.reason == f"unknown column {name!r}. Available: a, a.b, a`b, É."


@pytest.mark.parametrize("column", TYPED, ids=TYPES)
def test_spark_says_the_same_of_every_type(column: Column, spark: SparkSession) -> None:
    assert typed(TYPED, f"({quote(column.name)})", analyzer_of(spark)) == typed(TYPED, quote(column.name))


def test_two_names_that_differ_in_case_are_ambiguous_to_spark(spark: SparkSession) -> None:
    with pytest.raises(ExpressionError, match="ambiguous"):
        typed(CASES, "`a`", analyzer_of(spark))


def test_without_columns_there_are_still_constants(spark: SparkSession) -> None:
    assert typed(Schema(()), "1 + 1", analyzer_of(spark)) == "int"


INCOMPLETE = [
    ("a +", "it ends too early: something is missing after '+'. Complete it."),
    ("a b c", "it cannot be read from 'c' on. Leave that out, or write what is missing before it."),
    ("(", "it ends before its parenthesis is closed. Complete it."),
    ("upper((a", "it ends before its 2 parentheses are closed. Complete it."),
    ("a and", "it cannot be read. Complete it, simplify it, or quote names with backticks."),
    ("", "it is empty. Write a Flink SQL expression over the columns."),
    ("'a", "it cannot be split into words. Look for a quote or a comment that is not closed."),
]


@pytest.mark.parametrize(("expression", "said"), INCOMPLETE)
def test_an_expression_that_is_not_complete_yet_says_what_is_missing(
    expression: str, said: str, spark: SparkSession
) -> None:
    with pytest.raises(ExpressionError) as refused:
        typed(NAMES, expression, analyzer_of(spark))
    assert refused.value.reason == said
