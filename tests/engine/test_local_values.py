"""The values of expressions equal Spark's, and Spark is used only if Arrow cannot compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from engine.contract.frames import KIND, SEQ, STEP
from engine.contract.step import Keyed, KeyedInput
from engine.local.keyed import gather
from engine.model.row import Row
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, BOOLEAN, DOUBLE, INT, SMALLINT, STRING, TIMESTAMP, TIMESTAMP_NTZ
from engine.planner import NodePlan

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


def gathered(wanted: Sequence[str], where: str, spark: Callable[[], SparkSession]) -> list[tuple[int, Row]]:
    """The values of the records, as a replay has them, each with its event."""
    numbers = range(1, len(ROWS) + 1)
    position = {SEQ: pa.array(numbers), STEP: pa.array([b""] * len(ROWS)), KIND: pa.array([0] * len(ROWS), pa.int8())}
    table = pa.table(position | dict(zip(SCHEMA.names, records().columns, strict=True)))
    node = cast(NodePlan, SimpleNamespace(id="n", inputs=(SimpleNamespace(schema=SCHEMA),)))
    step = Keyed((KeyedInput((), tuple(wanted), where),), None)
    return [(item.seq, item.row) for _, item in gather(node, step, {0: table}, spark).records]


def plain(column: pa.ChunkedArray) -> list[Any]:
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()


@pytest.mark.parametrize("where", CONDITIONS)
def test_what_is_computed_here_or_in_spark_is_what_spark_says(where: str, spark: SparkSession) -> None:
    wanted = ("a", "b + 1", "unix_millis(CAST(at AS TIMESTAMP))", "timestamp_millis(a - pmod(a, 10))", "upper(s)", "d")
    found = gathered(wanted, where, lambda: spark)
    asked = spark.createDataFrame(records()).where(where).selectExpr(*wanted).toArrow()
    assert repr([row for _, row in found]) == repr(list(zip(*map(plain, asked.columns), strict=True)))


def test_a_condition_keeps_out_what_cannot_be_computed(spark: SparkSession) -> None:
    found = gathered(("7 div b", "a"), "b * 1.0 <> 0", lambda: spark)
    assert found == [(1, (3, 1)), (4, (-1, 7)), (5, (3, 1 << 40))]


def test_columns_need_no_spark() -> None:
    assert [row for _, row in gathered(("a", "at"), "a > 1", never)] == [
        (7, -1_000_001),
        (1 << 40, 1_700_000_000_123_456),
    ]
