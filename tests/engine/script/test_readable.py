"""Expressions of documents as people read them."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.expressions.analyzer import TypeRules
from engine.model.schema import Column, Schema
from engine.model.types import INT, STRING, TIMESTAMP_NTZ, Array
from engine.script.readable import flink_instead, flink_of
from engine.sql.typed import spark_of

SCHEMA = Schema(
    (
        *(Column(name, INT) for name in ("a", "b", "EXPR$0")),
        *(Column(name, STRING) for name in ("s", "user")),
        Column("t", TIMESTAMP_NTZ),
        Column("l", Array(INT)),
    )
)


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("((`a` > 1) AND (`b` <= 2))", "a > 1 AND b <= 2"),
        ("((`a` > 1) OR ((`b` > 2) AND (`a` < 9)))", "a > 1 OR b > 2 AND a < 9"),
        ("(`a` > 1 OR `b` > 2) AND `a` < 9", "(a > 1 OR b > 2) AND a < 9"),
        ("(`a` - (`b` - 1)) * 2", "(a - (b - 1)) * 2"),
        ("CAST(`t` AS TIMESTAMP_NTZ)", "CAST(t AS TIMESTAMP(3))"),
        ("(CAST(`a` AS DOUBLE) / 2)", "CAST(a AS DOUBLE) / 2"),
        ("(`user` = 'it\\'s')", "`user` = 'it''s'"),
        ("(`EXPR$0` IS NULL)", "`EXPR$0` IS NULL"),
        ("try_element_at(l, 2)", "l[2]"),
        ("CAST(a div b AS INT)", "a / b"),
        ("s IS NOT NULL", "s IS NOT NULL"),
        ("a > 1  -- as typed", None),
        # What the same text means in Flink is something else.
        ("a / b", None),
        ("l[0]", None),
        ("CAST(s AS INT)", None),
        ("A > 1", None),
        ("UPPER( s )", "UPPER( s )"),
        ("a > (((", None),
        ("", None),
    ],
)
def test_spark_sql_is_shown_as_flink_sql_that_means_the_same_without_what_it_does_not_need(
    kept: str, shown: str | None
) -> None:
    assert flink_of(kept, SCHEMA) == shown


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("nvl(a, 0)", "COALESCE(a, 0)"),
        ("size(l)", "CARDINALITY(l)"),
        ('s = "x"', "s = 'x'"),
        ("timestamp_millis(a)", "TO_TIMESTAMP_LTZ(a, 3)"),
        ("array(1, 2)", "ARRAY[1, 2]"),
        # It is Flink SQL, or nobody's.
        ("a + 1", None),
        ("frob(a)", None),
    ],
)
def test_a_spelling_of_sparks_has_flink_sql_instead(typed: str, instead: str | None) -> None:
    assert flink_instead(typed, SCHEMA) == instead


NUMBERS = st.recursive(
    st.sampled_from(["`a`", "`b`", "3", "CAST(`a` AS BIGINT)", "abs(`b`)"]),
    lambda below: st.one_of(
        st.tuples(below, st.sampled_from(["+", "-", "*"]), below).map(lambda parts: f"({' '.join(parts)})"),
        below.map(lambda part: f"(- {part})"),
    ),
    max_leaves=6,
)
CONDITIONS = st.recursive(
    st.tuples(NUMBERS, st.sampled_from(["=", "<", "<>"]), NUMBERS).map(lambda parts: f"({' '.join(parts)})"),
    lambda below: st.one_of(
        st.tuples(below, st.sampled_from(["AND", "OR"]), below).map(lambda parts: f"({' '.join(parts)})"),
        below.map(lambda part: f"(NOT {part})"),
        below.map(lambda part: f"({part} IS NULL)"),
    ),
    max_leaves=4,
)


@given(st.one_of(NUMBERS, CONDITIONS), st.integers(-9, 9), st.integers(-9, 9))
def test_what_is_shown_computes_the_same(expression: str, a: int, b: int) -> None:
    shown = flink_of(expression, SCHEMA)
    assert shown is not None
    spark = spark_of(shown, SCHEMA, TypeRules())
    again = flink_of(spark, SCHEMA)
    assert again is not None
    assert spark_of(again, SCHEMA, TypeRules()) == spark
    query = f"SELECT {expression}, {spark} FROM (SELECT {a} AS a, {b} AS b)".replace("`", '"')
    [(kept, read_again)] = duckdb.sql(query).fetchall()
    assert kept == read_again
