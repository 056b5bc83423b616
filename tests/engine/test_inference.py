"""Types of expressions without Spark: every answer is Spark's, over all types, for every operator and function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.expressions.inference import inferred
from engine.expressions.parsing import tree_if_readable
from engine.expressions.signatures import signatures
from engine.expressions.untyped import UnresolvedColumn, Untyped
from engine.functions.spark import ALLOWED
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import Type
from tests.analyzing import types_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = (
    *("string", "boolean", "tinyint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(38,18)"),
    *("date", "timestamp", "timestamp_ntz", "binary", "array<int>", "array<string>", "array<decimal(5,2)>"),
    *("map<string,int>", "struct<`a`:int,`b`:string>", "array<array<int>>", "time(3)", "void"),
)
SCHEMA = Schema(tuple(Column(f"c{at}", spark_type(type_)) for at, type_ in enumerate(TYPES[:-1])))
VALUES = (*SCHEMA.names, "NULL", "1", "1.5", "'a'")
OF_TYPE = dict(zip(TYPES, VALUES, strict=False))

# `type | expression`, below the columns: what the planner asks while it reads Flink's cases.
CASES = Path(__file__).with_name("expressions.txt")
PAIRS = (
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "{0} div {1}", "{0} & {1}", "{0} || {1}"),
    *("{0} = {1}", "{0} < {1}", "{0} <=> {1}", "{0} IN ({1})", "{0} BETWEEN {1} AND {0}", "{0} AND {1}"),
    *("{0} LIKE {1}", "{0} RLIKE {1}", "CASE WHEN TRUE THEN {0} ELSE {1} END", "CASE {0} WHEN {1} THEN 1 END"),
    *("if(NULL, {0}, {1})", "greatest({0}, {1})", "nullif({0}, {1})", "concat({0}, {1})", "array({0}, {1})"),
    *("{0}[{1}]", "map({0}, {1})", "mod({0}, {1})"),
)
SINGLES = (
    *("-{0}", "NOT {0}", "{0} IS NULL", "{0} IS TRUE", "floor({0})", "ceil({0}, 1)", "floor({0}, -1)", "round({0})"),
    *("round({0}, 1)", "round({0}, -1)", "bround({0}, 2)", "trim({0})", "trim(BOTH 'a' FROM {0})", "{0}.a"),
    *("extract(SECOND FROM {0})", "extract(DAY FROM {0})", "{0} + INTERVAL '1' DAY", "{0} - INTERVAL '1' MONTH"),
    *("INTERVAL '1' SECOND + {0}", "{0} * INTERVAL '1' DAY", "{0} * INTERVAL '1' MONTH", "substring({0}, 1)"),
    *("substring({0}, 1, 2)", "position('a' in {0})", "overlay({0} placing 'a' from 1)", "struct({0} AS x, 1)"),
    *("named_struct('x', {0})", "timestampadd(DAY, 1, {0})", "timestampdiff(DAY, c9, {0})", "{0}['a']"),
    *("timestampadd(HOUR, {0}, c10)", "transform({0}, (x, i) -> i)", "filter({0}, x -> x IS NULL)", "concat({0})"),
    *("exists({0}, x -> x IS NULL)", "aggregate({0}, 0, (x, y) -> x)", "map_filter({0}, (k, v) -> v = 1)"),
    *("double({0})", "string({0})", "timestamp({0})", "boolean({0})", "concat_ws(',', {0})", "make_interval({0})"),
    *(f"{cast}({{0}} AS {type_})" for cast in ("CAST", "TRY_CAST") for type_ in TYPES[:-1]),
)
PLAIN = (
    *("INTERVAL '1' WEEK", "INTERVAL '1.5' SECOND", "INTERVAL '1 02:03:04' DAY TO SECOND", "INTERVAL 3 DAYS"),
    *("INTERVAL '1-2' YEAR TO MONTH", "1L", "1.5BD", "1e3", "0.25", "12345678901", "123456789012345678901", "X'1F'"),
    *("DATE '2024-01-31'", "TIMESTAMP '2024-01-31 10:00:00'", "CAST('a' AS DECIMAL)", "r'\\d'", "-3 + c7"),
    *("try_variant_get(parse_json('1'), '$', 'int')", "from_json(c0, 'array<string>')", "c17.a", "C17.B"),
    *("array(c17)[0].b", "c7 + 1", "c7 * 100", "c9 - c9", "c10 - c11", "DATE 'soon'", "CAST(c0 AS TEXT)", "none"),
    *("CAST(c10 AS TIMESTAMPNTZ)", "CAST(c0 AS VARCHAR(3))", "INTERVAL '1:2' DAY", "c0.x"),
)


def canonical(parameter: Type) -> str:
    """A value for a parameter of a signature."""
    of_words = {
        **{"any": "c0", "Number": "c3", "text": "c0", "hexed": "c4", "instant": "c10", "moment": "c11", "day": "c9"},
        **{"sized": "c13", "object": "c17", "T": "c3", "E": "c3", "K": "c0", "V": "c3", "count": "c3", "index": "c3"},
        **{"whole": "c4", "variant": "parse_json('1')", "map<characters,characters>": "map('a', 'b')", "row": "c17"},
        **{"characters": "c0", "bytes": "c12", "days": "c3", "wide": "c4", "hashed": "c0"},
    }
    text = str(parameter)
    for letter, type_ in (("T", "int"), ("E", "int"), ("K", "string"), ("V", "int")):
        text = re.sub(rf"(?<=[<,]){letter}(?=[>,])", type_, text)
    return of_words.get(text) or OF_TYPE.get(text) or "c7"


def calls() -> Iterator[str]:
    """Every function with as many arguments as it takes, each in turn of every type."""
    for name, shapes in signatures().items():
        for shape in shapes:
            whole = [canonical(parameter) for parameter in shape.parameters]
            for count in range(shape.least, len(whole) + 1):
                yield f"{name}({', '.join(whole[:count])})"
            for at, value in product(range(len(whole)), VALUES):
                yield f"{name}({', '.join((*whole[:at], value, *whole[at + 1 :]))})"


UNRESOLVED = "cannot be resolved"


def typed(text: str, schema: Schema = SCHEMA) -> str | None:
    """The type of an expression; None if it is refused."""
    try:
        return None if tree_if_readable(text) is None else str(inferred(text, schema))
    except Untyped:
        return None


def said(text: str) -> str | None:
    """The type of an expression, or that it names a column that is not there."""
    try:
        return typed(text)
    except UnresolvedColumn:
        return UNRESOLVED


def wrong(expressions: Sequence[str], spark: SparkSession) -> list[tuple[str, str, str]]:
    """The expressions with another type here than in Spark."""
    known = {text: type_ for text in dict.fromkeys(expressions) if (type_ := said(text)) is not None}
    assert known
    found = types_on(spark, SCHEMA, list(known))
    alike = {text: UNRESOLVED if UNRESOLVED in type_ else type_ for text, type_ in found.items()}
    return [(text, type_, found[text]) for text, type_ in known.items() if alike[text] != type_]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PAIRS)
def test_of_two_values_it_is_what_spark_says(pattern: str, spark: SparkSession) -> None:
    assert wrong([pattern.format(one, other) for one, other in product(VALUES, VALUES)], spark) == []


@pytest.mark.slow
def test_of_one_value_it_is_what_spark_says(spark: SparkSession) -> None:
    assert wrong([pattern.format(value) for pattern in SINGLES for value in VALUES], spark) == []
    assert wrong(PLAIN, spark) == []


@pytest.mark.slow
def test_of_what_the_cases_of_flink_ask_it_is_what_spark_says(spark: SparkSession) -> None:
    columns, *cases = CASES.read_text().splitlines()
    names = (column.partition(" ") for column in columns.removeprefix("# ").split(", "))
    schema = Schema(tuple(Column(name, spark_type(type_)) for name, _, type_ in names))
    expected = {text: type_ for type_, _, text in (case.partition(" | ") for case in cases)}
    assert {text: typed(text, schema) for text in expected} == expected
    assert types_on(spark, schema, list(expected)) == expected


@pytest.mark.slow
def test_of_a_function_it_is_what_spark_says(spark: SparkSession) -> None:
    assert wrong(list(calls()), spark) == []


def test_every_function_with_a_type_is_allowed() -> None:
    assert signatures().keys() <= ALLOWED


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("c7 * 100", "decimal(9,2)"),
        ("CASE WHEN c3 > 1 THEN c4 ELSE 1 END", "bigint"),
        ("coalesce(regexp_extract(c0, 'a', 0), 'none')", "string"),
        ("aggregate(c13, CAST(0 AS BIGINT), (sum, x) -> sum + x)", "bigint"),
        ("map_entries(c16)", "array<struct<`key`:string,`value`:int>>"),
        ("(c10 + INTERVAL '5' MINUTE) <= c11", "boolean"),
    ],
)
def test_what_users_write_needs_no_spark(expression: str, type_: str) -> None:
    assert typed(expression) == type_


@pytest.mark.parametrize(
    "expression",
    [
        *("c0 + c9", "c13 = c15", "upper(c13)", "date 'soon'", "unheard_of(c0)", "CAST(c10 AS TIMESTAMPNTZ)"),
        *("NOT c3", "c13 LIKE 'a'", "CAST(c9 AS INT)", "CASE WHEN c0 THEN 1 END", "substring(c0, c9)"),
    ],
)
def test_what_spark_refuses_or_nobody_knows_has_no_type(expression: str) -> None:
    assert typed(expression) is None
