"""Type names as Spark, Flink and SQL write them."""

from __future__ import annotations

import pytest

from engine.model.schema import type_from


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
    ],
)
def test_names_mean_the_same_type(text: str, type_: str) -> None:
    assert type_from(text) == type_


@pytest.mark.parametrize("text", ["", "NUMBER", "DECIMAL(99,2)", "DECIMAL(2,5)", "ARRAY<X>", "INT(", "MAP<INT>"])
def test_an_unknown_name_is_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"unknown type|needs a key"):
        type_from(text)
