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
def test_row_groups_are_read_apart(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_group_size: int
) -> None:
    monkeypatch.setattr(parquet_scan, "PART_BYTES", 1)
    write(tmp_path, EVERY_TYPE, "a.parquet", row_group_size=row_group_size)
    write(tmp_path, {**EVERY_TYPE, "more": pa.array([1] * 6)}, "b.parquet", row_group_size=row_group_size)
    source = Parquet(path=".", event_time="t")
    assert len(source.scan("n", tmp_path).parts) == 2 * -(-6 // row_group_size)
    records, rejected = read(spark, source, tmp_path)
    assert (len(records), len(rejected)) == (8, 4)
    names = list(EVERY_TYPE)
    frame = spark.read.parquet(str(tmp_path / "a.parquet")).where(f"t <> {1 << 61}").select(names)
    texts = [tuple(row) for row in frame.selectExpr(*(f"CAST({name} AS STRING)" for name in names)).collect()]
    assert sorted(records) == sorted(2 * texts)


def rows(source: Parquet, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The records, and the rejected rows: the row, the reason."""
    scan = source.scan("n", folder)
    reads = [part for each in scan.parts for part in scan.read(each)]
    records = [record for part in reads for record in part.records.to_pylist(maps_as_pydicts="strict")]
    return records, [f"{each.raw} {each.reason}" for part in reads for each in part.rejected]


BIG = 1 << 40
NOT_A = "column 'v'{2}: \"{0}\" is not {1}"
INSTANT = datetime(2024, 5, 1, 10, 0, 0, 500_000, UTC)


@pytest.mark.parametrize(
    ("values", "declared", "read_as", "refused"),
    [
        (pa.array([1.7, -2.5, 1e10, None]), "INT", [1, -2, None], [("1.0E10", "an INT")]),
        (pa.array([float("nan"), float("inf")]), "BIGINT", [], [("NaN", "a BIGINT"), ("Infinity", "a BIGINT")]),
        (pa.array([1.5, 99.95]), "DECIMAL(3, 1)", [Decimal("1.5")], [("99.95", "a DECIMAL(3, 1)")]),
        (pa.array([300, 5], pa.int64()), "TINYINT", [5], [("300", "a TINYINT")]),
        (pa.array([Decimal("1.55"), Decimal("-2.45")]), "INT", [1, -2], []),
        (pa.array([Decimal("1.55"), Decimal("-2.45")]), "DECIMAL(3, 1)", [Decimal("1.6"), Decimal("-2.5")], []),
        (pa.array([1.5, BIG]), "FLOAT", [1.5, float(BIG)], []),
        (pa.array([1.1], pa.float32()), "DOUBLE", [1.100000023841858], []),
        (pa.array([1.1, 1e-5, 3e8, 2.0], pa.float32()), "STRING", ["1.1", "1.0E-5", "3.0E8", "2.0"], []),
        (pa.array([0.001, 1e7, 1234567.5, -0.0]), "STRING", ["0.001", "1.0E7", "1234567.5", "-0.0"], []),
        (pa.array([INSTANT], pa.timestamp("us", "Europe/Berlin")), "STRING", ["2024-05-01 10:00:00.5"], []),
        (pa.array([INSTANT.replace(microsecond=0)], pa.timestamp("s")), "STRING", ["2024-05-01 10:00:00"], []),
        (pa.array([INSTANT], pa.timestamp("us")), "TIMESTAMP_LTZ(3)", [INSTANT], []),
        (pa.array([19_000, None], pa.date32()), "STRING", ["2022-01-08", None], []),
        (pa.array([True, False]), "STRING", ["true", "false"], []),
        (pa.array(["yes", "x"]).dictionary_encode(), "BOOLEAN", [True], [("x", "a BOOLEAN")]),
        (pa.array([5]), "TIMESTAMP(3)", [datetime.fromtimestamp(0.005, UTC).replace(tzinfo=None)], []),
        (pa.array([[1, None], None]), "STRING", ["[1,null]", None], []),
        (pa.array([[1, 300]]), "ARRAY<TINYINT>", [], [("300", "a TINYINT", ", [2]")]),
        (pa.array([[{"x": 1, "y": None}]]), None, [['{"x":1}']], []),
        (pa.array([[("k", None)]], pa.map_(pa.string(), pa.int32())), None, [{"k": None}], []),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())), "MAP<STRING, BIGINT>", [{"k": 1}], []),
        (pa.array([{"x": 1, "s": "a"}, {"x": None, "s": ""}]), "ROW<`x` INT>", [{"x": 1}, {"x": None}], []),
        (
            pa.array([{"t": INSTANT, "d": Decimal("1.50"), "f": float("nan"), "b": b"a", "e": {"z": None}}]),
            None,
            ['{"t":"2024-05-01T10:00:00.500Z","d":1.50,"f":"NaN","b":"YQ==","e":{}}'],
            [],
        ),
    ],
)
def test_values_are_read_in_a_declared_type(
    tmp_path: Path, values: pa.Array, declared: str | None, read_as: list[Any], refused: list[tuple[str, ...]]
) -> None:
    """The answers are those of Spark's reader, which read them before, but for lists of structs, which it rejected."""
    write(tmp_path, {"v": values})
    source = Parquet(path="in.parquet", types={} if declared is None else {"v": declared})
    records, rejected = rows(source, tmp_path)
    assert [record["v"] for record in records] == read_as
    assert [each.split(" ", 1)[1] for each in rejected] == [NOT_A.format(*each, "") for each in refused]


def test_rows_have_the_kinds_of_a_column(tmp_path: Path) -> None:
    write(tmp_path, {"n": [[1], [2], None, None], "k": ["+I", "delete", "x", None]})
    records, rejected = rows(Parquet(path="in.parquet", kind_column="k"), tmp_path)
    assert [(record["__kind"], record["n"]) for record in records] == [(0, [1]), (3, [2])]
    assert [each.split(";")[0] for each in rejected] == [
        '{"k":"x"} column \'k\': "x" is not a row kind',
        "{} column 'k': the row kind is missing",
    ]


def test_times_beyond_the_calendar_are_rejected(tmp_path: Path) -> None:
    far = pa.array([1 << 62, 0], pa.timestamp("us"))
    write(tmp_path, {"t": far, "k": [1, 2]})
    for source in (Parquet(path="in.parquet"), Parquet(path="in.parquet", event_time="t")):
        records, [rejected] = rows(source, tmp_path)
        assert [record["k"] for record in records] == [2]
        assert rejected == (
            f'{{"t":{1 << 62},"k":1}} column \'t\': the time is before the year 1 or after the year 9999'
        )


UUID_BYTES = bytes(range(16))
UUID_TEXT = "00010203-0405-0607-0809-0a0b0c0d0e0f"
UUIDS = pa.array([[UUID_BYTES], None], pa.list_(pa.binary(16))).cast(pa.list_(pa.uuid()))
# Types that Flink has none for: the column, its type, and the values of it that are read.
OTHERS: dict[str, tuple[pa.Array, str, list[Any]]] = {
    "uuid": (pa.array([UUID_BYTES, None], pa.uuid()), "STRING", [UUID_TEXT, None]),
    "json": (pa.array(['{"a": 1}', None], pa.json_()), "STRING", ['{"a": 1}', None]),
    "string_view": (pa.array(["x", None], pa.string_view()), "STRING", ["x", None]),
    "duration": (pa.array([1500, None], pa.duration("ms")), "BIGINT", [1500, None]),
    "float16": (pa.array([1.5, None], pa.float32()).cast(pa.float16()), "FLOAT", [1.5, None]),
    "embedding": (pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)), "ARRAY<FLOAT>", [[1.0, 2.0], None]),
    "large_list": (pa.array([[1], None], pa.large_list(pa.int32())), "ARRAY<INT>", [[1], None]),
    "durations": (pa.array([{"of": 2}, None], pa.struct([("of", pa.duration("s"))])), "STRING", ['{"of":2}', None]),
    "uuids": (
        pa.array([[UUID_BYTES], None], pa.list_(pa.binary(16))).cast(pa.list_(pa.uuid())),
        "ARRAY<BYTES>",
        [[UUID_BYTES], None],
    ),
    "wide": (pa.array([Decimal("1.5"), None], pa.decimal256(70, 3)), "STRING", ["1.500", None]),
}


def test_types_that_flink_has_none_for_are_read_as_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, {name: values for name, (values, _, _) in OTHERS.items()})
    source = Parquet(path="in.parquet")
    types = {column.name: column.type.flink for column in source.derive("n", tmp_path).schema}
    assert types == {name: type_ for name, (_, type_, _) in OTHERS.items()}
    records, rejected = rows(source, tmp_path)
    assert rejected == []
    assert {name: [record[name] for record in records] for name in OTHERS} == {
        name: values for name, (_, _, values) in OTHERS.items()
    }


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.parquet": b"no"}, "a.parquet is not a Parquet file"),
        ({"a.parquet": with_a_name_of(b"k\xb1kk")}, "a.parquet is not a Parquet file"),
        ({"a.parquet": {"k": [1]}, "b.parquet": {"v": [1]}}, "b.parquet lacks the column 'k', which a.parquet has"),
        ({"a.parquet": {"k": [1]}, "b.parquet": {"k": ["x"]}}, "is STRING in b.parquet and BIGINT in a.parquet"),
        ({"a.parquet": {"k": [1], "K": [2]}}, "the columns 'k' and 'K' have the same name"),
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
