"""Binary rows: the bytes and hashes equal those of Flink's BinaryRowData."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engine.model.binary_row import hash_of, row_encoder
from engine.model.type_texts import spark_type
from engine.model.types import INT, STRING, Array

ROWS: list[tuple[str, tuple[Any, ...], str, int]] = [
    (
        "string string int bigint boolean double float decimal(10,2) decimal(30,1) string timestamp smallint",
        (
            "abc",
            "a longer text",
            -5,
            1 << 40,
            True,
            -0.25,
            1.5,
            Decimal("-1.25"),
            Decimal("123456789012345678901.5"),
            None,
            1700000000123000,
            -2,
        ),
        "0000020000000000"
        "6162630000000083"
        "0d00000068000000"
        "fbffffff00000000"
        "0000000000010000"
        "0100000000000000"
        "000000000000d0bf"
        "0000c03f00000000"
        "83ffffffffffffff"
        "0900000078000000"
        "0000000000000000"
        "7b68e5cf8b010000"
        "feff000000000000"
        "61206c6f6e676572"
        "2074657874000000"
        "42ed123b0bd8203a"
        "1700000000000000",
        117447410,
    ),
    ("string int", ("Äb", None), "0002000000000000c3846200000000830000000000000000", 719398843),
    ("decimal(30,0)", (None,), "0001000000000000000000001000000000000000000000000000000000000000", 2914663410),
    ("decimal(30,0)", (Decimal(-129),), "00000000000000000200000010000000ff7f0000000000000000000000000000", 4190127555),
]


@pytest.mark.parametrize(("types", "row", "written", "hashed"), ROWS)
def test_a_row_has_the_bytes_and_the_hash_that_flink_gives_it(
    types: str, row: tuple[Any, ...], written: str, hashed: int
) -> None:
    encode = row_encoder(list(map(spark_type, types.split())))
    assert encode is not None
    assert encode(row).hex() == written
    assert hash_of(encode(row)) == hashed


def test_a_list_has_no_bytes_that_are_known() -> None:
    assert row_encoder([STRING, Array(INT)]) is None
