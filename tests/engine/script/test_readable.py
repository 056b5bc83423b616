"""Expressions of documents as people read them."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.expressions.spellings import as_spark
from engine.model.schema import Column, Schema
from engine.model.types import INT, TIMESTAMP_NTZ
from engine.script.readable import readable

SCHEMA = Schema((Column("a", INT), Column("b", INT), Column("t", TIMESTAMP_NTZ)))


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("((`a` > 1) AND (`b` <= 2))", "a > 1 AND b <= 2"),
        ("((`a` > 1) OR ((`b` > 2) AND (`a` < 9)))", "a > 1 OR b > 2 AND a < 9"),
        ("(`a` > 1 OR `b` > 2) AND `a` < 9", "(a > 1 OR b > 2) AND a < 9"),
        ("(`a` - (`b` - 1)) * 2", "(a - (b - 1)) * 2"),
        ("CAST(`t` AS TIMESTAMP_NTZ)", "CAST(t AS TIMESTAMP(3))"),
        ("(CAST(`a` AS DOUBLE) / 2)", "CAST(a AS DOUBLE) / 2"),
        ("(`user` = 'it''s')", "`user` = 'it''s'"),
        ("(`EXPR$0` IS NULL)", "`EXPR$0` IS NULL"),
        ("a > 1  -- as typed", "a > 1  -- as typed"),
        ("UPPER( name )", "UPPER( name )"),
        ("a > (((", "a > ((("),
        ("", ""),
    ],
)
def test_an_expression_is_shown_in_flink_sql_without_what_it_does_not_need(kept: str, shown: str) -> None:
    assert readable(kept, SCHEMA) == shown


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
    shown = readable(expression, SCHEMA)
    assert readable(shown, SCHEMA) == shown
    query = f"SELECT {expression}, {as_spark(shown)} FROM (SELECT {a} AS a, {b} AS b)".replace("`", '"')
    [(kept, read_again)] = duckdb.sql(query).fetchall()
    assert kept == read_again
