"""Hashes of records: equal for equal values of any type, and different where any value differs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from engine.runtime.edges.event_hashes import row_hashes

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [0, 1, -1, 2**62],
    pa.int8(): [0, 1, -1, 127],
    pa.bool_(): [True, False],
    pa.float64(): [0.0, 1.0, -1.5, float("inf")],
    pa.float32(): [0.0, 1.0, -1.5],
    pa.string(): ["", "0", "a", "ä", "NULL"],
    pa.binary(): [b"", b"0", b"\xff"],
    pa.date32(): [date(1970, 1, 1), date(2024, 2, 29)],
    pa.timestamp("us", "UTC"): [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)],
    pa.decimal128(38, 6): [Decimal(0), Decimal("0.000001"), Decimal(10**30)],
    pa.list_(pa.int64()): [[], [0], [1, 2], [2, 1], [None]],
    pa.struct([("a", pa.int64()), ("b", pa.string())]): [{"a": 1, "b": "x"}, {"a": None, "b": "x"}],
    pa.map_(pa.string(), pa.int64()): [[], [("a", 1)], [("a", 2)]],
}


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_each_value_and_null_has_a_hash_of_its_own(type_: pa.DataType) -> None:
    values = [*VALUES[type_], None]
    once = row_hashes(0, [pa.array(values, type_)]).tolist()
    assert len(set(once)) == len(values)
    twice = row_hashes(0, [pa.array([*reversed(values), *values], type_)]).tolist()
    assert twice == [*reversed(once), *once], "wherever it is"
    assert row_hashes(0, [pa.array(values, type_).slice(1)]).tolist() == once[1:]


def test_the_column_the_sink_and_the_order_of_values_count() -> None:
    one, two = pa.array([1, 2]), pa.array([2, 1])
    rows = {*row_hashes(0, [one, two]).tolist(), *row_hashes(1, [one, two]).tolist(), *row_hashes(0, [one]).tolist()}
    assert len(rows) == 6
