"""Type names in Spark, Flink and SQL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.model.row_values import to_pylist
from engine.model.type_texts import type_from


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("STRING", "string"),
        ("VARCHAR(20)", "string"),
        ("Integer", "int"),
        ("BIGINT NOT NULL", "bigint"),
        ("double precision", "double"),
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("numeric(5)", "decimal(5,0)"),
        ("decimal", "decimal(10,0)"),
        ("TIMESTAMP", "timestamp"),
        ("TIMESTAMP(3)", "timestamp_ntz"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "timestamp_ntz"),
        ("TIMESTAMP_LTZ(3)", "timestamp"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("ARRAY<VARCHAR(5)>", "array<string>"),
        ("MAP<STRING, DECIMAL(10, 2)>", "map<string,decimal(10,2)>"),
        ("BYTES", "binary"),
        ("ROW<a INT, `b c` STRING NOT NULL> NOT NULL", "struct<`a`:int,`b c`:string>"),
        ("ROW(Id BIGINT COMMENT 'a, b', r ROW<x DATE>)", "struct<`Id`:bigint,`r`:struct<`x`:date>>"),
        ("ARRAY<ROW<a DECIMAL(10, 2)>>", "array<struct<`a`:decimal(10,2)>>"),
        ("MAP<STRING, struct<a:int>>", "map<string,struct<`a`:int>>"),
    ],
)
def test_names_mean_the_same_type(text: str, type_: str) -> None:
    assert str(type_from(text)) == type_


def test_a_row_is_written_as_flink_writes_it() -> None:
    type_ = type_from("row<a int, `b``,:c` array<row<d timestamp(3)>>>")
    assert type_.flink == "ROW<`a` INT, `b``,:c` ARRAY<ROW<`d` TIMESTAMP(3)>>>"
    assert type_from(type_.flink) == type_


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ROW<>", "a ROW needs a field"),
        ("ROW<a>", "the field 'a' of a ROW needs a name and a type"),
        ("ROW<a INT, a STRING>", "a ROW has two fields 'a'"),
        ("ROW<a NUMBER>", "unknown type"),
        ("LIST<ROW<a INT>>", "unknown type"),
    ],
)
def test_a_row_without_names_or_types_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        type_from(text)


def test_rows_are_tuples_at_any_depth() -> None:
    type_ = type_from("ARRAY<ROW<a INT, m MAP<STRING, ROW<b STRING>>>>").arrow
    column = pa.array([[{"a": 1, "m": [("k", {"b": "x"}), ("l", None)]}, None], None], type_)
    assert to_pylist(column) == [[(1, [("k", ("x",)), ("l", None)]), None], None]


@pytest.mark.parametrize("text", ["", "NUMBER", "DECIMAL(99,2)", "DECIMAL(2,5)", "ARRAY<X>", "INT(", "MAP<INT>"])
def test_an_unknown_name_is_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"unknown type|needs a key"):
        type_from(text)
