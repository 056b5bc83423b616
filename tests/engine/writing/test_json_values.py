"""Values as JSON, as Flink 2.3 wrote them with its connector filesystem and the format json."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from engine.model.type_texts import flink_type
from engine.writing.json_values import rows_as_json


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        ("BOOLEAN", True, "true"),
        ("TINYINT", -1, "-1"),
        ("BIGINT", 3, "3"),
        ("FLOAT", 1.1, "1.1"),
        ("FLOAT", 16777216.0, "1.6777216E7"),
        ("FLOAT", 1e-5, "1.0E-5"),
        ("FLOAT", float("-inf"), '"-Infinity"'),
        ("DOUBLE", 1e7, "1.0E7"),
        ("DOUBLE", 123456789.123, "1.23456789123E8"),
        ("DOUBLE", 0.001, "0.001"),
        ("DOUBLE", float("nan"), '"NaN"'),
        (
            "STRING",
            'a"\\/\n\té\u2028\U0001f600\x01\x1f<>&\x7f',
            '"a\\"\\\\/\\n\\té\u2028\\uD83D\\uDE00\\u0001\\u001F<>&\x7f"',
        ),
        ("DECIMAL(20, 8)", Decimal("0.00000001"), "1E-8"),
        ("DECIMAL(20, 8)", Decimal("-0.00000150"), "-0.0000015"),
        ("DECIMAL(20, 8)", Decimal("0.00000000"), "0"),
        ("DECIMAL(20, 8)", Decimal("100.50000000"), "100.5"),
        ("DECIMAL(38, 0)", Decimal("12345678901234567890123456789012345678"), "12345678901234567890123456789012345678"),
        ("DECIMAL(38, 0)", Decimal(10**30), "1E+30"),
        ("DATE", date(1, 1, 1), '"0001-01-01"'),
        ("TIMESTAMP(6)", datetime(1969, 12, 31, 23, 59, 59, 999999), '"1969-12-31 23:59:59.999999"'),  # noqa: DTZ001
        ("TIMESTAMP(6)", datetime(2024, 3, 10, 6, 59), '"2024-03-10 06:59:00"'),  # noqa: DTZ001
        ("TIMESTAMP_LTZ(3)", datetime(2024, 3, 10, 6, 59, 0, 120_000, UTC), '"2024-03-10 06:59:00.12Z"'),
        ("TIME(0)", time(1, 2, 3), '"01:02:03"'),
        ("BYTES", b"a", '"YQ=="'),
        ("BYTES", b"", '""'),
        ("ARRAY<INT>", [1, None], "[1,null]"),
        ("ARRAY<TIMESTAMP_LTZ(3)>", [datetime(2024, 3, 10, tzinfo=UTC)], '["2024-03-10 00:00:00Z"]'),
        ("MAP<STRING, DOUBLE>", [("", 1.0), ("k", None)], '{"":1.0,"k":null}'),
        ("ROW<x INT, y STRING>", {"x": None, "y": "z"}, '{"x":null,"y":"z"}'),
        ("STRING", None, "null"),
    ],
)
def test_a_value_is_written_as_flink_writes_it(type_: str, value: Any, wanted: str) -> None:
    known = flink_type(type_)
    table = pa.table({'a"b': pa.array([value], known.arrow)})
    assert rows_as_json(table, ['a"b'], [known]) == [f'{{"a\\"b":{wanted}}}']
