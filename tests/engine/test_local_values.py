"""The values of expressions equal Spark's, and Spark is used only if Arrow cannot compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from engine.local.values import plain_values, select
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, BOOLEAN, DOUBLE, INT, SMALLINT, STRING, TIMESTAMP, TIMESTAMP_NTZ

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema(
    (
        Column("a", BIGINT),
        Column("b", INT),
        Column("s", STRING),
        Column("flag", BOOLEAN),
        Column("at", TIMESTAMP),
        Column("local_at", TIMESTAMP_NTZ),
        Column("d", DOUBLE),
        Column("odd `name`", SMALLINT),
    )
)
ROWS = [
    (1, 2, "x", True, 1_500, 1_500, 1.5, 3),
    (-1, None, "é", False, -1, -1_001, float("nan"), -3),
    (None, 0, None, None, None, None, None, None),
    (7, -7, "y'", True, -1_000_001, 86_400_000_000, -0.0, 0),
    (1 << 40, 2, "X", None, 1_700_000_000_123_456, 0, 2.0, 1),
]
CONDITIONS = ("a > 1", "coalesce(a > 1, FALSE)", "upper(s) = 'X'", "d > 1", "a IS NOT NULL AND b * 1.0 < 3")


def records() -> pa.Table:
    def column(at: int, type_: pa.DataType) -> pa.Array:
        values = [row[at] for row in ROWS]
        return pa.array(values, pa.int64()).cast(type_) if pa.types.is_timestamp(type_) else pa.array(values, type_)

    return pa.table({each.name: column(at, each.type.arrow) for at, each in enumerate(SCHEMA)})


def never() -> SparkSession:
    raise AssertionError


@pytest.mark.parametrize("where", CONDITIONS)
def test_what_is_computed_here_or_in_spark_is_what_spark_says(where: str, spark: SparkSession) -> None:
    wanted = ("a", "b + 1", "unix_millis(CAST(at AS TIMESTAMP))", "timestamp_millis(a - pmod(a, 10))", "upper(s)", "d")
    found = select(wanted, SCHEMA, records(), lambda: spark, where=where)
    asked = spark.createDataFrame(records()).where(where).selectExpr(*wanted).toArrow()
    told = [plain_values(found.columns[each]) for each in wanted]
    assert repr(told) == repr([plain_values(column) for column in asked.columns])
    assert found.records.column("odd `name`").to_pylist() == [
        row[0] for row in spark.createDataFrame(records()).where(where).select("`odd ``name```").collect()
    ]


def test_a_condition_keeps_out_what_cannot_be_computed(spark: SparkSession) -> None:
    found = select(("7 div b", "a"), SCHEMA, records(), lambda: spark, where="b * 1.0 <> 0")
    assert {text: column.to_pylist() for text, column in found.columns.items()} == {
        "7 div b": [3, -1, 3],
        "a": [1, 7, 1 << 40],
    }
