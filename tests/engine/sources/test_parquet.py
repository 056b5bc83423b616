"""Parquet files on Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.contract.source import Source
from engine.errors import SourceError
from engine.reading.files import parquet_scan
from engine.sources.parquet import Parquet
from tests.engine.sources.reading import read, types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def with_a_name_of(name: bytes) -> bytes:
    """A file whose single column has this name of four bytes."""
    file = BytesIO()
    pq.write_table(pa.table({"kkkk": [1]}), file)
    return file.getvalue().replace(b"kkkk", name)


def write(folder: Path, columns: dict[str, Any], name: str = "in.parquet", **options: Any) -> None:
    pq.write_table(pa.table(columns), folder / name, **options)


def test_types_are_those_of_the_file(spark: SparkSession, tmp_path: Path) -> None:
    when = datetime(2024, 5, 1, 10, tzinfo=UTC)
    write(
        tmp_path,
        {
            "a b.c": pa.array([1]),
            "s": pa.array(["x"]),
            "z": pa.array([when], pa.timestamp("us", tz="UTC")),
            "n": pa.array([when.replace(tzinfo=None)], pa.timestamp("ms")),
            "d": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
            "l": pa.array([[1, 2]]),
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            "o": pa.array([{"x": 1}]),
            "u": pa.array([7], pa.uint32()),
        },
    )
    source = Parquet(path="in.parquet", event_time="z")
    assert types(source, tmp_path) == (
        "a b.c bigint, s string, z timestamp, n timestamp_ntz, d decimal(10,2), l array<bigint>, "
        "m map<string,int>, o string, u bigint"
    )
    day = "2024-05-01 10:00:00"
    expected = ("1", "x", day, day, "1.50", "[1, 2]", "{k -> 1}", '{"x":1}', "7")
    assert read(spark, source, tmp_path) == ([expected], [])


def test_rows_come_in_the_order_of_row_groups_and_files(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"n": list(range(5000))}, "b 1.parquet", row_group_size=100)
    write(tmp_path, {"n": [-2, -1]}, "a.parquet")
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    try:
        spark.conf.set("spark.sql.files.maxPartitionBytes", "4000")
        records, _ = read(spark, Parquet(path="."), tmp_path)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    assert records == [(str(n),) for n in range(-2, 5000)]


def test_a_value_that_does_not_fit_and_a_null_event_time_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"ts": [1, None, 3, 4], "v": ["1", "2", "x", "4"]})
    source = Parquet(path="in.parquet", event_time="ts", types={"v": "BIGINT"})
    records, rejected = read(spark, source, tmp_path)
    assert records == [("1", "1"), ("4", "4")]
    assert rejected == [
        ("in.parquet", 2, '{"v":"2"}', "column 'ts': the event time is null"),
        ("in.parquet", 3, '{"ts":3,"v":"x"}', "column 'v': \"x\" is not a BIGINT"),
    ]


def test_numbers_can_be_read_as_other_numbers(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"v": [1.0, 2.0]})
    assert read(spark, Parquet(path="in.parquet", types={"v": "INT"}), tmp_path) == ([("1",), ("2",)], [])


def test_an_empty_table_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"v": pa.array([], pa.int64())})
    assert read(spark, Parquet(path="in.parquet"), tmp_path) == ([], [])


EVERY_TYPE = {
    "t": pa.array([5, None, 7, 1 << 61, 9, 10], pa.int64()),
    "s": pa.array(["x", None, "", "ü", '"', "z"]),
    "z": pa.array([0, None, -1, 1_714_557_600_123_456, 86_399_999_999, 5], pa.timestamp("us", tz="Europe/Berlin")),
    "n": pa.array([0, None, -1, 1_714_557_600_123, 86_399_999, 5], pa.timestamp("ms")),
    "d": pa.array([Decimal("1.50"), None, Decimal("-0.01"), Decimal("0.00"), Decimal("12345678.90"), Decimal("1.00")]),
    "f": pa.array([1.5, None, -0.0, 2.5, float("nan"), float("inf")]),
    "g": pa.array([1.5, None, -0.0, 1.0, 2.0, 3.0], pa.float32()),
    "b": pa.array([True, None, False, True, False, True]),
    "y": pa.array([b"x", None, b"", b"\x00", b"q", b"z"]),
    "a": pa.array([0, None, -1, 19_000, 5, 6], pa.date32()),
    "u": pa.array([0, None, (1 << 64) - 1, 3, 4, 5], pa.uint64()),
    "w": pa.array(["p", None, "q", "p", "q", "p"]).dictionary_encode(),
    "i": pa.array([1, None, -128, 127, 5, 6], pa.int8()),
}


@pytest.mark.parametrize("row_group_size", [1, 4, 100])
def test_workers_read_what_spark_reads(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_group_size: int
) -> None:
    monkeypatch.setattr(parquet_scan, "PART_BYTES", 1)
    write(tmp_path, EVERY_TYPE, "a.parquet", row_group_size=row_group_size)
    write(tmp_path, {**EVERY_TYPE, "more": pa.array([1] * 6)}, "b.parquet", row_group_size=row_group_size)
    source = Parquet(path=".", event_time="t")
    scan = source.scan("n", tmp_path)
    assert scan is not None
    assert len(scan.parts) == 2 * -(-6 // row_group_size)
    records, rejected = read(spark, source, tmp_path)
    assert (len(records), len(rejected)) == (8, 4)
    monkeypatch.setattr(Parquet, "read", Source.read)
    assert read(spark, source, tmp_path) == (records, rejected)


@pytest.mark.parametrize(
    "source",
    [
        Parquet(path="in.parquet", types={"n": "STRING"}),
        Parquet(path="in.parquet", kind_column="k"),
        Parquet(path="nested.parquet"),
    ],
)
def test_what_is_more_than_plain_columns_is_left_to_spark(tmp_path: Path, source: Parquet) -> None:
    write(tmp_path, {"n": [1], "k": ["+I"]})
    write(tmp_path, {"n": [[1]]}, "nested.parquet")
    assert source.scan("n", tmp_path) is None


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.parquet": b"no"}, "a.parquet is not a Parquet file"),
        ({"a.parquet": with_a_name_of(b"k\xb1kk")}, "a.parquet is not a Parquet file"),
        (
            {"a.parquet": {"d": pa.array([1], pa.decimal256(70, 3))}},
            "is decimal256(70, 3), which cannot be read; write it as a decimal of at most 38 digits or text",
        ),
        ({"a.parquet": {"k": [1]}, "b.parquet": {"v": [1]}}, "b.parquet lacks the column 'k', which a.parquet has"),
        ({"a.parquet": {"k": [1]}, "b.parquet": {"k": ["x"]}}, "is string in b.parquet and bigint in a.parquet"),
        ({"a.parquet": {"k": [1], "K": [2]}}, "the columns 'k' and 'K' have the same name"),
        ({"a.parquet": {"t": pa.array([1], pa.timestamp("ns"))}}, "which cannot be read; write it as microseconds"),
    ],
)
def test_files_that_cannot_be_read_are_a_sentence(tmp_path: Path, files: dict[str, Any], sentence: str) -> None:
    for name, content in files.items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        else:
            write(tmp_path, content, name)
    with pytest.raises(SourceError) as caught:
        Parquet(path=".").derive("n", tmp_path)
    assert sentence in str(caught.value)
