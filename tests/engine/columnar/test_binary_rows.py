"""The columnar sort order of rows is the order of their bytes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.binary_rows import has_order, sort_keys
from engine.model.binary_row import row_encoder
from engine.model.type_texts import spark_type
from engine.model.types import INT

# Kernels get timestamps as microseconds.
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "smallint": (pa.int16(), st.integers(-(1 << 15), (1 << 15) - 1)),
    "int": (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    "bigint": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-300, 300)),
    "date": (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    "timestamp": (pa.int64(), st.integers(-(1 << 50), 1 << 50)),
    "decimal(12,2)": (
        pa.decimal128(12, 2),
        st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    ),
    "string": (pa.string(), st.text("abzé\x00", max_size=20)),
    "binary": (pa.binary(), st.binary(max_size=20)),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Types, and rows of these types: few values, so that some rows have equal first columns."""
    types = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))
    pools = [draw(st.lists(st.none() | TYPES[type_][1], min_size=1, max_size=5)) for type_ in types]
    return types, draw(st.lists(st.tuples(*map(st.sampled_from, pools)), max_size=12))


def order(types: list[str], rows: list[tuple[Any, ...]], skipped: int = 0) -> list[int]:
    columns = [pa.array([row[at] for row in rows], TYPES[type_][0])[skipped:] for at, type_ in enumerate(types)]
    first = np.arange(len(rows) - skipped)
    return np.lexsort((first, *reversed(sort_keys(columns, list(map(spark_type, types)))))).tolist()


def coded(types: list[str], row: tuple[Any, ...]) -> bytes:
    encode = row_encoder(list(map(spark_type, types)))
    assert encode is not None
    code = encode(row)
    return len(code).to_bytes(4) + code


@given(tables())
def test_rows_come_in_the_order_of_their_bytes(given: tuple[list[str], list[tuple[Any, ...]]]) -> None:
    types, rows = given
    assert order(types, rows) == sorted(range(len(rows)), key=lambda at: coded(types, rows[at]))
    assert order(types, rows, 1) == sorted(range(len(rows) - 1), key=lambda at: coded(types, rows[at + 1])) or not rows


@pytest.mark.parametrize("columns", [70])
def test_marks_of_many_columns_take_several_words(columns: int) -> None:
    types = ["bigint"] * columns
    rows = [tuple(None if at == missing else 0 for at in range(columns)) for missing in (69, 0, 55, 56, 63, -1, 64)]
    assert order(types, rows) == sorted(range(len(rows)), key=lambda at: coded(types, rows[at]))


def test_floating_point_and_what_has_no_code_of_one_word_have_no_order_here() -> None:
    assert has_order(list(map(spark_type, TYPES)))
    assert not any(has_order([INT, spark_type(type_)]) for type_ in ("float", "double", "decimal(19,0)", "array<int>"))
