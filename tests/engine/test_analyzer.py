"""Types of expressions, and the sentences for those that have none: all without a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.errors import ExpressionError
from engine.expressions.analyzer import TypeRules
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import DATE, INT, STRING, quote
from tests.analyzing import types_on

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


def typed(schema: Schema, expression: str) -> str:
    return str(TypeRules().type_of(expression, schema, "node", "field"))


@pytest.mark.parametrize(("name", "type_"), [("a", "int"), ("a.b", "string"), ("a`b", "date"), ("É", "int")])
def test_a_column_in_backticks_has_its_type(name: str, type_: str) -> None:
    assert typed(NAMES, quote(name)) == type_
    assert typed(CASES, "`b`") == "date"


@pytest.mark.parametrize(
    ("expression", "type_"),
    [("a", "int"), ("`A`", "int"), ("`é`", "int"), ("`a` + 1.5", "decimal(12,1)"), ("'`a`'", "string"), ("1", "int")],
)
def test_an_expression_has_the_type_of_the_rules(expression: str, type_: str) -> None:
    assert typed(NAMES, expression) == type_


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("upper(array(a))", "'UPPER(ARRAY(a))' gives UPPER (ARRAY<INT>), but it takes (STRING)."),
        ("1 + length(`a``b` + array(1))", "cannot be computed of DATE and ARRAY<INT>."),
        ("CAST(`a``b` AS INT)", "there is no CAST of DATE as INT."),
        ("a AND TRUE", "is of INT and BOOLEAN, but conditions are true or false."),
        ("CASE WHEN TRUE THEN array(1) ELSE a END", "has values of different types. CAST them to one type."),
        ("CAST(a AS TEXT)", "unknown type 'TEXT'."),
        ("a /* + 1 */", "Leave out comments"),
        ("`a`.`b`", "cannot be computed"),
        ("(" * 2000 + "a" + ")" * 2000, "nested too deeply"),
    ],
)
def test_what_has_no_type_is_refused_with_a_sentence(expression: str, said: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        typed(NAMES, expression)
    assert said in refused.value.reason


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
def test_an_unknown_column_is_told_with_those_there_are(expression: str, name: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        typed(NAMES, expression)
    assert refused.value.reason == f"unknown column {name!r}. Available: a, a.b, a`b, É."


@pytest.mark.slow
def test_spark_says_the_same_of_every_type(spark: SparkSession) -> None:
    said = types_on(spark, TYPED, [quote(name) for name in TYPED.names])
    assert said == {quote(name): typed(TYPED, quote(name)) for name in TYPED.names}


def test_two_names_that_differ_in_case_are_ambiguous_to_spark() -> None:
    with pytest.raises(ExpressionError, match="ambiguous"):
        typed(CASES, "`a`")


def test_without_columns_there_are_still_constants() -> None:
    assert typed(Schema(()), "1 + 1") == "int"


INCOMPLETE = [
    ("a +", "it ends too early: something is missing after '+'. Complete it."),
    ("a b c", "it cannot be read from 'c' on. Leave that out, or write what is missing before it."),
    ("(", "it ends before its parenthesis is closed. Complete it."),
    ("upper((a", "it ends before its 2 parentheses are closed. Complete it."),
    ("a and", "it ends too early: something is missing after 'and'. Complete it."),
    ("", "it is empty. Write a Flink SQL expression over the columns."),
    ("'a", "it cannot be split into words. Look for a quote or a comment that is not closed."),
]


@pytest.mark.parametrize(("expression", "said"), INCOMPLETE)
def test_an_expression_that_is_not_complete_yet_says_what_is_missing(expression: str, said: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        typed(NAMES, expression)
    assert refused.value.reason == said
